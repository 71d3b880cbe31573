# SPDX-License-Identifier: BSD-3-Clause
"""What holds for the tree as a whole: floors, sizes, docstrings, help texts, what start-up
imports."""

import ast
import functools
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from trees import nodes_of, tree_of

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted(
    path
    for folder in ("svmcut", "csrc", "tests", "benchmarks", "examples", "data", "docs")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".pyx", ".cc", ".h", ".sh", ".md")
)
MODULES = sorted((ROOT / "svmcut").rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def run(code, *arguments, **options):
    """Standard output of a script in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_file_imports_only_from_floors_below():
    program = Path(sys.executable).parent / "lint-imports"
    assert program.exists(), "import-linter is part of the test extra"
    done = subprocess.run([str(program), "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


#: What stands beside the rooms; trainers, options and models have rooms of their own.
ROOT_MODULES = {"__init__", "__main__", "_version", "compat", "dask", "loading"}


def test_the_package_root_holds_no_trainer():
    assert {path.stem for path in (ROOT / "svmcut").glob("*.py")} == ROOT_MODULES


def test_what_runs_is_made_of_records():
    """A dataclass compiles its methods whenever it is imported: a millisecond of every run. What
    estimators save by it scikit-learn's import hides."""
    made = re.compile("^ *(import|from) dataclasses", re.MULTILINE)
    known = {path.parent.name for path in MODULES if made.search(path.read_text(encoding="utf-8"))}
    assert known == {"estimators"}


def test_what_runs_takes_types_from_svmcut_typing():
    """Python's own takes a twentieth of a small run."""
    made = re.compile("^(import|from) typing", re.MULTILINE)
    known = {path.stem for path in MODULES if made.search(path.read_text(encoding="utf-8"))}
    assert known == {"interval", "typed"}  # which it has not, and small runs need not


#: Rooms that grow by a file and a row: a file that no other of its room needs stands in no list.
GROWING = {
    "svmcut.formats",
    "svmcut.models",
    "svmcut.risks",
    "svmcut.solvers",
    "svmcut.spaces",
    "svmcut.tasks",
}
#: Rooms with runs of many files, whose floors are told.
FLOORS = {"svmcut.cli", "svmcut.training"}


def test_floors_are_few_and_the_whole_package_stands_on_them():
    linter = PROJECT["tool"]["importlinter"]
    assert linter.keys() == {"root_package", "contracts"}
    whole, circles, *rooms = linter["contracts"]
    assert whole["containers"] == ["svmcut"] and whole["exhaustive"]
    assert circles["type"] == "acyclic_siblings" and circles["ancestors"] == ["svmcut"]
    assert {room["containers"][0] for room in rooms} == GROWING | FLOORS
    for room in [whole, *rooms]:
        assert room["type"] == "layers" and len(room["containers"]) == 1, room["name"]
        assert room.keys() - {"exhaustive"} == {"name", "type", "containers", "layers"}
        assert not any(sign in floor for floor in room["layers"] for sign in "()"), room["name"]
    assert all(len(room["layers"]) <= 5 for room in rooms if room["containers"][0] in FLOORS)


def test_contributing_draws_the_floors_as_they_are():
    drawing = (
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    )
    floors = [re.split(r"\s{2,}", line.strip())[0].split(" | ") for line in drawing.splitlines()]
    drawn = [{name.removesuffix("/").removesuffix(".py") for name in floor} for floor in floors]
    layers = PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
    assert drawn == [*({name.strip() for name in layer.split("|")} for layer in layers), {"csrc"}]


@pytest.mark.parametrize("room", sorted(GROWING))
def test_a_file_without_a_floor_is_imported_by_none_of_its_room(room):
    (contract,) = (
        found
        for found in PROJECT["tool"]["importlinter"]["contracts"]
        if found.get("containers") == [room]
    )
    lower = {name.strip() for floor in contract["layers"] for name in floor.split("|")}
    files = sorted((ROOT / room.replace(".", "/")).glob("*.py"))
    text = "".join(path.read_text(encoding="utf-8") for path in files if path.name != "__init__.py")
    assert lower < {path.stem for path in files}
    assert set(re.findall(rf"(?:from|import) {re.escape(room)}\.(\w+)", text)) <= lower


def test_no_file_over_600_lines():
    assert SOURCES
    lengths = {str(path.relative_to(ROOT)): len(path.read_bytes().splitlines()) for path in SOURCES}
    assert {name: length for name, length in lengths.items() if length > 600} == {}


#: Whose parameters are those of an interface.
INTERFACES = {"svmcut/dask.py:train", "svmcut/loading.py:choose_threshold"}


def large_functions(path):
    """Functions of more than 60 lines without their docstring, or of more than 6 parameters."""
    place = path.relative_to(ROOT).as_posix()
    for node in nodes_of(path):
        if not isinstance(node, ast.FunctionDef):
            continue
        first, name = node.body[0], f"{place}:{node.name}"
        text = ast.get_docstring(node) is not None
        lines = node.end_lineno - node.lineno + 1
        lines -= text and first.end_lineno - first.lineno + 1
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        taken = len([each for each in arguments if each.arg not in ("self", "cls")])
        if lines > 60 or (taken > 6 and name not in INTERFACES):
            yield name


def test_functions_are_short_and_take_few_parameters():
    assert [name for path in MODULES for name in large_functions(path)] == []


def claims(path):
    """Where a module says of an outcome that it converged."""
    text = path.read_text(encoding="utf-8")
    for node in nodes_of(path) if "converged" in text else ():
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        named = [part for target in targets if target is not None for part in ast.walk(target)]
        assigned = any(
            isinstance(part, ast.Attribute) and part.attr == "converged" for part in named
        )
        if assigned and ast.unparse(getattr(node, "value", node)) not in (
            "False",
            "(False, ended)",
        ):
            yield f"{path.relative_to(ROOT)}:{node.lineno}"
        if isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "Outcome",
            "replace",
            "setattr",
        ):
            words = [word.arg for word in node.keywords] + [ast.unparse(part) for part in node.args]
            if "converged" in words or "'converged'" in words:
                yield f"{path.relative_to(ROOT)}:{node.lineno}"


