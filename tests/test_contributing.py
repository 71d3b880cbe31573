# SPDX-License-Identifier: BSD-3-Clause
"""The walk-throughs of CONTRIBUTING.md and docs/extending.md work as they are written, step for
step in a copy of the tree, and what they add passes the linters."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
_GIVEN = "        KernelRow(\n            PRECOMPUTED,"
TRAINING = """
import sys
import numpy as np, svmcut
from svmcut.cli.start import main
assert svmcut.__file__.startswith(sys.argv[1]), svmcut.__file__
rng = np.random.default_rng(7)
y = np.where(rng.random(60) < 0.2, 1.0, -1.0)
words = {sys.argv[2]: sys.argv[3], "gap": float(sys.argv[4])}
outcome = svmcut.train((rng.normal(size=(60, 3)) + y[:, None], y), cost=1.0, **words)
assert outcome.converged and outcome.gap <= words["gap"] * outcome.primal
main(["learn", "--help", "all"])
"""

WAITING = """
import sys
import numpy as np, svmcut
from svmcut.cli.start import main
assert svmcut.__file__.startswith(sys.argv[1]), svmcut.__file__
rng = np.random.default_rng(7)
X = rng.normal(size=(60, 3))
times = np.round(10 + 3 * X[:, 0] + rng.normal(size=60), 2)
row = lambda x: " ".join(f"{j}:{v:.4f}" for j, v in enumerate(x, 1))
with open("train.dat", "w") as file:
    file.writelines(f"{time} {row(x)}\\n" for time, x in zip(times, X))
outcome = svmcut.train((X, times), task="waiting", cost=100.0, gap=1e-3)
assert outcome.converged and outcome.gap <= 1e-3 * outcome.primal
learn = ["learn", "--task", "waiting", "-c", "100"]
assert main([*learn, "--report", "report", "train.dat", "model"]) == 0
assert main(["classify", "train.dat", "model", "scores"]) == 0
scores = np.loadtxt("scores")
longer = times[:, None] > times
wrong = 100 * (longer & (scores[:, None] <= scores)).sum() / longer.sum()
print(f"expected {wrong:.2f}")
assert main([*learn, "--tube", "1", "train.dat", "model"]) == 2
assert main(["inspect", "model"]) == 0
main(["learn", "--task", "waiting", "--help", "all"])
"""

MAP = """
import sys
import svmcut
from svmcut.originals.perf import svm_map_learn
from svmcut.formats import read_model
from svmcut.cli.start import main
assert svmcut.__file__.startswith(sys.argv[1]), svmcut.__file__
with open("train.dat", "w") as file:
    file.writelines(f"{1 if k % 3 else -1} 1:{k % 5} 2:{k % 7}\\n" for k in range(30))
assert svm_map_learn(["-c", "1", "-e", "0.01", "-v", "0", "train.dat", "model"]) == 0
asked = ["learn", "-c", "1", "-e", "0.01", "-v", "0", "-l", "average-precision", "--positive", ">0"]
assert main([*asked, "train.dat", "same"]) == 0
w, same = (read_model(name).w for name in ("model", "same"))
assert (w == same).all() and w.any(), (w, same)
assert svm_map_learn(["-w", "9", "-c", "1", "train.dat", "model"]) == 1
svm_map_learn(["-?"])
"""


IDLE = """
import sys
import numpy as np, svmcut
from svmcut.cli.start import main
assert svmcut.__file__.startswith(sys.argv[1]), svmcut.__file__
rng = np.random.default_rng(7)
X = rng.normal(size=(300, 10))
y = np.where(X[:, 0] + rng.normal(size=300) > 0, 1, -1)
words = {"solver": "cutting-plane", "cost": 10.0, "gap": 1e-7}
kept, usual, dropped = (svmcut.train((X, y), **words, **more).progress.iteration
                        for more in ({"max_idle": 0}, {}, {"max_idle": 1}))
