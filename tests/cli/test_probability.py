# SPDX-License-Identifier: BSD-3-Clause
"""--probability: what is fitted to which scores, what classify writes and measures, and what ends
training before."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from programs import call, uncertified

import svmcut
from svmcut.base.errors import ModelError, TrainingError, UsageError
from svmcut.data.examples import Examples, Source
from svmcut.data.folds import make_folds
from svmcut.files.examples import read_examples
from svmcut.formats import read_model
from svmcut.scoring.probabilities import LOG_ODDS, couple_pairs, fit_sigmoid, fit_temperature
from svmcut.training.calibration import CalibratedDriver

KINDS = {
    "linear": ("pairs", ()),
    "original C": ("pairs", ("-c", "3", "--gap", "0.001")),
    "kernel": ("pairs", ("-t", "2", "-g", "0.5", "--solver", "smo")),
    "span": (
        "pairs",
        ("-t", "2", "-g", "0.5", "--solver", "subspace", "--k", "20", "--no-certify"),
    ),
    "areas": ("pairs", ("-l", "roc-area", "-c", "1")),
    "classes": ("several", ()),
    "percent": ("several", ("-c", "100")),
    "machines": ("several", ("-t", "2", "--multiclass", "one-vs-rest")),
    "rest": ("several", ("--multiclass", "one-vs-rest", "-l", "logistic")),
}


def rows(path, y, X):
    lines = (
        f"{label} " + " ".join(f"{j + 1}:{value:g}" for j, value in enumerate(x))
        for label, x in zip(y, X)
    )
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, labels in (("pairs", [3, 7]), ("several", [2, 5, 9])):
        for part, n in ((name, 90), (f"{name}.test", 60)):
            k = rng.integers(0, len(labels), n)
            rows(part, np.array(labels)[k], np.round(rng.normal(size=(n, 4)) + np.eye(4)[k], 2))
    return tmp_path


def learn(*words, status=0):
    assert call("svmcut learn", "-v", 0, "--no-progress", *words) == status


def classify(*words):
    assert call("svmcut classify", "-v", 0, "--report", "report", *words) == 0
    return json.loads(Path("report").read_text())


def bare(model):
    """The text of a model without its last line."""
    return uncertified(model).decode()


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", KINDS)
def test_the_model_is_that_of_all_rows_and_one_more_line(kind):
    train, words = KINDS[kind]
    learn(*words, train, "plain")
    learn("--probability", "--report", "learnt", *words, "--threads", 1, train, "model")
    learn("--probability", *words, "--threads", 2, train, "again")
    plain, text = bare("plain"), bare("model")
    name, *numbers = text.removeprefix(plain).removeprefix("#@ ").split()
    assert text.startswith(plain)
    assert Path("model").read_bytes() == Path("again").read_bytes()
    assert (name, len(numbers)) == (("sigmoid", 2) if train == "pairs" else ("temperature", 1))
    assert text == plain + f"#@ {name} {' '.join(f'{float(number):.17g}' for number in numbers)}\n"
    report = json.loads(Path("learnt").read_text())
    K = 2 if train == "pairs" else 3
    assert 0 < report["log_loss"] < np.log(K) and 0 < report["brier"] < 1 - 1 / K
    found = classify("--probability", f"{train}.test", "model", "columns")
    p, names = np.loadtxt("columns"), found["labels"]
    assert p.shape == (60, K)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-7)
    places = np.searchsorted(names, read_examples(f"{train}.test").y)
    assert found["log_loss"] == pytest.approx(-np.log(p[np.arange(60), places]).mean(), rel=1e-5)
    squares = ((p - np.eye(K)[places]) ** 2).sum(axis=1).mean()
    assert found["brier"] == pytest.approx(squares / (2 if K == 2 else 1), rel=1e-5)
    classify("--labels", f"{train}.test", "model", "labels")
    classify("--labels", "--probability", f"{train}.test", "model", "both")
    parts = (Path(file).read_text().splitlines() for file in ("labels", "columns"))
    assert Path("both").read_text().splitlines() == [" ".join(pair) for pair in zip(*parts)]


@pytest.mark.parametrize("kind", ["linear", "original C", "kernel", "classes", "percent"])
def test_what_is_fitted_are_the_scores_of_five_folds(kind):
    train, words = KINDS[kind]
    keys = {"-c": "cost", "--gap": "gap", "-t": "kernel", "-g": "gamma", "--solver": "solver"}
    given = {
        keys[name]: value if value.isalpha() else float(value)
        for name, value in zip(words[::2], words[1::2])
    }
    given |= {"kernel": "rbf"} if "kernel" in given else {}
    weights = np.random.default_rng(1).integers(1, 4, 90).astype(float)
    data = read_examples(train)
    X, y = data.X.to_dense(), data.y
    outcome = svmcut.train((X, y), weights=weights, probability=True, seed=5, **given)
    task = "classification" if train == "pairs" else "multiclass"
    parts = make_folds(task, Examples(data.X, y, None, weights, Source("X")), 5, 5)
    places, scores = np.unique(y, return_inverse=True)[1], []
    for fold in parts:
        own = given | (
            {"cost": given["cost"] * weights[fold.train].sum() / weights.sum()}
            if "cost" in given
            else {}
        )
        part = svmcut.train(
            (X[fold.train], y[fold.train]), weights=weights[fold.train], seed=5, **own
        )
        scores.append(part.model.scores(data.X.take(np.flatnonzero(fold.held))))
    order = np.argsort(np.concatenate([np.flatnonzero(fold.held) for fold in parts]))
    scores = np.concatenate(scores)[order]
    if task == "classification":
        np.testing.assert_allclose(
            outcome.model.sigmoid, fit_sigmoid(scores, places == 1, weights), rtol=1e-12
        )
    else:
        np.testing.assert_allclose(
            outcome.model.temperature, fit_temperature(scores, places, weights), rtol=1e-12
        )


def test_pairs_of_classes_have_a_sigmoid_each():
    weights = np.random.default_rng(1).integers(1, 4, 90).astype(float)
    data = read_examples("several")
    X, places = data.X.to_dense(), np.unique(data.y, return_inverse=True)[1]
    model = svmcut.train(
        (X, data.y), weights=weights, probability=True, kernel="rbf", gamma=0.5
    ).model
    decisions = np.empty((90, 3))
    for fold in make_folds(
        "multiclass", Examples(data.X, data.y, None, weights, Source("X")), 5, 0
    ):
        part = svmcut.train(
            (X[fold.train], data.y[fold.train]),
            weights=weights[fold.train],
            kernel="rbf",
            gamma=0.5,
        )
        decisions[fold.held] = part.model.decisions(data.X.take(np.flatnonzero(fold.held)))
    for k, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        of = (places == i) | (places == j)
        fitted = fit_sigmoid(decisions[of, k], places[of] == i, weights[of])
        np.testing.assert_allclose(model.sigmoids[k], fitted, rtol=1e-9)
    learn("-t", "2", "-g", "0.5", "several", "plain")
    learn("-t", "2", "-g", "0.5", "--probability", "several", "model")
    own = read_model("model")
    values = " ".join(f"{value:.17g}" for fitted in own.sigmoids for value in fitted)
    assert bare("model") == bare("plain") + f"#@ sigmoid {values}\n"
    found, test = (
        classify("--probability", "several.test", "model", "out"),
        read_examples("several.test"),
    )
    p = couple_pairs(own.decisions(test.X), own.sigmoids, 3)
    np.testing.assert_allclose(np.loadtxt("out"), p, atol=1e-7)
    assert 0 < found["log_loss"] < np.log(3)
    for line in ("#@ sigmoid -1 0\n", "#@ sigmoid -1\n", "#@ temperature 1\n"):
        Path("bad").write_text(bare("plain") + line)
        with pytest.raises(ModelError, match="refused; expected"):
            read_model("bad")


def test_every_model_of_a_path_has_its_own():
    learn("--probability", "--example-cost", "0.1,1", "pairs", "model")
    learn("--probability", "--example-cost", "0.1", "pairs", "alone")
    one, other = (read_model(f"model.{C}").sigmoid for C in ("0.1", "1"))
    assert one == read_model("alone").sigmoid and one != other


def test_folds_that_choose_fit_no_probabilities_of_their_own(monkeypatch):
    made, part = [], CalibratedDriver._part
    monkeypatch.setattr(
        CalibratedDriver, "_part", lambda self, data: made.append(1) or part(self, data)
    )
    learn("--probability", "--cv", 3, "--example-cost", "0.001,1", "pairs", "model")
    assert len(made) == 5
    learn("--probability", "--example-cost", "1", "pairs", "alone")
    assert Path("model").read_bytes() == Path("alone").read_bytes()


def test_the_logistic_loss_has_probabilities_of_its_own(monkeypatch):
    learn("-l", "logistic", "pairs", "plain")
    monkeypatch.setattr(CalibratedDriver, "_part", None)  # no folds
    learn("-l", "logistic", "--probability", "pairs", "model")
    assert bare("model") == bare("plain") + "#@ sigmoid -1 0\n"
    for model in ("plain", "model"):
        classify("--probability", "pairs.test", model, model + ".out")
    assert Path("plain.out").read_bytes() == Path("model.out").read_bytes()
    scores = read_model("plain").scores(read_examples("pairs.test").X)
    np.testing.assert_allclose(np.loadtxt("plain.out")[:, 1], 1 / (1 + np.exp(-scores)), rtol=1e-7)
    learn("-l", "logistic", "--multiclass", "one-vs-rest", "several", "rest")
    classify("--probability", "several.test", "rest", "rest.out")
    odds = 1 / (1 + np.exp(-read_model("rest").scores(read_examples("several.test").X)))
    np.testing.assert_allclose(
        np.loadtxt("rest.out"), odds / odds.sum(axis=1, keepdims=True), rtol=1e-7
    )


def test_what_has_no_probabilities_says_so(capsys):
    learn("pairs", "plain")
    learn("several", "classes")
    learn("--task", "regression", "pairs", "numbers")
    for model in ("plain", "classes"):
        assert call("svmcut classify", "--probability", "pairs", model, "out") == 1
        told = (
            f"{model}: the model has no probabilities; train it with svmcut learn --probability, "
            "or "
            "with -l logistic"
        )
        assert told in capsys.readouterr().err
    assert call("svmcut classify", "--probability", "pairs", "numbers", "out") == 1
    assert "no probabilities; numbers have none" in capsys.readouterr().err
    assert not Path("out").exists()
    assert call("svmcut rank", "--probability", "pairs", "out") == 2
    with pytest.raises(UsageError, match="'probability' is for task='classification'"):
        svmcut.train("pairs", task="rank", probability=True)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            [1] * 9 + [2],
            "there is one row of a class; probabilities need two rows of every class, so leave out",
        ),
        ([1] * 9, "all rows are of one class"),
        ([1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3], "there is one row of a class"),
    ],
)
def test_classes_of_too_few_rows_are_refused(y, message):
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    with pytest.raises(TrainingError, match=message):
        svmcut.train((X, np.array(y)), probability=True)


def test_labels_without_a_chance_and_unlabelled_rows():
    learn("--probability", "pairs", "model")
    Path("odd").write_text("4 1:1\n")
    found = classify("--probability", "odd", "model", "out")
    assert found["log_loss"] == pytest.approx(-np.log(2.0**-52))
    found = classify("--probability", "--unlabelled", "odd", "model", "again")
    assert Path("out").read_bytes() == Path("again").read_bytes() and "log_loss" not in found
    Path("queries").write_text("3 qid:1 1:1\n7 qid:1 2:1\n")
    found = classify("--probability", "queries", "model", "out")
    assert "swapped_percent" in found and "log_loss" not in found


def test_the_report_has_them_beside_the_measures(capsys):
    learn("--probability", "pairs", "model")
    capsys.readouterr()
    found = classify("--probability", "pairs.test", "model", "out")
    told = capsys.readouterr().out
    assert (
        f"\nLog loss          {found['log_loss']:7.4f}\nBrier score       {found['brier']:7.4f}\n"
        in told
    )
    assert call("svmcut learn", "--probability", "pairs", "model") == 0
    assert "Probabilities  log loss 0." in capsys.readouterr().out


def killed(monkeypatch, number, at):
    """Sends this process a signal when the machine of that part is due."""
    made, part = [], CalibratedDriver._part

    def spy(self, data):
        made.append(data)
        if len(made) == at:
            os.kill(os.getpid(), number)
        return part(self, data)

    monkeypatch.setattr(CalibratedDriver, "_part", spy)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "words", [("pairs",), ("several",), ("-t", "2", "pairs"), ("-c", "1,10", "pairs")], ids=str
)
def test_a_run_terminated_between_folds_goes_on_to_the_same_bytes(monkeypatch, words):
    several = "1,10" in words
    names = ("model.1", "model.10") if several else ("model",)
    learn("--probability", *words, "model")
    whole = [Path(name).read_bytes() for name in names]
    Path(names[-1]).unlink()
    with monkeypatch.context() as patch:
        killed(patch, signal.SIGTERM, 8 if several else 3)
        learn("--probability", "--checkpoint", "state", *words, "model", status=75)
    assert not Path(names[-1]).exists()
    learn("--probability", "--checkpoint", "state", "--resume", *words, "model")
    assert [Path(name).read_bytes() for name in names] == whole and not Path("state").exists()


def test_what_ends_training_before_leaves_the_model_without(monkeypatch, capsys):
    learn("pairs", "plain")
    learn("--probability", "--time-limit", "1e-9", "pairs", "model", status=3)
    assert (
        "training ended before the probabilities were fitted; the model has none"
        in capsys.readouterr().err
    )
    assert read_model("model").sigmoid is None
    with monkeypatch.context() as patch:
        killed(patch, signal.SIGINT, 2)
        learn("--probability", "--report", "report", "pairs", "model", status=130)
    assert Path("model").read_bytes() == Path("plain").read_bytes()
    assert json.loads(Path("report").read_text())["stopped_by"] == "interrupt"
    learn(
        *("--probability", "--max-iterations", "2", "--solver", "cutting-plane", "pairs", "model"),
        status=3,
    )
    assert read_model("model").sigmoid not in (None, LOG_ODDS)


def test_inspect_shows_what_is_fitted(capsys):
    shown = {
        ("pairs", "--probability"): "1 / (1 + exp(",
        ("several", "--probability"): "softmax of ",
        ("pairs", "-l", "logistic"): "1 / (1 + exp(-1 score + 0))",
        (
            "several",
            "-l",
            "logistic",
            "--multiclass",
            "one-vs-rest",
        ): "1 / (1 + exp(-1 score + 0)), divided by",
    }
    for (train, *words), text in shown.items():
        learn(*words, train, "model")
        capsys.readouterr()
        assert call("svmcut inspect", "model") == 0
        assert f"\nProbabilities     {text}" in capsys.readouterr().out
    learn("--probability", "several", "model")
    capsys.readouterr()
    assert call("svmcut inspect", "--json", "model") == 0
    assert json.loads(capsys.readouterr().out)["probabilities"] == {
        "temperature": read_model("model").temperature
    }


def test_reliability_in_the_document_and_on_the_page(capsys):
    for train in ("pairs", "several"):
        learn("--probability", train, "model")
        found = classify("--probability", f"{train}.test", "model", "columns")
        p, places = (
            np.loadtxt("columns"),
            np.searchsorted(found["labels"], read_examples(f"{train}.test").y),
        )
        capsys.readouterr()
        assert (
            call("svmcut inspect", "--json", "--data", f"{train}.test", "--html", "page", "model")
            == 0
        )
        data = json.loads(capsys.readouterr().out)["data"]
        for name in ("log_loss", "brier"):
            assert data[name] == pytest.approx(found[name])
        columns = [1] if train == "pairs" else [0, 1, 2]
        p, right = p[:, columns].ravel(), (places[:, None] == columns).ravel()
        expected = [
            [100 * p[own].mean(), 100 * right[own].mean(), own.sum()]
            for low in range(10)
            if (own := (p >= low / 10) & (p < (low + 1) / 10 + (low == 9))).any()
        ]
        np.testing.assert_allclose(data["reliability"], expected, rtol=1e-6)
        page = Path("page").read_text()
        assert page.count("<circle") == len(expected) and "Calibration of the probabilities" in page
    learn("pairs", "model")
    assert call("svmcut inspect", "--json", "--data", "pairs.test", "model") == 0
    assert "reliability" not in json.loads(capsys.readouterr().out)["data"]