def test_a_certificate_is_claimed_by_its_gate_alone():
    found = [place for path in MODULES for place in claims(path)]
    assert found and all(place.startswith("svmcut/training/gate.py:") for place in found), found


#: A record of machines that were trained elsewhere has the names of a checkpoint's keys.
OF_CHECKPOINTS = {"svmcut/solvers/one_vs_rest.py"}


def called_found(path):
    """Where a local, a parameter or an attribute is called so, which says nothing of it."""
    place, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    if place in OF_CHECKPOINTS or not re.search(r"\bfound\b", text):
        return []
    return [
        f"{place}:{node.lineno}"
        for node in nodes_of(path)
        if "found"
        in (getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "name", ""))
        or (isinstance(node, ast.arg) and node.arg == "found")
    ]


def test_names_say_what_they_hold():
    assert [place for path in MODULES for place in called_found(path)] == []


def test_every_package_is_installed():
    """An editable installation works without this list; a wheel does not."""
    found = {
        str(path.parent.relative_to(ROOT)).replace(os.sep, ".")
        for path in MODULES
        if path.name == "__init__.py"
    }
    assert found == set(PROJECT["tool"]["setuptools"]["packages"])


def undocumented(path):
    """Names of public functions and classes of a module's top level that have no docstring."""
    tree = tree_of(path)
    if not ast.get_docstring(tree) and tree.body:
        yield f"{path.relative_to(ROOT)}"
    for node in tree.body:
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if any(ast.unparse(each) == "overload" for each in getattr(node, "decorator_list", ())):
            continue
        if named and not node.name.startswith("_") and not ast.get_docstring(node):
            yield f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"


def test_every_public_function_and_class_has_a_docstring():
    assert [name for path in MODULES for name in undocumented(path)] == []


def test_every_option_has_help():
    import click

    from svmcut.cli.commands import COMMANDS
    from svmcut.cli.main import svmcut
    from svmcut.cli.options import ROWS

    assert [row.field for row in ROWS if not row.help.strip()] == []
    context = click.Context(svmcut)
    for name in COMMANDS:
        command = svmcut.get_command(context, name)
        assert command.help, name
        params = command.get_params(click.Context(command, **command.context_settings))
        options = [item for item in params if isinstance(item, click.Option)]
        assert len(options) > 1
        assert [item.opts for item in options if not item.help] == [], name


