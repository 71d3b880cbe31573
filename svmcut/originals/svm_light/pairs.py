# SPDX-License-Identifier: BSD-3-Clause
"""Machines of pairs: one hinge a pair of one query with different labels, trained without forming a
pair.

problem      min_w  1/2 |w|^2 + C sum over pairs max(0, 1 - w.(phi(x_hi) - phi(x_lo)))
solver       cutting planes of the ordinal risk, n log n a cut; on features, or on kernel values
alphas       of a pair C sum_t beta_t [pair in cut t], in [0, C], beta the multipliers of the last
             model: a dual solution. Of a row -C' sum_t beta_t coef_t, the sum of its pairs' alphas
             with their signs: w = sum alpha_i phi(x_i). Where that w is not good enough, beta is
             that of the best w, for every step blends such sums; the pairs keep the dual solution
certificate  P(w) - D of the cutting planes
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from svmcut._native.kernels import KernelRows
from svmcut._native.smo import EXACT_POINTS, Smo
from svmcut.base.typing import Any, NamedTuple
from svmcut.cutting.oracle import RiskOracle
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.originals.svm_light.estimates import squared_lengths
from svmcut.risks import make_risk
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.protocol import Problem, Progress, StoppingRule
from svmcut.spaces.kernel import KernelSpace
from svmcut.spaces.linear import LinearSpace
from svmcut.spaces.protocol import Space
from svmcut.spec import schemas
from svmcut.spec.catalog import TASKS
from svmcut.spec.parameters import Settings

#: Pairs up to which training ends at FINE of the primal; with more at the tolerance times C and the
#: pairs.
FEW_PAIRS, FINE = 100_000, 1e-5
#: Gap of the last model's w, of the primal, up to which it is good enough.
GOOD = 1e-3
#: Megabytes of stored kernel values.
_ROOM = 1000.0
#: Features up to which the rows of a query are held with all of them.
_DENSE = 1000
#: Rows of one query that are held against all others at once.
_BLOCK = 512


class PairMachine(NamedTuple):
    """A trained machine of pairs."""

    #: (n,) of the rows.
    alpha: NDArray[np.float64]
    scores: NDArray[np.float64]
    #: |w|^2.
    squared: float
    #: The sum of the pairs' losses.
    loss: float
    #: P - D.
    gap: float
    #: (T,) C beta_t of the dual solution.
    weights: NDArray[np.float64]
    #: (T, n) the scores at which its cuts were made.
    cuts: NDArray[np.float64]
    steps: int
    evaluations: int
    #: Of the KKT conditions; of cutting planes the gap over C and the pairs.
    violation: float
    #: (m,) alpha of every pair in the order of `blocks`, where pairs were formed.
    pairs: NDArray[np.float64] | None = None
    #: (m, m) the products of their differences, where pairs were formed.
    gram: NDArray | None = None
    #: Seconds by the names of svm_light.
    spent: Mapping[str, float] = MappingProxyType({})


class GradedRows(NamedTuple):
    """Rows whose pairs are trained on, and the parameters of their machine."""

    X: Csr
    #: (n,) labels: of a query's rows the higher one belongs above.
    y: NDArray[np.float64]
    #: (Q + 1,) first row of every query and, last, n.
    start: NDArray[np.int64]
    kernel: Kernel
    #: Of a pair.
    C: float
    #: Of the KKT conditions.
    tolerance: float
    threads: int


class _Recorded:
    """A risk that remembers the scores of its last linearizations."""

    def __init__(self, risk: Any):
        self._risk = risk
        self.last: list[tuple[Any, NDArray]] = []

    def linearize(self, s: NDArray) -> Any:
        cut = self._risk.linearize(s)
        self.last = [*self.last[-3:], (cut.coef, np.array(s))]
        return cut


class _Traced:
    """An element of a space, and how much of each cut's normal is in it."""

    __slots__ = ("inner", "parts")

    def __init__(self, inner: Any, parts: NDArray[np.float64]):
        self.inner, self.parts = inner, parts


