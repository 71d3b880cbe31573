# SPDX-License-Identifier: BSD-3-Clause
"""Leaving out rows: what the bounds decide is what training without them says, and so are the
scores."""

from itertools import pairwise

import numpy as np
import pytest

from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.originals.svm_light import machines
from svmcut.originals.svm_light.classes import RIGHT, UNDECIDED, WRONG, decide, scores_without
from svmcut.originals.svm_light.machines import MachineProblem

KERNELS = (Kernel("rbf", gamma=0.5), Kernel(), Kernel("polynomial", degree=2))


def problem_of(rng, kernel, n=40, **others):
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.8 * rng.normal(size=n) > 0.3, 1.0, -1.0)
    usual = {"C": 1.0, "kernel": kernel, "tolerance": 1e-8, "free_bias": True}
    return MachineProblem(X=Csr.from_dense(X), y=y, **usual | others)


def anew(problem, row):
    """f of a row, by a training that never saw it."""
    rows = np.delete(np.arange(len(problem.y)), row)
    part = problem.take(rows).train()
    used = np.flatnonzero(part.beta)
    Z = problem.X.take(rows[used])
    return problem.kernel.expansion(problem.X.rows(row, row + 1), Z, part.beta[used], -part.b)[0]


@pytest.mark.every(2)
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_scores_are_those_of_training_without_the_row(rng, kernel, free):
    problem = problem_of(rng, kernel, free_bias=free, weights=rng.uniform(0.5, 2, 40))
    truth = [anew(problem, row) for row in range(40)]
    for threads in (1, 3):
        object.__setattr__(problem, "threads", threads)
        found = list(scores_without(problem, np.arange(40)))
        np.testing.assert_allclose(found, truth, atol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_rows_without_alpha_are_right_and_those_with_large_losses_are_wrong(rng, kernel):
    problem = problem_of(rng, kernel)
    machine = problem.train()
    found = decide(problem, machine, 1.0, None)
    assert {RIGHT, WRONG, UNDECIDED} == set(found.tolist())
    for row in np.flatnonzero(found != UNDECIDED):
        assert (problem.y[row] * anew(problem, row) > 0) == (found[row] == RIGHT)


def test_a_larger_rho_leaves_more_to_training(rng):
    problem = problem_of(rng, KERNELS[0])
    machine = problem.train()
    open_rows = [decide(problem, machine, 1.0, rho) == UNDECIDED for rho in (0.5, 1.0, 2.0, None)]
    for fewer, more in pairwise(open_rows):
        assert (fewer <= more).all() and fewer.sum() < more.sum()
    sure = decide(problem, machine, 1.0, 2.0)
    for row in np.flatnonzero(sure == RIGHT):
        assert problem.y[row] * anew(problem, row) > 0


def test_linear_machines_of_many_rows_are_trained_on_features(rng, monkeypatch):
    problem, rows = problem_of(rng, Kernel(), tolerance=1e-6), np.array([3, 0, 17])
    by_kernel = list(scores_without(problem, rows))
    monkeypatch.setattr(machines, "FEATURE_ROWS", 10)
    assert problem.train().evaluations == 0
    np.testing.assert_allclose(list(scores_without(problem, rows)), by_kernel, atol=1e-4)


def test_what_is_left_may_be_of_one_class():
    X = Csr.from_dense(np.array([[1.0], [2.0], [-1.0]]))
    problem = MachineProblem(
        X=X, y=np.array([1.0, 1.0, -1.0]), kernel=Kernel(), C=1.0, free_bias=True
    )
    assert list(scores_without(problem, np.array([2]))) == [1.0]
