# SPDX-License-Identifier: BSD-3-Clause
"""What is proven of Algorithms 1 and 2 as printed: how far every cut lifts the dual, and how few
cuts there are.

A cut with normal g, violated by v > epsilon, gains by the best step from the weighted mean of the
cuts, gbar, alone

    min(C v / 2, v^2 / (2 |g - gbar|^2)),   |g - gbar| <= 2 R, R = max |g|;   <= R, R = max |x|, for
    the hinge of
                                            examples, R = max |x_i - x_j| of pairs: there
                                            coefficients lie in [0, 1]

and the second line gives cuts <= 4 C R^2 / epsilon + log2(1 / epsilon) + 5, whatever n is.

References
----------
T. Joachims, Training linear SVMs in linear time, KDD 2006, Lemma 2 (with 8 R^2 throughout, R = 2
max |x| of pairs).
"""

import itertools
import math
from unittest import mock

import numpy as np
import pytest
from drivers import risk_of

from svmcut.data.examples import Csr
from svmcut.qp.simplex import CheckedSimplexQp
from svmcut.risks import RISKS
from svmcut.risks.protocol import Linearization
from svmcut.solvers import cutting_plane
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces.linear import LinearSpace

SUMS = {"error-rate": 1.0, "pairs": 2.0, "swapped-fraction": 2.0}
"""Sums of hinge losses whose weights add up to one at most -> R in units of max |x|."""


class Observed:
    """A risk times a factor, which keeps the values it was asked for."""

    def __init__(self, risk, factor):
        self._risk, self._factor, self.values = risk, factor, []

    def linearize(self, s):
        value, coef, offset = self._risk.linearize(s)
        self.values.append(self._factor * value)
        return Linearization(self._factor * value, self._factor * coef, self._factor * offset)


class ObservedSpace(LinearSpace):
    """A space that keeps 1/2 |w|^2 of the points it was asked for."""

    def __init__(self, X):
        super().__init__(X)
        self.halves = []

    def scores(self, w):
        self.halves.append(0.5 * self.dot(w, w))
        return super().scores(w)


class Timid:
    """A QP that goes a small part of the way to the optimum."""

    def solve(self, H, b, C, beta0, tol):
        return beta0 + 0.002 * (CheckedSimplexQp().solve(H, b, C, beta0, tol) - beta0)


class Forgetful(Observed):
    """Cuts of at most a hundred terms, the first there are: valid, but not the most violated."""

    def linearize(self, s):
        known = super().linearize(s)
        coef = np.where(np.cumsum(known.coef != 0) <= 100, known.coef, 0)
        return known._replace(
            coef=coef, offset=known.offset * np.count_nonzero(coef) / np.count_nonzero(known.coef)
        )


def case(name, seed, n=100, d=6, observed=Observed):
    """A risk of random labels, the loss a fraction or, of measures, in percent; its space, and max
    |x|."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    s = X @ rng.normal(size=d) + 0.8 * rng.normal(size=n)
    rank = RISKS[name].task == "rank"
    y = np.digitize(s, [-1.0, 0.0, 1.0]).astype(float) if rank else np.where(s > 0, 1.0, -1.0)
    qid = np.arange(n) // 10 if name == "swapped-fraction" else None
    risk = observed(risk_of(name).bind(y, qid), 1 / n if name == "error-rate" else 1.0)
    return (
        risk,
        ObservedSpace(Csr.from_dense(X)),
        float(np.linalg.norm(X.astype(float), axis=1).max()),
    )


def run(risk, space, C, epsilon, qp=None, most=10_000):
    """Progress of Algorithm 1 or 2 as printed, the run, and v of every cut: the gap at its point,
    divided by C.

    Of a model that is solved exactly that is the violation, R(w) less the slack.
    """
    solver, problem = (
        CuttingPlane(line_search=False, max_idle=0),
        Problem(risk, space, C, StoppingRule(C * epsilon)),
    )
    with mock.patch.object(cutting_plane, "make_qp", lambda _: qp or CheckedSimplexQp()):
        found = solver.start(problem)
        history = list(itertools.islice(found, most))
    values, halves = (seen[len(seen) - len(history) :] for seen in (risk.values, space.halves))
    violations = [
        value + (half - progress.dual) / C for value, half, progress in zip(values, halves, history)
    ]
    return history, found, violations


def smallest_rise(history, violations, C, epsilon, squared):
    """The least rise of the dual by a cut, in units of min(C v / 2, v^2 / (2 squared))."""
    return min(
        (after.dual - before.dual) / min(C * v / 2, v * v / (2 * squared))
        for (before, after), v in zip(itertools.pairwise(history), violations)
        if v > epsilon
    )


def most_cuts(C, R, epsilon):
    return 4 * C * R * R / epsilon + math.log2(1 / epsilon) + 5


@pytest.mark.parametrize("C", [0.03, 1.0, 30.0, 1000.0])
@pytest.mark.parametrize("name", [name for name in RISKS if name != "one-class"])
def test_every_cut_of_any_risk_lifts_the_dual_as_promised(name, C):
    unit = 1.0 if name in (*SUMS, "zero-one", "map", "ndcg") else 100.0
    for seed in range(3):
        risk, space, _ = case(name, seed)
        history, found, violations = run(risk, space, C / unit, 0.01 * unit)
        R = found.bundle.largest_norm
        assert smallest_rise(history, violations, C / unit, 0.01 * unit, 4 * R * R) >= 1 - 1e-9


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_hinges_rise_four_times_as_far_and_need_few_cuts(name):
    rng = np.random.default_rng(2006)
    counts = []
    for seed in range(30):
        C, epsilon = 10 ** rng.uniform(-2, 3), 10 ** rng.uniform(-3, -0.3)
        risk, space, longest = case(
            name, seed, n=int(rng.choice([10, 40, 200])), d=int(rng.integers(1, 9))
        )
        R = SUMS[name] * longest
        history, _, violations = run(risk, space, C, epsilon)
        assert history[-1].gap <= C * epsilon
        assert smallest_rise(history, violations, C, epsilon, R * R) >= 1 - 1e-9
        assert history[-1].cuts <= most_cuts(C, R, epsilon)
        counts.append(history[-1].cuts)
    assert max(counts) > 10


def cuts_over_rows(name, observed=Observed):
    """Cuts at 100, 1,000 and 10,000 rows of one distribution."""
    return [
        run(*case(name, 7, n, observed=observed)[:2], 30.0, 0.01)[0][-1].cuts
        for n in (100, 1000, 10_000)
    ]


@pytest.mark.parametrize("name", SUMS)
def test_more_rows_need_no_more_cuts(name):
    few, *many = cuts_over_rows(name)
    assert few > 5
    assert max(many) <= few + 2


@pytest.mark.parametrize("name", SUMS)
def test_the_bounds_tell_a_solver_that_does_less(name):
    """The same checks, held against a QP that stops early and against cuts that are not the most
    violated."""
    risk, space, longest = case(name, 1)
    C, R = 0.1, SUMS[name] * longest
    most = most_cuts(C, R, 0.1)
    history, _, violations = run(risk, space, C, 0.1, Timid(), int(most) + 2)
    assert smallest_rise(history, violations, C, 0.1, R * R) < 0.5
    assert history[-1].cuts > most
    few, *many = cuts_over_rows(name, Forgetful)
    assert max(many) > 10 * few
