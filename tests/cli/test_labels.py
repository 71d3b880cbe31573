# SPDX-License-Identifier: BSD-3-Clause
"""Two classes of any labels: in training, in the model file, in predictions, measures and
reports."""

import json
from pathlib import Path

import numpy as np
import pytest
from programs import uncertified
from sklearn import metrics

import svmcut
from svmcut.base.errors import DataError, UsageError
from svmcut.cli.start import main
from svmcut.formats import read_model
from svmcut.originals import perf

DATA = Path(__file__).resolve().parents[2] / "data"
PAIRS = ("1", "2"), ("0", "1"), ("-1", "+1"), ("+3", "+7"), ("-2.5", "0.1")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(name, pair, source="breast_cancer.train"):
    """A set of data/ with other labels."""
    lines = (DATA / source).read_text().splitlines()
    labels = {"-1": pair[0], "+1": pair[1]}
    Path(name).write_text(
        "".join(f"{labels[line.split()[0]]} {line.partition(' ')[2]}\n" for line in lines)
    )


def call(*words):
    return main([str(word) for word in words])


def learn(*words, status=0):
    assert call("learn", "-v", 0, "--no-progress", *words) == status


def classified(*words):
    assert call("classify", "-v", 0, "--report", "report.json", *words) == 0
    return json.loads(Path("report.json").read_text())


def parts(name):
    """A model's text, without its marks; and these."""
    lines = uncertified(name).decode().splitlines(keepends=True)
    return "".join(x for x in lines if not x.startswith("#@ ")), [
        x for x in lines if x.startswith("#@ ")
    ]


def first_fields(name):
    return np.array([float(line.split()[0]) for line in Path(name).read_text().splitlines()])


@pytest.mark.parametrize(
    "words", [["-c", 1], ["-c", 5, "-t", 2, "-g", 0.1], ["-c", 1, "-l", "f1"]], ids=str
)
def test_any_pair_of_labels_gives_one_model_its_own_labels_and_the_measures_of_scikit_learn(words):
    texts, scores = set(), set()
    for pair in PAIRS:
        put("train", pair)
        put("test", pair, "breast_cancer.test")
        learn(*words, "--report", "learn.json", "train", "model")
        text, marks = parts("model")
        negative, positive = (float(label) for label in pair)
        assert ("#@ labels " in "".join(marks)) == ((negative, positive) != (-1, 1))
        report = classified("test", "model", "scores")
        classified("--labels", "test", "model", "labels")
        texts.add(text)
        scores.add(Path("scores").read_text())
        y, score, predicted = first_fields("test"), np.loadtxt("scores"), np.loadtxt("labels")
        np.testing.assert_array_equal(predicted, np.where(score > 0, positive, negative))
        area = metrics.roc_auc_score(y == positive, score)
        precision = metrics.average_precision_score(y == positive, score)
        y, predicted = y.astype(str), predicted.astype(str)  # scikit-learn takes -2.5 for no class
        own = {"pos_label": str(positive), "zero_division": 0}
        expected = {
            "accuracy": metrics.accuracy_score(y, predicted),
            "precision": metrics.precision_score(y, predicted, **own),
            "recall": metrics.recall_score(y, predicted, **own),
            "f1": metrics.f1_score(y, predicted, **own),
            "roc_area": area,
            "average_precision": precision,
        }
        assert {name: report[name] / 100 for name in expected} == pytest.approx(expected, abs=1e-12)
        table = metrics.confusion_matrix(y, predicted, labels=[str(negative), str(positive)])
        assert [[report["tn"], report["fp"]], [report["fn"], report["tp"]]] == table.tolist()
        learnt = json.loads(Path("learn.json").read_text())
        assert report["labels"] == learnt["labels"] == [negative, positive]
        for found, name in ((report, "test"), (learnt, "train")):
            y = first_fields(name)
            assert found["class_counts"] == [int((y == label).sum()) for label in found["labels"]]
    assert len(texts) == len(scores) == 1


def test_validation_and_training_measures_go_by_the_labels_of_the_model():
    found = []
    for pair in PAIRS:
        put("train", pair)
        put("test", pair, "breast_cancer.test")
        learn(
            *("-c", "0.1,1", "--validate", "test", "--select", "f1", "--report", "report.json"),
            *("train", "model"),
        )
        path = json.loads(Path("report.json").read_text())["path"]
        found.append([(row["training"], row["validation"]) for row in path])
        assert path[1]["validation"]["f1"] == classified("test", "model.1", "scores")["f1"] > 90
    assert all(rows == found[0] for rows in found)


