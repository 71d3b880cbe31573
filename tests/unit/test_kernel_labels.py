# SPDX-License-Identifier: BSD-3-Clause
"""Labels from float32 sums are those of float64 ones, and scores are the same bytes alone and
among others."""

import numpy as np
import pytest
from reference import kernel as truth
from svmcut._native.kernels import machine_scores

from svmcut.data.examples import Csr
from svmcut.models import KernelModel, KernelMulticlassModel
from svmcut.models.kernels import Kernel

KERNELS = {
    "rbf": Kernel("rbf", gamma=0.6),
    "narrow rbf": Kernel("rbf", gamma=300.0),
    "wide rbf": Kernel("rbf", gamma=1e-12),
    "polynomial": Kernel("polynomial", degree=3, scale=0.2, offset=1.0),
    "high polynomial": Kernel("polynomial", degree=9, scale=2.0, offset=0.0),
    "sigmoid": Kernel("sigmoid", scale=0.05, offset=-0.1),
    "linear": Kernel("linear"),
}
COLUMNS = {
    "usual": lambda rng, X: X,
    "sparse": lambda rng, X: X * (rng.random(X.shape) < 0.2),
    "bits": lambda rng, X: X > 0.8,
    "far": lambda rng, X: X + 1e4,
    "huge": lambda rng, X: X * 1e17,
    "largest": lambda rng, X: X * 1e37,
    "tiny": lambda rng, X: X * 1e-30,
    "one huge": lambda rng, X: X * np.where(np.arange(X.shape[1]) == 0, 1e9, 1.0),
}


def draw(rng, columns, n=150, m=120, d=7):
    X = np.vstack([rng.normal(size=(n, d)), rng.normal(size=(m, d))])
    X = np.asarray(COLUMNS[columns](rng, X), np.float32)
    return Csr.from_dense(X[:n]), Csr.from_dense(X[n:])


def machines(rng, m, count, spread=4.0):
    own = [np.sort(rng.choice(m, rng.integers(1, m + 1), replace=False)) for _ in range(count)]
    starts, places = np.cumsum([0, *map(len, own)]), np.concatenate(own).astype(np.int32)
    alpha = rng.normal(size=len(places)) * 10 ** rng.uniform(-spread, spread, len(places))
    return starts, places, alpha


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_no_label_differs_from_that_of_float64(rng, kernel, columns):
    X, Z = draw(rng, columns)
    starts, places, alpha = machines(rng, Z.n_rows, 6)
    known, K = (X, Z, starts, places, alpha), KERNELS[kernel]
    zero = machine_scores(*known, K, np.zeros(6), 1)
    # scores that are 0 but for rounding, and equal sums
    for b in (np.zeros(6), np.nan_to_num(zero[rng.integers(len(zero))], posinf=0, neginf=0)):
        exact = machine_scores(*known, K, b, 1)
        signs = machine_scores(*known, K, b, 2, labels="signs")
        np.testing.assert_array_equal(np.sign(signs), np.sign(exact))
        largest = machine_scores(*known, K, b, 2, labels="largest")
        np.testing.assert_array_equal(np.argmax(largest, axis=1), np.argmax(exact, axis=1))


def test_the_labels_of_most_rows_take_float32_alone(rng):
    X, Z = draw(rng, "usual", n=1000)
    known = X, Z, *machines(rng, Z.n_rows, 3, spread=0.0)
    for name in ("rbf", "polynomial", "sigmoid"):
        exact = machine_scores(*known, KERNELS[name], np.zeros(3), 1)
        signs = machine_scores(*known, KERNELS[name], np.zeros(3), 1, labels="signs")
        assert np.mean(exact != signs) > 0.9
        np.testing.assert_allclose(signs, exact, atol=1e-3 * np.abs(exact).max())


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_scores_have_the_same_bytes_alone_and_among_others(rng, kernel, columns):
    X, Z = draw(rng, columns)
    known, b = (Z, *machines(rng, Z.n_rows, 3), KERNELS[kernel]), rng.normal(size=3)
    whole = machine_scores(X, *known, b, 2)
    for size in (1, 3, 10, 70):
        part = X.rows(20, 20 + size)
        np.testing.assert_array_equal(machine_scores(part, *known, b, 1), whole[20 : 20 + size])


@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "sigmoid"])
def test_scores_are_those_of_the_definition(rng, kernel):
    X, Z = draw(rng, "usual")
    alpha = rng.normal(size=Z.n_rows)
    model = KernelModel(KERNELS[kernel], Z, alpha, 0.25, None, Z.n_features)
    values = truth.matrix(KERNELS[kernel], X.to_dense(), Z.to_dense())
    np.testing.assert_allclose(model.scores(X), values @ alpha - 0.25, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.where(model.scores(X) > 0, 1, -1))


@pytest.mark.parametrize("paired", [True, False])
def test_classes_are_those_of_the_scores(rng, paired):
    X, Z = draw(rng, "usual", n=400)
    K = 5
    M = K * (K - 1) // 2 if paired else K
    starts, places, alpha = machines(rng, Z.n_rows, M, spread=0.5)
    how = np.zeros(M), np.arange(K) + 1.0, paired
    model = KernelMulticlassModel(KERNELS["rbf"], Z, starts, places, alpha, *how)
    np.testing.assert_array_equal(model.predict(X), 1.0 + np.argmax(model.scores(X), axis=1))
    np.testing.assert_array_equal(np.argmax(model.label_scores(X), 1), model.predict(X) - 1)
