# SPDX-License-Identifier: BSD-3-Clause
"""svmcut threshold, and learn with --at-least."""

import json
from pathlib import Path

import numpy as np
import pytest
from programs import call

import svmcut
from svmcut.scoring.thresholds import choose_threshold, make_promises

DATA = Path(__file__).resolve().parents[2] / "data"
TRAIN, TEST = DATA / "unbalanced.train", DATA / "unbalanced.test"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def model():
    assert call("svmcut", "learn", "-v", 0, "-l", "roc-area", "-c", 100, TRAIN, "model") == 0
    return "model"


def scores(name, *words):
    assert call("svmcut", "classify", "-v", 0, *words, TEST, name, "scores") == 0
    return np.loadtxt("scores")


def test_scores_are_less_the_threshold(model, capfd):
    words = ("--at-least", "recall=0.8", "--report", "report", "--confidence", 0.9)
    assert call("svmcut", "threshold", TEST, model, "out", *words) == 0
    report = json.loads(Path("report").read_text())
    assert report["at_least"] == {"recall": 0.8} and report["confidence"] == 0.9
    told = capfd.readouterr().out
    assert "recall of at least 0.8 on new rows like these, with confidence 90 %" in told
    np.testing.assert_allclose(scores("out"), scores(model) - report["threshold"], atol=1e-8)
    y = np.array([float(line.split()[0]) for line in TEST.read_text().splitlines()])
    recall = (scores("out")[y > 0] > 0).mean()
    assert 100 * recall == pytest.approx(report["recall"]) and recall >= 0.8
    assert call("svmcut", "inspect", "out") == 0
    assert "Chosen threshold" in capfd.readouterr().out
    # another choice takes the place of the first
    assert call("svmcut", "threshold", TEST, "out", "again", *words) == 0
    assert Path("again").read_bytes() == Path("out").read_bytes()


def test_probabilities_do_not_know_the_threshold():
    call("svmcut", "learn", "-v", 0, "-l", "logistic", TRAIN, "model")
    call("svmcut", "threshold", TEST, "model", "out", "--at-least", "recall=0.8")
    before, after = (scores(name, "--probability") for name in ("model", "out"))
    np.testing.assert_allclose(before, after, atol=1e-9)


def test_a_promise_that_cannot_be_kept_writes_nothing(model, capfd):
    assert call("svmcut", "threshold", TEST, model, "out", "--at-least", "precision=0.99") == 1
    assert "lower the floor or the confidence" in capfd.readouterr().err
    assert not Path("out").exists()
    words = ("-v", 0, "--validate", TEST, "--at-least", "precision=0.99", TRAIN, "new")
    assert call("svmcut", "learn", *words) == 1
    assert not Path("new").exists()


def test_learn_chooses_on_the_validation_file(model):
    words = ("-v", 0, "-l", "roc-area", "-c", 100, "--validate", TEST, "--at-least", "recall=0.8")
    assert call("svmcut", "learn", *words, "--report", "report", TRAIN, "new") == 0
    call("svmcut", "threshold", TEST, model, "out", "--at-least", "recall=0.8")
    assert Path("new").read_bytes() == Path("out").read_bytes()
    report = json.loads(Path("report").read_text())
    assert f"{report['threshold']:.17g}" in Path("new").read_text()
    assert report["path"][0]["validation"]["recall"] >= 80


@pytest.mark.parametrize("name", ["precision", "recall", "specificity"])
def test_both_ways_choose_on_the_same_rows_as_the_page_says(model, name):
    asked = {"recall": 0.8, "specificity": 0.9, "precision": 0.15}
    floor = ("--at-least", f"{name}={asked[name]}", "--report", "report")
    words = ("-v", 0, "-l", "roc-area", "-c", 100, "--validate", TEST)
    assert call("svmcut", "learn", *words, *floor, TRAIN, "new") == 0
    learnt = json.loads(Path("report").read_text())["threshold"]
    assert call("svmcut", "threshold", TEST, model, "out", *floor) == 0
    chosen = json.loads(Path("report").read_text())["threshold"]
    bare, wanted = svmcut.load(model), make_promises({name: asked[name]}, None, 0.95)
    (X, y), (seen, _) = map(svmcut.load_svmlight_file, (TEST, TRAIN))
    scores, before = bare.decision_function(X), bare.decision_function(seen)
    assert chosen == pytest.approx(choose_threshold(y > 0, scores, wanted))
    assert learnt == pytest.approx(choose_threshold(y > 0, scores, wanted, before))
    assert learnt == chosen or name == "precision"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--at-least", "recall=0.8"], "add --validate"),
        (["--validate", TEST, "--at-least", "recall=0.8", "-c", "1,2"], "svmcut threshold"),
        (["--validate", TEST, "--select", "f1", "--at-least", "recall=0.8"], "chose the model"),
        (["--maximise", "recall"], "add --at-least"),
        (["--validate", TEST, "--at-least", "f1=0.8"], "names are precision, recall"),
        (["--validate", TEST, "--at-least", "recall=0.8", "--maximise", "recall"], "leave out"),
    ],
)
def test_what_promises_nothing_is_refused(words, message, capfd):
    assert call("svmcut", "learn", *words, TRAIN, "model") == 2
    assert message in capfd.readouterr().err


def test_other_models_have_no_threshold(capfd):
    call("svmcut", "learn", "--task", "regression", "-v", 0, TRAIN, "model")
    assert call("svmcut", "threshold", TEST, "model", "out", "--at-least", "recall=0.8") == 1
    assert "no model of two classes" in capfd.readouterr().err


def test_python_chooses_too(model):
    X, y = svmcut.load_svmlight_file(TEST)
    chosen = svmcut.load(model).choose_threshold(X, y, at_least={"recall": 0.8})
    chosen.save("saved")
    call("svmcut", "threshold", TEST, model, "out", "--at-least", "recall=0.8")
    assert Path("saved").read_bytes() == Path("out").read_bytes()
    assert (chosen.predict(X)[y > 0] > 0).mean() >= 0.8
    with pytest.raises(ValueError, match="maximise"):
        chosen.choose_threshold(X, y, at_least={"recall": 0.8}, maximise="f1")


def test_exported_models_have_the_threshold_in_their_bias():
    call("svmcut", "learn", "-v", 0, "-l", "logistic", TRAIN, "model")
    call("svmcut", "threshold", TEST, "model", "out", "--at-least", "recall=0.8")
    for name in ("libsvm", "svm_perf"):
        assert call("svmcut", "export", "out", name, "--to", name) == 0
        np.testing.assert_allclose(np.abs(scores(name)), np.abs(scores("out")), atol=1e-5)
    before, after = (scores(name, "--probability") for name in ("out", "libsvm"))
    np.testing.assert_allclose(np.sort(before, axis=1), np.sort(after, axis=1), atol=1e-5)
