# SPDX-License-Identifier: BSD-3-Clause
"""The noise of regression: sigma of residuals held out, in the model, its file and what is said."""

from pathlib import Path

import numpy as np
import pytest
from programs import call

import svmcut
from svmcut.data.examples import Csr, Examples, Source
from svmcut.data.folds import make_folds, split
from svmcut.formats import read_model, write_model
from svmcut.loading import Model
from svmcut.scoring.probabilities import fit_laplace


def rows(n=60):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    return X, np.round(2 * X[:, 0] + rng.laplace(scale=0.7, size=n), 3)


def test_sigma_is_the_mean_residual_without_what_is_far():
    rng = np.random.default_rng(1)
    z = rng.laplace(scale=0.5, size=200_000)
    assert fit_laplace(z) == pytest.approx(0.5, rel=0.02)
    assert fit_laplace(np.append(np.ones(99), 1e6)) == 1.0
    v = rng.integers(1, 4, 50)
    assert fit_laplace(z[:50], v.astype(float)) == pytest.approx(fit_laplace(np.repeat(z[:50], v)))


@pytest.mark.parametrize("how", [{}, {"kernel": "rbf", "gamma": 0.3}, {"nu": 0.5}])
def test_sigma_is_that_of_five_folds(how, tmp_path):
    X, y = rows()
    whole = svmcut.train((X, y), task="regression", probability=True, seed=2, threads=1, **how)
    data, e = Examples(Csr.from_dense(X), y, None, None, Source("X")), np.empty(len(y))
    for fold in make_folds("regression", data, 5, 2):
        train, held = split(data, fold)
        part = svmcut.train((X[fold.train], train.y), task="regression", threads=1, seed=2, **how)
        e[fold.held] = held.y - Model(part.model).decision_function(X[fold.held])
    assert whole.model.sigma == pytest.approx(fit_laplace(e), rel=1e-9)
    write_model(str(tmp_path / "model"), whole.model)
    assert read_model(str(tmp_path / "model")).sigma == whole.model.sigma


def test_learn_and_classify_say_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = rows()
    text = "".join(
        f"{label:g} " + " ".join(f"{k + 1}:{v:.9g}" for k, v in enumerate(row)) + "\n"
        for row, label in zip(X, y, strict=True)
    )
    Path("train").write_text(text)
    assert call("svmcut", "learn", "--task", "regression", "--probability", "train", "model") == 0
    assert "Noise          Laplace noise of sigma " in capsys.readouterr().out
    assert call("svmcut", "classify", "train", "model", "out") == 0
    assert "Noise              : Laplace, sigma " in capsys.readouterr().out
    assert call("svmcut", "classify", "--probability", "train", "model", "out") == 1
    assert "classify says the noise" in capsys.readouterr().err
    libsvm = "svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0\n"
    Path("theirs").write_text(f"{libsvm}probA 0.25\nSV\n1 1:1\n")
    assert svmcut.load("theirs").model.sigma == 0.25
