# SPDX-License-Identifier: BSD-3-Clause
"""Machines of few pairs, each formed: SMO on the products of their differences, with exact
multipliers of the pairs.

    problem      min_w  1/2 |w|^2 + C sum over pairs max(0, 1 - w.d_p),   d_p = phi(x_hi) -
                 phi(x_lo)
    its dual     max    sum alpha - 1/2 alpha'G alpha,   0 <= alpha <= C,   G_pq = d_p.d_q
    update       two alphas at a time (svmcut.solvers.smo without a bias)

Cutting planes (svm_light.pairs) form no pair, and leave a little of each on pairs that are
none of the last. The steps here never lower the dual, so they end for kernels that are not definite
too, where its value bounds nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmcut._native.kernels import KernelRows
from svmcut._native.smo import EXACT_POINTS, Smo
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.originals.svm_light.pairs import GradedRows, PairMachine, blocks

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


def train(graded: GradedRows, observe: Callable[[Any], None]) -> PairMachine:
    """Trains the machine of the pairs of `svmcut.originals.svm_light.pairs.blocks`, at least one;
    raises MemoryError."""
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
