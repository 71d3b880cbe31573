# SPDX-License-Identifier: BSD-3-Clause
"""The compiled loops of Crammer and Singer's problem against slow truths."""

import numpy as np
import pytest
from reference import multiclass as truth

from svmcut._native import multiclass, sparse
from svmcut.data.examples import Csr
from svmcut.spec.schemas import StateError


def examples(rng, n=30, d=5, K=4, density=1.0):
    """Rows, classes that overlap, weights 0 to 3."""
    X = np.where(rng.random((n, d)) < density, rng.normal(size=(n, d)), 0).astype(np.float32)
    y = np.argmax(X @ rng.normal(size=(d, K)) + rng.normal(size=(n, K)), axis=1).astype(np.int32)
    return X, y, rng.integers(0, 4, n).astype(float)


def descent(X, y, K, bias, weights=None, seed=0):
    norms = (X.astype(float) ** 2).sum(1) + bias**2
    alpha, W = np.zeros((len(y), K)), np.zeros((X.shape[1] + (bias != 0), K))
    return (
        multiclass.Descent(sparse.Rows(Csr.from_dense(X)), y, norms, bias, alpha, W, seed, weights),
        alpha,
        W,
    )


def descend(run, full, W, C, rounds=60, epochs=40):
    for _ in range(rounds):
        run.wake(C, full @ W)
        run.run(C, epochs, 0.0)


@pytest.mark.every(3)
@pytest.mark.parametrize("bias", [0.0, 1.5])
@pytest.mark.parametrize("C", [0.02, 1.0])
@pytest.mark.parametrize(("K", "density"), [(2, 1.0), (4, 1.0), (9, 0.7)])
def test_descent_finds_the_optimum_of_weighted_rows(rng, bias, C, K, density):
    X, y, v = examples(rng, K=K, density=density)
    best, minimum = truth.optimum(X, y, K, C, bias, v)
    run, alpha, W = descent(X, y, K, bias, v)
    full = truth.with_constant(X, bias)
    descend(run, full, W, C)
    assert truth.feasible(alpha, y, C, v)
    np.testing.assert_allclose(W, full.T @ alpha, atol=1e-9)
    assert truth.dual(full, y, alpha) == pytest.approx(minimum, rel=1e-6)
    assert truth.primal(full, y, W, C, v) == pytest.approx(minimum, rel=1e-5)
    np.testing.assert_allclose(W, best, atol=3e-3 * np.abs(best).max())
    assert run.gap == pytest.approx(0, abs=1e-5 * minimum)


def test_a_weight_of_k_is_k_rows_and_weights_of_one_change_no_bit(rng):
    X, y, v = examples(rng)
    rows = np.repeat(np.arange(len(y)), v.astype(int))
    repeated = truth.optimum(X[rows], y[rows], 4, 0.3, 1.0)[1]
    assert truth.optimum(X, y, 4, 0.3, 1.0, v)[1] == pytest.approx(repeated, rel=1e-6)
    full, ends = truth.with_constant(X, 1.0), []
    for weights in (None, np.ones(len(y))):
        run, alpha, W = descent(X, y, 4, 1.0, weights)
        descend(run, full, W, 0.3, 3, 7)
        ends.append((alpha.tobytes(), W.tobytes(), run.state()))
    assert ends[0] == ends[1]
    with pytest.raises(ValueError, match="weights have the wrong length"):
        descent(X, y, 4, 1.0, np.ones(len(y) - 1))


@pytest.mark.parametrize("K", [2, 3, 7])
def test_a_visit_is_the_minimum_over_its_row(rng, K):
    for _ in range(30):
        X, y = rng.normal(size=(1, 3)).astype(np.float32), rng.integers(0, K, 1).astype(np.int32)
        run, alpha, W = descent(X, y, K, 0.0)
        start = rng.normal(size=(3, K))
        W[:] = start
        C = float(rng.choice([0.05, 0.5, 5.0]))
        run.wake(C, X.astype(float) @ W)
        for _ in range(2):  # the first may be on classes that were left out
            run.run(C, 1, 0.0)
            run.wake(C, X.astype(float) @ W)
        B = X[0].astype(float) @ start + (np.arange(K) != y[0])
        expected = truth.row_step(B, float((X.astype(float) ** 2).sum()), C, y[0])
        np.testing.assert_allclose(alpha[0], expected, atol=1e-9 * C)
        np.testing.assert_allclose(W, start + np.outer(X[0].astype(float), alpha[0]), atol=1e-12)


def test_rows_without_features_and_one_class(rng):
    X, y, _ = examples(rng, 12, 3, 3)
    X[::2] = 0
    run, alpha, W = descent(X, y, 3, 0.0)
    descend(run, X.astype(float), W, 0.7)
    assert truth.dual(X.astype(float), y, alpha) == pytest.approx(
        truth.optimum(X, y, 3, 0.7)[1], rel=1e-6
    )
    run, alpha, W = descent(X, np.zeros(12, np.int32), 1, 1.0)
    descend(run, truth.with_constant(X, 1.0), W, 1.0, 2, 2)
    assert run.active == 0
    assert not alpha.any() and not W.any()