def test_help_imports_nothing_heavy():
    code = """
import sys
from svmcut.cli.start import main
assert main(["--help"]) == 0
print(sorted({"numpy", "scipy", "osqp", "tqdm"} & set(sys.modules)))
"""
    assert run(code).splitlines()[-1] == "[]"


def test_classifying_ten_rows_imports_neither_numpy_nor_click(tmp_path):
    from svmcut.cli.start import main

    rows = (ROOT / "data" / "wine.train").read_text().splitlines(keepends=True)
    (tmp_path / "ten").write_text("".join(rows[::12][:10]))
    model = str(tmp_path / "model")
    assert main(["learn", "-c", "1", "-v", "0", str(tmp_path / "ten"), model]) == 0
    code = """
import json, sys
from svmcut.originals.perf import svm_perf_classify
assert svm_perf_classify(sys.argv[1:]) == 0
heavy = {"numpy", "scipy", "osqp", "click", "tqdm", "inspect"}
print(json.dumps(sorted(heavy & set(sys.modules))))
"""
    out = run(code, str(tmp_path / "ten"), model, str(tmp_path / "scores"))
    assert json.loads(out.splitlines()[-1]) == []
    assert len((tmp_path / "scores").read_text().splitlines()) == 10


def named(path, what):
    """Files a C++ or Cython source names in such a line."""
    pattern = {
        "include": r'#include "(.*)"|SVMCUT_LOOPS "(.*)"',
        "abi": r"from abi\.(\w+) cimport \*()",
    }[what]
    return {a or b for a, b in re.findall(pattern, path.read_text(encoding="utf-8"))}


#: Families of the C++ side -> the families whose headers they use.
FAMILIES = {
    "include": "",
    "core": "",
    "text": "",
    "linear": "",
    "measures": "",
    "kernels": "",
    "steps": "kernels",
    "budget": "kernels",
    "chain": "",
    "labels": "",
    "multiclass": "",
    "python": "",
    "fuzz": "text",
    "test": "text",
}


def test_a_family_of_the_cpp_side_includes_only_its_own_files_and_what_is_below():
    csrc = ROOT / "csrc"
    assert {path.name for path in csrc.iterdir()} == FAMILIES.keys()
    files = [path for path in csrc.rglob("*") if path.suffix in (".cc", ".h")]
    assert len(files) > 70
    for path in files:
        family = path.relative_to(csrc).parts[0]
        above = {"include": {"include"}, "core": {"include", "core"}}.get(family)
        allowed = above or {"include", "core", family, *FAMILIES[family].split()}
        names = named(path, "include")
        assert [
            name
            for name in names
            if name.split("/")[0] not in allowed or not (csrc / name).is_file()
        ] == [], path


@functools.cache
def formatter():
    """clang-format of the lint extra, whose major version says how lines break; None without it."""
    (wanted,) = re.findall(r'"clang-format==(\d+)\.', (ROOT / "pyproject.toml").read_text())
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    program = shutil.which("clang-format", path=path)
    if program is None:
        return None
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    return program if re.search(rf"version {wanted}\.", version) else None


