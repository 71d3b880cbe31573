# SPDX-License-Identifier: BSD-3-Clause
"""A weight of each row in the compiled loops of the hinge: weight k is k rows, weight 0 no row, 1
changes no bit."""

import numpy as np
import pytest
from reference import hinge, kernel, smoothed
from svmcut._native.smo import Smo

from svmcut._native import dual_cd, newton, sparse
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel


def weighted(rng, n=60, d=5, density=1.0):
    """Dense rows, labels, weights 0 to 3, and the row of each of the rows repeated."""
    X = np.where(rng.random((n, d)) < density, rng.normal(size=(n, d)), 0).astype(np.float32)
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)
    v = rng.integers(0, 4, n).astype(float)
    return X, y, v, np.repeat(np.arange(n), v.astype(int))


def descent(X, y, bias, weights):
    norms = (X.astype(float) ** 2).sum(1) + bias**2
    alpha, w = np.zeros(len(y)), np.zeros(X.shape[1] + (bias != 0))
    return (
        dual_cd.Descent(sparse.Rows(Csr.from_dense(X)), y, norms, bias, alpha, w, 0, weights),
        alpha,
        w,
    )


@pytest.mark.parametrize("bias", [0.0, 1.5])
@pytest.mark.parametrize("C", [0.02, 1.0])
def test_dual_cd_of_weighted_rows_finds_the_optimum_of_rows_repeated(rng, bias, C):
    X, y, v, rows = weighted(rng)
    best, minimum = hinge.optimum(X[rows], y[rows], C, bias)
    run, alpha, w = descent(X, y, bias, v)
    full = hinge.with_constant(X.astype(float), bias)
    for _ in range(40):  # shrinks, and wakes all that may move
        run.run(C, 100, 0.0)
        run.wake(C, full @ w)
        assert run.active <= np.count_nonzero(v)
    assert np.all((alpha >= 0) & (alpha <= C * v))
    assert np.any((alpha > C) & (alpha == C * v))
    assert alpha.sum() - 0.5 * w @ w == pytest.approx(minimum, rel=1e-8)
    assert w == pytest.approx(best, abs=1e-4 * np.abs(best).max())
    assert run.gap == pytest.approx(0, abs=1e-6 * minimum)


def test_weights_of_one_change_no_bit_of_dual_cd(rng):
    X, y, _, _ = weighted(rng, 3000, 40, 0.2)
    ends = []
    for weights in (None, np.ones(3000)):
        run, alpha, w = descent(X, y, 1.0, weights)
        run.run(0.3, 12, 0.0)
        run.wake(0.3, hinge.with_constant(X.astype(float), 1.0) @ w)
        run.run(0.3, 5, 0.0)
        state = run.state()
        order = state.pop("order")
        ends.append((alpha.tobytes(), w.tobytes(), order[: state["active"]].tobytes(), state))
    assert ends[0] == ends[1]
    with pytest.raises(ValueError, match="weights have the wrong length"):
        descent(X, y, 1.0, np.ones(2999))


@pytest.mark.parametrize("n", [7, 257, 40_000])
def test_the_smoothed_hinge_of_weighted_rows_is_that_of_rows_repeated(rng, n):
    _, y, v, rows = weighted(rng, n, 1)
    s, e, delta = np.round(2 * rng.normal(size=n), 2), rng.normal(size=n), 0.5
    coef, repeated = np.empty(n), np.empty(len(rows))
    for threads in (1, 3):
        *sums, band = newton.smooth_hinge(y, s, delta, coef, threads, v)
        *expected, _ = newton.smooth_hinge(y[rows], s[rows], delta, repeated)
        assert sums == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(coef, np.bincount(rows, repeated, n), rtol=1e-12)
        slopes = newton.smooth_slope(y, s, e, 0.3, delta, threads, v)
        assert slopes == pytest.approx(
            newton.smooth_slope(y[rows], s[rows], e[rows], 0.3, delta), rel=1e-9, abs=1e-9
        )
    found = np.empty(n + 1, np.int32)
    u = np.abs(1 - y * s) < delta / 2
    assert newton.band_rows(coef, found, v) == band
    assert np.array_equal(found[:band], np.nonzero(u & (v > 0))[0])


@pytest.mark.parametrize(("density", "n"), [(0.4, 300), (1.0, 9000)])
@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_newtons_matrix_of_weighted_rows_is_that_of_dense_rows(rng, n, bias, density):
    X, _, v, _ = weighted(rng, n, 7, density)
    v *= rng.uniform(0.5, 1.5, n)
    full = hinge.with_constant(X.astype(float), bias)
    rows, of_X = np.nonzero(rng.random(n) < 0.9)[0].astype(np.int32), sparse.Rows(Csr.from_dense(X))
    H, p = np.zeros((full.shape[1],) * 2), np.linspace(-1, 1, full.shape[1])
    product, diagonal = np.zeros(len(p)), np.zeros(len(p))
    newton.band_gram(of_X, rows, bias, H, 2, v)
    newton.band_diagonal(of_X, rows, bias, diagonal, 2, v)
    assert diagonal == pytest.approx(np.diag(H), rel=1e-9)
    newton.band_product(of_X, rows, bias, p, product, 2, v)
    truth = (v[rows] * full[rows].T) @ full[rows]
    assert np.tril(H) == pytest.approx(np.tril(truth), rel=1e-9, abs=1e-9)
    assert product == pytest.approx(truth @ p, rel=1e-9, abs=1e-9)