assert kept <= usual < dropped, (kept, usual, dropped)
with open("train.dat", "w") as file:
    file.writelines(f"{label} 1:{row[0]:.3f} 2:{row[1]:.3f}\\n" for label, row in zip(y, X))
learn = ["learn", "-c", "10", "--max-idle"]
assert main([*learn, "3", "--solver", "cutting-plane", "train.dat", "model"]) == 0
assert main([*learn, "3", "--solver", "newton", "train.dat", "model"]) == 2
assert main([*learn, "-1", "--solver", "cutting-plane", "train.dat", "model"]) == 2
main(["learn", "--help", "all"])
"""


PINBALL = """
import sys
import numpy as np, svmcut
from svmcut.cli.start import main
assert svmcut.__file__.startswith(sys.argv[1]), svmcut.__file__
rng = np.random.default_rng(7)
X = np.ones((200, 1))
y = np.round(rng.exponential(size=200), 3)
words = {"task": "regression", "cost": 10.0, "loss": "pinball", "gap": 1e-4}
outcome = svmcut.train((X, y), quantile=0.9, **words)
below = (y < outcome.predict(X)).mean()
assert outcome.converged and 0.87 < below < 0.93, below
with open("train.dat", "w") as file:
    file.writelines(f"{target} 1:1\\n" for target in y)
learn = ["learn", "--task", "regression", "-c", "10", "-l", "pinball", "--gap", "1e-4"]
assert main([*learn, "--quantile", "0.9", "train.dat", "model"]) == 0
assert main(["classify", "train.dat", "model", "scores"]) == 0
assert 0.87 < (y < np.loadtxt("scores")).mean() < 0.93
assert main([*learn, "--quantile", "1.5", "train.dat", "model"]) == 2
tube = ["learn", "--task", "regression", "-c", "1", "--quantile", "0.9", "train.dat", "model"]
assert main(tube) == 2
main(["learn", "--task", "regression", "--help", "all"])
"""


QUADRATIC = """
import sys
import numpy as np, svmcut
from svmcut.cli.start import main
from svmcut import KernelSVM
assert svmcut.__file__.startswith(sys.argv[1]), svmcut.__file__
sys.stderr = sys.stdout
rng = np.random.default_rng(7)
X = np.round(rng.normal(size=(80, 3)), 3)
y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
row = lambda x: " ".join(f"{j}:{v:.3f}" for j, v in enumerate(x, 1))
with open("train.dat", "w") as file:
    file.writelines(f"{label} {row(x)}\\n" for label, x in zip(y, X))
learn = ["learn", "-t", "rational-quadratic", "-g", "0.5", "--example-cost", "10"]
solvers = ["smo"], ["cutting-plane"], ["subspace"], ["bsca", "--budget", "40"]
for solver, *words in solvers:
    assert main([*learn, "--solver", solver, *words, "train.dat", "model"]) == 0, solver
    assert main(["classify", "train.dat", "model", "scores"]) == 0
    model = svmcut.load("model")
    Z, alpha = model.model.support.to_dense().astype(float), model.model.alpha
    K = 1 / (1 + 0.5 * ((X[:, None] - Z) ** 2).sum(2))
    np.testing.assert_allclose(np.loadtxt("scores"), K @ alpha - model.model.b, atol=1e-4)
    assert ((K @ alpha - model.model.b > 0) == (y > 0)).mean() > 0.8, solver
assert main([*learn[:2], "5", *learn[3:], "train.dat", "same"]) == 0
assert main([*learn, "--initial", "same", "train.dat", "model"]) == 0
assert main([*learn, "-t", "rbf", "--initial", "same", "train.dat", "m"]) == 2
assert KernelSVM(kernel="rational-quadratic").fit(X, y).score(X, y) > 0.8
assert main(["inspect", "model"]) == 0
for to in ("libsvm", "onnx", "svm_light"):
    assert main(["export", "model", "out", "--to", to]) == 2, to