class _TracedSpace(Space):
    """A space whose elements know the cuts they are made of; `cuts` has coefficients and scores of
    each."""

    def __init__(self, inner: Any, risk: _Recorded):
        self.inner, self._risk, self.dim, self.seconds = inner, risk, inner.dim, 0.0
        self.cuts: list[tuple[NDArray, NDArray]] = []

    def kinds(self) -> schemas.Kinds:
        return self.inner.kinds()

    def zero(self) -> _Traced:
        return _Traced(self.inner.zero(), np.zeros(0))

    def scores(self, w: _Traced) -> NDArray:
        began = time.perf_counter()
        scores = self.inner.scores(w.inner)
        self.seconds += time.perf_counter() - began
        return scores

    def adjoint(self, coef: NDArray) -> _Traced:
        self.cuts.append((coef, next(scores for known, scores in self._risk.last if known is coef)))
        began = time.perf_counter()
        inner = self.inner.adjoint(coef)
        self.seconds += time.perf_counter() - began
        return _Traced(inner, np.eye(1, len(self.cuts), len(self.cuts) - 1)[0])

    def dot(self, a: _Traced, b: _Traced) -> float:
        return self.inner.dot(a.inner, b.inner)

    def dots(self, elements: Sequence, a: _Traced) -> NDArray[np.float64]:
        return self.inner.dots([element.inner for element in elements], a.inner)

    def combine(self, weights: Any, elements: Sequence) -> _Traced:
        parts = np.zeros(max((len(element.parts) for element in elements), default=0))
        for weight, element in zip(weights, elements, strict=True):
            parts[: len(element.parts)] += weight * element.parts
        return _Traced(
            self.inner.combine(np.asarray(weights, float), [each.inner for each in elements]),
            parts,
        )


class _PairProblem(Problem):
    """A problem whose cuts are formed one by one, so that elements can be traced to them."""

    __slots__ = ()

    def oracle(self, carry: bool = True) -> RiskOracle:
        return super().oracle(False)


def train(graded: GradedRows, observe: Callable[[Any], None]) -> PairMachine:
    """Trains the machine of all pairs; raises MemoryError."""
    X, y, start, kernel, C, tolerance, threads = graded
    qid = np.repeat(np.arange(len(start) - 1), np.diff(start))
    risk: Any = make_risk(Settings(loss=TASKS["rank"].loss)).bind(y, qid, threads=threads)
    recorded, unit = _Recorded(risk), C * risk.n_queries
    rows = None if kernel.is_linear else KernelRows(X, kernel, threads)
    inner: Any = LinearSpace(X, 0.0, threads) if rows is None else KernelSpace(rows, _ROOM)
    space = _TracedSpace(inner, recorded)
    fine = min(FINE, 0.01 * tolerance) if risk.n_pairs <= FEW_PAIRS else None
    stop = StoppingRule(C * tolerance * risk.n_pairs, fine)
    run = CuttingPlane().start(_PairProblem(recorded, space, unit, stop))
    began = time.perf_counter()
    for step in run:
        observe(step)
    ended = time.perf_counter()
    beta = np.zeros(len(space.cuts))
    for multiplier, element in zip(
        run.bundle.beta[1:].tolist(), run.bundle.elements(), strict=True
    ):
        beta[len(element.parts) - 1] = multiplier
    last = _machine(beta, space, risk, C, step)
    if last.gap > max(stop.target(step.primal), GOOD * step.primal):
        parts = step.solution().parts
        blended = np.append(np.maximum(-parts / unit, 0.0), np.zeros(len(beta) - len(parts)))
        best = _machine(blended, space, risk, C, step)
        last = best._replace(weights=last.weights, cuts=last.cuts)
    spent = {
        "optimizer": ended - began - space.seconds,
        "update" if rows is None else "kernel": space.seconds,
        "model": time.perf_counter() - ended,
    }
    return last._replace(spent=spent, evaluations=0 if rows is None else rows.evaluations)


def _machine(
    beta: NDArray, space: _TracedSpace, risk: Any, C: float, step: Progress
) -> PairMachine:
    """The machine of these multipliers of the cuts, without what was spent on it."""
    used, n = np.flatnonzero(beta > 1e-12), int(risk.start[-1])
    unit = C * risk.n_queries
    alpha = -unit * sum((beta[t] * space.cuts[t][0] for t in used.tolist()), np.zeros(n))
    w = space.inner.adjoint(alpha)
    scores, squared = np.array(space.inner.scores(w)), space.inner.dot(w, w)
    loss = risk.linearize(scores).value * risk.n_queries
    gap = 0.5 * squared + C * loss - step.dual
    return PairMachine(
        alpha,
        scores,
        squared,
        loss,
        gap,
        C * beta[used],
        np.array([space.cuts[t][1] for t in used]).reshape(len(used), n),
        step.iteration,
        0,
        max(0.0, gap) / (C * max(risk.n_pairs, 1)),
    )


