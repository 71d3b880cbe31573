# SPDX-License-Identifier: BSD-3-Clause
"""Random Fourier features: their kernel, their problem's optimum, and the bracket of the kernel's
own."""

import json

import numpy as np
import pytest
from programs import call
from reference import hinge
from refusals import refused

import svmcut
from svmcut.base.errors import TrainingError, UsageError
from svmcut.data.examples import Csr
from svmcut.formats import read_model, write_model
from svmcut.models import FourierModel
from svmcut.models.fourier import fourier_features, frequencies


def slow_features(X, omega):
    """By the definition, one number after the other."""
    D = len(omega)
    F = np.empty((len(X), 2 * D))
    for i, x in enumerate(X):
        for j in range(D):
            angle = sum(float(a) * float(b) for a, b in zip(x, omega[j], strict=True))
            F[i, j], F[i, D + j] = np.cos(angle) / np.sqrt(D), np.sin(angle) / np.sqrt(D)
    return F


def rows(seed=0, n=60, d=4, zeros=0.3):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < zeros, 0, rng.normal(size=(n, d))).astype(np.float32)
    return X, np.where(np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("zeros", [0.0, 0.3, 0.97, 1.0])
def test_features_are_those_of_the_definition(zeros):
    X, _ = rows(zeros=zeros, d=20)
    omega = frequencies(7, 20, 0.3, 1)
    F = fourier_features(Csr.from_dense(X), omega)
    assert slow_features(X, omega) == pytest.approx(F, abs=1e-13)
    assert (F * F).sum(axis=1) == pytest.approx(1.0, abs=1e-13)


def test_products_have_the_kernel_for_mean_and_the_variance_of_theory():
    X, _ = rows(n=6)
    kernel = np.exp(-0.4 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    found = [
        fourier_features(Csr.from_dense(X), frequencies(50, 4, 0.4, seed)) for seed in range(400)
    ]
    products = np.array([F @ F.T for F in found])
    variance = (1 - kernel**2) ** 2 / 100
    assert np.abs(products.mean(axis=0) - kernel).max() <= 5 * np.sqrt(variance.max() / 400)
    off = ~np.eye(6, dtype=bool)
    assert products.var(axis=0)[off] == pytest.approx(variance[off], rel=0.4)


@pytest.mark.parametrize(("C", "basis"), [(0.1, 8), (1.0, 40), (10.0, 20)])
def test_trains_to_the_optimum_of_its_features_and_brackets_that_of_the_kernel(C, basis):
    X, y = rows()
    data = X, y
    known = {"example_cost": C, "kernel": "rbf", "gamma": 0.5}
    outcome = svmcut.train(data, **known, basis_kind="fourier", basis=basis, gap=1e-6, seed=3)
    model = outcome.model
    assert isinstance(model, FourierModel) and len(model.omega) == basis // 2
    assert (model.omega == frequencies(basis // 2, 4, 0.5, 3)).all()
    F = slow_features(X, model.omega)
    minimum = hinge.optimum(F, y, C)[1]
    assert outcome.converged and outcome.dual <= minimum * (1 + 1e-9) <= outcome.primal * (1 + 2e-9)
    assert outcome.primal == pytest.approx(hinge.primal(F, y, model.w, C), rel=1e-9)
    kernel = svmcut.train(data, **known, solver="cutting-plane", gap=1e-7)
    bracket = outcome.details["fourier"]
    assert bracket["kernel_dual"] <= kernel.primal and kernel.dual <= bracket["kernel_primal"]
    without = svmcut.train(
        data, **known, basis_kind="fourier", basis=basis, gap=1e-6, seed=3, certify=False
    )
    assert (without.model.w == model.w).all() and without.details["fourier"] == {
        "frequencies": basis // 2
    }


@pytest.mark.parametrize("task", ["rank", "regression"])
def test_rankings_and_numbers_are_trained_too(task):
    X, _ = rows(n=80)
    y, queries = np.sin(2 * X[:, 0]), (np.arange(80) // 20,) if task == "rank" else ()
    known = {"kernel": "rbf", "basis_kind": "fourier", "basis": 40, "gap": 1e-4}
    outcome = svmcut.train((X, y, *queries), task=task, cost=2.0, **known)
    assert outcome.converged and np.corrcoef(outcome.model.scores(Csr.from_dense(X)), y)[0, 1] > 0.6
    kernel = svmcut.train(
        (X, y, *queries), task=task, cost=2.0, kernel="rbf", solver="cutting-plane", gap=1e-6
    )
    bracket = outcome.details["fourier"]
    assert bracket["kernel_dual"] <= kernel.primal and kernel.dual <= bracket["kernel_primal"]


def test_a_model_comes_back_from_its_file_with_every_bit(tmp_path):
    rng = np.random.default_rng(1)
    columns = np.array([1, 4, 6, 11], np.int32)
    model = FourierModel(
        0.3,
        frequencies(5, 4, 0.3, 9),
        rng.normal(size=10),
        9,
        0.0,
        columns,
        20,
        60,
        (0.0, 2.0),
        "f1",
        (-1.5, 0.1),
    )
    write_model(str(tmp_path / "model"), model)
    back = read_model(str(tmp_path / "model"))
    assert (
        (back.w == model.w).all()
        and (back.omega == model.omega).all()
        and (back.columns == columns).all()
    )
    assert (back.gamma, back.seed, back.b, back.labels, back.loss, back.sigmoid) == (
        0.3,
        9,
        0.0,
        (0.0, 2.0),
        "f1",
        (-1.5, 0.1),
    )
    X = np.zeros((3, 25), np.float32)
    X[:, columns], X[1, 20] = rng.normal(size=(3, 4)), 7.0
    X[2, 0] = 5.0  # a feature that the model does not have
    known = slow_features(X[:, columns], model.omega) @ model.w
    assert back.scores(Csr.from_dense(X)) == pytest.approx(known, abs=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("svmcut fourier 1", "svmcut fourier 2", "is not supported"),
        (" 1:", " 2:", "not all of the same features"),
        ("5 # freq", "6 # freq", "cut short"),
        ("5 # freq", "4 # freq", "more"),
        (" 1:", " nan 1:", "expected"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, old, new, said):
    write_model(
        str(tmp_path / "model"),
        FourierModel(0.3, frequencies(5, 1, 0.3, 9), np.ones(10), highest_index=3),
    )
    assert said in refused(tmp_path / "model", (tmp_path / "model").read_text(), old, new)


def test_programs_train_classify_and_inspect(tmp_path, monkeypatch, capsys):
    X, y = rows()
    pairs = (" ".join(f"{j + 1}:{v:.9g}" for j, v in enumerate(x) if v) for x in X)
    lines = [f"{label:g} {text}" for label, text in zip(y, pairs, strict=True)]
    (tmp_path / "train").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    words = [
        "learn",
        *("-t", 2, "--example-cost", 1, "--gap", "1e-4", "--basis-kind", "fourier"),
        *("--report", "r"),
    ]
    assert call("svmcut", *words, "train", "model") == 0
    assert "the kernel's minimum is from" in capsys.readouterr().out
    report = json.loads((tmp_path / "r").read_text())
    assert (
        report["converged"]
        and report["fourier"]["kernel_dual"] <= report["fourier"]["kernel_primal"]
    )
    assert call("svmcut", "classify", "train", "model", "scores") == 0
    scores = np.loadtxt(tmp_path / "scores")
    assert scores == pytest.approx(
        read_model(str(tmp_path / "model")).scores(Csr.from_dense(X)), rel=1e-6, abs=1e-7
    )
    capsys.readouterr()
    assert call("svmcut", "inspect", "model") == 0
    assert "Frequencies       250, of seed 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"kernel": "polynomial"}, "needs kernel='rbf'"),
        ({"kernel": "linear"}, "give parameter 'kernel'"),
        ({"solver": "smo"}, "use solver='subspace'"),
        ({"basis_method": 1}, "no parameter 'basis_method'"),
    ],
)
def test_what_it_cannot_do_is_refused(settings, said):
    X, y = rows()
    with pytest.raises(UsageError, match=said):
        svmcut.train((X, y), **({"cost": 1.0, "kernel": "rbf", "basis_kind": "fourier"} | settings))


def test_more_numbers_than_a_model_may_hold_are_refused(monkeypatch):
    monkeypatch.setattr("svmcut.training.kernel_cuts.MAX_NUMBERS", 900)
    X, y = rows()
    with pytest.raises(
        TrainingError, match="250 frequencies of 4 features are more than 900 numbers"
    ):
        svmcut.train((X, y), cost=1.0, kernel="rbf", basis_kind="fourier")


def test_an_estimator_trains_and_saves_it(tmp_path):
    X, y = rows()
    machine = svmcut.KernelSVM(C=1.0, basis_kind="fourier", basis=60, random_state=0).fit(X, y)
    assert machine.solver_ == "subspace" and machine.score(X, y) > 0.7
    machine.save(tmp_path / "model")
    loaded = svmcut.load(tmp_path / "model")
    assert (loaded.predict(X) == machine.predict(X)).all()
