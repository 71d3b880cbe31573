# SPDX-License-Identifier: BSD-3-Clause
"""Duals of few rows that are solved as a whole: cuts by rational arithmetic, weights by float64."""

from fractions import Fraction

import numpy as np
import pytest

import svmcut
from svmcut.data.examples import Csr
from svmcut.qp import box
from svmcut.risks.free_bias import FreeBiasRisk
from svmcut.risks.hinge import HingeRisk
from svmcut.risks.losses import EpsilonInsensitiveRisk, SquaredEpsilonRisk, SquaredHingeRisk
from svmcut.solvers import few_rows
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces.linear import LinearSpace

TUBE = 0.25
RISKS = {
    "hinge": HingeRisk(),
    "squared hinge": SquaredHingeRisk(),
    "tube": EpsilonInsensitiveRisk(TUBE),
    "squared tube": SquaredEpsilonRisk(TUBE),
}


def problem(name, free_bias, seed, n=24, d=4, scales=3.0):
    """A problem of columns whose scales differ, and its rows and labels in float64."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d))
    X = (Z * 10 ** rng.uniform(-scales, scales, d)).astype(np.float32)
    score = Z @ rng.normal(size=d) + rng.normal(size=n)
    y = score if "tube" in name else np.where(score > 0, 1.0, -1.0)
    risk = RISKS[name]
    bound = (FreeBiasRisk(risk) if free_bias else risk).bind(y)
    space = LinearSpace(Csr.from_dense(X), 0.0 if free_bias else 1.0, 1)
    C = 10 ** rng.uniform(-2, 3)
    return Problem(bound, space, C, StoppingRule(0.0, 1e-3)), X.astype(float), y


def exact_dual(name, coef, X, y, C, bias):
    """The dual value of a cut's coefficients by rational arithmetic, and their sum."""
    c, weight = [Fraction(float(v)) for v in coef], Fraction(C)
    columns = [[Fraction(float(v)) for v in column] for column in X.T]
    columns += [[Fraction(1)] * len(y)] if bias else []
    squared = sum(
        (weight * sum(a * b for a, b in zip(c, col, strict=True))) ** 2 for col in columns
    )
    gain = Fraction(0)
    for value, target in zip(c, y, strict=True):
        alpha, goal = abs(value), Fraction(float(target))
        gain += -value * goal if "tube" in name else alpha
        gain -= Fraction(TUBE) * alpha if "tube" in name else 0
        gain -= value * value / 4 if "squared" in name else 0
        assert "squared" in name or alpha <= 1
        assert "tube" in name or value * goal <= 0
    return float(weight * gain - squared / 2), float(sum(c))


@pytest.mark.every(2)
@pytest.mark.parametrize("free_bias", [False, True])
@pytest.mark.parametrize("name", RISKS)
def test_the_cut_and_the_weights_prove_each_other(name, free_bias):
    for seed in range(4):
        given, X, y = problem(name, free_bias, seed)
        assert few_rows.is_few(given)
        whole = few_rows.solve_whole(given)
        dual, rest = exact_dual(name, whole.coef, X, y, given.C, not free_bias)
        assert not free_bias or abs(rest) <= 1e-12 * np.abs(whole.coef).sum()
        s = X @ whole.w[: X.shape[1]] + (0.0 if free_bias else whole.w[-1])
        primal = 0.5 * whole.w @ whole.w + given.C * given.risk.linearize(s).value
        assert dual <= primal * (1 + 1e-9)
        assert primal <= dual * (1 + 1e-5)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", RISKS)
def test_cutting_planes_on_few_rows_end_soon(name):
    how = {} if "hinge" in name else {"task": "regression", "tube": TUBE}
    losses = {
        "hinge": "error-rate",
        "squared hinge": "squared-hinge",
        "tube": "epsilon-insensitive",
        "squared tube": "squared-epsilon-insensitive",
    }
    for seed in range(20, 24):
        given, X, y = problem(name, seed % 2 == 1, seed, n=60, d=8, scales=4.0)
        how |= {"free_bias": True} if seed % 2 else {"free_bias": None}
        outcome = svmcut.train(
            (X.astype(np.float32), y),
            loss=losses[name],
            solver="cutting-plane",
            example_cost=100 * given.C,
            gap=1e-3,
            **how,
        )
        assert outcome.progress.iteration <= 150
        assert outcome.converged or outcome.stopped_by == "file"


def test_a_product_is_its_matrix():
    rng = np.random.default_rng(5)
    B, h, x = rng.normal(size=(9, 3)), rng.random(9), rng.normal(size=9)
    Q, product = B @ B.T + np.diag(h), box.Product(B, h)
    np.testing.assert_allclose(product @ x, Q @ x)
    at = np.array([1, 4, 8])
    np.testing.assert_allclose(product.submatrix(at), Q[np.ix_(at, at)])
    np.testing.assert_allclose(product.part(at) @ x[at], Q[np.ix_(at, at)] @ x[at])
    r, top = rng.normal(size=9), rng.uniform(0.5, 2, 9)
    ways = [box.maximise_in_box(each, r, top) for each in (Q, product)]
    np.testing.assert_allclose(*ways, atol=1e-7)


def test_newton_with_a_free_bias_needs_few_steps_where_no_row_has_a_loss():
    rng = np.random.default_rng(8)
    for _ in range(15):
        low, gap = rng.uniform(-5, 5), rng.uniform(0.5, 3)
        X = np.concatenate([low - rng.random(2), low + gap + rng.random(3)])[:, None]
        y = np.array([1.0, 1.0, -1.0, -1.0, -1.0])
        C = 10 ** rng.uniform(1, 5)
        outcome = svmcut.train(
            (X.astype(np.float32), y),
            loss="squared-hinge",
            free_bias=True,
            example_cost=C,
            gap=1e-3,
            solver="newton",
        )
        assert outcome.converged or outcome.stopped_by == "file"
        assert outcome.progress.iteration <= 8


def test_few_rows_never_take_more_than_ten_million_steps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 5)) * 1.5e7
    X[:, 1] = 1.26e7
    y = np.where(rng.random(12) < 0.5, 1.0, -1.0)
    kernel = {"kernel": "polynomial", "degree": 1, "scale_kernel": 0.0111, "coef0": -1000.5}
    found = svmcut.train(
        (X, y), solver="smo", free_bias=False, example_cost=5.4e-5, gap=0.1, **kernel
    )
    assert found.stopped_by == "rounding" and found.progress.iteration < 11_000_000
