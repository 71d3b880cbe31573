# SPDX-License-Identifier: BSD-3-Clause
"""classify of a linear model without NumPy: the bytes and lines are those of classify with it, and
whatever is not usual is left to that."""

import re

import numpy as np
import pytest
from programs import call

from svmcut.cli import linear_scores, scoring
from svmcut.cli.score_lines import Files, ScoringOptions

WEIGHTS = np.linspace(-1, 1, 12)
#: Marks, and what the labels are then.
MODELS = {
    "": (-1, 1),
    "#@ labels 3 7.5\n": (3, 7.5),
    "#@ loss f1\n#@ threshold 0.125\n": (-1, 1),
    "#@ labels 2 1\n#@ loss fbeta\n#@ parameter 0.5\n": (2, 1),
    "#@ loss recall-at-precision\n#@ parameter 0.6\n": (-1, 1),
    "#@ loss partial-auc\n#@ parameter 0.1 0.4\n": (-1, 1),
    "#@ certificate 0.1 0.2 1\n#@ sigmoid -1 0.5\n": (-1, 1),
}
UNUSUAL = {
    "a label of neither class": ("#@ labels 3 7\n", "3 1:1\n7 2:1\n5 3:1\n"),
    "all others": ("#@ labels rest 7\n", "3 1:1\n7 2:1\n"),
    "one class": ("", "1 1:1\n1 2:1\n"),
    "queries": ("", "1 qid:1 1:1\n-1 qid:1 2:1\n"),
    "numbers": ("#@ loss epsilon-insensitive\n", "1 1:1\n-1 2:1\n"),
    "rows without a feature of the model": ("", "1 1:1\n" + "-1 99:1\n" * 12),
    "no example": ("", "# nothing\n"),
    "a line that is none": ("", "1 1:1\n-1 2:1\n-1 2:one\n"),
    "a mark that is none": ("#@ loss none\n", "1 1:1\n-1 2:1\n"),
}


def write(folder, marks, rows):
    head = [
        "SVM-light Version V6.20",
        *(f"{value} #" for value in (0, 3, 1, 1, 1, "empty", len(WEIGHTS), 9, 2, 0.0625)),
    ]
    vector = " ".join(f"{j}:{w:.8g}" for j, w in enumerate(WEIGHTS, 1))
    (folder / "model").write_text("\n".join(head) + f"\n1 {vector} #\n{marks}")
    (folder / "rows").write_text(rows)
    return Files(*(str(folder / name) for name in ("rows", "model", "out")))


def rows_of(labels, rng, n=300):
    """Rows of few values, so that scores are often equal."""
    lines = []
    for row in rng.integers(-2, 3, (n, 14)):
        label = labels[int(row @ np.arange(14) > rng.integers(-40, 40))]
        pairs = " ".join(f"{j}:{x / 2}" for j, x in enumerate(row, 1) if x)
        lines.append(f"{label} {pairs} # a comment\n")
    return "".join(lines)


def without_seconds(text):
    return re.sub(r"(cpu-seconds: ).*", r"\1", text)


@pytest.mark.parametrize("task", [None, "classification"])
@pytest.mark.parametrize("marks", MODELS)
def test_bytes_and_lines_are_those_with_numpy(task, marks, tmp_path, capsys, rng):
    files = write(tmp_path, marks, rows_of(MODELS[marks] if task is None else (-1, 1), rng))
    for verbosity in (1, 0):
        options = ScoringOptions(task=task, verbosity=verbosity, threads=2)
        assert linear_scores.score_linear(files, options)
        found = (tmp_path / "out").read_bytes(), without_seconds(capsys.readouterr().out)
        (tmp_path / "out").unlink()
        assert scoring.run_scoring(files, options) == []
        wanted = (tmp_path / "out").read_bytes(), without_seconds(capsys.readouterr().out)
        assert found == wanted
        assert len(wanted[1]) > 100 * verbosity


@pytest.mark.parametrize("what", UNUSUAL)
def test_what_is_not_usual_is_left_alone(what, tmp_path, capsys):
    files = write(tmp_path, *UNUSUAL[what])
    (tmp_path / "out").write_text("as it was")
    assert not linear_scores.score_linear(files, ScoringOptions())
    assert capsys.readouterr().out == ""
    assert (tmp_path / "out").read_text() == "as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "out", "rows"]


@pytest.mark.parametrize("options", [{"labels": True}, {"report": "r"}, {"unlabelled": True}])
def test_other_options_are_left_alone(options, tmp_path):
    files = write(tmp_path, "", "1 12:1\n-1 1:1\n")
    assert not linear_scores.score_linear(files, ScoringOptions(**options))
    assert not (tmp_path / "out").exists()


def test_kernels_and_many_lines_are_left_alone(tmp_path):
    files = write(tmp_path, "", "1 12:1\n-1 1:1\n")
    text = (tmp_path / "model").read_text()
    for other in (
        text.replace("0 #", "2 #", 1),
        text.replace("\n2 #", "\n3 #") + "1 1:1 #\n",
        text.replace("V6.20", "V6.02"),
        text[:-2],
    ):
        (tmp_path / "model").write_text(other)
        assert not linear_scores.score_linear(files, ScoringOptions())
    assert not (tmp_path / "out").exists()


def test_a_fault_is_told_as_ever(tmp_path, capsys):
    files = write(tmp_path, "", UNUSUAL["a line that is none"][1])
    assert call("svm_perf_classify", *files) == 1
    assert f"{files.examples}:3:6: " in capsys.readouterr().err
