# SPDX-License-Identifier: BSD-3-Clause
"""SMO of targets: optimum of the reference QP, KKT conditions, honest certificate, units, same
bytes."""

import itertools

import numpy as np
import pytest
from reference.kernel import matrix, tube_maximum, tube_primal
from svmcut._native.smo import Smo as NativeSmo

from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.solvers.protocol import Start
from svmcut.solvers.smo import KernelProblem, Smo, SmoRun


def data(seed, n=60, d=4, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1].astype(float) ** 2 + noise * rng.normal(size=n)


def solve(
    X, y, kernel, C, tube=0.2, free_bias=True, tolerance=1e-6, weights=None, gap=None, **options
):
    problem = KernelProblem(Csr.from_dense(X), y, kernel, C, tolerance, gap, weights, tube)
    return list(Smo(free_bias, **options).start(problem))


@pytest.mark.parametrize("free_bias", [True, False])
@pytest.mark.parametrize(
    ("name", "C", "tube"),
    [
        ("rbf", 0.02, 0.2),
        ("rbf", 1.0, 0.2),
        ("rbf", 50.0, 0.05),
        ("rbf", 3.0, 0.0),
        ("polynomial", 1.0, 0.2),
        ("linear", 1.0, 0.4),
    ],
)
def test_reaches_the_reference_optimum_with_an_honest_certificate(name, C, tube, free_bias):
    X, y = data(1, n=36)
    kernel = Kernel(name, degree=2, gamma=0.7, scale=0.5, offset=1.0)
    for weights in (None, np.random.default_rng(2).choice([0.3, 1.0, 2.5], len(y))):
        boxes = C if weights is None else C * weights
        K = matrix(kernel, X, X)
        best, _ = tube_maximum(K, y, boxes, tube, free_bias, 1e-5)
        last = solve(X, y, kernel, C, tube, free_bias, weights=weights)[-1]
        beta, b = last.solution()
        close = 4e-6 if name == "polynomial" else 1e-6
        assert last.dual == pytest.approx(best, rel=close)
        assert beta @ y - tube * np.abs(beta).sum() - 0.5 * beta @ K @ beta == pytest.approx(
            best, rel=close
        )
        assert tube_primal(K, y, beta, b, boxes, tube) == pytest.approx(last.primal, rel=3 * close)
        assert -1e-6 * best <= last.gap <= 1e-4 * best
        assert np.all(np.abs(beta) <= boxes)
        assert abs(beta.sum()) <= 1e-9 * C * len(y) if free_bias else b == 0.0
        assert last.support == np.count_nonzero(beta)


@pytest.mark.parametrize("free_bias", [True, False])
def test_kkt_conditions_hold_after_shrinking_on_float32_rows(free_bias):
    X, y = data(2, n=2500, d=5)
    kernel, C, tube = Kernel("rbf", gamma=0.5), 2.0, 0.4
    history = solve(X, y, kernel, C, tube, free_bias, tolerance=1e-3, cache_mb=0.5)
    beta, b = history[-1].solution()
    squared = (X.astype(float) ** 2).sum(1)
    K = np.exp(
        -kernel.gamma * (squared[:, None] + squared - 2 * X.astype(float) @ X.T.astype(float))
    )
    r = y - K @ beta - b
    assert history[-1].iteration > 2500
    assert np.all(np.abs(r[beta == 0]) <= tube + 1.1e-3)
    assert np.all((r * np.sign(beta))[np.abs(beta) == C] >= tube - 1.1e-3)
    free = (beta != 0) & (np.abs(beta) < C)
    assert free.any() and np.all(np.abs(r[free] * np.sign(beta[free]) - tube) <= 1.1e-3)
    assert tube_primal(K, y, beta, b, C, tube) == pytest.approx(history[-1].primal, rel=1e-6)
    assert all(b >= a - 1e-7 * abs(a) for a, b in itertools.pairwise(p.dual for p in history))


@pytest.mark.parametrize("free_bias", [True, False])
def test_cache_size_instructions_and_shrinking_leave_the_optimum(free_bias):
    X, y = data(3, n=500)
    duals = []
    for cache_mb, instructions in itertools.product((0.001, 100), (0, 1, 2)):
        options = {"cache_mb": cache_mb, "instructions": instructions, "tube": 0.3}
        run = NativeSmo(Csr.from_dense(X), y, Kernel("rbf", gamma=0.5), 5.0, free_bias, **options)
        assert run.run(1e-5, 10**7)
        beta, v = run.solution()
        assert 0.5 * beta @ (y + v) - 0.3 * np.abs(beta).sum() == pytest.approx(run.dual, rel=1e-9)
        duals.append(run.dual)
    assert max(duals) == pytest.approx(min(duals), rel=1e-6)


def test_same_bytes_for_any_number_of_threads_and_in_a_second_run():
    X, y = data(4, n=9000, d=3)
    runs = (
        solve(X, y, Kernel("rbf"), 0.1, 0.5, tolerance=1e-2, threads=threads)
        for threads in (1, 2, 3, 1)
    )
    assert len({run[-1].solution().beta.tobytes() for run in runs}) == 1


