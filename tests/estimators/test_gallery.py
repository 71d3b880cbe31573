# SPDX-License-Identifier: BSD-3-Clause
"""The examples of examples/python run, print what they promise, and draw."""

import importlib.util
import re
import runpy
import sys
import warnings
from pathlib import Path
from unittest.mock import MagicMock

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
