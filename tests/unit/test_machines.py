# SPDX-License-Identifier: BSD-3-Clause
"""Machines with a free bias: both trainers meet the KKT conditions, and one optimum."""

import numpy as np
import pytest

from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.originals.svm_light import machines
from svmcut.originals.svm_light.machines import MachineProblem
from svmcut.solvers.smo import KernelProblem
from svmcut.solvers.smoothed_margin import SmoothedMargin


def problem_of(rng, n=400, d=6, **others):
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = np.where(X[:, 0] + X[:, 1] + 0.7 + rng.normal(size=n) > 0, 1.0, -1.0)
    usual = {"kernel": Kernel(), "C": 1.0, "free_bias": True, "tolerance": 1e-6}
    return X, MachineProblem(Csr.from_dense(X), y, **usual | others)


def conditions(X, problem, machine):
    """The largest violation of the KKT conditions, from the definition."""
    assert np.all(machine.beta * problem.y >= 0) and np.all(np.abs(machine.beta) <= problem.boxes)
    s = X.astype(np.float64) @ (X.T.astype(np.float64) @ machine.beta)
    np.testing.assert_allclose(machine.scores, s + machine.b, atol=1e-9)
    if problem.free_bias:
        assert abs(machine.beta.sum()) <= 1e-9 * np.abs(machine.beta).sum()
    else:
        assert machine.b == 0
    v, alpha = problem.y - s, np.abs(machine.beta)
    below, above = alpha < problem.boxes, alpha > 0
    rise, fall = np.where(problem.y > 0, below, above), np.where(problem.y > 0, above, below)
    if problem.free_bias:
        return v[rise].max() - v[fall].min()
    return max(v[rise].max(), -v[fall].min())


@pytest.mark.parametrize("C", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_both_trainers_end_at_one_optimum(rng, monkeypatch, C, free, weighted):
    weights = rng.integers(0, 4, 400).astype(np.float64) if weighted else None
    X, problem = problem_of(rng, C=C, free_bias=free, weights=weights)
    found = []
    for rows in (1, 10**9):
        monkeypatch.setattr(machines, "FEATURE_ROWS", rows)
        machine = problem.train()
        assert (machine.evaluations == 0) == (rows == 1)
        assert conditions(X, problem, machine) <= 1.01e-6 * (1 if free else 2)
        v = 1.0 if weights is None else weights
        half = problem.squared_norm(machine) / 2
        primal = half + C * float((v * machine.losses(problem.y)).sum())
        assert primal - (np.abs(machine.beta).sum() - half) <= 1e-5 * primal
        found.append(primal)
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def test_features_beyond_a_dense_hessian_take_conjugate_gradients(rng):
    X, problem = problem_of(rng, n=150, d=1100, C=0.01)
    wanted = KernelProblem(problem.X, problem.y, Kernel(), 0.01, 1e-5)
    *_, last = SmoothedMargin(wanted, True)
    machine = machines.Machine(
        last.solution.beta, last.solution.b, last.scores, last.violation, last.steps, 0
    )
    assert last.violation <= 1e-5 and conditions(X, problem, machine) <= 1.01e-5


def test_a_start_at_the_solution_takes_no_steps(rng):
    _, problem = problem_of(rng, n=200, kernel=Kernel("rbf", gamma=0.1), tolerance=1e-4)
    cold = problem.train()
    warm = problem.train(beta=cold.beta)
    assert cold.steps > 50 and warm.steps <= cold.steps / 10
    np.testing.assert_allclose(warm.scores, cold.scores, atol=1e-3)


def test_one_class_alone_has_its_score_everywhere(rng):
    X = Csr.from_dense(rng.normal(size=(5, 2)))
    problem = MachineProblem(X, np.ones(5), Kernel(), 1.0, True)
    machine = problem.train()
    assert (
        problem.squared_norm(machine) == 0
        and np.all(machine.scores == 1)
        and not machine.beta.any()
    )


@pytest.mark.parametrize("kernel", [Kernel(), Kernel("rbf")], ids=lambda kernel: kernel.name)
def test_the_machine_of_no_rows_is_0(rng, kernel):
    _, problem = problem_of(rng, n=20, kernel=kernel)
    machine = problem.without(np.ones(20, bool))
    assert not machine.beta.any() and machine.b == 0 and machine.scores.tolist() == [0.0] * 20
    assert (
        machine.losses(problem.y).sum() == 20
        and problem.squared_norm(machine) == machine.steps == 0
    )


def test_the_norm_of_small_features_has_the_digits_of_the_weights(rng):
    dense = rng.normal(size=(20, 3)) * 1e-11
    y = np.where(rng.random(20) < 0.5, 1.0, -1.0)
    problem = MachineProblem(Csr.from_dense(dense), y, Kernel(), 3e5, True)
    machine = problem.train()
    w = dense.astype(np.float32).astype(float).T @ machine.beta
    assert w.any() and problem.squared_norm(machine) == pytest.approx(w @ w, rel=1e-9)
