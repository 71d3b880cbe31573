# SPDX-License-Identifier: BSD-3-Clause
"""Points, lines and cuts: what every oracle answers, and that cutting planes need nothing else."""

import numpy as np
import pytest
from drivers import risk_of
from reference import hinge

from svmcut.cutting.bundle import Cut
from svmcut.cutting.oracle import Point, RiskOracle
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces.linear import LinearSpace

C = 0.3


def rows(rng, n=60, d=7):
    X = rng.normal(size=(n, d)).astype(np.float32)
    return X, np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def linear(rng, loss):
    X, y = rows(rng)
    return RiskOracle(
        risk_of(loss).bind(y, np.arange(60) // 10), LinearSpace(Csr.from_dense(X), 1.0)
    )


def kernel(rng, loss):
    from svmcut._native.kernels import KernelRows

    from svmcut.spaces.kernel import KernelSpace

    X, y = rows(rng)
    space = KernelSpace(KernelRows(Csr.from_dense(X), Kernel("rbf", gamma=0.2), 1), 10.0)
    return RiskOracle(risk_of(loss).bind(y), space)


def chain(rng, _):
    from svmcut._native.chain import Chains

    from svmcut.data.examples import Sequences, Source
    from svmcut.models import ChainShape
    from svmcut.risks.chain import ChainRisk
    from svmcut.spaces.structures import ChainSpace
    from svmcut.structured.chain import ChainSequences

    X = Csr.from_dense(rng.normal(size=(40, 5)).astype(np.float32))
    sequences = Sequences(
        X, np.arange(0, 41, 8), rng.integers(0, 3, 40).astype(np.int32), Source("train")
    )
    chains: Chains = ChainSequences(sequences, ChainShape(3, 5, 1, 0), 1).chains
    return RiskOracle(ChainRisk(chains), ChainSpace(X, chains))


ORACLES = {
    "hinge": (linear, "error-rate"),
    "f1": (linear, "f1"),
    "roc-area": (linear, "roc-area"),
    "pairs": (linear, "swapped-pairs"),
    "hinge with a kernel": (kernel, "error-rate"),
    "chain": (chain, None),
}


def element(rng, oracle):
    """A point of the space, as a solver has it: a combination of normals."""
    cuts = [oracle.cut(oracle.at(oracle.space.zero()))]
    for _ in range(3):
        cuts.append(
            oracle.cut(
                oracle.at(oracle.space.combine(rng.normal(size=len(cuts)), [cut.a for cut in cuts]))
            )
        )
    return oracle.space.combine(0.1 * rng.normal(size=4), [cut.a for cut in cuts])


@pytest.mark.parametrize("name", ORACLES)
def test_a_line_knows_what_points_know(rng, name):
    make, loss = ORACLES[name]
    oracle = make(rng, loss)
    space, here, w = oracle.space, oracle.at(element(rng, oracle)), element(rng, oracle)
    for t in (0.0, 0.4, 1.0, 1.7):
        there = oracle.at(space.blend(1 - t, here.w, t, w))
        value, slope = oracle.line(here, w, space.dot(w, w)).value(t)
        assert value == pytest.approx(there.risk, rel=1e-9, abs=1e-12)
        beyond, _ = oracle.line(here, w, space.dot(w, w)).value(t + 1e-6)
        assert beyond >= value + 1e-6 * slope - 1e-9 * (1 + value)


@pytest.mark.parametrize("name", ORACLES)
def test_the_minimum_of_a_line_and_the_cut_beyond_it(rng, name):
    make, loss = ORACLES[name]
    oracle = make(rng, loss)
    space, here = oracle.space, oracle.at(oracle.space.zero())
    problem = Problem(oracle.risk, space, C, StoppingRule(0.0, 0.05))
    w = space.blend(2.0, list(CuttingPlane().start(problem))[-1].solution(), 0.0, here.w)
    line = oracle.line(here, w, space.dot(w, w))
    t = line.minimum(C, 1e-6)
    assert t > 0
    point = line.point(t)
    cut = line.cut(t, 0.1)
    fresh = oracle.at(point.w)
    assert (point.risk, point.squared) == (
        pytest.approx(fresh.risk, rel=1e-9),
        pytest.approx(fresh.squared),
    )
    np.testing.assert_allclose(point.known.scores, fresh.known.scores, atol=1e-9)
    at_query = oracle.at(space.blend(0.9, point.w, 0.1, w))
    assert cut.risk == pytest.approx(at_query.risk, rel=1e-9)
    assert cut.b + space.dot(cut.a, at_query.w) == pytest.approx(at_query.risk, rel=1e-6, abs=1e-9)
    for other in (here, fresh, oracle.at(element(rng, oracle))):
        assert cut.b + space.dot(cut.a, other.w) <= other.risk * (1 + 1e-6) + 1e-9

    def primal(step):
        there = oracle.at(space.blend(1 - step, here.w, step, w))
        return 0.5 * there.squared + C * there.risk

    assert primal(t) <= min(primal(0.98 * t), primal(1.02 * t)) * (1 + 1e-5)


class Parts:
    """A sum of risks whose rows lie in several places; all that passes between them is w, values
    and normals."""

    def __init__(self, oracles):
        self.space, self._parts, self.rounds = oracles[0].space, oracles, 0

    def state(self):
        return {}

    def at(self, w):
        self.rounds += 1
        points = [part.at(w) for part in self._parts]
        return Point(w, sum(point.risk for point in points), points[0].squared, 0, points)

    def cut(self, point):
        return self._sum(
            [part.cut(here) for part, here in zip(self._parts, point.known, strict=True)]
        )

    def line(self, here, w, squared):
        self.rounds += 1
        lines = [
            part.line(known, w, squared)
            for part, known in zip(self._parts, here.known, strict=True)
        ]
        return PartsLine(self, lines, here, w, squared)

    def _sum(self, cuts):
        return Cut(
            sum(cut.a for cut in cuts), sum(cut.b for cut in cuts), sum(cut.risk for cut in cuts)
        )


class PartsLine:
    def __init__(self, oracle, lines, here, w, squared):
        self._oracle, self._lines, self._here, self._w = oracle, lines, here, w
        self._wd = oracle.space.dot(here.w, w) - here.squared
        self._dd = squared - 2 * self._wd - here.squared

    def value(self, t):
        values = [line.value(t) for line in self._lines]
        return sum(value for value, _ in values), sum(slope for _, slope in values)

    def minimum(self, C, gap):
        low, high = 0.0, 4.0
        for _ in range(60):  # the slope of P rises along the line
            t = 0.5 * (low + high)
            low, high = (
                (t, high) if self._wd + t * self._dd + C * self.value(t)[1] < 0 else (low, t)
            )
        return low if low > 1e-9 else 0.0

    def point(self, t):
        points = [line.point(t) for line in self._lines]
        return Point(
            points[0].w, sum(p.risk for p in points), points[0].squared, self._here.age + 1, points
        )

    def cut(self, t, share):
        return self._oracle._sum([line.cut(t, share) for line in self._lines])


class PartsProblem:
    def __init__(self, oracle):
        self._oracle, self.C, self.stop, self.qp = oracle, C, StoppingRule(0.0, 1e-6), None

    def oracle(self, carry=True):
        return self._oracle


@pytest.mark.parametrize("line_search", [True, False])
def test_cutting_planes_never_see_a_row(rng, line_search):
    X, y = rows(rng)
    halves = [
        RiskOracle(risk_of("error-rate").bind(y[part]), LinearSpace(Csr.from_dense(X[part]), 1.0))
        for part in (slice(0, 25), slice(25, 60))
    ]
    parts = Parts(halves)
    last = list(CuttingPlane(line_search).start(PartsProblem(parts)))[-1]
    _, minimum = hinge.optimum(X, y, C, 1.0)
    assert minimum * (1 - 1e-9) <= last.primal <= minimum * (1 + 1.1e-6)
    assert minimum * (1 - 1.1e-6) <= last.dual <= minimum * (1 + 1e-9)
    assert parts.rounds <= 2 * last.iteration
    whole = Problem(
        risk_of("error-rate").bind(y),
        LinearSpace(Csr.from_dense(X), 1.0),
        C,
        StoppingRule(0.0, 1e-6),
    )
    assert list(CuttingPlane(line_search).start(whole))[-1].primal == pytest.approx(
        last.primal, rel=2e-6
    )