def test_a_newton_step_of_weighted_rows_falls_to_the_optimum_of_rows_repeated(rng):
    X, y, v, rows = weighted(rng, 200)
    full, C, delta, w = X.astype(float), 0.02, 2.0, np.zeros(5)
    of_X, found = sparse.Rows(Csr.from_dense(X)), np.empty(201, np.int32)
    for _ in range(30):
        coef, H = np.empty(200), np.empty((5, 5))
        band = newton.smooth_hinge(y, full @ w, delta, coef, 1, v)[4]
        p = -(w + C * full.T @ coef)
        newton.band_gram(of_X, found[: newton.band_rows(coef, found, v)], 0.0, H, 1, v)
        assert newton.solve_shifted(H, C / delta, p)
        w = w + p
    assert band
    value, gradient, _ = smoothed.primal(full[rows], y[rows], w, C, delta)
    assert np.abs(gradient).max() <= 1e-9 * value


def test_weights_of_one_change_no_bit_of_newtons_loops(rng):
    X, y, _, _ = weighted(rng, 5000, 9, 0.7)
    s, e, ones, of_X = (
        rng.normal(size=5000),
        rng.normal(size=5000),
        np.ones(5000),
        sparse.Rows(Csr.from_dense(X)),
    )
    ends = []
    for v in (None, ones):
        coef, found, H, out = (
            np.empty(5000),
            np.empty(5001, np.int32),
            np.empty((10, 10)),
            np.zeros(10),
        )
        sums = newton.smooth_hinge(y, s, 0.7, coef, 1, v)
        rows = found[: newton.band_rows(coef, found, v)]
        newton.band_gram(of_X, rows, 1.0, H, 1, v)
        newton.band_product(of_X, rows, 1.0, np.linspace(-1, 1, 10), out, 1, v)
        slopes = newton.smooth_slope(y, s, e, 0.4, 0.7, 1, v)
        ends.append((sums, slopes, coef.tobytes(), rows.tobytes(), H.tobytes(), out.tobytes()))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("free_bias", [True, False])
@pytest.mark.parametrize("C", [0.05, 2.0])
def test_smo_of_weighted_points_finds_the_optimum_of_points_repeated(rng, C, free_bias):
    X, y, v, rows = weighted(rng, 40, 3)
    rbf = Kernel("rbf", gamma=0.5)
    best, _ = kernel.maximum(kernel.matrix(rbf, X[rows], X[rows]), y[rows], C, free_bias, 1e-6)
    run = Smo(Csr.from_dense(X), y, rbf, C, free_bias, weights=v)
    assert run.run(1e-7, 10**6)
    beta, resid = run.solution()
    assert run.dual == pytest.approx(best, rel=1e-7)
    assert np.all((beta * y >= 0) & (beta * y <= C * v))
    assert np.any((np.abs(beta) > C) & (np.abs(beta) == C * v))
    assert 0.5 * beta @ (y + resid) == pytest.approx(best, rel=1e-7)
    run.rescale(3 * C)  # from a scaled solution, in the scaled box
    assert run.run(1e-7, 10**6)
    again = Smo(Csr.from_dense(X), y, rbf, 3 * C, free_bias, weights=v)
    assert again.run(1e-7, 10**6)
    assert run.dual == pytest.approx(again.dual, rel=1e-7)


@pytest.mark.parametrize("free_bias", [True, False])
def test_smo_of_weighted_points_shrinks_and_goes_on_to_the_same_bytes(rng, free_bias):
    X, y, v, rows = weighted(rng, 2200, 3)
    rbf, made = Kernel("rbf", gamma=0.5), []
    for _ in range(2):
        made.append(Smo(Csr.from_dense(X), y, rbf, 20.0, free_bias, 1.0, weights=v))
    one, two = made
    assert not one.run(1e-5, 2500)
    assert one.active < 2200
    two.restore(one.state())
    for run in made:
        assert run.run(1e-5, 10**6)
        run.refresh(0.0)
    assert [x.tobytes() for x in one.solution()] == [x.tobytes() for x in two.solution()]
    repeated = Smo(Csr.from_dense(X[rows]), y[rows], rbf, 20.0, free_bias)
    assert repeated.run(1e-5, 10**6)
    assert one.dual == pytest.approx(repeated.dual, rel=1e-5)
    plain = Smo(Csr.from_dense(X), y, rbf, 20.0, free_bias)
    with pytest.raises(ValueError, match="none of these points"):
        plain.restore(one.state())


@pytest.mark.parametrize("free_bias", [True, False])
def test_weights_of_one_change_no_bit_of_smo(rng, free_bias):
    X, y, _, _ = weighted(rng, 2100, 3)
    ends = []
    for v in (None, np.ones(2100)):
        run = Smo(Csr.from_dense(X), y, Kernel("rbf", gamma=0.5), 1.0, free_bias, 1.0, weights=v)
        assert run.run(1e-3, 10**6)
        error = run.probe(0.0, 100)
        run.refresh(0.0)
        ends.append(
            (
                error,
                run.iterations,
                *(x.tobytes() for x in run.solution()),
                *(x.tobytes() for x in run.state().values()),
            )
        )
    assert ends[0] == ends[1]


def test_the_errors_a_probe_adds_up_are_weighted(rng):
    X, y, _, _ = weighted(rng, 2100, 3)
    errors = []
    for v in (np.ones(2100), np.full(2100, 2.0)):
        run = Smo(Csr.from_dense(X), y, Kernel("rbf", gamma=0.5), 2.0 / v[0], weights=v)
        assert run.run(1e-3, 10**6)
        errors.append(run.probe(0.0, 10**6))
    assert errors[1][0] == errors[0][0] > 0
    assert errors[1][1] == pytest.approx(2 * errors[0][1], rel=1e-12)
