# SPDX-License-Identifier: BSD-3-Clause
"""Several classes, named by --task multiclass or by the labels, from files to predictions and
reports."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from programs import call, forked
from sklearn import metrics

import svmcut
from svmcut.base.errors import DataError, UsageError
from svmcut.data.examples import Csr
from svmcut.formats import read_model

NAMES = (-3, 0, 5, 12)
TWO = "; or train one against the others as in --positive 12\n"


def put(name, labels, X):
    """A file of these rows, and their labels."""
    Path(name).write_text(
        "".join(
            f"{label:g} " + " ".join(f"{j + 1}:{x:g}" for j, x in enumerate(row) if x) + "\n"
            for label, row in zip(labels, X, strict=True)
        )
    )


@pytest.fixture(autouse=True)
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(160, 6)), 3)
    y = np.array(NAMES)[np.argmax(X[:, :4] + 0.7 * rng.normal(size=(160, 4)), axis=1)]
    put("train", y[:120], X[:120])
    put("test", y[120:], X[120:])
    put("two", np.where(y == 5, 1, 2), X)
    put("halves", y / 2, X)
    put("few", np.arange(160) // 4, X)
    put("hundred", np.arange(100).repeat(8), np.tile(X, (5, 1)))
    put("more", np.arange(101).repeat(8), np.tile(X, (6, 1))[:808])
    return X.astype(np.float32), y


def learn(*words, status=0):
    done = forked("svmcut", "learn", *words)
    assert done.returncode == status, done.stderr
    return done


def learnt(*words):
    learn("-v", 0, "--report", "learn.json", *words)
    return json.loads(Path("learn.json").read_text())


def test_three_labels_or_more_name_the_task_and_the_log_says_so():
    log = learn("--format", "original", "train", "model").stdout
    assert (
        log.count(
            "\n4 classes: multiclass\nTraining set properties: 7 features, 120 examples, 4 "
            "classes\n"
        )
        == 1
    )
    assert "in svm_multiclass's unit (-c), 1 per example (--example-cost)\n" in log
    learn("--task", "multiclass", "train", "named")
    assert Path("model").read_bytes() == Path("named").read_bytes()
    assert "classes:" not in learn("--task", "multiclass", "train", "named").stdout
    assert (
        "classes:" not in learn("two", "model").stdout
        and b"SVM-light" in Path("model").read_bytes()
    )
    assert "classes:" not in learn("--positive", 5, "train", "model").stdout
    assert "100 classes: multiclass" in learn("-e", 50, "hundred", "model").stdout


def test_the_report_and_the_predictions_of_a_model_that_named_itself(rows):
    y = rows[1]
    report = learnt("--example-cost", 0.5, "--gap", 1e-4, "train", "model")
    assert (report["task"], report["loss"], report["labels"]) == (
        "multiclass",
        "error-rate",
        [*NAMES],
    )
    assert report["class_counts"] == [int((y[:120] == name).sum()) for name in NAMES]
    assert report["converged"] and 0 <= report["relative_gap"] <= 1e-4
    assert report["options"]["task"] == "multiclass" and report["warnings"] == []
    done = forked("svmcut", "classify", "test", "model", "scores", "--report", "classify.json")
    lines = Path("scores").read_text().splitlines()
    assert (
        all(re.fullmatch(r"-?\d+( -?\d+\.\d{8}){4}", line) for line in lines) and len(lines) == 40
    )
    table = np.loadtxt("scores")
    np.testing.assert_array_equal(table[:, 0], np.array(NAMES)[np.argmax(table[:, 1:], axis=1)])
    found = json.loads(Path("classify.json").read_text())
    assert found["labels"] == [*NAMES]
    assert found["confusion"] == metrics.confusion_matrix(y[120:], table[:, 0]).tolist()
    assert found["accuracy"] / 100 == pytest.approx(metrics.accuracy_score(y[120:], table[:, 0]))
    assert found["f1"] / 100 == pytest.approx(
        metrics.f1_score(y[120:], table[:, 0], average="macro")
    )
    assert (
        f"Accuracy          {found['accuracy']:7.2f} %\n" in done.stdout
        and not {"tp", "fp"} & found.keys()
    )
    assert forked("svmcut", "classify", "--labels", "test", "model", "labels").returncode == 0
    assert Path("labels").read_text().split() == [line.split()[0] for line in lines]


def test_a_path_with_validation_and_weights_goes_by_the_classes():
    report = learnt("-c", "1,100", "--validate", "test", "--select", "f1", "train", "model")
    values = [row["validation"]["f1"] for row in report["path"]]
    assert (
        Path("model").read_bytes() == Path(f"model.{(1, 100)[int(np.argmax(values))]}").read_bytes()
    )
    learnt("--class-weight", "balanced", "train", "model")
    learnt("--class-weight", "balanced", "--task", "multiclass", "train", "named")
    assert Path("model").read_bytes() == Path("named").read_bytes()
    done = learn("--class-weight", "-3=0,0=0", "train", "model")  # what is left are two classes
    assert "Left out: " in done.stdout and "classes: " not in done.stdout
    rest = learnt("--multiclass", "one-vs-rest", "--solver", "newton", "train", "rest")
    assert rest["task"] == "multiclass" and rest["solver"] == "newton"
    assert Path("rest").read_bytes() != Path("named").read_bytes()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("-l", "f1", "-c", 1),
            "loss 'f1' is not for classes; expected one of error-rate, squared-difference, "
            "squared-hinge, logistic",
        ),
        (("-w", 9), "-w 9 is an algorithm for two; leave it out"),
        (
            ("-t", 2, "-g", 1, "--t", 1, "--i", 0),
            "--t is for --task classification, rank, regression or survival; leave it out",
        ),
        (
            ("--select", "roc-area", "--validate", "test"),
            "--select roc-area is a measure of two; expected one of error-rate, accuracy, "
            "precision, recall, f1",
        ),
        (
            ("--solver", "newton"),
            "solver 'newton' trains two classes; give --multiclass one-vs-rest or leave out "
            "--solver",
        ),
    ],
    ids=str,
)
def test_what_two_classes_alone_can_use_is_refused_after_reading(words, says):
    done = learn(*words, "train", "model", status=2)
    assert done.stderr == f"svmcut learn: train has 4 classes: {says}{TWO}"
    assert not Path("model").exists()
    learn(
        "-v", 0, *("two" if word == "test" else word for word in words), "two", "model"
    )  # which can honour it


def test_labels_that_may_be_something_else_are_refused_with_the_remedies():
    one = "name the positive class of two as in --positive"
    said = learn("halves", "model", status=1).stderr
    assert said == (
        "halves: the labels are -1.5, 0, 2.5, 6, which are no names of classes, for not all are "
        "whole; give --task "
        f"regression to learn numbers, or {one} 6\n"
    )
    learn("-v", 0, "--task", "regression", "halves", "model")
    learn("-v", 0, "--positive", 6, "halves", "model")
    for name, n, count in (("few", 160, 40), ("more", 808, 101)):
        said = learn(name, "model", status=1).stderr
        assert said == (
            f"{name}: the labels of {n} rows are {count} whole numbers, 0, 1, 2, 3, 4, ...; give "
            "--task multiclass if "
            f"they are classes, --task regression if they are numbers, or {one} {count - 1}\n"
        )
    learn("-v", 0, "--task", "multiclass", "-e", 50, "few", "model")
    said = learn("--task", "multiclass", "halves", "model", status=1).stderr
    assert said.startswith("halves:1: label ") and "is not whole" in said


def test_a_named_task_and_two_labels_stay_what_they_are():
    said = learn("--task", "classification", "train", "model", status=1).stderr
    assert said == (
        "train: the labels are -3, 0, 5, 12, but two classes are trained; name the positive one "
        "as in --positive 12, "
        "give --positive with '>0' for all labels above 0, or --task multiclass\n"
    )
    said = learn("--task", "classification", "halves", "model", status=1).stderr
    assert said.endswith("above 0, or --task regression\n")
    said = learn("--multiclass", "one-vs-rest", "two", "model", status=2).stderr
    assert said == (
        "svmcut learn: --multiclass is for three labels or more, but the labels of two are 1, 2; "
        "leave it out or give "
        "--task multiclass\n"
    )
    for words in (("--task", "classification"), ("--positive", 5)):
        said = learn(*words, "--multiclass", "one-vs-rest", "no file", "model", status=2).stderr
        assert said == "svmcut learn: --multiclass is for --task multiclass; leave it out\n"
    assert learnt("--task", "multiclass", "two", "model")["labels"] == [1, 2]
    assert (
        forked("svm_perf_learn", "-c", 1, "train", "model").returncode == 0
    )  # labels above 0 are positive there
    assert b"SVM-light" in Path("model").read_bytes()


def test_one_class_alone_is_predicted_with_a_warning():
    put("one", np.full(6, 4), np.eye(6))
    report = learnt("--task", "multiclass", "one", "model")
    assert report["labels"] == [4]
    assert report["warnings"] == ["all 6 labels of one are 4; there is no other class to learn"]
    assert (
        forked(
            "svmcut", "classify", "two", "model", "scores", "--report", "classify.json"
        ).returncode
        == 0
    )
    assert {line.split()[0] for line in Path("scores").read_text().splitlines()} == {"4"}
    found = json.loads(Path("classify.json").read_text())
    assert found["accuracy"] == 0 and found["warnings"] == [
        "160 labels of two are of no class the model knows, and count as errors"
    ]


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("way", "kernel"),
    [("crammer-singer", 0), ("one-vs-rest", 0), ("one-vs-one", 2), ("one-vs-rest", 2)],
)
@pytest.mark.parametrize(
    "solver", ["dual-cd", pytest.param("cutting-plane", marks=pytest.mark.slow)]
)
def test_threads_and_a_run_that_goes_on_change_no_byte(way, solver, kernel):
    solver = "smo" if kernel and solver == "dual-cd" else solver
    words = ("-v", 0, "--multiclass", way, "--solver", solver, "--gap", 1e-5, "-t", kernel)
    learn(*words, "--threads", 1, "train", "whole")
    learn(*words, "--threads", 3, "train", "threads")
    assert Path("threads").read_bytes() == Path("whole").read_bytes()
    kept = ("--checkpoint", "state", "--checkpoint-every", 0)
    learn(*words, *kept, "--max-iterations", 3, "train", "model", status=3)
    assert Path("state").exists() and Path("model").read_bytes() != Path("whole").read_bytes()
    refused = learn(*words, *kept, "--resume", "--b", 0, "train", "model", status=1).stderr
    assert "is of another run: --bias was None and is 0.0" in refused
    # the same run, whichever of labels and option names it
    learn(
        *(*words, *kept, "--resume", "--task", "multiclass", "--max-iterations", 4, "train"),
        "model",
        status=3,
    )
    learn(*words, *kept, "--resume", "train", "model")
    assert Path("model").read_bytes() == Path("whole").read_bytes() and not Path("state").exists()


def test_python_names_the_task_by_the_same_rule(rows):
    X, y = rows
    outcome = svmcut.train((X, y), gap=1e-3, threads=1)
    assert outcome.model.names.tolist() == [*NAMES]
    named = svmcut.train((X, y), task="multiclass", gap=1e-3, threads=1)
    np.testing.assert_array_equal(outcome.model.W, named.model.W)
    assert svmcut.train((X, y), positive=5).model.labels == (None, 5)
    assert svmcut.train("train").model.names.tolist() == [*NAMES]
    for parameters, error, says in (
        ({"task": "classification"}, DataError, "two classes are trained.* or task='multiclass'"),
        (
            {"solver": "newton"},
            UsageError,
            "has 4 classes: solver 'newton' trains two classes.* as in positive=12",
        ),
        (
            {"task": "classification", "multiclass": "one-vs-rest"},
            UsageError,
            "for task='multiclass'; leave it out",
        ),
    ):
        with pytest.raises(error, match=says):
            svmcut.train((X, y), **parameters)
    with pytest.raises(UsageError, match="is for three labels or more"):
        svmcut.train((X, y == 5), multiclass="one-vs-rest")
    with pytest.raises(DataError, match="give task='regression'"):
        svmcut.train((X, y + 0.5))


@pytest.mark.parametrize("way", ["one-vs-rest", "one-vs-one"])
def test_classes_with_a_kernel_from_the_file_to_the_table(way):
    report = learnt(
        *("-t", 2, "-g", 0.3, "--solver", "smo", "--multiclass", way, "-c", "1000,40000"),
        *("--validate", "test", "--select", "accuracy", "train", "model"),
    )
    assert report["task"] == "multiclass" and report["solver"] == "smo" and report["warnings"] == []
    machines, paired = report["machines"], way == "one-vs-one"
    assert (
        [row["labels"] for row in machines]
        == [[a, b] for k, a in enumerate(NAMES) for b in NAMES[k + 1 :]]
        if paired
        else [[label] for label in NAMES]
    )
    for key in ("primal", "dual", "gap", "iterations"):
        assert report[key] == pytest.approx(sum(row[key] for row in machines))
    assert report["converged"] and all(row["converged"] and row["threshold"] for row in machines)
    assert Path("model").read_bytes().startswith(b"svmcut multiclass 1\n2 # kernel type\n")
    assert Path("model").read_bytes() in (
        Path("model.1000").read_bytes(),
        Path("model.40000").read_bytes(),
    )
    assert (
        forked(
            "svmcut", "classify", "test", "model", "scores", "--report", "classify.json"
        ).returncode
        == 0
    )
    table, found = np.loadtxt("scores"), json.loads(Path("classify.json").read_text())
    np.testing.assert_array_equal(table[:, 0], np.array(NAMES)[np.argmax(table[:, 1:], axis=1)])
    assert found["accuracy"] == max(row["validation"]["accuracy"] for row in report["path"]) > 50
    if paired:
        assert (table[:, 1:].sum(axis=1) == 6).all()
    model, X = svmcut.load("model"), svmcut.load_svmlight_file("test", n_features=6)[0]
    np.testing.assert_allclose(model.decision_function(X), table[:, 1:], atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), table[:, 0])
    done = forked("svmcut", "inspect", "model")
    assert (
        f"-3 against {'0' if paired else 'the rest'}  " in done.stdout
        and "Kernel            rbf" in done.stdout
    )


@pytest.mark.parametrize(
    ("case", "data", "C"),
    [("mc_c1", "mc3", 1), ("mc_c001", "mc3", 0.01), ("mc_k5", "mc5", 100), ("mc_k5_w3", "mc5", 20)],
)
def test_models_and_objectives_of_svm_multiclass(shared, case, data, C):
    cases = shared / "golden" / "light" / "cases"
    test, train = (cases / "inputs" / f"{data}{part}.dat" for part in ("_test", ""))
    assert forked("svmcut", "classify", test, cases / case / "model", "scores").returncode == 0
    expected = np.loadtxt(cases / f"{case}.classify" / "pred")
    found = np.loadtxt("scores")
    np.testing.assert_array_equal(found[:, 0], expected[:, 0])
    np.testing.assert_allclose(found, expected, atol=2e-6)
    told = (cases / case / "stdout.txt").read_text()
    primal, dual = (float(re.search(rf"{name}=(\S+)", told)[1]) / 1e4 for name in ("pval", "dval"))
    report = learnt("-c", C, "--b", 0, "--gap", 1e-5, train, "model")
    assert report["task"] == "multiclass" and report["converged"]
    assert report["dual"] <= primal * (1 + 1e-6) and dual * (1 - 1e-6) <= report[
        "primal"
    ] <= primal * (1 + 2e-5)


def test_algorithms_rescalings_and_norms_of_svm_multiclass_end_at_one_optimum(rows):
    X, y = rows
    place = np.searchsorted(NAMES, y[:120])
    found = {}
    for words in (
        (),
        ("-w", 4),
        ("-o", "slack"),
        ("-p", 2, "-w", 1),
        ("-p", 2, "-w", 0, "-o", "slack"),
    ):
        report = learnt("-c", 3, "--b", 0, "--gap", 1e-6, *words, "train", "model")
        s = svmcut.load("model").decision_function(X[:120])
        W = read_model("model").W
        slack = "slack" in words
        height = 1 if slack else 10 if 2 in words else 100
        G = s - s[np.arange(120), place][:, None] + height
        G[np.arange(120), place] = 0
        xi = G.max(axis=1) * (1 if not slack else 10 if 2 in words else 100)
        primal = 0.5 * (W**2).sum() + 3 * (xi ** (2 if 2 in words else 1)).mean()
        found[words] = primal, report["primal"] * height**2
        assert report["converged"]
    for primal, told in found.values():
        assert primal == pytest.approx(told, rel=2e-6)
    assert found[()][0] == pytest.approx(found["-w", 4][0], rel=2e-6)
    assert len({round(primal, 3) for primal, _ in found.values()}) == 4
    for words in (("-o", "slack"), ("-p", "2", "-w", "0")):
        said = learn(
            "-c", 3, *words, "--multiclass", "one-vs-rest", "train", "none", status=2
        ).stderr
        assert (
            f"{' '.join(words[:2])} is for --multiclass crammer-singer; give that, or leave it out"
            in said
        )


def test_the_names_of_svm_multiclass(rows, capsys):
    """Classes 1 to the largest, labels cut at the point, its units and its text of predictions."""
    X, y = rows
    names = np.array([1.0, 2.9, 3.2, 4.0])[np.searchsorted(NAMES, y)]
    put("halves", names[:120], X[:120])
    put("rest", names[120:], X[120:])
    assert (
        call(
            "svm_multiclass_learn",
            *("-c", 3, "-e", "0.001", "-a", "alphas", "-l", 0, "--x", 1, "halves", "new"),
        )
        == 0
    )
    told = capsys.readouterr()
    assert (
        call("svm_multiclass_learn", "-c", 3, "-e", "0.001", "-v", 0, "halves", "fast") == 0
    )  # no cuts
    report = learnt("-c", 3, "--b", 0, "-e", 0.001, "train", "model")
    np.testing.assert_allclose(read_model("fast").W, read_model("model").W, rtol=1e-6)
    primal, dual = (
        float(re.search(rf"{name}=(\S+)", told.out)[1]) / 1e4 for name in ("pval", "dval")
    )
    assert (
        told.err == ""
        and dual * (1 - 1e-8) <= report["primal"]
        and report["dual"] <= primal * (1 + 1e-8)
    )
    assert "\nTraining set properties: 6 features, 4 classes\n" in told.out
    assert np.loadtxt("alphas").sum() == pytest.approx(3)
    capsys.readouterr()
    assert call("svm_multiclass_classify", "-v", 0, "rest", "new", "scores") == 0
    assert capsys.readouterr().out == " (40 examples) "
    assert call("svm_multiclass_classify", "rest", "new", "scores") == 0
    right = int((np.loadtxt("scores")[:, 0] == np.trunc(names[120:])).sum())
    assert f"({right} correct, {40 - right} incorrect, 40 total)\n" in capsys.readouterr().out
    scores = read_model("new").scores(Csr.from_dense(X[120:121]))[0]
    line = f"{np.argmax(scores) + 1} " + " ".join(f"{score:f}" for score in scores)
    assert Path("scores").read_text().startswith(f"{line}\n")
    put("gap", np.where(names == 4, 7, names)[:120], X[:120])
    assert call("svm_multiclass_learn", "-c", 3, "gap", "new") == 0
    assert read_model("new").names.tolist() == [1, 2, 3, 4, 5, 6, 7]
    put("zero", [1, 0.9], X[:2])
    assert call("svm_multiclass_learn", "-c", 1, "zero", "none") == 1
    assert (
        "zero:2: label 0.9 is no class; expected a number of at least 1\n"
        in capsys.readouterr().err
    )
    assert call("svm_multiclass_classify", "zero", "new", "none") == 1 and not Path("none").exists()
