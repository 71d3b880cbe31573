# SPDX-License-Identifier: BSD-3-Clause
"""svm-train writes, and svm-predict reads, the machine whose objective is printed, where a column
is as large as an income."""

import re
from pathlib import Path

import numpy as np
import pytest

from svmcut.formats.library_text import read_kernel
from svmcut.originals.libs.programs import svm_train
from svmcut.originals.libs.rows import training_rows
from svmcut.originals.libs.svm_predict import Predictor


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def drawn(deviation, seed, classes):
    """Writes rows of which a column is large; what they are."""
    g = np.random.default_rng(seed).normal(size=(60, 4))
    X, r = g * [1, 1, 1, deviation], g[:, 0] + g[:, 3]
    y = (r > 0).astype(int) if classes else r.round(4)
    lines = zip(y.tolist(), X.tolist(), strict=True)
    text = "".join(
        f"{label:g} {' '.join(f'{j}:{v:.9g}' for j, v in enumerate(row, 1))}\n"
        for label, row in lines
    )
    Path("train").write_text(text)
    return y


def trained(words, capsys):
    assert svm_train([*words.split(), "train", "model"]) == 0
    printed = capsys.readouterr().out
    return float(re.search(r"obj = (\S+),", printed)[1]), "WARNING" in printed


@pytest.mark.every(2)
@pytest.mark.parametrize("deviation", [1.0, 1e4, 1e5, 1e6])
@pytest.mark.parametrize("kernel", ["-t 0", "-t 2", "-t 2 -g 1e-9", "-t 1 -d 2 -g 1e-12 -r 1"])
@pytest.mark.parametrize("classes", [True, False])
def test_what_predicts_has_the_objective_that_is_printed(deviation, kernel, classes, capsys):
    y = drawn(deviation, 3, classes)
    dual, late = trained(f"-s {0 if classes else 3} {kernel}", capsys)
    model = read_kernel("model")
    own = Predictor(model)
    f = own.decisions(training_rows("train", 0))[:, 0]
    indptr, indices, values = model.rows
    Z = np.zeros((len(indptr) - 1, 5))
    Z[np.repeat(np.arange(len(Z)), np.diff(indptr)), indices] = values
    alpha = model.coefs[:, 0].astype(np.longdouble)
    squared = alpha @ values_of(kernel, model, Z[:, 1:].astype(np.longdouble)) @ alpha
    if classes:
        losses = np.maximum(0, 1 - np.where(y == model.labels[0], 1, -1) * f)
    else:
        losses = np.maximum(0, np.abs(y - f) - 0.1)
    primal = float(squared / 2 + losses.sum())
    assert late or primal <= -dual + 2e-3 * len(y) + 1e-4
    if deviation == 1:  # LIBSVM's eight
        numbers = [word.split(":")[1] for word in body() if ":" in word]
        assert max(len(re.sub(r"e.*|[-.]", "", text).lstrip("0")) for text in numbers) <= 8


def values_of(kernel, model, Z):
    if kernel == "-t 0":
        return Z @ Z.T
    if "-t 1" in kernel:
        return (model.gamma * (Z @ Z.T) + model.coef0) ** model.degree
    return np.exp(-model.gamma * ((Z[:, None] - Z[None]) ** 2).sum(2))


def body():
    return Path("model").read_text().partition("SV\n")[2].split()


UNSCALED = ("-s 0 -t 1 -d 2", "-s 0 -t 1 -d 2 -g 1 -r 1", "-s 0 -t 1 -d 2 -w1 3", "-s 3 -t 1 -d 2")


@pytest.mark.parametrize("words", [*UNSCALED, "-s 3 -t 1 -d 3 -p 0", "-s 4 -t 1 -d 2"])
def test_a_machine_that_rounding_stopped_is_no_worse_than_a_constant_and_says_so(words, capsys):
    rng = np.random.default_rng(5)
    g = rng.normal(size=(50, 3))
    r = g[:, 0] + 0.5 * g[:, 1] + 0.3 * rng.normal(size=50)
    classes = "-s 0" in words
    y = np.where(r > 0.4, 1, 2) if classes else (r + 3).round(6)
    lines = zip(y.tolist(), (1e4 * g).tolist(), strict=True)
    text = "".join(f"{k} 1:{a:.9g} 2:{b:.9g} 3:{c:.9g}\n" for k, (a, b, c) in lines)
    Path("train").write_text(text)
    assert "WARNING" in trained_lines(words, capsys)
    model = read_kernel("model")
    own = Predictor(model)
    b = 0.0 - model.rho[0]
    s = own.decisions(training_rows("train", 0))[:, 0] - b
    indptr, indices, values = model.rows
    Z = np.zeros((len(indptr) - 1, 4))
    Z[np.repeat(np.arange(len(Z)), np.diff(indptr)), indices] = values
    K = (model.gamma * (Z[:, 1:] @ Z[:, 1:].T) + model.coef0) ** model.degree
    squared = float(model.coefs[:, 0] @ K @ model.coefs[:, 0])

    def losses(s):
        """At the best bias, which is one of the corners of the losses."""
        if classes:
            signs = np.where(y == model.labels[0], 1, -1)
            weights = np.where((y == 1) & ("-w1" in words), 3, 1)
            return min(
                weights @ np.maximum(0, 1 - signs * (s + at)) for at in signs - s
            ), weights @ np.maximum(0, 1 - signs * (s + b))
        nu = 0.5 if "-s 4" in words else 0.0
        tubes = (0.0,) if "-p 0" in words else (0.1,)

        def of(at):
            away = np.abs(y - s - at)
            known = np.quantile(away, [0.49, 0.5, 0.51]) if nu else tubes
            return min(nu * len(y) * e + np.maximum(0, away - e).sum() for e in known)

        corners = np.concatenate([y - s + e for e in (-0.1, 0.0, 0.1)])
        grid = np.linspace(corners.min(), corners.max(), 200) if nu else corners
        return min(of(at) for at in grid), of(b)

    primal = squared / 2 + losses(s)[1]
    alpha, own = np.abs(model.coefs[:, 0]), np.sqrt(np.diag(K))
    noise = 2.0**-52 * len(y) * float(alpha @ own) * float(own.max(initial=0.0))
    assert primal <= losses(0 * s)[0] * (1 + 1e-5) + noise
    for t in (0.3, 0.9, 1.1, 3.0):
        assert primal <= (t * t * squared / 2 + losses(t * s)[0]) * (1 + 1e-5) + noise


def trained_lines(words, capsys):
    assert svm_train([*words.split(), "train", "model"]) == 0
    return capsys.readouterr().out
