# SPDX-License-Identifier: BSD-3-Clause
"""Coordinate descent that hands over to steps on the Gram matrix: the same optimum, certified, to
the same bytes."""

import itertools

import numpy as np
import pytest
from drivers import driver
from reference import hinge

from svmcut._native import smo
from svmcut.base.records import replace
from svmcut.data.examples import Csr, Examples, Source
from svmcut.files.checkpoints import read_checkpoint, write_checkpoint
from svmcut.models.kernels import Kernel
from svmcut.risks.hinge import HingeRisk
from svmcut.solvers import auto
from svmcut.solvers.gram_smo import GramSmo, gram
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces.linear import LinearSpace
from svmcut.spec.schemas import state_classes


def counts(rng, n, d=1100, long=30.0):
    """Rows with a few long columns that say little and a short part that says all."""
    X = np.zeros((n, d), np.float32)
    X[:, :4] = long * rng.exponential(size=(n, 4))
    for row in X:
        row[rng.choice(np.arange(4, d), 12, replace=False)] = 1
    y = np.where(X[:, 4:] @ rng.normal(size=d - 4) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    return Examples(Csr.from_dense(X), y, None, None, Source("train"))


@pytest.fixture
def hasty(monkeypatch):
    """The descent hands over as soon as it may."""
    monkeypatch.setattr(auto, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(auto, "GRAM", 0.0)
    monkeypatch.setattr(auto, "STEPS", 0.0)


@pytest.mark.parametrize("weighted", [False, True])
def test_steps_reach_the_optimum_from_zero(rng, weighted):
    data = counts(rng, 40, 30, 5.0)
    v = rng.uniform(0.2, 3.0, 40) if weighted else None
    X = data.X.to_dense().astype(np.float64)
    problem = Problem(
        HingeRisk().bind(data.y, None, v), LinearSpace(data.X, 1.0, 1), 2.0, StoppingRule(0.0, 1e-6)
    )
    steps = list(GramSmo().start(problem))
    w, last = steps[-1].solution(), steps[-1]
    margins = 1 - data.y * (X @ w[:-1] + w[-1])
    risk = np.maximum(0, margins) @ (np.ones(40) if v is None else v)
    assert last.primal == pytest.approx(0.5 * w @ w + 2.0 * risk, rel=1e-9)
    assert last.gap <= 1e-6 * last.primal
    assert all(a.dual <= b.dual and a.primal >= b.primal for a, b in itertools.pairwise(steps))
    if v is None:
        assert last.primal == pytest.approx(hinge.optimum(X, data.y, 2.0, 1.0)[1], rel=1e-5)


def test_auto_hands_over_where_that_is_quicker_and_dual_cd_by_name_never(rng, hasty):
    data, found = counts(rng, 80), {}
    for solver in ("auto", "dual-cd"):
        trainer = driver(data, solver=solver, gap=1e-3, cost=None)
        found[solver] = trainer.fit(None, 100.0)
        state = trainer.state()["solver"]
        assert (state["stage"] == "handed") == state["gram"] == (solver == "auto")
    assert all(outcome.converged for outcome in found.values())
    assert found["auto"].dual <= found["dual-cd"].primal * (1 + 1e-9)
    assert found["dual-cd"].dual <= found["auto"].primal * (1 + 1e-9)


def test_memory_that_is_not_there_keeps_the_descent(rng, hasty):
    trainer = driver(counts(rng, 80), gap=1e-2, cost=None, max_memory=50)
    assert trainer.fit(None, 100.0).converged
    assert not trainer.state()["solver"]["gram"]


@pytest.mark.parametrize("costs", [(100.0,), (0.1, 100.0)], ids=["one C", "second of a path"])
def test_a_fit_goes_on_across_the_handover_and_over_threads_to_the_same_bytes(
    rng, hasty, tmp_path, costs
):
    data, states = counts(rng, 80), []
    data = replace(data, weights=rng.uniform(0.2, 3.0, 80))
    trainer = driver(data, gap=1e-4, cost=None, threads=3)
    for C in costs[:-1]:
        trainer.fit(None, C)
    whole = trainer.fit(None, costs[-1], lambda progress, objective: states.append(trainer.state()))
    stages = [state["solver"]["stage"] for state in states]
    first = stages.index("handed")
    assert 0 < first < len(states) - 2
    for at in (first - 1, first, first + 1, len(states) - 1):
        write_checkpoint(str(tmp_path / "ck"), {}, states[at], state_classes())
        _, state = read_checkpoint(str(tmp_path / "ck"), state_classes())
        resumed = driver(data, gap=1e-4, cost=None).fit(None, costs[-1], None, state)
        assert resumed.model.w.tobytes() == whole.model.w.tobytes()
        assert (resumed.primal, resumed.dual, resumed.stopped_by) == (
            whole.primal,
            whole.dual,
            whole.stopped_by,
        )


def test_many_rows_read_a_matrix_in_single_precision_and_are_certified_in_double(rng):
    n = smo.EXACT_POINTS + 1
    data = counts(rng, n, 60, 300.0)
    found = []
    for threads in (1, 2):
        space = LinearSpace(data.X, 1.0, threads)
        assert gram(space).dtype == np.float32
        run = GramSmo().start(
            Problem(HingeRisk().bind(data.y), space, 1.0, StoppingRule(0.0, 0.05))
        )
        last = [step for step, _ in zip(run, range(4))][-1]
        w = last.solution()
        margins = 1 - data.y * (data.X.to_dense().astype(np.float64) @ w[:-1] + w[-1])
        assert last.primal == pytest.approx(0.5 * w @ w + np.maximum(0, margins).sum(), rel=1e-9)
        assert 0 < last.dual < last.primal
        found.append(w.tobytes())
    assert found[0] == found[1]


def test_smo_loads_a_state_after_points_were_put_aside(rng):
    data = counts(rng, 300, 20, 1.0)
    native, fresh = (
        smo.Smo(data.X, data.y, Kernel("rbf", gamma=0.5), 1.0, False) for _ in range(2)
    )
    native.run(0.0, 50)
    state = native.state()
    while native.active == 300 and not native.run(1e-6, 50):
        pass
    native.run(1e-6, 50)
    for each in (native, fresh):
        each.restore(state)
        each.run(0.0, 30)
    assert native.solution()[0].tobytes() == fresh.solution()[0].tobytes()
