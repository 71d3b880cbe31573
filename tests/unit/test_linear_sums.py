# SPDX-License-Identifier: BSD-3-Clause
"""Weights that are sums over rows are exact where their terms cancel."""

from fractions import Fraction

import numpy as np
import pytest

from svmcut.data.examples import Csr
from svmcut.models import KernelModel, KernelMulticlassModel
from svmcut.models.kernels import Kernel
from svmcut.models.linear_sums import column_sums, linear_weights


def exact(places, factors, values, width):
    sums = [Fraction(0)] * width
    for j, a, b in zip(places.tolist(), factors.tolist(), values.tolist(), strict=True):
        sums[j] += Fraction(a) * Fraction(b)
    return sums


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sums_that_cancel_are_exact(kind):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, width = int(rng.integers(3, 60)), 4
        places = rng.integers(0, width, n)
        factors = rng.normal(size=n) * 10.0 ** rng.integers(-8, 9)
        values = (rng.normal(size=n) * 10.0 ** rng.integers(-8, 9, n)).astype(kind)
        values[values == 0] = 1
        for j in range(width):  # the last term takes nearly all back
            (of,) = np.nonzero(places == j)
            if len(of) > 1:
                rest = exact(
                    places[of[:-1]], factors[of[:-1]], values[of[:-1]].astype(float), width
                )
                factors[of[-1]] = -rest[j] / Fraction(float(values[of[-1]]))
        found = column_sums(places, factors, values, width)
        sums = exact(places, factors, values.astype(float), width)
        sizes = np.bincount(places, np.abs(factors * values.astype(float)), width)
        for got, truth, size in zip(found.tolist(), sums, sizes.tolist(), strict=True):
            assert abs(Fraction(got) - truth) <= 2e-16 * abs(truth) + Fraction(size) * 2**-88


def test_models_of_linear_kernels_score_by_exact_weights(rng):
    X = Csr.from_dense((rng.normal(size=(40, 3)) * [1, 1, 1e7]).astype(np.float32), True)
    alpha = np.where(rng.random(40) < 0.5, 1.0, -1.0)
    wide = X.to_dense().astype(float)
    alpha[-1] = -(alpha[:-1] @ wide[:-1, 2]) / wide[-1, 2]
    model = KernelModel(Kernel(), X, alpha, 0.25)
    truth = np.array(
        [
            float(sum(map(Fraction, alpha * 0)) + part)
            for part in exact(np.tile(np.arange(3), 40), np.repeat(alpha, 3), wide.ravel(), 3)
        ]
    )
    np.testing.assert_allclose(linear_weights(X, alpha), truth, rtol=1e-15)
    np.testing.assert_allclose(model.scores(X), wide @ truth - 0.25, rtol=1e-9)
    starts, places = np.array([0, 40, 80]), np.tile(np.arange(40, dtype=np.int32), 2)
    known = starts, places, np.concatenate([alpha, -alpha]), np.array([0.25, -0.25])
    two = KernelMulticlassModel(Kernel(), X, *known, np.array([1.0, 2.0]), False)
    scores = model.scores(X)
    np.testing.assert_allclose(two.decisions(X), np.column_stack([scores, -scores]), rtol=1e-12)