assert main(["export", "model", "out", "--to", "json"]) == 0
assert main([*learn, "--degree", "2", "train.dat", "m"]) == 0
assert main(["learn", "-t", "rational-quadratic", "-s", "2", "-c", "1", "train.dat", "m"]) == 0
assert main([*learn, "-g", "-1", "train.dat", "m"]) == 2
assert main([*learn, "--solver", "bsca", "--maintenance", "merge", "train.dat", "m"]) == 2
main(["learn", "--help", "all"])
"""


def copy(folder):
    """What the steps change and run, the compiled modules as links."""
    shutil.copytree(ROOT / "csrc", folder / "csrc")
    for path in (ROOT / "svmcut").rglob("*"):
        target = folder / path.relative_to(ROOT)
        if path.suffix in (".py", ".pyi"):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        elif path.suffix == ".so":
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(path)
    contracts = (f"tests/contract/test_{name}.py" for name in ("risk", "catalog", "kernels"))
    for name in (
        "pyproject.toml",
        "tests/conftest.py",
        "tests/drivers.py",
        "tests/programs.py",
        "tests/trees.py",
        *contracts,
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "tests" / "reference", folder / "tests" / "reference")


def section(title):
    """Return what stands under a title of either page."""
    pages = (ROOT / "CONTRIBUTING.md", ROOT / "docs" / "extending.md")
    text = "".join(path.read_text(encoding="utf-8") for path in pages)
    return re.split(rf"\n##+ {re.escape(title)}\n", text)[1].split("\n## ")[0].split("\n### ")[0]


def followed(folder, title, before):
    """Does the steps under a title in a copy of the tree: a module, its row before a place in the
    file of rows, and the truth where there is one."""
    text = section(title)
    steps = re.findall(r"^\d\. ((?:(?!```).)*?)```python\n(.*?)```", text, re.DOTALL | re.MULTILINE)
    (written, module), (added, row), *held = steps
    copy(folder)
    path = lambda prose: folder / re.search(r"`([\w/]+\.py)`", prose)[1]  # noqa: E731
    assert not path(written).exists()
    path(written).write_text(module, encoding="utf-8")
    rows = path(added).read_text(encoding="utf-8")
    assert before in rows
    path(added).write_text(rows.replace(before, row + before, 1), encoding="utf-8")
    for prose, truth in held:
        path(prose).parent.mkdir(parents=True, exist_ok=True)
        with path(prose).open("a", encoding="utf-8") as file:
            file.write(truth if file.tell() == 0 else f"\n\n{truth}")


def added(folder, title, *places):
    """Does the steps under a title in a copy of the tree: each block of code goes into the file
    its step names, before its place there; at the end where that is None."""
    block = r"^\d\. ((?:(?!```).)*?)```(?:python|cpp)\n(.*?)```"
    steps = re.findall(block, section(title), re.DOTALL | re.MULTILINE)
    copy(folder)
    for (prose, block), place in zip(steps, places, strict=True):
        path = folder / re.search(r"`([\w/]+\.(?:py|h))`", prose)[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        assert place is None or place in text
        text = f"{text}\n\n{block}" if place is None else text.replace(place, block + place, 1)
        path.write_text(text.lstrip("\n"), encoding="utf-8")


def compiled(folder, library):
    """Compiles the extensions of a library in the copy, and no others."""
    for name in ("setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    native = folder / "svmcut" / "_native"
    for path in (ROOT / "svmcut" / "_native").glob("*.pxd"):
        shutil.copy(path, native)
    anew = ["_shared"]
    for path in (ROOT / "svmcut" / "_native").glob("*.pyx"):
        if f"libraries: {library}" in path.read_text(encoding="utf-8"):
            shutil.copy(path, native)
            anew.append(path.stem)
    for name in anew:
        for link in native.glob(f"{name}.*so"):
            link.unlink()
    passes(folder, "-W", "ignore", "setup.py", "-q", "build_ext", "--inplace")


def passes(folder, *words):
    """Standard output of Python run in the copy; it must succeed."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def lints(folder):
    """ruff and import-linter find nothing in the copy."""
    pytest.importorskip("importlinter")
    pytest.importorskip("ruff")
    passes(folder, "-m", "ruff", "check", "--no-cache", "svmcut", "tests")
    passes(folder, "-m", "ruff", "format", "--no-cache", "--check", "svmcut", "tests")
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    passes(folder, "-c", code)


