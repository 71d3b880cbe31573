# SPDX-License-Identifier: BSD-3-Clause
"""Labels against the rest, side by side: optimum, certificate and bytes."""

import numpy as np
import pytest
from reference import hinge

from svmcut.base import records
from svmcut.data.examples import Csr
from svmcut.risks import one_vs_rest as risk_of_rest
from svmcut.risks.hinge import HingeRisk
from svmcut.risks.one_vs_rest import OneVsRestRisk
from svmcut.solvers import one_vs_rest
from svmcut.solvers.dual_cd import DualCd
from svmcut.solvers.one_vs_rest import OneVsRest
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces.structures import LabelSpace


def rows(K, n=60, d=5, seed=3):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)).astype(np.float32)
    X[0] = 0  # a row of the constant feature alone
    positive = X @ rng.normal(size=(d, K)) + 0.5 * rng.normal(size=(n, K)) > 0.8
    positive[:, K - 1] = False
    return X, positive


def problem(X, positive, gap=1e-6, threads=1, weights=None, bias=1.0, C=0.7):
    risk = OneVsRestRisk(HingeRisk(), positive, threads, weights)
    space = LabelSpace(Csr.from_dense(X), positive.shape[1], 0, bias, threads)
    return Problem(risk, space, C, StoppingRule(0.0, gap))


def trained(given, solver=None):
    run = OneVsRest(solver or DualCd()).start(given)
    found = list(run)
    return found[-1], found[-1].solution().reshape(-1, given.risk.n_classes)


@pytest.mark.parametrize("K, bias", [(1, 1.0), (3, 0.0), (8, 1.0), (19, 2.0)])
def test_every_machine_meets_the_reference_optimum(K, bias):
    X, positive = rows(K)
    last, W = trained(problem(X, positive, bias=bias))
    best = [hinge.optimum(X, np.where(y, 1.0, -1.0), 0.7, bias)[1] for y in positive.T]
    wide = np.hstack([X.astype(float), np.full((len(X), 1), bias)]) if bias else X.astype(float)
    losses = np.maximum(0, 1 - np.where(positive, 1, -1) * (wide @ W))
    values = 0.5 * (W**2).sum(axis=0) + 0.7 * losses.sum(axis=0)
    assert last.primal == pytest.approx(values.sum(), rel=1e-10)
    assert last.dual <= sum(best) * (1 + 1e-7) and last.primal - last.dual <= 1e-6 * last.primal
    np.testing.assert_allclose(values, best, rtol=3e-6)


def test_weights_count_rows():
    X, positive = rows(6)
    v = np.random.default_rng(4).integers(1, 4, len(X)).astype(float)
    weighed, again = (
        trained(given)[0]
        for given in (
            problem(X, positive, weights=v),
            problem(
                np.repeat(X, v.astype(int), axis=0), np.repeat(positive, v.astype(int), axis=0)
            ),
        )
    )
    assert weighed.primal == pytest.approx(again.primal, rel=2e-6)


def test_threads_change_no_bit():
    X, positive = rows(20)
    found = {
        (last.primal, last.dual, W.tobytes())
        for last, W in (trained(problem(X, positive, 1e-3, threads)) for threads in (1, 2, 5))
    }
    assert len(found) == 1


def test_waves_are_as_good_as_one(monkeypatch):
    X, positive = rows(40)
    whole = trained(problem(X, positive))[0]
    monkeypatch.setattr(one_vs_rest, "ALPHAS", 1)
    waves = trained(problem(X, positive))[0]
    assert waves.iteration > whole.iteration
    assert (
        waves.primal == pytest.approx(whole.primal, rel=2e-6) and waves.gap <= 1e-6 * waves.primal
    )


def test_machines_that_are_slow_go_on_alone_from_where_they_stand():
    X, positive = rows(9)
    quick, slow = (
        trained(problem(X, positive))[0],
        trained(problem(X, positive), DualCd(max_epochs=0.01))[0],
    )
    assert slow.cuts > quick.cuts
    assert slow.primal == pytest.approx(quick.primal, rel=2e-6) and slow.gap <= 1e-6 * slow.primal


def test_a_gap_that_cannot_be_met_ends_all_the_same():
    X, positive = rows(2, n=12, d=2)
    given = records.replace(problem(X, positive), stop=StoppingRule(0.0, 0.0))
    last, _ = trained(given)
    assert last.gap <= 1e-9 * last.primal


@pytest.mark.parametrize("together", [1, 130, 1 << 22])
@pytest.mark.parametrize("bias", [0.0, 1.5])
def test_the_value_of_weights_takes_a_few_classes_at_a_time(together, bias, monkeypatch):
    X, positive = rows(7)
    given, asked = problem(X, positive, bias=bias), []
    scores_of = LabelSpace.scores_of
    monkeypatch.setattr(risk_of_rest, "MAX_SCORES", together)
    monkeypatch.setattr(
        LabelSpace, "scores_of", lambda self, W: asked.append(W.shape[1]) or scores_of(self, W)
    )
    w = np.random.default_rng(2).normal(size=given.space.dim)
    assert given.value(w) == given.risk.linearize(given.space.scores(w)).value
    assert asked == {1: [1] * 7, 130: [2, 2, 2, 1], 1 << 22: [7]}[together]
