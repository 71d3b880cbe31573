# SPDX-License-Identifier: BSD-3-Clause
"""Words for gamma: scikit-learn's numbers, from the training rows, in Python and the shell."""

from pathlib import Path

import numpy as np
import pytest
from programs import call
from sklearn.svm import SVC

import svmcut
from svmcut.base.errors import UsageError
from svmcut.data.arrays import as_rows
from svmcut.models.kernels import resolve_gamma


def data():
    rng = np.random.default_rng(4)
    X = (rng.normal(size=(60, 3)) * [1.0, 3.0, 0.5]).astype(np.float32)
    return X, np.where(X[:, 0] + X[:, 2] > 0, 1.0, -1.0)


def test_words_are_the_numbers_of_scikit_learn():
    X, y = data()
    for word in ("scale", "auto"):
        theirs = SVC(gamma=word).fit(X.astype(float), y)._gamma
        assert resolve_gamma(word, as_rows(X)) == pytest.approx(theirs, rel=1e-6)
        outcome = svmcut.train((X, y), kernel="rbf", gamma=word)
        assert outcome.model.kernel.gamma == pytest.approx(theirs, rel=1e-6)
    assert resolve_gamma("scale", as_rows(np.ones((3, 2)))) == 1.0
    choice = svmcut.cross_validate((X, y), 3, kernel="rbf", gamma=["scale", "auto", 2.0])
    assert choice.best["gamma"] in {
        resolve_gamma(word, as_rows(X)) for word in ("scale", "auto", 2.0)
    }
    with pytest.raises(UsageError, match="or 'scale' or 'auto'"):
        svmcut.train((X, y), kernel="rbf", gamma="wide")


def test_learn_takes_them_and_says_what_they_are(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = data()
    Path("train").write_text(
        "".join(
            f"{label:g} " + " ".join(f"{k + 1}:{v:.9g}" for k, v in enumerate(row)) + "\n"
            for row, label in zip(X, y, strict=True)
        )
    )
    assert call("svmcut", "learn", "-t", "2", "-g", "auto", "train", "model") == 0
    assert "Kernel         rbf, gamma 0.333333 (auto)\n" in capsys.readouterr().out
    assert call("svmcut", "learn", "-t", "2", "train", "model") == 0
    scale = f"{resolve_gamma('scale', as_rows(X)):.4g}"
    said = f"Kernel         rbf, gamma 1 by default; -g scale is {scale}\n"
    assert said in capsys.readouterr().out
    assert (
        call("svmcut", "learn", "-t", "2", "-g", "scale,auto,1", "--cv", "3", "train", "model") == 0
    )
    assert "(scale)" in capsys.readouterr().out
    assert call("svmcut", "learn", "-t", "2", "-g", "wide", "train", "model") == 2