class PairBlock(NamedTuple):
    """Pairs of one query, i before j in the file, with the facts of phi(x_i) - phi(x_j) that
    svm_light reads."""

    #: (k,) rows.
    i: NDArray[np.int64]
    #: (k,) rows.
    j: NDArray[np.int64]
    #: (k,) of y_i - y_j.
    sign: NDArray[np.float64]
    #: (k,) |phi(x_i) - phi(x_j)|^2.
    lengths: NDArray[np.float64]
    #: (k,) d^2 of svm_light.estimates: from phi(0), which is 0 without a kernel.
    distances: NDArray[np.float64]


def blocks(
    X: Csr, y: NDArray, start: NDArray[np.int64], kernel: Kernel, every: int = 1, threads: int = 1
) -> Iterator[PairBlock]:
    """Yields all pairs in the order of i, then of j; with `every` those of one in so many rows i.
    start: (Q + 1,) first row of every query and, last, n."""
    squared = squared_lengths(X, threads)
    own, values = kernel.own_values(squared), kernel.values
    zero = np.zeros(len(y))
    to_zero, at_zero = values(zero, squared), float(values(zero[:1], zero[:1])[0])
    for q in np.flatnonzero(np.diff(start) > 1).tolist():
        first, last = int(start[q]), int(start[q + 1])
        if y[first:last].min() == y[first:last].max():
            continue
        rows = X.rows(first, last)
        width = X.n_features
        places: NDArray[Any] = rows.indices[rows.stored]
        if width > _DENSE:
            columns, places = np.unique(places, return_inverse=True)
            width = len(columns)
        dense = np.zeros((last - first, width))
        dense[np.repeat(np.arange(last - first), np.diff(rows.indptr)), places] = rows.data[
            rows.stored
        ]
        for begin in range(0, last - first, _BLOCK):
            picked = np.arange(begin, min(begin + _BLOCK, last - first))
            picked = picked[(first + picked) % every == 0]
            labels = y[first + picked][:, None] - y[first:last][None, :]
            a, j = np.nonzero((labels != 0) & (np.arange(last - first)[None, :] > picked[:, None]))
            if not len(a):
                continue
            products = (dense[picked] @ dense.T)[a, j]
            i, j = first + picked[a], first + j
            apart = np.maximum(squared[i] + squared[j] - 2 * products, 0.0)
            lengths = distances = apart
            if not kernel.is_linear:
                lengths = np.maximum(own[i] + own[j] - 2 * values(products, apart), 0.0)
                distances = lengths - 2 * (to_zero[i] - to_zero[j]) + at_zero
            yield PairBlock(i, j, np.sign(y[i] - y[j]), lengths, distances)


def alphas(machine: PairMachine, block: PairBlock) -> NDArray[np.float64]:
    """(k,) alpha of these pairs, in [0, C], from the cuts."""
    high = np.where(block.sign > 0, block.i, block.j)
    low = np.where(block.sign > 0, block.j, block.i)
    return machine.weights @ (machine.cuts[:, low] + 1.0 > machine.cuts[:, high])


#: Pairs that are formed at most: of a definite kernel those whose products are float64, else what
#: memory holds.
MOST, MOST_INDEFINITE = EXACT_POINTS, 10_000
#: Tolerance of the KKT conditions, of the one asked for: a multiplier that is almost 0 is to be 0.
_FINE = 1e-3
#: Megabytes of the solver's rows; steps between two moments in which a signal is heard; products of
#: rows held at once.
_CACHE_MB, _CHUNK, _HELD = 100.0, 1000, 4_000_000


class PairStep(NamedTuple):
    """A look at the steps: pairs with weight, and the largest violation."""

    support: int
    violation: float