@pytest.mark.parametrize("free_bias", [True, False])
def test_c_tube_and_targets_may_have_any_unit(free_bias):
    """y, tube and C times k: the same f times k, its objective times k^2; to the bit where k is a
    power of 2."""
    X, y = data(5, n=150)
    K, found = matrix(Kernel("rbf"), X, X), {}
    for k in (1.0, 1024.0, 2.0**-10, 1e3, 1e-5):
        last = solve(X, k * y, Kernel("rbf"), k * 2.0, k * 0.1, free_bias, gap=1e-5)[-1]
        assert last.gap <= 1e-5 * last.primal
        beta, b = last.solution()
        assert tube_primal(K, k * y, beta, b, 2.0 * k, 0.1 * k) == pytest.approx(
            last.primal, rel=1e-9
        )
        found[k] = beta / k, last.primal / k**2, last.iteration
    for k in (1024.0, 2.0**-10):
        assert found[k][0].tobytes() == found[1.0][0].tobytes() and found[k][2] == found[1.0][2]
    assert all(primal == pytest.approx(found[1.0][1], rel=1e-5) for _, primal, _ in found.values())


@pytest.mark.parametrize("free_bias", [True, False])
def test_equal_targets_rows_within_the_tube_and_tiny_sets_end(free_bias):
    X, y = data(6)
    for targets, tube in (
        (np.full(60, 7.0), 0.1),
        (0.05 * np.sign(y), 0.1),
        (np.zeros(60), 0.0),
        (y, 100.0),
    ):
        for gap in (None, 1e-3):
            last = solve(X, targets, Kernel("rbf"), 1.0, tube, free_bias, gap=gap)[-1]
            assert last.gap <= 1e-5 * last.primal
            if free_bias or np.abs(targets).max() <= tube:
                assert last.primal == last.support == 0
    for rows in (np.ones((60, 2), np.float32), np.zeros((60, 2), np.float32)):
        for kernel in (Kernel("rbf"), Kernel("linear")):
            last = solve(rows, y, kernel, 2.0, 0.1, free_bias)[-1]
            assert last.gap <= 1e-5 * last.primal
    for n in (1, 2, 3):
        last = solve(X[:n], y[:n], Kernel("rbf"), 1.0, 0.1, free_bias)[-1]
        assert last.gap <= 1e-5 * max(1.0, last.primal)


@pytest.mark.parametrize("free_bias", [True, False])
def test_another_c_starts_from_the_last_solution(free_bias):
    X, y = data(8, n=300)
    rows, kernel, run = Csr.from_dense(X), Kernel("rbf", gamma=0.5), None
    for C in (0.1, 1.0, 30.0, 0.5):
        problem = KernelProblem(rows, y, kernel, C, 1e-5, tube=0.1)
        run = Smo(free_bias).start(problem, Start(run=run))
        warm, cold = list(run)[-1], list(Smo(free_bias).start(problem))[-1]
        assert warm.dual == pytest.approx(cold.dual, rel=1e-6)
        assert np.all(np.abs(warm.solution().beta) <= C)


def test_a_large_c_over_float32_rows_is_refined_to_an_honest_gap(monkeypatch):
    X, y = data(9, n=2100, d=2, noise=0.01)
    K, refreshed, fresh = matrix(Kernel("rbf", gamma=0.2), X, X), SmoRun._refresh, []

    def values(progress):
        beta, b = progress.solution()
        return tube_primal(K, y, beta, b, 1e3, 0.05), beta @ y - 0.05 * np.abs(
            beta
        ).sum() - 0.5 * beta @ K @ beta

    def spied(run):
        progress = refreshed(run)
        fresh.append((progress.primal, progress.dual, *values(progress)))
        return progress

    monkeypatch.setattr(SmoRun, "_refresh", spied)
    last = solve(X, y, Kernel("rbf", gamma=0.2), 1e3, 0.05, gap=1e-2)[-1]
    primal, dual = values(last)
    assert last.gap <= 1e-2 * last.primal and primal - dual <= 1e-2 * primal
    assert fresh and all(told[:2] == pytest.approx(told[2:], rel=1e-9) for told in fresh)


def test_it_is_the_machine_of_libsvm():
    svm = pytest.importorskip("sklearn.svm")
    X, y = data(10, n=200)
    last = solve(X, y, Kernel("rbf", gamma=0.5), 3.0, 0.1)[-1]
    beta, b = last.solution()
    machine = svm.SVR(C=3.0, epsilon=0.1, gamma=0.5, tol=1e-7).fit(X, y)
    theirs = np.zeros(200)
    theirs[machine.support_] = machine.dual_coef_[0]
    assert np.abs(beta - theirs).max() <= 1e-4 * 3.0 and b == pytest.approx(
        machine.intercept_[0], abs=1e-5
    )
