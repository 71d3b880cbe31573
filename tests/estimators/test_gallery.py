# SPDX-License-Identifier: BSD-3-Clause
"""The examples of examples/python run, print what they promise, and draw."""

import importlib.util
import re
import runpy
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "examples" / "python"
#: What the text they print must hold, and what of its numbers.
PROMISES = {
    "text_with_a_certificate": (
        r"optimum between ([\d.]+) and ([\d.]+)",
        lambda low, high: 0 < high - low < 1e-4 * high,
    ),
    "unbalanced_classes": (
        r"balanced weights +([\d.]+) +([\d.]+)\ntrained for F1 +([\d.]+) .*\ntrained for ROC "
        r"area +\S+ +([\d.]+)",
        lambda f1, area, trained_f1, trained_area: trained_f1 > f1 + 10 and trained_area > area,
    ),
    "ranking_queries": (
        r"NDCG@5 ([\d.]+), of a random order ([\d.]+)",
        lambda ours, chance: ours > 0.9 > chance + 0.3,
    ),
    "tagging_sentences": (
        r"right tags: ([\d.]+) %, every word alone ([\d.]+) %",
        lambda chain, alone: chain > alone + 10,
    ),
    "learning_curve": (
        r"fewest errors\n(?:.*\n){3} +1200 +[\d.]+ +([\d.]+)\ntrained for F1\n(?:.*\n){3} +1200 +"
        r"[\d.]+ +([\d.]+)",
        lambda errors, f1: f1 > errors + 10,
    ),
    "kernels_on_a_budget": (
        r"exact +(\d+) .* ([\d.]+)%\n(?:.*\n)*budget of 10 +(\d+) .* ([\d.]+)%",
        lambda vectors, error, few, its_error: few == 10 < vectors / 10 and its_error < error + 1,
    ),
}


@pytest.fixture
def drawing(monkeypatch):
    """Whether pictures are drawn; without matplotlib the scripts run all the same."""
    if importlib.util.find_spec("matplotlib") is not None:
        return True

    def subplots(*shape):
        return [MagicMock() for _ in range(shape[1])] if shape else MagicMock()

    figure = MagicMock()
    figure.Figure.return_value.subplots.side_effect = subplots
    monkeypatch.setitem(sys.modules, "matplotlib", MagicMock())
    monkeypatch.setitem(sys.modules, "matplotlib.figure", figure)
    return False


def test_every_example_is_short_run_here_and_named_in_the_documentation():
    scripts = sorted(GALLERY.glob("*.py"))
    assert {script.stem for script in scripts} == {*PROMISES}
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    for script in scripts:
        lines = script.read_text(encoding="utf-8").splitlines()
        assert len(lines) < 70 and f"(../examples/python/{script.name})" in page
        assert any(f"python examples/python/{script.name} [PICTURE]" in line for line in lines[:8])


@pytest.mark.every(3)
@pytest.mark.parametrize("name", PROMISES)
def test_an_example_keeps_its_promise(name, tmp_path, monkeypatch, capsys, drawing):
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", [name, str(picture)])
    with warnings.catch_warnings():  # a script has filters of its own
        runpy.run_path(str(GALLERY / f"{name}.py"), run_name="__main__")
    text, holds = PROMISES[name]
    printed = capsys.readouterr().out
    assert holds(*map(float, re.search(text, printed).groups())), printed
    if drawing:
        assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 5000


@pytest.fixture
def notebook():
    spec = importlib.util.spec_from_file_location("svmcut_notebook", ROOT / "docs" / "notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_notebooks_show_what_their_cells_print(notebook, monkeypatch):
    """Up to the last digits; --write of docs/notebook.py stores what they print today."""
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import replay

    for path in notebook.notebooks():
        for cell, text in notebook.run(path)[1]:
            shown, printed = notebook.stored(cell).splitlines(), text.splitlines()
            assert len(shown) == len(printed), cell["id"]
            assert [pair for pair in zip(shown, printed) if not replay.near(*pair)] == []
        assert path.stat().st_size < 20_000
        assert f"({path.relative_to(ROOT).as_posix()})" in (ROOT / "docs/python.md").read_text(
            encoding="utf-8"
        ).replace("../examples", "examples")


@pytest.mark.parametrize(
    ("name", "parameter", "loss"),
    [
        ("svmcut_hinge", "C", lambda m: np.maximum(0, 1 - m)),
        ("svmcut_logreg_l2", "lmbd", lambda m: np.logaddexp(0, -m)),
    ],
)
def test_solvers_of_benchopt_reach_the_optimum_of_their_objective(
    name, parameter, loss, monkeypatch
):
    """With benchopt's class of solvers, or one that has its parameters alone."""
    if importlib.util.find_spec("benchopt") is None:
        monkeypatch.setitem(sys.modules, "benchopt", SimpleNamespace(BaseSolver=object))
    Solver = runpy.run_path(str(ROOT / "examples" / "benchopt" / f"{name}.py"))["Solver"]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    y, values = np.sign(X[:, 0] + rng.normal(size=80)), []
    solver = Solver()
    solver.solver = "auto"
    solver.set_objective(X, y, 0.5)
    for tolerance in (1e-1, 1e-4, 1e-9):
        solver.run(tolerance)
        w = solver.get_result()["beta"]
        losses = loss(y * (X @ w)).sum()
        values.append(0.5 * losses + w @ w / 2 if parameter == "C" else losses + 0.5 * (w @ w) / 2)
    assert values[-1] <= min(values) * (1 + 1e-9) and values[0] <= 1.1 * values[-1]
    factor = 1.0 if parameter == "C" else 0.5
    assert values[-1] == pytest.approx(factor * solver.machine.primal_[0], rel=1e-6)
