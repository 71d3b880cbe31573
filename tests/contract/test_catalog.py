# SPDX-License-Identifier: BSD-3-Clause
"""The whole product of the catalog: trained to its certificate or refused with a remedy, by Python
and shell alike."""

import ast
import itertools
import pickle
import random
import re
from pathlib import Path

import click
import numpy as np
import pytest
from drivers import cost_of, way_of
from programs import options_of
from trees import nodes_of

import svmcut
from svmcut.base import records
from svmcut.base.errors import UsageError
from svmcut.cli import option_checks
from svmcut.cli.advice import in_options
from svmcut.cli.options import ROWS as OPTION_ROWS
from svmcut.files.checkpoints import read_checkpoint, write_checkpoint
from svmcut.spec import refusals
from svmcut.spec.catalog import (
    AUTO,
    KERNELS,
    LOSSES,
    MEASURES,
    MULTICLASS,
    RESCALINGS,
    SOLVERS,
    TASKS,
    losses,
    solvers,
)
from svmcut.spec.parameters import DEFAULTS, KINDS, Settings
from svmcut.spec.schemas import state_classes
from svmcut.tables.options import TABLE_OPTIONS
from svmcut.tasks.protocol import make_task

ROOT = Path(__file__).resolve().parent.parent.parent
#: What ends a message that refuses: something to do.
REMEDY = re.compile(
    r"\b(use|give|add|leave out|leave one|leave it|leave those|expected|lower|did you mean"
    r"|belongs to)\b"
)
OPTION = re.compile(r"(^|[\s(\"'])--?[a-zA-Z]")


def product():
    """Every task, loss, solver, kernel, rescaling and norm; solvers of other tasks once."""
    for task in TASKS:
        for loss, solver in itertools.product(losses(task), (AUTO, *SOLVERS)):
            known = solver == AUTO or solver in solvers(task)
            variants = (
                itertools.product(KERNELS, RESCALINGS, (1, 2)) if known else [("rbf", "margin", 1)]
            )
            for kernel, rescaling, norm in variants:
                case = {
                    "task": task,
                    "loss": loss,
                    "solver": solver,
                    "kernel": kernel,
                    "rescaling": rescaling,
                    "slack_norm": norm,
                }
                yield case
                if "multiclass" in TASKS[task].takes:
                    yield from ({**case, "multiclass": way} for way in MULTICLASS[1:])


PRODUCT = list(product())


def refusal(check, *parts):
    """What a refusal says; None where there is none."""
    try:
        check(*parts)
    except UsageError as error:
        return str(error)
    except click.ClickException as error:
        return error.format_message()
    return None


def from_python(case):
    return refusal(refusals.check, Settings(**case, **cost_of(case["task"], 1.0), threads=1))


def from_shell(case):
    """The verdict of a command line, before anything is read."""
    task = case["task"]
    words = ["rank"] if task == "rank" else ["learn", "--task", task]
    flags = {
        "loss": "-l",
        "solver": "--solver",
        "kernel": "-t",
        "rescaling": "-o",
        "slack_norm": "-p",
        "multiclass": "--multiclass",
    }
    for name, flag in flags.items():
        if name in case and case[name] not in (DEFAULTS[name], AUTO):
            words += [flag, str(case[name])]
    return refusal(
        lambda: option_checks.check(
            options_of([*words, *(["-c", "1"] if TASKS[task].has_cost else []), "train"])
        )
    )


def check_verdicts(cases):
    """The same from Python and from the shell, and a remedy where it is a refusal."""
    for case in cases:
        here, there = from_python(case), from_shell(case)
        assert (here is None) == (there is None), (case, here, there)
        if here is not None:
            assert REMEDY.search(here) and not OPTION.search(here), here


def test_python_and_the_shell_agree_and_every_refusal_names_a_remedy():
    assert 2000 < len(PRODUCT) < 14000
    check_verdicts(random.Random(2).sample(PRODUCT, 250))


@pytest.mark.slow
def test_they_agree_on_the_whole_product():
    check_verdicts(PRODUCT)


