# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method in a span: the reference optimum with an honest certificate, of float32 features
too; resumed."""

import itertools

import numpy as np
import pytest
from reference import hinge

from svmcut.risks.hinge import BoundHinge, HingeRisk
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.solvers.span_newton import SpanNewton
from svmcut.spaces.subspace import Subspace


def problem(C, gap=1e-5, kind=np.float64, n=60, k=8, weights=None, trace=True):
    rng = np.random.default_rng(5)
    F = rng.normal(size=(n, k)).astype(kind)
    y = np.where(F @ rng.normal(size=k) + rng.normal(size=n) > 0, 1.0, -1.0)
    return Problem(BoundHinge(y, 1, weights), Subspace(F, trace), C, StoppingRule(0, gap))


def of_rows(p, progress):
    return hinge.primal(p.space.F.astype(float), p.risk.signs, progress.solution().w, p.C)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1e-3, 1.0, 30.0, 1e4])
def test_reaches_the_reference_optimum_with_an_honest_certificate(C, kind):
    p = problem(C, kind=kind)
    minimum = hinge.optimum(p.space.F.astype(float), p.risk.signs, C)[1]
    run = SpanNewton().start(p)
    history = list(run)
    last = history[-1]
    assert last.gap <= 1e-5 * last.primal
    assert last.dual <= minimum * (1 + 1e-9) and minimum * (1 - 1e-9) <= last.primal
    assert last.primal == pytest.approx(of_rows(p, last), rel=1e-12)
    assert all(a.dual <= b.dual and a.primal >= b.primal for a, b in itertools.pairwise(history))
    # what the cuts stand for over the rows is the bound of the full problem
    w = run.bundle.solution(C).w
    assert w.w == pytest.approx(p.space.F.T.astype(float) @ w.coefficients(), rel=1e-6, abs=1e-9)


def test_a_weight_is_so_many_rows():
    v = np.arange(60.0) % 4
    weighted = problem(3.0, 1e-9, weights=v)
    F, y = (np.repeat(a, v.astype(int), axis=0) for a in (weighted.space.F, weighted.risk.signs))
    repeated = Problem(HingeRisk().bind(y), Subspace(F), 3.0, StoppingRule(0, 1e-9))
    a, b = (list(SpanNewton().start(p))[-1] for p in (weighted, repeated))
    assert a.gap <= 1e-9 * a.primal and a.primal == pytest.approx(b.primal, rel=3e-9)


def test_many_rows_begin_with_a_sample_and_end_at_the_same_optimum():
    p = problem(0.5, 1e-6, n=9000, k=10)
    progress = list(SpanNewton().start(p))
    smaller = list(SpanNewton().start(problem(0.5, 1e-6, n=7000, k=10)))
    assert len(progress) <= len(smaller), "the sample's point saves steps"
    last = progress[-1]
    assert last.gap <= 1e-6 * last.primal and last.primal == pytest.approx(
        of_rows(p, last), rel=1e-12
    )


@pytest.mark.parametrize("at", [1, 3, 6])
def test_goes_on_from_its_state_to_the_same_numbers(at):
    p = problem(30.0, n=9000)
    whole = [(step.primal, step.dual) for step in SpanNewton().start(p)]
    run = SpanNewton().start(p)
    steps = iter(run)
    for _ in range(at):
        next(steps)
    state = run.state()
    assert [(step.primal, step.dual) for step in SpanNewton().start(p, None, state)] == whole[
        at - 1 :
    ]


def test_the_hessian_is_of_float64_products_where_rounding_would_show():
    rng = np.random.default_rng(2)
    F = rng.normal(size=(500, 7))
    space, rows, v = Subspace(F), np.arange(0, 500, 3, dtype=np.int32), rng.random(500)
    exact = (F[rows] * v[rows, None]).T @ F[rows]
    assert np.allclose(space.gram(rows, v, 0.0), exact, rtol=1e-13, atol=1e-12)
    rough = space.gram(rows, v, 1.0)
    assert 0 < np.abs(rough - exact).max() <= 1e-4