@pytest.mark.skipif(formatter() is None, reason="clang-format of the lint extra is not there")
def test_csrc_is_formatted():
    files = [str(path) for path in (ROOT / "csrc").rglob("*") if path.suffix in (".cc", ".h")]
    command = [formatter(), "--dry-run", "-Werror", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_csrc_has_one_style_of_comments():
    files = [path for path in (ROOT / "csrc").rglob("*") if path.suffix in (".cc", ".h")]
    assert [path for path in files if re.search(r"/\*|\*/", path.read_text())] == []


def test_lines_of_wrappers_are_no_longer_than_those_of_python():
    wide = [
        f"{path.name}:{number}"
        for path in (ROOT / "svmcut" / "_native").glob("*.p[yx]*")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > PROJECT["tool"]["ruff"]["line-length"]
    ]
    assert wide == []


def test_a_wrapper_includes_only_interface_headers():
    wrappers = [
        path for path in (ROOT / "svmcut" / "_native").iterdir() if path.suffix in (".pyx", ".pxd")
    ]
    found = {name for path in wrappers for name in named(path, "abi")}
    assert found == {path.stem for path in (ROOT / "csrc" / "include").iterdir()}
    assert [path for path in wrappers if 'cdef extern from "' in path.read_text()] == []


make_pxd = runpy.run_path(str(ROOT / "csrc" / "python" / "make_pxd.py"))


def test_cython_has_every_declaration_of_the_headers():
    """Functions and constants are found in the headers by other means than those of the script."""
    for path in (ROOT / "csrc" / "include").iterdir():
        text = re.sub("//.*", "", path.read_text(encoding="utf-8"))
        functions = re.findall(r"\b(svmcut_\w+)\(", text)
        constants = re.findall(r"\b(SVMCUT_\w+)(?=\s*[=,}])", text)
        made = make_pxd["pxd"](path)
        assert re.findall(r"\b(svmcut_\w+)\(", made) == functions
        assert re.findall(r"^        (SVMCUT_\w+)$", made, re.MULTILINE) == constants


def test_declarations_are_written_once_and_none_is_passed_over(tmp_path):
    headers = tmp_path / "include"
    headers.mkdir()
    header = headers / "one.h"
    header.write_text("enum one { A = 1, B };\nint two(const volatile int* is, double in[2]);\n")
    make_pxd["write_declarations"](headers, tmp_path)
    path = tmp_path / "abi" / "one.pxd"
    lines = path.read_text().splitlines()
    assert lines[-4:] == [
        "    enum:",
        "        A",
        "        B",
        "    int two(const int*, double*)",
    ]
    os.utime(path, (0, 0))
    make_pxd["write_declarations"](headers, tmp_path)
    assert path.stat().st_mtime == 0
    header.write_text("union one { int a; };\n")
    with pytest.raises(ValueError, match=r"one\.h: .*union one"):
        make_pxd["write_declarations"](headers, tmp_path)


def test_every_cpp_file_is_compiled_once():
    """By the extension that names it in its .pyx, or in a library of setup.py."""
    code = """
import json, runpy, Cython.Build, setuptools
found = {}
setuptools.setup = lambda **words: found.update(words)
Cython.Build.cythonize = lambda modules, **words: modules
runpy.run_path("setup.py")
libraries = [source for _, library in found["libraries"] for source in library["sources"]]
sources = [source for extension in found["ext_modules"] for source in extension.sources]
print(json.dumps([libraries, sources]))
"""
    libraries, sources = json.loads(run(code, cwd=ROOT).splitlines()[-1])
    assert sources.pop() == "svmcut/_native/_shared.c"  # Cython's own
    assert sum(name.endswith(".pyx") for name in sources) > 15
    compiled = libraries + [name for name in sources if name.endswith(".cc")]
    own = [
        path for path in (ROOT / "csrc").rglob("*.cc") if path.parent.name not in ("fuzz", "test")
    ]
    assert len(own) > 35
    assert sorted(compiled) == sorted(path.relative_to(ROOT).as_posix() for path in own)


#: Functions of the C++ side whose number is no status.
NUMBERS = {"svmcut_kernel_rows_layout"}


def test_no_status_of_the_cpp_side_is_dropped():
    headers = "".join(path.read_text() for path in (ROOT / "csrc" / "include").iterdir())
    statuses = set(re.findall(r"^int (svmcut_\w+)\(", headers, re.MULTILINE)) - NUMBERS
    calls = []
    for path in sorted((ROOT / "svmcut" / "_native").glob("*.pyx")):
        text = path.read_text(encoding="utf-8")
        for name in statuses:
            used = re.findall(rf"^(.*)\b{name}\(", text, re.MULTILINE)
            calls += [(path.name, name, before) for before in used]
    assert len(calls) > 50
    dropped = [
        call for call in calls if not re.search(r"(status =|return|if|_check\() *$", call[2])
    ]
    assert dropped == []


@pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not a clone"
)
def test_nothing_large_is_committed():
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    sizes = {
        name: (ROOT / name).stat().st_size
        for name in names.split("\0")
        if name and (ROOT / name).exists()
    }
    assert {name: size for name, size in sizes.items() if size > 300_000} == {}