def test_labels_of_a_validation_file_that_the_model_does_not_know_are_warned_of_once(capsys):
    put("train", ("1", "2"))
    put("test", ("-1", "2"), "breast_cancer.test")
    learn("-c", "0.1,1", "--validate", "test", "--report", "report.json", "train", "model")
    negatives = int((first_fields("test") == -1).sum())
    warning = (
        f"{negatives} of the 189 labels of test are neither 1 nor 2, which the model knows, and "
        "count as errors"
    )
    assert capsys.readouterr().err.count(f"svmcut learn: warning: {warning}\n") == 1
    report = json.loads(Path("report.json").read_text())
    assert report["warnings"] == [warning]
    assert all(row["validation"]["error_rate"] >= 100 * negatives / 189 for row in report["path"])


def test_a_named_class_is_compared_as_a_number_and_turns_the_model_around():
    put("train", ("-1", "+1"))
    learn("-c", 1, "train", "model")
    learn("-c", 1, "--positive", "1.0", "train", "same")
    assert Path("same").read_bytes() == Path("model").read_bytes()
    learn("-c", 1, "--positive", "-1", "train", "turned")
    assert parts("turned")[1] == ["#@ labels 1 -1\n"]
    classified("train", "model", "scores")
    report = classified("--labels", "train", "turned", "labels")
    assert report["labels"] == [1, -1]
    learn("-c", 1, "--positive", "-1", "--gap", "1e-6", "train", "turned")
    learn("-c", 1, "--gap", "1e-6", "train", "model")
    np.testing.assert_allclose(read_model("turned").w, -read_model("model").w, atol=1e-3)


def test_one_of_many_labels_against_the_rest_and_all_above_zero(capsys):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)).astype(np.float32), rng.integers(0, 4, 90)
    X[:, 0] += 2 * y
    rows = [" ".join(f"{j + 1}:{x:.6g}" for j, x in enumerate(row)) for row in X]
    Path("grades").write_text("".join(f"{label} {row}\n" for label, row in zip(y, rows)))
    Path("signs").write_text(
        "".join(f"{-1 if label == 0 else 1} {row}\n" for label, row in zip(y, rows))
    )
    Path("three").write_text(
        "".join(f"{1 if label == 3 else -1} {row}\n" for label, row in zip(y, rows))
    )
    learn("-c", 1, "--task", "classification", "grades", "model", status=1)
    assert capsys.readouterr().err == (
        "grades: the labels are 0, 1, 2, 3, but two classes are trained; name the positive one "
        "as in --positive 3, "
        "give --positive with '>0' for all labels above 0, or --task multiclass\n"
    )
    assert not Path("model").exists()
    learn("-c", 1, "--positive", ">0", "grades", "above")
    learn("-c", 1, "signs", "model")
    assert Path("above").read_bytes() == Path("model").read_bytes()
    learn("-c", 1, "--positive", "3", "grades", "third")
    learn("-c", 1, "three", "model")
    text, marks = parts("third")
    assert (text, marks) == (uncertified("model").decode(), ["#@ labels rest 3\n"])
    report = classified("--labels", "grades", "third", "labels")
    right = ["3" if label == 3 else "rest" for label in y]
    predicted = Path("labels").read_text().splitlines()
    assert set(predicted) == {"3", "rest"}
    assert report["accuracy"] / 100 == pytest.approx(metrics.accuracy_score(right, predicted))
    assert report["labels"] == [None, 3] and report["warnings"] == []
    learn("-c", 1, "--positive", "7", "grades", "model", status=2)
    assert (
        "--positive 7, but the labels of grades are 0, 1, 2, 3"
        in capsys.readouterr().err.replace("is 7", "7")
    )
    learn("-c", 1, "--positive", "x", "grades", "model", status=2)
    assert "--positive names 'x', but the labels of grades are numbers" in capsys.readouterr().err
    learn("--task", "multilabel", "-c", 1, "--positive", "1", "grades", "model", status=2)
    assert "--positive" in capsys.readouterr().err


def test_python_has_the_same_labels():
    X, y = np.eye(4, dtype=np.float32), [5, 5, 9, 9]
    outcome = svmcut.train((X, y), cost=1.0)
    assert outcome.model.labels == (5, 9) and outcome.model.loss is None
    assert svmcut.train((X, [-1, 1, 1, -1]), cost=1.0).model.labels is None
    assert svmcut.train((X, y), cost=1.0, positive=5, loss="f1").model.labels == (9, 5)
    assert svmcut.train((X, [1, 2, 3, 3]), cost=1.0, positive=3).model.labels == (None, 3)
    with pytest.raises(DataError, match="positive=4"):
        svmcut.train((X, [1, 2, 3, 4]), cost=1.0)
    with pytest.raises(UsageError, match="parameter 'positive' is 8"):
        svmcut.train((X, y), cost=1.0, positive=8)
    for value in (">1", float("nan"), "5", True):
        with pytest.raises(UsageError, match="parameter 'positive'"):
            svmcut.train((X, y), cost=1.0, positive=value)


