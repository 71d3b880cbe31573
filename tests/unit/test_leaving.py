# SPDX-License-Identifier: BSD-3-Clause
"""When dual descent hands over to Newton's method or is chosen for it, and what that spends."""

import numpy as np
import pytest

from svmcut.data.examples import Csr
from svmcut.risks.losses import LogisticRisk, SquaredHingeRisk
from svmcut.solvers.auto import distinct_rows
from svmcut.solvers.curvature import Curvature
from svmcut.solvers.dual_cd import LossCd, LossCdRun
from svmcut.solvers.newton import Descent, NewtonRun
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces.linear import LinearSpace


def words(n=300, d=1500, length=30, unit=True):
    """Counts of Zipf's words, at unit length or not, and the signs of a few."""
    rng = np.random.default_rng(0)
    columns = (d ** rng.random((n, length))).astype(int) - 1
    X = np.zeros((n, d), np.float32)
    np.add.at(X, (np.arange(n)[:, None], columns), 1)
    scores = X[:, 5:200] @ rng.normal(size=195)
    y = np.where(scores + scores.std() * rng.normal(size=n) > 0, 1.0, -1.0)
    if unit:
        X /= np.sqrt((X**2).sum(1, keepdims=True))
    else:
        X *= rng.lognormal(1.0, 1.0, n)[:, None]
    return X, y


def problem(X, y, risk, C, gap=1e-3):
    return Problem(risk.bind(y), LinearSpace(Csr.from_dense(X), 1.0, 1), C, StoppingRule(0.0, gap))


def passed_on(task):
    """The last step, and what took over."""
    run = LossCd().start(task)
    last = list(run)[-1]
    return last, run._then.run


@pytest.mark.parametrize("risk", [SquaredHingeRisk(), LogisticRisk()])
def test_rows_of_unit_length_are_left_to_the_descent(risk):
    """More epochs than the fifteen that end it where features are few."""
    X, y = words()
    last, successor = passed_on(problem(X, y, risk, 100.0))
    assert successor is None and last.gap <= 1e-3 * last.primal
    assert last.passes > 50


def test_ill_conditioned_counts_are_left_to_newtons_method():
    X, y = words(unit=False)
    last, successor = passed_on(problem(X, y, LogisticRisk(), 100.0))
    assert successor is not None and last.gap <= 1e-3 * last.primal


def jumping():
    """A task whose squared losses Newton's method gets lost in."""
    X, y = words(unit=False)
    return problem(X, y, SquaredHingeRisk(), 1000.0)


def test_newtons_method_gets_a_trial_where_curvatures_jump():
    last, successor = passed_on(jumping())
    assert isinstance(successor, NewtonRun) and isinstance(successor._then.run, LossCdRun)
    assert last.gap <= 1e-3 * last.primal and last.passes < 2500


def test_a_trial_that_is_resumed_anywhere_ends_the_same():
    whole, states, stages = [], [], []
    run = LossCd().start(jumping())
    for step in run:
        whole.append(step)
        states.append(run.state())
        trial = run._then.run
        stages.append((trial is not None) + (trial is not None and trial._then.run is not None))
    assert set(stages) == {0, 1, 2}
    for k in [stages.index(stage) + 1 for stage in (0, 1, 2)] + [len(whole) - 2]:
        rest = list(LossCd().start(jumping(), None, states[k]))
        assert [(p.primal, p.gap) for p in rest] == [(p.primal, p.gap) for p in whole[k:]]
        assert rest[-1].solution().tobytes() == whole[-1].solution().tobytes()


def test_one_gap_that_stands_still_is_no_reason_to_leave():
    X, y = words()
    run = LossCd().start(problem(X, y, SquaredHingeRisk(), 1.0))
    assert [run._should_hand_over(epochs) for epochs in (np.inf, 50.0, 101.0, 101.0)] == [
        False,
        False,
        False,
        True,
    ]


def test_the_preconditioner_saves_passes_where_columns_differ_in_length(rng):
    X = (rng.normal(size=(400, 200)) * rng.lognormal(0.0, 2.0, 200)).astype(np.float32)
    task = problem(X, np.where(X[:, 0] > 0, 1.0, -1.0), LogisticRisk(), 1.0)
    descent = Descent(task, task.space.zero(), 0.0)
    plain, better = Curvature(task.space, task.risk), Curvature(task.space, task.risk)
    plain._preconditioner = lambda at, scale: np.ones(task.space.dim)
    g, found = descent.gradient, []
    for curvature in (plain, better):
        p, products = curvature.conjugate_gradients(descent.at, 1.0, g, None, 2000, 1e-6)
        found.append((p, products))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-3 * abs(found[0][0]).max())
    assert 2 * found[1][1] < found[0][1]


def test_products_of_all_steps_pay_for_the_factors(rng):
    X = rng.normal(size=(400, 150)).astype(np.float32)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    task = problem(X, y, LogisticRisk(), 1e3)
    curvature, descent = Curvature(task.space, task.risk), None
    assert not curvature.factored
    descent = Descent(task, task.space.zero(), 0.0)
    worth = curvature._max_products(400)
    steps = 0
    while not curvature.factored and steps < 50:
        curvature.direction(descent.at, task.C, descent.gradient)
        steps += 1
    assert curvature.factored and curvature.products <= worth + 1 and steps > 1


def test_copies_of_few_rows_count_as_few():
    rng = np.random.default_rng(0)
    few = Csr.from_dense(rng.normal(size=(100, 3)))
    many = few.take(rng.integers(0, 100, 10_000))
    assert 90 <= distinct_rows(many) <= 110
    assert distinct_rows(few) == 100
    X = Csr.from_dense(rng.normal(size=(10_000, 3)))
    assert distinct_rows(X) == 10_000
