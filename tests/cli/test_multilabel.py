# SPDX-License-Identifier: BSD-3-Clause
"""learn --task multilabel and classify of its models."""

import gzip
import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from programs import run
from sklearn.metrics import f1_score, hamming_loss

from svmcut.cli.main import svmcut
from svmcut.cli.start import main
from svmcut.files.multilabel import read_multilabel
from svmcut.formats import read_model


def write_sets(path, rng, n=120, K=5):
    X = rng.normal(size=(n, 6))
    gold = X[:, :K] + 0.3 * rng.normal(size=(n, K)) > 0.5
    gold[:, 1] |= gold[:, 0]
    lines = [
        ",".join(str(3 * k) for k in np.flatnonzero(row))
        + " "
        + " ".join(f"{j + 1}:{x:.5g}" for j, x in enumerate(xs))
        for row, xs in zip(gold, X)
    ]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_sets(tmp_path / "train", rng)
    write_sets(tmp_path / "test", rng, 80)
    return tmp_path


def call(*words):
    result = CliRunner().invoke(
        svmcut, [str(word) for word in words], standalone_mode=False, catch_exceptions=False
    )
    return result.return_value or 0, result.output


LEARN = ("learn", "--task", "multilabel")


def report(folder):
    return json.loads((folder / "report").read_text())


def test_training_and_scoring(folder):
    status, output = call(
        *LEARN, "--example-cost", 1, "--gap", 1e-3, "--report", "report", "train", "model"
    )
    trained = report(folder)
    assert status == 0
    assert "120 examples, 5 labels" in output
    assert (trained["task"], trained["solver"]) == ("multilabel", "bcfw")
    assert trained["labels"] == 5
    assert trained["relative_gap"] <= 1e-3
    status, output = call("classify", "test", "model", "sets", "--report", "report")
    assert status == 0
    examples, measures = read_multilabel("test"), report(folder)
    lines = (folder / "sets").read_text().split("\n")[:-1]
    predicted = np.array([[str(k) in line.split(",") for k in examples.names] for line in lines])
    y, _, _ = read_model("model").decode(examples.X)
    np.testing.assert_array_equal(predicted, y)
    gold = examples.gold()
    assert measures["hamming_loss"] == pytest.approx(100 * hamming_loss(gold, predicted))
    assert measures["subset_accuracy"] == pytest.approx(
        100 * np.mean((gold == predicted).all(axis=1))
    )
    for average in ("micro", "macro"):
        expected = 100 * f1_score(gold, predicted, average=average)
        assert measures[f"{average}_f1"] == pytest.approx(expected)
        assert f"{expected:6.2f}" in output
    assert measures["hamming_loss"] < 15


def test_the_report_is_that_of_the_written_objective(folder):
    call(*LEARN, "-c", 60, "--gap", 1e-3, "--report", "a", "train", "m1")
    call(*LEARN, "--example-cost", 0.5, "--gap", 1e-3, "--report", "b", "train", "m2")
    assert (folder / "m1").read_bytes() == (folder / "m2").read_bytes()
    call(
        *(*LEARN, "--example-cost", 0.5, "--gap", 1e-3, "--pairs", "none", "--report", "c"),
        *("train", "m3"),
    )
    a, c = (json.loads((folder / name).read_text()) for name in "ac")
    assert a["primal"] < c["primal"]
    assert len(read_model("m3").v) == 0 < len(read_model("m1").v)


def test_a_path_selects_by_a_measure_of_label_sets(folder):
    words = ("--validate", "test", "--select", "micro_f1", "--report", "report")
    status, output = call(*LEARN, "--example-cost", "0.001,1", *words, "train", "model")
    assert status == 0
    rows = report(folder)["path"]
    assert (folder / "model").read_bytes() == (folder / "model.1").read_bytes()
    assert rows[1]["validation"]["micro_f1"] > rows[0]["validation"]["micro_f1"]
    assert "micro F1" in output