def data(task):
    """Few examples that no model fits without error."""
    rng = np.random.default_rng(5)
    n = {"sequence": 24, "rank": 30}.get(task, 40)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X /= np.sqrt((X**2).sum(axis=1, keepdims=True))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)
    if task == "survival":
        return X, np.round(1 + np.exp(X[:, 0]), 2) * np.where(rng.random(n) < 0.7, 1, -1)
    if task == "regression":
        return X, X[:, 0] + 0.5 * rng.normal(size=n)
    if task == "multilabel":
        return X, X[:, :3] + 0.3 * rng.normal(size=(n, 3)) > 0
    if task in ("classification", "one-class"):
        return X + np.float32(task == "one-class"), y  # the origin is outside
    if task == "multiclass":
        return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [-0.4, 0.4])
    qid = np.arange(n) // 4
    return (
        (X, (y > 0) + 1, qid)
        if task == "sequence"
        else (X, np.round(2 * X[:, 0] + rng.normal(size=n)), qid)
    )


def parameters(case):
    """Those of one accepted case of the product: a gap where the solver takes one, kernels that
    stay small."""
    row = SOLVERS.get(case["solver"])
    case = {**case, **way_of(case["task"], case["solver"], case["kernel"])}
    limits = {} if row is not None and (row.steps or row.name == "smo") else {"gap": 0.05}
    if row is not None and "epochs" in row.takes:
        limits["epochs"] = 5.0
    if case["kernel"] in ("polynomial", "sigmoid"):
        limits |= {"degree": 2, "scale_kernel": 0.1, "coef0": 0.0}
    return {**cost_of(case["task"], 0.5), "threads": 1, **case, **limits}


def trained(case):
    """Trains one accepted case of the product."""
    X, *labels = data(case["task"])
    rows = X @ X.T if case["kernel"] == "precomputed" else X
    return svmcut.train((rows, *labels), **parameters(case))


def check_certificate(case):
    """The gap that was asked for, or the end of a solver that promises none."""
    outcome, row = trained(case), SOLVERS.get(case["solver"])
    assert outcome.solver == case["solver"] or row is None
    assert np.isfinite(outcome.primal), case
    if case["kernel"] == "sigmoid":  # need not be positive semidefinite
        return
    assert outcome.done and outcome.gap >= -1e-6 * abs(outcome.primal), case
    if outcome.converged:
        assert outcome.gap <= 0.05 * abs(outcome.primal) * (1 + 1e-9), case
    else:
        assert row is not None and (row.steps or row.plan == "budget" or row.drawn), case


def accepted():
    """What Python does not refuse: seconds for all of it, which not every worker needs."""
    return [case for case in PRODUCT if from_python(case) is None]


def test_what_is_accepted_trains():
    for case in random.Random(3).sample(accepted(), 16):
        check_certificate(case)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_all_that_is_accepted_trains(task):
    for case in accepted():
        if case["task"] == task:
            check_certificate(case)


USES = [
    (task, kernel, solver)
    for task in TASKS
    for kernel in ("linear", "rbf")
    for solver in solvers(task, kernel != "linear")
]


def trainer_for(task, kernel, solver, threads=1):
    """The trainer of one solver on the examples of a task, with weights."""
    case = {"task": task, "kernel": kernel, "solver": solver, "gap": 0.01}
    gap = None if SOLVERS[solver].steps else 0.01
    settings = Settings(**parameters(case) | {"gap": gap, "threads": threads})
    refusals.check(settings)
    examples = make_task(task).from_arrays(*data(task))
    weights = np.random.default_rng(6).uniform(0.2, 3.0, len(examples))
    if task == "rank":
        weights = weights[examples.qid]
    return make_task(task).plan(records.replace(examples, weights=weights), settings)