def train_formed(graded: GradedRows, observe: Callable[[Any], None]) -> PairMachine:
    """Trains the machine of the pairs of `blocks`, at least one; raises MemoryError.

    Machines of few pairs, each formed: SMO on the products of their differences, with exact
    multipliers of the pairs.

        problem      min_w  1/2 |w|^2 + C sum over pairs max(0, 1 - w.d_p),   d_p = phi(x_hi) -
                     phi(x_lo)
        its dual     max    sum alpha - 1/2 alpha'G alpha,   0 <= alpha <= C,   G_pq = d_p.d_q
        update       two alphas at a time (svmcut.solvers.smo without a bias)

    Cutting planes form no pair, and leave a little of each on pairs that are none of the last. The
    steps here never lower the dual, so they end for kernels that are not definite too, where its
    value bounds nothing.
    """
    parts = list(blocks(graded.X, graded.y, graded.start, graded.kernel, 1, graded.threads))
    i, j, sign = (
        np.concatenate([getattr(block, name) for block in parts]) for name in ("i", "j", "sign")
    )
    high, low = np.where(sign > 0, i, j), np.where(sign > 0, j, i)
    rows, clock = KernelRows(graded.X, graded.kernel, graded.threads), [time.perf_counter()]
    gram = _gram(rows, high, low)
    native = _solver(gram, graded.C, graded.threads)
    native.time()
    clock.append(time.perf_counter())
    finished = False
    while not finished:
        finished = native.run(_FINE * min(graded.tolerance, 1.0), _CHUNK)
        observe(PairStep(native.support, max(0.0, native.highest - native.lowest) / 2))
    clock.append(time.perf_counter())
    alpha = native.solution()[0]
    net = np.zeros(len(graded.y))
    np.add.at(net, high, alpha)
    np.add.at(net, low, -alpha)
    used = np.flatnonzero(net)
    scores = rows.accumulate_foreign(graded.X.take(used), net[used], exact=True)
    slopes = 1.0 - (scores[high] - scores[low])
    squared, loss = float(net @ scores), float(np.maximum(slopes, 0.0).sum())
    gap = squared + graded.C * loss - float(alpha.sum())
    clock.append(time.perf_counter())
    return PairMachine(
        net,
        scores,
        squared,
        loss,
        gap,
        np.zeros(0),
        np.zeros((0, len(net))),
        native.iterations,
        rows.evaluations,
        _violation(alpha, slopes, graded.C),
        alpha,
        gram,
        _seconds(native, np.diff(clock).tolist()),
    )


def _solver(gram: NDArray, C: float, threads: int) -> Smo:
    """SMO over pairs of these products."""
    m = len(gram)
    # SMO asks points for the diagonal alone where it is given the values
    lengths = np.sqrt(np.maximum(np.diag(gram), 0.0)).astype(np.float32)[:, None]
    points, every = Csr.from_dense(lengths), np.arange(m)
    return Smo(
        points, np.ones(m), Kernel(), C, False, _CACHE_MB, threads, shared=gram, places=every
    )


def _violation(alpha: NDArray, slopes: NDArray, C: float) -> float:
    """The largest of the KKT conditions; slopes: of the dual in each alpha."""
    rises = np.where(alpha < C, np.maximum(slopes, 0.0), 0.0)
    falls = np.where(alpha > 0, np.maximum(-slopes, 0.0), 0.0)
    return max(float(part.max(initial=0.0)) for part in (rises, falls))


def _seconds(native: Smo, spans: list[float]) -> dict[str, float]:
    """Seconds by the names of svm_light: of forming the products, of the steps and of the model."""
    formed, stepped, model = spans
    kernel_rows, select, optimizer, update = native.spent.tolist()
    return {
        "kernel": formed + kernel_rows,
        "optimizer": optimizer,
        "update": update,
        "select": select,
        "model": model,
        "check": stepped - kernel_rows - optimizer - update - select,
    }


def _gram(rows: KernelRows, high: NDArray[np.int64], low: NDArray[np.int64]) -> NDArray:
    """(m, m) products of the differences of these rows: float64 of pairs up to EXACT_POINTS, else
    float32."""
    m = len(high)
    out = np.empty((m, m), np.float64 if m <= EXACT_POINTS else np.float32)
    size = max(1, _HELD // rows.n)
    for first in range(0, m, size):
        part = slice(first, first + size)
        values = rows.block_double(high[part]) - rows.block_double(low[part])
        out[part] = values[:, high] - values[:, low]
    return out
