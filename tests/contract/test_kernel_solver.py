# SPDX-License-Identifier: BSD-3-Clause
"""Exact kernel solvers: optimum of the reference QP, KKT conditions, honest certificate, same
bytes."""

import itertools

import numpy as np
import pytest
from reference.kernel import matrix, maximum, primal
from svmcut._native.smo import Smo as NativeSmo

from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.solvers.protocol import Start
from svmcut.solvers.smo import KernelProblem, Smo


def data(seed, n=90, d=4, noise=0.4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    return X, np.where(X[:, 0] * X[:, 1] + noise * rng.normal(size=n) > 0, 1.0, -1.0)


def solve(X, y, kernel, C, free_bias=True, tolerance=1e-6, **options):
    problem = KernelProblem(Csr.from_dense(X), y, kernel, C, tolerance)
    return list(Smo(free_bias, **options).start(problem))


@pytest.mark.parametrize("free_bias", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("name", ["linear", "polynomial", "rbf"])
def test_reaches_the_reference_optimum_with_an_honest_certificate(name, C, free_bias):
    X, y = data(1, n=50)
    kernel = Kernel(name, degree=2, gamma=0.7, scale=0.5, offset=1.0)
    K = matrix(kernel, X, X)
    best, _ = maximum(K, y, C, free_bias, 1e-5)
    last = solve(X, y, kernel, C, free_bias)[-1]
    beta, b = last.solution()
    # float32 kernel values move primal and dual by about 1e-7 |beta|_1^2, both alike
    close = 4e-6 if name == "polynomial" else 1e-6
    assert last.dual == pytest.approx(best, rel=close)
    assert beta @ y - 0.5 * beta @ K @ beta == pytest.approx(best, rel=close)
    assert primal(K, y, beta, b, C) == pytest.approx(last.primal, rel=3 * close)
    assert -1e-6 * best <= last.gap <= 1e-4 * best
    assert np.all((beta * y >= 0) & (beta * y <= C))
    assert not free_bias or abs(beta.sum()) <= 1e-9 * C * len(y)
    assert last.support == np.count_nonzero(beta)


@pytest.mark.parametrize("free_bias", [True, False])
def test_kkt_conditions_hold_after_shrinking(free_bias):
    X, y = data(2, n=2500, d=6)
    kernel, C = Kernel("rbf", gamma=0.5), 10.0
    history = solve(X, y, kernel, C, free_bias, tolerance=1e-3, cache_mb=0.5)
    beta, b = history[-1].solution()
    squared = (X.astype(float) ** 2).sum(1)
    K = np.exp(
        -kernel.gamma * (squared[:, None] + squared - 2 * X.astype(float) @ X.T.astype(float))
    )
    margin = y * (K @ beta + b)
    assert history[-1].iteration > 2500
    assert np.all(margin[beta == 0] >= 1 - 1.1e-3)
    assert np.all(margin[np.abs(beta) == C] <= 1 + 1.1e-3)
    assert np.all(np.abs(margin[(beta != 0) & (np.abs(beta) < C)] - 1) <= 1.1e-3)
    duals, primals = [p.dual for p in history], [p.primal for p in history]
    # a refresh goes from float32 to float64 kernel values
    assert all(b >= a - 1e-7 * abs(a) for a, b in itertools.pairwise(duals))
    assert all(b <= a for a, b in itertools.pairwise(primals))


@pytest.mark.parametrize("free_bias", [True, False])
def test_cache_size_instructions_and_shrinking_leave_the_optimum(free_bias):
    X, y = data(3, n=1500)
    rows, kernel = Csr.from_dense(X), Kernel("rbf", gamma=0.5)
    duals = []
    for cache_mb, instructions in itertools.product((0.001, 1, 100), (0, 1, 2)):
        run = NativeSmo(rows, y, kernel, 5.0, free_bias, cache_mb, 1, instructions)
        assert run.run(1e-5, 10**7)
        beta, v = run.solution()
        assert 0.5 * beta @ (y + v) == pytest.approx(run.dual, rel=1e-9)
        duals.append(run.dual)
    assert max(duals) == pytest.approx(min(duals), rel=1e-6)


def test_same_bytes_for_any_number_of_threads_and_in_a_second_run():
    X, y = data(4, n=9000, d=3)
    runs = (
        solve(X, y, Kernel("rbf"), 0.5, tolerance=1e-3, threads=threads) for threads in (1, 2, 3, 1)
    )
    solutions = {run[-1].solution().beta.tobytes() for run in runs}
    assert len(solutions) == 1


@pytest.mark.parametrize("free_bias", [True, False])
def test_one_class_equal_rows_rows_of_zero_and_tiny_sets_end(free_bias):
    rbf = Kernel("rbf")
    for sign in (1.0, -1.0):
        last = solve(data(5)[0], np.full(90, sign), rbf, 1.0, free_bias)[-1]
        assert last.gap <= 1e-5 * max(1.0, last.primal)
        assert not free_bias or (last.support == 0 and last.solution().b == sign)
    y = np.where(np.arange(30) < 12, 1.0, -1.0)
    for X in (np.ones((30, 2), np.float32), np.zeros((30, 2), np.float32)):
        for kernel in (rbf, Kernel("linear")):
            last = solve(X, y, kernel, 2.0, free_bias)[-1]
            assert last.gap <= 1e-5 * last.primal
    for n in (1, 2, 3):
        last = solve(data(6)[0][:n], np.array([1.0, -1.0, 1.0])[:n], rbf, 1.0, free_bias)[-1]
        assert last.gap <= 1e-5 * max(1.0, last.primal)


def test_ties_are_broken_alike_by_every_set_of_instructions():
    X = np.repeat(data(7, n=20)[0], 5, axis=0)
    y = np.tile([1.0, -1.0, 1.0, 1.0, -1.0], 20)
    K = matrix(Kernel("rbf"), X, X)
    best, _ = maximum(K, y, 1.0, True, 1e-8)
    for instructions in (0, 1, 2):
        run = NativeSmo(Csr.from_dense(X), y, Kernel("rbf"), 1.0, True, 40.0, 1, instructions)
        assert run.run(1e-7, 10**6)
        assert run.dual == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("free_bias", [True, False])
def test_another_c_starts_from_the_last_solution(free_bias):
    X, y = data(8, n=400)
    rows, kernel = Csr.from_dense(X), Kernel("rbf", gamma=0.5)
    solver, run = Smo(free_bias), None
    for C in (0.1, 1.0, 30.0, 0.5):
        run = solver.start(KernelProblem(rows, y, kernel, C, 1e-5), Start(run=run))
        warm = list(run)[-1]
        cold = list(Smo(free_bias).start(KernelProblem(rows, y, kernel, C, 1e-5)))[-1]
        assert warm.dual == pytest.approx(cold.dual, rel=1e-6)
        assert np.all(np.abs(warm.solution().beta) <= C)


@pytest.mark.parametrize("free_bias", [True, False])
def test_a_large_c_does_not_collapse(free_bias):
    X, y = data(9, n=300, noise=0.0)
    X = (X + 100).astype(np.float32)
    last = solve(X, y, Kernel("rbf", gamma=0.5), 1e5, free_bias, tolerance=1e-3)[-1]
    beta, b = last.solution()
    assert np.mean(y * (matrix(Kernel("rbf", gamma=0.5), X, X) @ beta + b) > 0) == 1.0


@pytest.mark.parametrize("free_bias", [True, False])
def test_a_gap_may_be_asked_for_and_steps_may_be_limited(free_bias):
    X, y = data(10, n=300)
    problem = KernelProblem(Csr.from_dense(X), y, Kernel("rbf"), 10.0, 1e-3, gap=1e-5)
    last = list(Smo(free_bias).start(problem))[-1]
    assert 0 <= last.gap <= 1e-5 * last.primal
    run = Smo(free_bias, max_steps=7).start(problem)
    assert next(iter(run)).iteration == 7
    settled = run.settle()
    beta, b = settled.solution()
    assert settled.primal == pytest.approx(
        primal(matrix(Kernel("rbf"), X, X), y, beta, b, 10.0), rel=1e-6
    )


def test_a_state_with_no_step_left_is_gone_on_from(rng):
    """Every point at its C: the gain of the next step is that of none."""
    X, y = rng.normal(size=(40, 3)), np.where(rng.random(40) < 0.5, 1.0, -1.0)
    problem = KernelProblem(Csr.from_dense(X), y, Kernel("rbf", gamma=0.5), 1e-3, gap=1e-6)
    run = Smo(False).start(problem, None, None)
    *_, last = run
    again = Smo(False).start(problem, None, run.state())
    assert list(again)[-1].primal == last.primal