@pytest.mark.every(4)
@pytest.mark.parametrize(("task", "kernel", "solver"), USES)
def test_every_solver_is_resumed_interrupted_and_the_same_for_any_threads(
    task, kernel, solver, tmp_path
):
    trainer, states = trainer_for(task, kernel, solver), []
    whole = trainer.fit(0.5, None, lambda progress, objective: states.append(trainer.state()))
    assert states
    for at in sorted({0, len(states) // 2, len(states) - 1}):
        write_checkpoint(str(tmp_path / "ck"), {}, states[at], state_classes())
        _, state = read_checkpoint(str(tmp_path / "ck"), state_classes())
        resumed = trainer_for(task, kernel, solver).fit(0.5, None, None, state)
        assert pickle.dumps(resumed.model) == pickle.dumps(whole.model), at
        assert (resumed.primal, repr(resumed.dual)) == (whole.primal, repr(whole.dual))

    threads = trainer_for(task, kernel, solver, threads=3).fit(0.5, None)
    assert pickle.dumps(threads.model) == pickle.dumps(whole.model)

    def interrupt(progress, objective):
        raise KeyboardInterrupt

    try:
        outcome = trainer_for(task, kernel, solver).fit(0.5, None, interrupt)
    except KeyboardInterrupt:
        return  # before there was anything to keep
    assert outcome.stopped_by == "interrupt" or outcome.done
    assert np.isfinite(outcome.primal)


def bad_values():
    """A value out of range of every parameter that has one."""
    for name in KINDS:
        for value in (-3, 1e300, float("nan"), "nope\n", [], b"x", True, 1j):
            try:
                KINDS[name].take(value)
            except ValueError:
                yield name, value


def test_every_bad_value_is_named_with_what_was_expected():
    cases = list(bad_values())
    assert {name for name, _ in cases} == set(KINDS)
    for name, value in cases:
        with pytest.raises(ValueError, match=f"^parameter '{name}' is .*; expected ") as refused:
            svmcut.train(("X", "y"), **{"example_cost": 1.0, name: value})
        assert not OPTION.search(str(refused.value).replace(repr(value), ""))


COMBINATIONS = (
    {"loss": "f1"},
    {"cost": 1.0, "example_cost": 1.0},
    {"loss": "f1", "example_cost": 1.0},
    {"cost": 1.0, "loss": "hamming"},
    {"cost": 1.0, "loss": "prec-at-k", "p": 1.5},
    {"cost": 1.0, "kernel": "rbf", "bias": 1.0},
    {"cost": 1.0, "kernel": "rbf", "solver": "bsca", "free_bias": True},
    {"cost": 1.0, "kernel": "rbf", "loss": "f1", "free_bias": True},
    {"cost": 1.0, "basis_method": 1},
    {"cost": 1.0, "kernel": "rbf", "solver": "smo", "basis_method": 1},
    {"cost": 1.0, "kernel": "rbf", "basis_file": "x"},
    {"cost": 1.0, "kernel": "polynomial", "solver": "bsca", "maintenance": "merge"},
    {"cost": 1.0, "kernel": "sigmoid", "solver": "bsca", "maintenance": "project"},
    {"cost": 1.0, "kernel": "rbf", "solver": "bsgd", "sampling": "adaptive"},
    {"cost": 1.0, "kernel": "rbf", "solver": "pegasos", "gap": 0.1},
    {"cost": 1.0, "solver": "sbp", "polish": True},
    {"cost": 1.0, "hold_out": 0.2},
    {"cost": 1.0, "nu": 0.0},
    {"cost": 1.0, "budget": 7},
    {"cost": 1.0, "polish": True},
    {"cost": 1.0, "beam": 2},
    {"cost": 1.0, "pairs": "none"},
    {"cost": 1.0, "gpa": 0.1},
    {"cost": 1.0, "zzzz": 1},
    {"task": "sequence", "cost": 1.0, "transitions": 0, "emissions": 1},
    {"task": "sequence", "cost": 1.0, "bias": 1.0},
    {"task": "sequence", "cost": 1.0, "transitions": 2, "solver": "gdmm"},
    {"task": "sequence", "cost": 1.0, "beam": 2},
    {"task": "sequence", "cost": 1.0, "rescaling": "slack", "beam": 2},
    {"task": "rank", "cost": 1.0, "bias": 1.0},
    {"task": "sequence", "cost": 1.0, "kernel": "rbf", "emissions": 1},
    {"task": "sequence", "cost": 1.0, "polish": True},
    {"task": "multilabel", "cost": 1.0, "kernel": "rbf"},
    {"task": "multilabel", "cost": 1.0, "free_bias": True},
    {"cost": 1.0, "loss": "roc-area", "class_weight": "balanced"},
    {"cost": 1.0, "loss": "f1", "weights": [1.0]},
    {"cost": 1.0, "slack_norm": 2, "class_weight": "1=2"},
    {"task": "rank", "cost": 1.0, "class_weight": "balanced"},
    {"task": "multiclass", "loss": "logistic"},
    {"cost": 1.0, "parts": 2},
    {"task": "sequence", "transitions": 2, "parts": 2},
    {"task": "sequence", "quick": True, "parts": 2},
    {"task": "sequence", "kernel": "rbf", "parts": 2},
    {"task": "multilabel", "solver": "bcfw", "parts": 2},
    {"task": "multilabel", "cost": 1.0, "basis_method": 1},
    {"task": "rank", "cost": 1.0, "epochs": 2.0},
)


@pytest.mark.parametrize("given", COMBINATIONS, ids=str)
def test_combinations_are_refused_before_anything_is_read(given):
    with pytest.raises(UsageError) as refused:
        svmcut.train("there is no such file", **given)
    message = str(refused.value)
    assert REMEDY.search(message) and not OPTION.search(message), message
    told = in_options(refused.value.sentence)
    assert "parameter '" not in told or set(given) & {"gpa", "zzzz"}, told


def texts(path):
    """Every text of a module that is no docstring; what an f-string puts in is 0."""
    nodes = nodes_of(path)
    left_out = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            left_out |= {id(part) for part in node.values}
            parts = (part.value if isinstance(part, ast.Constant) else "0" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
    for node in nodes:
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in left_out
        ):
            yield node.lineno, node.value


#: What a message may name beside the parameters of Settings.
OTHERS = {
    "at_least",
    "propensities",
    "cache",
    "certify_choice",
    "confidence",
    "cv",
    "fraction",
    "maximise",
    "checkpoint",
    "input",
    "probability",
    "scheduler",
    "select",
    "validate",
    "until_decided",
    "weights",
    "work_dir",
}
FAILURES = {"UsageError", "TrainingError", "MemoryLimitError", "ClusterError", "Message"}


def test_messages_are_templates_of_parameters_that_exist():
    """A text made before would be read as a template, with whatever a path or a name has in it."""
    known, looked = {*KINDS, *TABLE_OPTIONS} | OTHERS, 0
    for path in MODULES:
        for node in nodes_of(path):
            name = isinstance(node, ast.Call) and getattr(node.func, "id", None)
            if name not in FAILURES or not node.args or path.name in ("messages.py", "errors.py"):
                continue
            text = node.args[0]
            assert isinstance(text, ast.Constant) or name == "Message", (
                str(path),
                node.lineno,
                "give a template",
            )
            if isinstance(text, ast.Constant):
                looked += 1
                fields = re.findall(r"(?<!\{)\{([a-z_]\w*)=?[^{}]*\}", text.value)
                assert {*fields} <= known, (str(path), node.lineno, fields)
    assert looked > 200


def test_no_text_words_a_parameter_itself():
    own = {"svmcut.base.messages"}
    spelt = re.compile(r"parameter '|\b(?:use|give|add) [a-z_]+='?[\w-]+'?(?:$|[ ,;)])")
    found = [
        (module, line, text)
        for path, module in MODULES.items()
        if module not in own
        for line, text in texts(path)
        if spelt.search(text)
    ]
    assert found == []


MODULES = {
    path: ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "svmcut").rglob("*.py")
}


def test_no_text_of_the_library_names_an_option():
    own = {
        "svmcut.formats.grammar",  # the header of svm_light's model files
        "svmcut.distributed.connection",  # the command line of openssl
        "svmcut.spec.tasks",  # help of the tasks
        "svmcut.spec.parameters",  # help of the parameters
        "svmcut.spec.kinds",  # help of kinds
        "svmcut.tables.options",  # help of the options of tables
        "svmcut.tasks.presentation",  # -nan
        "svmcut.tasks.sequences",  # O and -TYPE of tags
    }
    programs = ("svmcut.cli.", "svmcut.originals.", "svmcut.inspection.", "svmcut.scorers.")
    library = [
        path for path, name in MODULES.items() if not name.startswith(programs) and name not in own
    ]
    assert len(library) > 60
    assert [
        (path.name, line, text)
        for path in library
        for line, text in texts(path)
        if OPTION.search(re.sub(r"iconv( -[ft] \S+)+", "iconv", text))  # another program's
    ] == []


#: Rooms that put other programs' names for losses and solvers in the words of this one.
FOREIGN = ("svmcut.originals.libs.", "svmcut.estimators.lib", "svmcut.formats.library_text")
#: Where the rows stand.
ROWS = {
    f"svmcut.spec.{name}"
    for name in ("catalog", "entries", "places", "solvers", "spellings", "tasks")
}


def own_names(module):
    """The names of rows that a module is the one place of beside the catalog, or mentions as what
    it is."""
    where = [
        (row.name, place)
        for row in SOLVERS.values()
        for place in ([row.where] if isinstance(row.where, str) else row.where.values())
    ]
    own = {name for name, place in where if place.partition(":")[0] == module}
    if module.startswith("svmcut.risks."):
        own |= {loss.name for loss in LOSSES}
    # defaults of signatures that people read
    own |= {
        "svmcut.estimators.linear": {"f1"},
        "svmcut.estimators.one_class": {"one-class"},
        "svmcut.estimators.ranking": {"swapped-pairs"},
        "svmcut.estimators.survival": {"squared-hinge"},
        "svmcut.cli.thresholding": {"precision", "recall"},  # keys of its report
    }.get(module, set())
    measured = module.startswith("svmcut.scoring.")
    return own | ({measure.name for measure in MEASURES} if measured else set())


def test_no_other_file_types_the_name_of_a_solver_loss_or_measure():
    """As a value, or in a message that says what to choose; a solver's and a risk's own file
    aside."""
    names = {*SOLVERS} | {row.name for row in (*LOSSES, *MEASURES)}
    # 'pairs' is a parameter too, 'propensities' an option, and q a letter
    names -= KINDS.keys() | {"q", "propensities"}
    assert len(names) > 45
    advice = re.compile(rf"\b(?:solver|loss|select)='?({'|'.join(map(re.escape, names))})\b")
    found, looked = [], 0
    for path, module in MODULES.items():
        if module in ROWS or module.startswith(FOREIGN):
            continue
        left = names - own_names(module)
        for line, text in texts(path):
            looked += 1
            if text in left or (advice.search(text) and advice.search(text)[1] in left):
                found.append((module, line, text))
    assert looked > 1500
    assert found == []


def test_names_and_defaults_stand_in_one_file():
    """Nobody else lists solvers or losses, a risk's own file aside, or gives a parameter a value of
    its own."""
    rows = {*SOLVERS}, {loss.name for loss in LOSSES}
    distinct = KINDS.keys() - {
        "threads",
        "seed",
        "beam",
        "gap",
        "bias",
        "loss",
        "polish",
        "p",
        "slack_norm",
        "certify",  # these of classify, which has them of its own
        "probability",
        "zero_based",
    }
    found = []
    for path, module in MODULES.items():
        if module in {*ROWS, "svmcut.spec.parameters"} or module.startswith(FOREIGN):
            continue
        for node in nodes_of(path):
            if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
                items = node.keys if isinstance(node, ast.Dict) else node.elts
                listed = {item.value for item in items if isinstance(item, ast.Constant)}
                listed -= {row.name for row in MEASURES}
                many = [names & listed for names in rows if len(names & listed) > 2]
                found += [
                    (module, node.lineno, names)
                    for names in many
                    if not module.startswith("svmcut.risks.")
                ]
            if isinstance(node, ast.AnnAssign) and getattr(node.value, "value", None) is not None:
                name = getattr(node.target, "id", None)
                given = isinstance(node.value, ast.Constant) and not module.startswith(
                    ("svmcut.solvers.", "svmcut.estimators.")  # fields of theirs
                )
                found += [(module, node.lineno, name)] if given and name in distinct else []
    assert found == []


def test_rows_are_given_by_keyword():
    """But for the name, which comes first: a row reads without counting positions."""
    kinds = {"Task", "Loss", "Measure", "Solver", "KernelRow", "QpRow", "Format"}
    calls = [
        node
        for path, module in MODULES.items()
        if module in ROWS
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in kinds
    ]
    assert len(calls) > 80
    assert [ast.unparse(call) for call in calls if len(call.args) > 1] == []


def test_no_meaning_is_read_from_the_spelling_of_a_flag_or_from_help():
    spelt = re.compile(r"len\((?:flag|spelt)\)|key=len\b|flags\[0\]\) [=<>]|\.partition\(\"'\"\)")
    read = [path for path, name in MODULES.items() if name.startswith(("svmcut.cli.", "svmcut.ta"))]
    assert len(read) > 40
    assert [path for path in read if spelt.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("row", OPTION_ROWS, ids=lambda row: row.field)
def test_an_option_says_which_of_its_flags_the_original_has(row):
    assert [flag for flag in row.flags if re.fullmatch("--?.", flag)] == [row.letter] * bool(
        row.letter
    )
    assert row.flags and row.full in {flag.split("/")[0] for flag in row.flags}