@pytest.mark.every(2)
@pytest.mark.parametrize(("n", "K"), [(1, 1), (7, 3), (60, 20), (30_000, 3)])
def test_the_risk_is_that_of_the_definition_and_its_cut_lies_below(rng, n, K):
    y, v = rng.integers(0, K, n).astype(np.int32), rng.integers(0, 4, n).astype(float)
    s, other = np.round(rng.normal(size=(2, n, K)), 1)
    for weights in (None, v):
        coef = np.empty((n, K))
        value, offset = multiclass.crammer_singer(y, s, coef, 1, weights)
        assert value == pytest.approx(truth.risk(y, s, weights), rel=1e-12)
        assert value == pytest.approx(offset + (coef * s).sum(), rel=1e-9, abs=1e-9)
        assert offset + (coef * other).sum() <= truth.risk(y, other, weights) + 1e-9 * n
        again = np.empty((n, K))
        assert multiclass.crammer_singer(y, s, again, 3, weights) == (value, offset)
        assert again.tobytes() == coef.tobytes()


@pytest.mark.parametrize(("n", "K"), [(5, 2), (80, 6), (40_000, 7)])
def test_the_line_search_ends_near_the_minimum(rng, n, K):
    y, v = rng.integers(0, K, n).astype(np.int32), rng.integers(0, 3, n).astype(float)
    s, e = rng.normal(size=(2, n, K))
    e[np.arange(n), y] += 1.0
    for C, dd, wd in ((1.0, 2.0, -0.5), (30.0, 1e-3, 0.1), (1e-3, 5.0 * n, -0.1)):
        step = multiclass.crammer_singer_line(y, s, e, wd, dd, C, 1, v)
        assert step == multiclass.crammer_singer_line(y, s, e, wd, dd, C, 3, v)

        def phi(t):
            coef = np.empty((n, K))
            value = multiclass.crammer_singer(y, s + t * e, coef, 1, v)[0]
            return t * (t * dd / 2 + wd) + C * value  # noqa: B023

        around = [phi(t) for t in step * np.array([0.0, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0])]
        gained = around[0] - phi(step)
        assert gained > 0
        assert min(around) >= phi(step) - 2e-3 * gained
    assert multiclass.crammer_singer_line(y, s, e, 1e9, 1.0, 1.0, 1) == 0.0


def test_a_cancelled_descent_is_consistent_and_states_are_checked(rng):
    X, y, _ = examples(rng, 3000, 6)
    run, alpha, W = descent(X, y, 4, 1.0)
    full = truth.with_constant(X, 1.0)
    run.wake(0.1, full @ W)
    assert run.run(0.1, 2, 0.0) is True
    flag = np.ones(1, np.int32)
    assert run.run(0.1, 5, 0.0, flag) is False
    np.testing.assert_allclose(W, full.T @ alpha, atol=1e-9)
    saved = run.state()
    run.wake(0.1, full @ W)
    run.run(0.1, 3, 0.0)
    other = descent(X, y, 4, 1.0)[0]
    for key, bad in (("active", 3001), ("epochs", -1), ("gap", float("nan"))):
        with pytest.raises(StateError):
            other.restore({**saved, key: bad})
    with pytest.raises(ValueError, match="a class is none of the K"):
        descent(X, y + 1, 4, 1.0)
    assert run.state() != saved


def test_a_run_goes_on_from_its_state_to_the_same_bytes(rng):
    X, y, v = examples(rng, 500, 6)
    full = truth.with_constant(X, 1.0)
    run, alpha, W = descent(X, y, 4, 1.0, v)
    descend(run, full, W, 0.5, 2, 5)
    saved, alpha_then, W_then = run.state(), alpha.copy(), W.copy()
    descend(run, full, W, 0.5, 3, 5)
    other, there, weights = descent(X, y, 4, 1.0, v, seed=9)
    there[:], weights[:] = alpha_then, W_then
    other.restore(saved)
    descend(other, full, weights, 0.5, 3, 5)
    assert (there.tobytes(), weights.tobytes()) == (alpha.tobytes(), W.tobytes())
    assert other.state() == run.state()


def test_a_share_of_the_dual_value_ends_the_epochs(rng):
    X, y, v = examples(rng, 60)
    run, alpha, W = descent(X, y, 4, 1.0, v)
    full, before = truth.with_constant(X, 1.0), np.inf
    run.wake(0.5, full @ W)
    for _ in range(200):
        known = truth.dual(full, y, alpha)
        run.run(0.5, 1, 0.0, share=0.01, dual=known)
        before, last = run.gap, before
        if before <= 0.01 * truth.dual(full, y, alpha):
            break
    epochs, again = run.epochs, descent(X, y, 4, 1.0, v)[0]
    assert 1 < epochs < 200 and last > 0.01 * known
    again.wake(0.5, np.zeros((60, 4)))
    again.run(0.5, 500, 0.0, share=0.01)
    assert (again.epochs, again.gap) == (epochs, before)