def test_labels_a_model_does_not_know_are_errors_with_a_warning(capsys):
    put("train", ("1", "2"))
    learn("-c", 1, "train", "model")
    text = Path("train").read_text()
    before = classified("train", "model", "scores")
    Path("more").write_text(
        text + "".join(f"9 {line.partition(' ')[2]}\n" for line in text.splitlines()[:50])
    )
    capsys.readouterr()
    report = classified("--labels", "more", "model", "labels")
    warning = (
        "50 of the 430 labels of more are neither 1 nor 2, which the model knows, and count as "
        "errors"
    )
    assert report["warnings"] == [warning]
    assert capsys.readouterr().err == f"svmcut classify: warning: {warning}\n"
    y, predicted = first_fields("more"), np.loadtxt("labels")
    assert report["accuracy"] / 100 == pytest.approx(metrics.accuracy_score(y, predicted))
    assert report["error_rate"] == pytest.approx(100 - report["accuracy"])
    table = metrics.confusion_matrix(y, predicted, labels=[1, 2, 9])
    assert (report["tp"], report["tn"], report["fn"]) == (table[1, 1], table[0, 0], table[1, 0])
    assert report["fp"] == table[0, 1] + table[2, 1] and table[2, 1] > 0
    assert report["recall"] == before["recall"] and report["class_counts"] == before["class_counts"]


@pytest.mark.parametrize("label", ["-1", "1", "0", "2", "-3.5"])
def test_one_label_is_what_the_hinge_predicts_and_a_measure_of_two_classes_refuses(label, capsys):
    Path("one").write_text(f"{label} 1:1\n{label} 1:3 2:-1\n")
    learn("-c", 1, "one", "model")
    error = capsys.readouterr().err
    assert (
        error.startswith("svmcut learn: warning: all 2 labels of one are ")
        and "no other class" in error
    )
    assert classified("--labels", "one", "model", "labels")["accuracy"] == 100
    assert np.loadtxt("labels").tolist() == [float(label)] * 2
    for loss in ("zero-one", "f1", "roc-area"):
        learn("-c", 1, "-l", loss, "one", "none", status=1)
        assert (
            f"one: loss '{loss}' needs two classes, but all 2 labels are {label}\n"
            in capsys.readouterr().err
        )
    assert not Path("none").exists()


def test_the_executables_keep_their_rule_and_their_models(capsys):
    put("train", ("1", "2"))
    put("signs", ("-1", "+1"))
    assert perf.svm_perf_learn(["-v", "0", "-c", "1", "train", "model"]) == 0
    assert (
        parts("model")[1] == []
        and not (read_model("model").scores(svmcut_rows("train")) <= 0).any()
    )
    assert perf.svm_perf_learn(["-v", "0", "-c", "1", "-w", "3", "-l", "10", "signs", "area"]) == 0
    assert parts("area")[1] == []
    learn("-c", 1, "-l", "roc-area", "signs", "own")
    text, marks = parts("own")
    assert (text, marks) == (Path("area").read_text(), ["#@ loss roc-area\n"])
    assert read_model("own").loss == "roc-area" and read_model("area").loss is None
    capsys.readouterr()
    learn("-c", 1, "train", "model")
    assert perf.svm_perf_classify(["-v", "0", "train", "model", "scores"]) == 0
    share = 100 * (np.loadtxt("scores") > 0).mean()  # every label is above 0
    assert f"Recall   : {share:.2f}\n" in capsys.readouterr().out


def svmcut_rows(name):
    from svmcut.files.examples import read_examples

    return read_examples(name).X


def test_a_resumed_run_keeps_the_labels(capsys):
    put("train", ("1", "2"))
    words = ("-l", "f1", "-c", "1,20", "--checkpoint", "state", "train")
    learn("-l", "f1", "-c", "1,20", "train", "whole")
    learn("--time-limit", 0.01, *words, "parts", status=3)
    learn("--resume", *words, "parts")
    for C in ("1", "20"):
        assert Path(f"whole.{C}").read_bytes() == Path(f"parts.{C}").read_bytes()
        assert parts(f"parts.{C}")[1] == ["#@ labels 1 2\n", "#@ loss f1\n"]
    learn("--time-limit", 0.01, *words, "parts", status=3)
    learn("--resume", "--positive", "1", *words, "parts", status=1)
    assert "--positive was None and is 1" in capsys.readouterr().err