def test_labels_the_model_has_not_count_as_wrong(folder):
    call(*LEARN, "--example-cost", 1, "train", "model")
    (folder / "new").write_text("0,99 1:3 2:3\n 1:-9 2:-9 3:-9 4:-9 5:-9\n")
    call("classify", "new", "model", "sets", "--report", "report")
    assert report(folder)["subset_accuracy"] == 50
    assert "99" not in (folder / "sets").read_text()
    assert any("not in the model" in text for text in report(folder)["warnings"])
    assert (folder / "sets").read_text().split("\n")[1] == ""


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (
            ("--example-cost", "1", "--solver", "smo"),
            2,
            "'smo' does not train label sets; expected one of auto",
        ),
        (
            ("--example-cost", "1", "--solver", "newton"),
            2,
            "'newton' trains two classes; give --pairs none",
        ),
        (("--example-cost", "1", "--pairs", "some"), 2, "expected one of all, none"),
        (("--example-cost", "1", "-l", "f1"), 2, "expected one of hamming (1)"),
        (("--example-cost", "1", "--max-memory", "0.0001"), 1, "limit is 0.0001 MB"),
        (("--example-cost", "1", "--select", "micro_f1"), 2, "needs --validate"),
    ],
)
def test_usage_is_refused_with_a_remedy(folder, capsys, words, status, says):
    assert main([*LEARN, *words, "train", "model"]) == status
    assert says in capsys.readouterr().err
    assert not (folder / "model").exists()


def test_data_faults_name_their_line(folder, capsys):
    (folder / "bad").write_text("1,2 1:1\n1,1 1:1\n")
    assert main([*LEARN, "-c", "1", "bad", "model"]) == 1
    assert "bad:2: label 1 stands twice" in capsys.readouterr().err
    call(*LEARN, "--example-cost", 1, "train", "model")
    assert main(["classify", "--labels", "test", "model", "sets"]) == 2
    assert "labels already" in capsys.readouterr().err


def test_limits_write_the_best_model_and_exit_with_3(folder):
    assert (
        call(*LEARN, "--example-cost", 10, "--gap", 1e-9, "--max-iterations", 5, "train", "model")[
            0
        ]
        == 3
    )
    assert np.isfinite(read_model("model").W).all()


def test_an_example_set_without_labels_trains_a_model_that_predicts_none(folder):
    (folder / "none").write_text(" 1:1\n 2:1\n")
    assert call(*LEARN, "-c", 1, "none", "model")[0] == 0
    assert call("classify", "test", "model", "sets")[0] == 0
    assert set((folder / "sets").read_text()) == {"\n"}


@pytest.mark.every(2)
@pytest.mark.parametrize("how", ["file", "gzip", "stdin", "pipe"])
def test_the_header_form_from_anywhere_and_its_count_checked_at_the_end(folder, how):
    lines = [line for line in (folder / "test").read_text().splitlines() if line[0] != " "]
    (folder / "plain").write_text("\n".join(lines) + "\n")
    rows, n = (
        "".join(re.sub(r" (\d+):", lambda j: f" {int(j[1]) - 1}:", line) + "\n" for line in lines),
        len(lines),
    )
    call(*LEARN, "--example-cost", 1, "train", "model")
    call("classify", "plain", "model", "expected")
    for announced in (n, n + 1):
        text = f"{announced} 6 13\n{rows}".encode()
        (folder / "in").write_bytes(gzip.compress(text) if how == "gzip" else text)
        name = {"stdin": "-", "pipe": "/dev/stdin"}.get(how, "in")
        done = run("svmcut classify", name, "model", "sets", input=text, text=False)
        if announced == n:
            assert (done.returncode, (folder / "sets").read_bytes()) == (
                0,
                (folder / "expected").read_bytes(),
            )
            (folder / "sets").unlink()
        else:
            says = (
                f"{name}:1: the header announces {n + 1} examples, and the file holds {n}".encode()
            )
            assert (done.returncode, says in done.stderr) == (1, True)
            assert not (folder / "sets").exists()


@pytest.mark.parametrize(("most", "told"), [(600, True), (599, False)])
def test_the_error_on_the_examples_is_told_where_it_is_quick(
    folder, capsys, monkeypatch, most, told
):
    monkeypatch.setattr(
        "svmcut.cli.training_report.MAX_MEASURED_SCORES", most
    )  # 120 examples, 5 labels
    assert main([*LEARN, "--pairs", "none", "train", "model"]) == 0
    assert ("Training error" in capsys.readouterr().out) == told
