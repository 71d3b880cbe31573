# SPDX-License-Identifier: BSD-3-Clause
"""Stochastic kernel solvers: the papers' steps, honest numbers, same bytes for any threads and
after a resumption."""

import itertools

import numpy as np
import pytest
from reference.kernel import matrix, maximum, primal
from reference.stochastic import batch_perceptron, visits
from svmcut._native.expansion import Expansion, water_level
from svmcut._native.expansion import Sbp as NativeSbp

from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.solvers.expansion import ExpansionProblem
from svmcut.solvers.sbp import Sbp
from svmcut.solvers.visits import Pegasos, Perceptron, Sdca

RBF = Kernel("rbf", gamma=0.5)


def data(seed, n=120, d=3, noise=0.4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    first = np.argsort(y < 0, kind="stable")  # by class already: the reference draws by place
    return X[first], y[first]


def problem(X, y, C=1.0, kernel=RBF, held=None, **options):
    held = np.zeros(len(y), bool) if held is None else held
    return ExpansionProblem(Csr.from_dense(X), y, kernel, C, held, **options)


MAKERS = {
    "sbp": lambda **words: Sbp(**{"epochs": 20} | words),
    "sbp without bias": lambda **words: Sbp(**{"epochs": 20, "free_bias": False} | words),
    "sbp with nu": lambda **words: Sbp(**{"epochs": 20, "nu": 0.05, "average": "full"} | words),
    "pegasos": lambda **words: Pegasos(**{"epochs": 20} | words),
    "sdca": lambda **words: Sdca(**{"epochs": 20} | words),
    "sdca iid": lambda **words: Sdca(**{"epochs": 20, "sampling": "independent"} | words),
    "perceptron": lambda **words: Perceptron(**{"epochs": 20} | words),
}


@pytest.mark.parametrize("average", ["full", "suffix"])
@pytest.mark.parametrize("nu", [0.0, 0.02, 0.3])
def test_sbp_takes_the_steps_of_the_algorithm(nu, average):
    X, y = data(1)
    steps = 700
    iterates, levels = batch_perceptron(matrix(RBF, X, X), y, nu, steps, seed=7)
    run = NativeSbp(
        Expansion(Csr.from_dense(X), int((y > 0).sum()), len(y), np.zeros(0, np.int8), RBF),
        False,
        1.0,
        7,
        True,
    )
    run.volume = len(y) * nu
    for t in range(steps):
        if average == "suffix" and t == 300:
            run.restart()
        run.run(1)
        assert abs(run.level - levels[t]) <= 1e-5
        assert np.abs(run.scale * run.arrays["a"] - iterates[t]).max() <= 1e-5
    first = 300 if average == "suffix" else 0
    run.flush()
    a, c = run.arrays["sum"] / run.averaged, run.arrays["response_sum"] / run.averaged
    Q = matrix(RBF, X, X) * np.outer(y, y)
    assert run.averaged == steps - first
    assert a == pytest.approx(iterates[first:].mean(0), abs=1e-6)
    assert c == pytest.approx(Q @ iterates[first:].mean(0), abs=1e-5)
    assert run.squared == pytest.approx(iterates[-1] @ Q @ iterates[-1], abs=1e-5)
    assert run.evaluations == steps * len(y)


@pytest.mark.parametrize("nu", [0.0, 0.01, 0.2])
def test_with_a_free_bias_only_the_lowest_of_a_class_are_drawn_each_class_half_the_time(nu):
    X, y = data(2, n=200)
    X[5:60:3] = X[5]
    positives = int((y > 0).sum())
    run = NativeSbp(
        Expansion(Csr.from_dense(X), positives, len(y), np.zeros(0, np.int8), RBF),
        True,
        1.0,
        3,
        False,
    )
    run.volume = len(y) * nu
    ups = 0
    for _ in range(600):
        c, before = run.arrays["c"].copy(), run.arrays["a"].copy()
        run.run(1)
        assert (
            run.scale < 1 or run.squared < 1 or run.steps == 1
        )  # not flushed: one coefficient changed
        (j,) = np.flatnonzero(run.arrays["a"] != before)
        side = c[:positives] if j < positives else c[positives:]
        assert c[j] <= np.sort(side)[run.covered - 1]
        ups += j < positives
    assert 230 <= ups <= 370


@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize(("cls", "C"), [(Pegasos, 0.3), (Sdca, 2.0), (Perceptron, 1.0)])
def test_visits_are_those_of_the_definition(cls, C, shuffled):
    X, y = data(3)
    solver = cls(2.5, seed=11, sampling="shuffled" if shuffled else "independent")
    run = solver.start(problem(X, y, C))
    last = list(run)[-1]
    truth = visits(run.rule, matrix(RBF, X, X), y, C, 300, 11, shuffled)
    assert run._native.visits == 300
    assert run._native.a == pytest.approx(truth, abs=2e-5)
    assert last.evaluations == run._native.changes * len(y) <= 300 * len(y)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    "kernel", [RBF, Kernel("polynomial", degree=2, scale=0.3, offset=1.0), Kernel("linear")]
)
def test_numbers_belong_to_the_solution(name, kernel):
    X, y = data(4)
    run = MAKERS[name](seed=1).start(problem(X, y, 2.0, kernel))
    history = list(run)
    beta, b = run.solution()
    K = matrix(kernel, X, X)
    assert primal(K, y, beta, b, 2.0) == pytest.approx(history[-1].primal, rel=1e-5)
    assert history[-1].risk == pytest.approx(
        np.maximum(0, 1 - y * (K @ beta + b)).sum(), rel=1e-5, abs=1e-6
    )
    if name != "sbp with nu":
        assert all(b.primal <= a.primal for a, b in itertools.pairwise(history))
        assert history[-1].primal <= 2.0 * len(y)
    if name.startswith("sdca"):
        best, _ = maximum(K, y, 2.0, False, 1e-6)
        assert history[-1].dual <= best * (1 + 1e-5) <= history[-1].primal * (1 + 2e-5)


