# SPDX-License-Identifier: BSD-3-Clause
"""--initial: the optimum is that of a cold start, reached in fewer iterations; what does not fit is
refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from programs import call

import svmcut
from svmcut.formats import read_model, write_model
from svmcut.models import LinearModel

RUNS = {
    "hinge": ("--solver", "newton", "--gap", "1e-6"),
    "cuts": ("--solver", "cutting-plane", "--gap", "1e-3"),
    "logistic": ("-l", "logistic", "--solver", "newton", "--gap", "1e-8"),
    "squared": ("-l", "squared-hinge", "--solver", "newton", "--gap", "1e-8"),
    "numbers": ("--task", "regression", "--solver", "newton", "--gap", "1e-6"),
    "f1": ("-l", "f1", "-c", "1", "--gap", "1e-3"),
    "rbf": ("-t", "2", "-g", "0.05", "--example-cost", "10", "--gap", "1e-5"),
    "rbf, bias": ("-t", "2", "-g", "0.05", "--solver", "smo", "-e", "1e-4"),
    "rbf, numbers": ("--task", "regression", "-t", "2", "-g", "0.05", "--gap", "1e-5"),
}


def put(path, X, y):
    lines = (
        f"{label:g} " + " ".join(f"{j + 1}:{value:g}" for j, value in enumerate(x))
        for label, x in zip(y, X)
    )
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A set, and the same with 20 of its 600 rows changed."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(620, 20))
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=620) > 0, 7, 3)
    put("old", X[:600], y[:600])
    put("new", X[20:], y[20:])


def learn(*words, status=0):
    assert call("svmcut learn", "-v", 0, "--no-progress", "--report", "report", *words) == status
    return json.loads(Path("report").read_text())


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", RUNS)
def test_the_optimum_is_the_same_in_fewer_iterations(kind):
    words = RUNS[kind]
    learn(*words, "old", "model")
    cold, warm = learn(*words, "new", "cold"), learn(*words, "--initial", "model", "new", "warm")
    assert warm["converged"] and warm["iterations"] < cold["iterations"]
    assert max(cold["dual"], warm["dual"]) <= min(cold["primal"], warm["primal"]) * (1 + 1e-12)
    first = Path("warm").read_bytes()
    learn(*words, "--threads", 2, "--initial", "model", "new", "warm")
    assert Path("warm").read_bytes() == first


def test_models_of_other_formats_and_other_features():
    learn("-l", "logistic", "--gap", "1e-8", "--solver", "newton", "old", "model")
    w, b = read_model("model").w, read_model("model").b
    weights = "".join(f"{value:.17g}\n" for value in [*w, 0.5, -b])
    Path("foreign").write_text(
        f"solver_type L2R_LR\nnr_class 2\nlabel 7 3\nnr_feature 21\nbias 1\nw\n{weights}"
    )
    known = ("-l", "logistic", "--gap", "1e-8")
    found = [learn(*known, "--initial", model, "new", "out") for model in ("model", "foreign")]
    assert found[0]["iterations"] == found[1]["iterations"] and found[0]["solver"] == "newton"
    assert found[1]["primal"] == pytest.approx(found[0]["primal"], rel=1e-8)
    write_model("wide", LinearModel(np.ones(1), 0.0, np.array([10**9], np.int32), labels=(3, 7)))
    assert learn(*known, "--initial", "wide", "new", "out")["converged"]
    outcome = svmcut.train("new", loss="logistic", initial="model", gap=1e-8)
    assert outcome.converged and outcome.progress.iteration == found[0]["iterations"]


def test_a_path_and_probabilities_start_from_it_too():
    learn("old", "model")
    learn("--initial", "model", "--probability", "--example-cost", "0.1,1", "new", "out")
    learn("--example-cost", "0.1", "--gap", "1e-4", "new", "plain")
    assert read_model("out.0.1").sigmoid is not None and read_model("out.1").sigmoid is not None


def test_what_does_not_fit_is_refused_with_the_remedy(capsys):
    learn("old", "model")
    learn("--task", "regression", "old", "numbers")
    learn("-t", 2, "old", "kernel")
    put("others", np.eye(4), [1, 2, 1, 2])
    for words, message in {
        (
            "--initial",
            "numbers",
            "new",
        ): "names numbers, which is no linear model of two classes; leave it out or name",
        ("--initial", "kernel", "new"): "which is no linear model of two classes",
        (
            *("--task", "regression", "--initial", "model", "new"),
        ): "which is no linear model of targets",
        (
            "--initial",
            "model",
            "others",
        ): "a model of the classes 3 and 7, but those of others are 1 and 2; leave",
        (
            *("-t", "2", "--initial", "model", "new"),
        ): "names model, which is no rbf model of two classes; leave it out or",
        (
            *("-t", "2", "-g", "2", "--initial", "kernel", "new"),
        ): "which is no rbf model of these parameters; leave it out",
        (
            *("-t", "2", "--solver", "subspace", "--initial", "kernel", "new"),
        ): "is no start of solver 'subspace'; use",
        (
            *("--solver", "dual-cd", "--initial", "model", "new"),
        ): "is no start of solver 'dual-cd'; use",
        ("--task", "sequence", "--initial", "model", "new"): "--initial",
    }.items():
        Path("report").unlink(missing_ok=True)
        assert call("svmcut learn", *words, "out") == 2
        assert message in capsys.readouterr().err, words
    assert call("svmcut learn", "--initial", "none", "new", "out") == 1
    assert call("svmcut learn", "--initial", "model", "new", "model") == 2  # an input is no output
    assert not Path("out").exists()


def test_scores_beyond_single_precision_are_no_start():
    text = "1 1:-1.42415398e+09 2:-2.83862118e+09\n-1 1:-394273088 2:-3.67164365e+09\n"
    Path("far").write_text(text)
    words = ("-t", 1, "-s", 0.172, "-r", 0.5, "--solver", "smo", "--example-cost", 500)
    status = call("svmcut learn", *words, "far", "first")
    assert call("svmcut learn", *words, "--initial", "first", "far", "second") == status in (0, 3)
    assert Path("first").read_bytes() == Path("second").read_bytes()
    Path("many").write_text(1050 * text)  # whose kernel values are in single precision
    status = call("svmcut learn", *words, "many", "cold")
    assert call("svmcut learn", *words, "--initial", "first", "many", "warm") == status == 3
    assert Path("cold").read_bytes() == Path("warm").read_bytes()
