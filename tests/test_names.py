# SPDX-License-Identifier: BSD-3-Clause
"""Names and docstrings: functions are verbs, flags are questions, constants say what they limit,
and a docstring begins with a verb or a noun phrase."""

import ast
import re
from pathlib import Path

import pytest
from trees import tree_of

ROOT = Path(__file__).resolve().parent.parent
ROOMS = sorted(
    path for path in (ROOT / "svmcut").iterdir() if path.suffix == ".py" or path.is_dir()
)
#: Names that broke the rules when they were written down; the list only shrinks.
OLD = ROOT / "tests" / "old_names.txt"

#: Participles that English does not form with -ed; none names a function alone.
IRREGULAR = set(
    """begun beside born bought broken brought built chosen done drawn driven fallen fed felt given
    gone grown heard held hidden kept known laid led left lent lost made meant met paid sent shown
    shut sold sorted spent stood sunk taken taught thought told torn understood wished worn woven
    written""".split()  # noqa: SIM905
)
#: Words that end like participles and are verbs or nouns.
VERBS = {"embed", "exceed", "feed", "need", "proceed", "read", "seed", "shed", "speed", "succeed"}
FIRST_WORDS = set(
    """As At By For From How If In Of On So That Those To What When Where Whether Which Who Whose
    With Without""".split()  # noqa: SIM905
)
VAGUE_CONSTANTS = set(
    """BEYOND BIG CLOSE ENOUGH FAR FEW LEAST LEFT LITTLE LONG MANY MOST NEAR SLIP
    SMALL""".split()  # noqa: SIM905
)
#: Decorators under which a function is a value.
VALUES = {"property", "cached_property", "setter"}
QUESTIONS = ("is_", "has_", "should_", "can_", "are_", "needs_")


def is_participle(name):
    word = name.strip("_")
    return "_" not in word and (
        word in IRREGULAR or (word.endswith("ed") and word not in VERBS and len(word) > 4)
    )


def faults_of_function(node):
    """Faults of the name of one function."""
    if any(
        getattr(each, "id", getattr(each, "attr", "")) in VALUES for each in node.decorator_list
    ):
        return
    name = node.name.strip("_")
    if is_participle(name):
        yield "participle"
    is_bool = getattr(node.returns, "id", "") == "bool"
    if is_bool and not node.name.startswith("__") and not name.startswith(QUESTIONS):
        yield "question"


def faults(path):
    """(name, fault) of a module of the package."""
    place = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for scope in ast.walk(tree_of(path)):
        if not isinstance(scope, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        name = getattr(scope, "name", "")
        first = re.match(r"\s*([A-Za-z]+)", ast.get_docstring(scope, clean=False) or "")
        if first and first.group(1) in FIRST_WORDS:
            yield f"{place}:{name}", "docstring"
        if isinstance(scope, ast.FunctionDef):
            continue
        for node in scope.body:
            targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
            for target in targets:
                if getattr(target, "id", "").strip("_") in VAGUE_CONSTANTS:
                    yield f"{place}:{target.id}", "constant"
            if isinstance(node, ast.FunctionDef):
                for fault in faults_of_function(node):
                    yield f"{place}:{f'{name}.' * bool(name)}{node.name}", fault


@pytest.mark.parametrize("room", ROOMS, ids=lambda path: path.stem)
def test_names_follow_the_rules_or_are_old(room):
    old = set(OLD.read_text(encoding="utf-8").splitlines())
    paths = sorted(room.rglob("*.py")) if room.is_dir() else [room]
    found = {f"{name} {fault}" for path in paths for name, fault in faults(path)}
    assert found <= old, "rename these, see Words in CONTRIBUTING.md"
    place = ".".join(room.relative_to(ROOT).with_suffix("").parts)
    kept = {line for line in old if re.match(rf"{re.escape(place)}[.:]", line)}
    assert kept <= found, "these are mended: take them out of tests/old_names.txt"