@pytest.mark.parametrize("name", MAKERS)
def test_same_bytes_for_any_threads_and_after_a_resumption_anywhere(name, monkeypatch):
    monkeypatch.setattr("svmcut.solvers.expansion.PIECE_SECONDS", 0.0)  # a yield at every step
    X, y = data(5, n=90)
    held = np.arange(90) % 10 == 0
    runs = []
    for threads in (1, 2, 3):
        run = MAKERS[name](seed=5, epochs=3).start(problem(X, y, held=held, threads=threads))
        list(run)
        runs.append(run.solution().beta.tobytes())
    assert len(set(runs)) == 1
    first = MAKERS[name](seed=5, epochs=3).start(problem(X, y, held=held))
    steps = iter(first)
    for cut in (1, 17, 60):
        for _ in range(cut):
            if next(steps, None) is None:
                break
        else:
            second = MAKERS[name](seed=5, epochs=3).start(
                problem(X, y, held=held), state=first.state()
            )
            list(second)
            assert second.solution().beta.tobytes() == runs[0]
            assert second.solution().b == second.best.b


@pytest.mark.parametrize("d", [2, 600])
def test_threads_leave_the_bytes_over_many_pieces(d):
    rng = np.random.default_rng(6)
    X = np.where(
        rng.random((5000, d)) < (1.0 if d == 2 else 0.01), rng.normal(size=(5000, d)), 0
    ).astype(np.float32)
    y = np.where(X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=5000) > 0, 1.0, -1.0)
    found = set()
    for threads in (1, 2, 3):
        run = Sbp(0.02, seed=2).start(problem(X, y, threads=threads))
        list(run)
        found.add(run.solution().beta.tobytes())
    assert len(found) == 1


def test_sdca_ends_at_the_gap_asked_for():
    X, y = data(7)
    solver = Sdca(1000)
    last = list(solver.start(problem(X, y, gap=1e-3)))[-1]
    assert 0 <= last.gap <= 1e-3 * last.primal
    assert last.passes < 1000


@pytest.mark.every(3)
@pytest.mark.parametrize("free_bias", [False, True])
@pytest.mark.parametrize("C", [1.0, 0.05, 20.0])
def test_nu_follows_c_to_the_optimum(C, free_bias):
    X, y = data(8, n=150)
    best, _ = maximum(matrix(RBF, X, X), y, C, free_bias, 1e-5)
    solver = Sbp(120, free_bias=free_bias)
    last = list(solver.start(problem(X, y, C)))[-1]
    assert best * (1 - 1e-4) <= last.primal <= 1.05 * best


@pytest.mark.parametrize("free_bias", [False, True])
def test_level_and_its_bound_close_in_on_the_optimum(free_bias):
    X, y = data(9, n=300)
    nu, K = 0.05, matrix(RBF, X, X)
    run = Sbp(100, nu=nu, free_bias=free_bias).start(problem(X, y))
    list(run)
    native, p = run._native, run.distribution()
    c = native.arrays["response_sum"] / native.averaged
    level, _, _ = water_level(c, int((y > 0).sum()), 300 * nu, free_bias)
    bound = np.sqrt((p * y) @ K @ (p * y)) + 300 * nu * p.max()
    assert p.sum() == pytest.approx(1)
    assert not free_bias or (p * y).sum() == pytest.approx(0, abs=1e-12)
    assert level <= bound * (1 + 1e-6)
    assert bound - level <= 0.05 * bound


def test_points_held_out_are_never_drawn_and_end_training():
    X, y = data(10, n=400, noise=0.1)
    held = np.random.default_rng(0).random(400) < 0.25
    for name in MAKERS:
        run = MAKERS[name](epochs=200).start(problem(X, y, held=held))
        last = list(run)[-1]
        beta, b = run.solution()
        score = matrix(RBF, X, X) @ beta + b
        assert np.all(beta[held] == 0)
        assert run.best.error == pytest.approx(100 * np.mean((score > 0) != (y > 0), where=held))
        assert run.ended_early
        assert 1 <= last.passes < 200


def test_large_norms_and_one_class():
    X, y = data(11)
    for solver in (Sbp(5, free_bias=False), Sdca(5), Pegasos(5), Perceptron(5)):
        last = list(solver.start(problem(X, np.ones(len(y)))))[-1]
        assert np.isfinite(last.primal)
    for kernel in (Kernel("polynomial", degree=3, scale=10.0, offset=5.0), Kernel("linear")):
        last = list(Sbp(5).start(problem(100 * X, y, 1.0, kernel)))[-1]
        assert last.primal <= len(y)