def checks_types(folder):
    """mypy finds nothing in the files of the copy that are new or differ; compiled modules, which
    are links there, it takes as they come."""
    pytest.importorskip("mypy")
    paths = [path.relative_to(folder) for path in (folder / "svmcut").rglob("*.py")]
    changed = [
        str(path)
        for path in paths
        if not (ROOT / path).exists() or (ROOT / path).read_bytes() != (folder / path).read_bytes()
    ]
    assert changed
    passes(folder, "-m", "mypy", "--follow-imports=silent", *changed)


def checked(folder, name, *tests):
    """How many tests of the copy that name the new thing have passed."""
    found = passes(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", name)
    return int(re.search(r"(\d+) passed", found)[1])


def test_add_a_loss(tmp_path):
    followed(tmp_path, "A loss", "            *_OF_SCORES,\n")
    lints(tmp_path)
    assert checked(tmp_path, "class-means", "tests/contract/test_risk.py") >= 10
    training = passes(tmp_path, "-c", TRAINING, str(tmp_path), "loss", "class-means", "1e-6")
    assert "class-means" in training


@pytest.mark.slow
def test_add_a_solver_in_one_file(tmp_path):
    followed(tmp_path, "Add a solver in one file", ")\n\nSOLVERS =")
    tests = "tests/unit/test_frank_wolfe.py", "tests/contract/test_catalog.py"
    assert checked(tmp_path, "frank_wolfe or frank-wolfe", *tests) == 3
    assert "frank-wolfe" in passes(
        tmp_path, "-c", TRAINING, str(tmp_path), "solver", "frank-wolfe", "0.05"
    )


@pytest.mark.slow
def test_add_a_loss_with_a_parameter_and_its_option(tmp_path):
    regression = """            Loss(
                SQUARED_TUBE,
"""
    places = (regression, "    penalty: str = param")
    title = "Add a loss with a parameter, and its option"
    added(tmp_path, title, None, *places, None)
    tasks = tmp_path / "svmcut" / "spec" / "tasks.py"
    text = tasks.read_text(encoding="utf-8")
    takes = 'takes=("bias", "tube", "initial"'
    assert text.count(takes) == 1
    tasks.write_text(text.replace(takes, takes + ', "quantile"'), encoding="utf-8")
    out = passes(tmp_path, "-c", PINBALL, str(tmp_path))
    assert "--quantile FLOAT" in out and "pinball, that of a quantile" in out
    assert checked(tmp_path, "pinball", "tests/contract/test_risk.py") >= 5


def test_add_a_task_in_one_file(tmp_path):
    followed(tmp_path, "Add a task in one file", ")\n\n#: By name; losses")
    out = passes(tmp_path, "-c", WAITING, str(tmp_path))
    measured, expected = re.search(r"Wrong pairs: *(\S+)\n(?:.*\n)*?expected (\S+)", out).groups()
    assert measured == expected and 0 < float(measured) < 20
    assert "svmcut learn --task waiting -c 10 train.dat model" in out
    assert "With --task waiting LABEL is a time" in out
    assert "or waiting (the order of" in " ".join(out.split())


@pytest.mark.slow
def test_add_a_format_of_models(tmp_path):
    followed(tmp_path, "A format of models", '    Format(b"SVM-HMM')
    assert checked(tmp_path, "weight_table", "tests/unit/test_weight_table.py") == 5


_OF_A_KERNEL = "// Calls work(form)", "        case Sigmoid::", None, _GIVEN, None


@pytest.mark.slow
def test_a_kernel_in_numpy_alone(tmp_path):
    added(tmp_path, "Add a kernel", *_OF_A_KERNEL)
    assert (
        checked(tmp_path, "rational and (definite or slowly)", "tests/contract/test_kernels.py")
        == 4
    )


@pytest.mark.slow
def test_add_a_kernel(tmp_path):
    pytest.importorskip("Cython")
    added(tmp_path, "Add a kernel", *_OF_A_KERNEL)
    lints(tmp_path)
    compiled(tmp_path, "svmcut_kernel_rows")
    tests = "tests/unit/test_rational_quadratic.py", "tests/contract/test_kernels.py"
    assert checked(tmp_path, "rational", *tests) >= 20
    out = " ".join(passes(tmp_path, "-c", QUADRATIC, str(tmp_path)).split())
    assert "rational-quadratic (5) 1/(1 + g |x-z|^2)" in out
    assert "g of the rbf and rational-quadratic kernels" in out
    for to in ("libsvm", "onnx", "svm_light"):
        kind = "machine with the rational-quadratic kernel"
        assert f"model: {to} has no {kind}; json takes it" in out
    for flag in ("-d", "-s"):
        assert f"{flag} has no effect with the rational-quadratic kernel; add -t polynomial" in out
    assert "--maintenance merge is for the rbf kernel; with the rational-quadratic kernel" in out


@pytest.mark.slow
def test_add_a_program_with_an_originals_name(tmp_path):
    text = section("Add a program with an original's name")
    (row,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (script,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    copy(tmp_path)
    for name, before, added in (
        ("svmcut/originals/perf.py", ")\n#: By their entry points.", row),
        ("pyproject.toml", 'svm_learn = "svmcut.originals.svm_light', script),
    ):
        path = tmp_path / name
        rows = path.read_text(encoding="utf-8")
        assert rows.count(before) == 1
        path.write_text(rows.replace(before, added + before), encoding="utf-8")
    (tmp_path / "tests" / "cli").mkdir()
    shutil.copy(ROOT / "tests" / "cli" / "test_originals.py", tmp_path / "tests" / "cli")
    lints(tmp_path)
    out = passes(tmp_path, "-c", MAP, str(tmp_path))
    assert "usage: svm_map_learn [options] example_file [model_file]" in out
    assert "average-precision (11)" in out and "[default: 3]" in out
    assert checked(tmp_path, "installed", "tests/cli/test_originals.py") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "before"),
    [
        ("A loss", "            *_OF_SCORES,\n"),
        ("A format of models", '    Format(b"SVM-HMM'),
        ("Add a solver in one file", ")\n\nSOLVERS ="),
        ("Add a task in one file", ")\n\n#: By name; losses"),
    ],
)
def test_what_a_walk_through_adds_passes_the_linters_and_mypy(tmp_path, title, before):
    followed(tmp_path, title, before)
    lints(tmp_path)
    checks_types(tmp_path)


def follow_option(folder):
    """Add the option as the section says."""
    title = "An option"
    _, takes = section(title).rsplit("```python\n", 1)
    added(folder, title, "    parts: int | None = param", "        takes=(*_CUTS")
    rows = folder / "svmcut" / "spec" / "solvers.py"
    text = rows.read_text(encoding="utf-8")
    old = '        takes=(*_CUTS, "line_search", "free_bias"),\n'
    assert text.count(old) == 1 and takes.split("```")[0].strip() in text
    rows.write_text(text.replace(old, "", 1), encoding="utf-8")


def test_add_an_option(tmp_path):
    follow_option(tmp_path)
    assert "--max-idle INTEGER" in passes(tmp_path, "-c", IDLE, str(tmp_path))


@pytest.mark.slow
def test_an_added_option_passes_the_linters_and_mypy(tmp_path):
    follow_option(tmp_path)
    lints(tmp_path)
    checks_types(tmp_path)
