# SPDX-License-Identifier: BSD-3-Clause
"""Estimates that svm_light prints with a machine, and its report: its default C, the VC dimension,
XiAlpha.

With d(x)^2 = K(x,x) - 2 K(x,0) + K(0,0), the distance of x from the zero vector in feature space:

    default C     1 / (mean d)^2
    VC dimension  1 + |w|^2 R^2, R the largest d of a support vector (Vapnik)
    XiAlpha       rows with rho alpha_i R^2 + xi_i >= 1, R the largest d of all: for rho = 2 no
                  other can be wrong where it is left out (Joachims, ICML 2000)

Rows that XiAlpha's R^2 condemns and a smaller distance acquits (Joachims' depth of the search,
svm_learn -k).

    acquitted    rows with alpha_i D_i + xi_i < 1
    D_i          the least, over 1 to depth members of S, of |phi(x_i) - mean of phi(S)|^2;
                 K(x_i, x_i) where S is empty
    S            grown greedily: next comes the row that leaves the least distance, of the other
                 rows strictly inside their boxes, whatever their class
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmcut._native import sparse
from svmcut.base.typing import NamedTuple
from svmcut.cli.termination import check_signals
from svmcut.cli.training_report import out
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel

#: Part of C within which a multiplier is at its bound.
BOUND_TOLERANCE = 1e-7


def squared_lengths(X: Csr, threads: int = 1) -> NDArray[np.float64]:
    """(n,) |x|^2."""
    out = np.empty(X.n_rows)
    sparse.row_norms(sparse.Rows(X), out, threads)
    return out


def distances(kernel: Kernel, squared: NDArray) -> NDArray[np.float64]:
    """d^2 of rows with these |x|^2."""
    zero, values = np.zeros(len(squared)), kernel.values
    return values(squared, zero) - 2 * values(zero, squared) + values(zero, zero)


def default_cost(squared: NDArray[np.float64]) -> float:
    """1 / (mean d)^2 of these d^2; 1 where all are 0."""
    mean = float(np.sqrt(np.maximum(squared, 0.0)).mean()) if len(squared) else 0.0
    return 1.0 / mean**2 if mean > 0 else 1.0


def norm(squared: float, kernel: Kernel) -> float:
    """|w|; nan where a kernel that is not definite makes |w|^2 negative."""
    return (
        math.sqrt(squared)
        if squared > 0
        else 0.0
        if squared == 0 or kernel.is_definite
        else math.nan
    )


def vc_dimension(norm: float, squared: NDArray[np.float64]) -> float:
    """The VC dimension of a machine with this |w| and support vectors with these d^2."""
    return 1.0 + norm**2 * float(squared.max(initial=0.0))


class Rates(NamedTuple):
    """Percentages of a number of errors among the examples of both classes; nan where they are
    0/0."""

    error: float
    recall: float
    precision: float


def percent(part: float, of: float) -> float:
    """100 part / of; nan of nothing."""
    return 100.0 * part / of if of else math.nan


def rates(wrong: NDArray[np.bool_], positive: NDArray[np.bool_]) -> Rates:
    """Rates of rows that are wrong, or may be: among all, among the positives, and among those
    predicted positive."""
    positives = int(positive.sum())
    missed, false = int((wrong & positive).sum()), int((wrong & ~positive).sum())
    return rates_of(len(wrong), positives, missed, false)


def rates_of(count: int, positives: int, missed: int, false: int) -> Rates:
    """The rates of so many examples and positives, of which some are missed, and so many false
    positives."""
    hits = positives - missed
    recall, precision = percent(hits, positives), percent(hits, hits + false)
    return Rates(percent(missed + false, count), recall, precision)


def at_bound(alpha: NDArray, boxes: NDArray | float) -> NDArray[np.bool_]:
    """(n,) true where a multiplier above 0 is that of its box, but for rounding."""
    return (alpha > 0) & (alpha >= boxes * (1.0 - BOUND_TOLERANCE))


def at_risk(alpha: NDArray, losses: NDArray, squared: float, rho: float) -> NDArray[np.bool_]:
    """(n,) true where rho alpha R^2 + xi >= 1; `squared` is R^2."""
    return rho * alpha * squared + losses >= 1.0


#: Products of rows with candidates that are held at once.
_HELD = 2_000_000


class Candidates(NamedTuple):
    """The rows that S is chosen from."""

    #: (m,) rows.
    free: NDArray[np.int64]
    #: (n,) K(x, x) of all rows.
    own: NDArray[np.float64]
    #: (k, m) K of the k rows named and the candidates.
    products: Callable[[NDArray[np.int64]], NDArray[np.float64]]


def acquit(
    rows: NDArray[np.int64],
    alpha: NDArray[np.float64],
    losses: NDArray[np.float64],
    candidates: Candidates,
    depth: int,
) -> NDArray[np.bool_]:
    """(q,) true for each of these rows that is acquitted.

    alpha, losses: (n,) multipliers and xi of all rows. depth: at least 1. Takes O(depth m) for
    every row, and holds the m^2 products of the candidates.
    """
    free, own, products = candidates
    out = np.empty(len(rows), bool)
    gram = products(free) if len(rows) else np.zeros((0, 0))
    size = max(1, _HELD // max(1, len(free)))
    for first in range(0, len(rows), size):
        part = rows[first : first + size]
        D = _least(own[part], products(part), gram, free[None, :] == part[:, None], depth)
        out[first : first + size] = alpha[part] * D + losses[part] < 1.0
    return out


def _least(
    own: NDArray, near: NDArray, gram: NDArray, barred: NDArray[np.bool_], depth: int
) -> NDArray[np.float64]:
    """(k,) D of rows with these K(x, x), products with the candidates, and candidates that they are
    themselves."""
    every = np.arange(len(own))
    barred, least = barred.copy(), np.full(len(own), np.inf)
    inner, square, sums = np.zeros(len(own)), np.zeros(len(own)), np.zeros_like(near)
    for size in range(1, min(depth, near.shape[1]) + 1):
        distances = (
            own[:, None]
            - 2.0 / size * (inner[:, None] + near)
            + (square[:, None] + 2.0 * sums + np.diag(gram)) / size**2
        )
        distances[barred] = np.inf
        taken = np.argmin(distances, axis=1)
        there = ~barred[every, taken]
        least = np.where(there, np.minimum(least, distances[every, taken]), least)
        inner += near[every, taken]
        square += 2.0 * sums[every, taken] + gram[taken, taken]
        sums += gram[taken]
        barred[every, taken] = True
    return np.where(np.isfinite(least), least, own)


class LightReport:
    """Prints the lines of a run, at once; nothing at verbosity 0. observe: takes a step of a
    solver, and prints a dot, or two lines at verbosity 2."""

    def __init__(self, verbosity: int):
        self.verbosity = verbosity
        self._iterations = 0

    def say(self, text: str = "", end: str = "\n") -> None:
        if self.verbosity > 0:
            out(text, end)

    def more(self, text: str) -> None:
        """Lines of verbosity 2."""
        if self.verbosity > 1:
            out(text)

    def observe(self, step: object) -> None:
        check_signals()
        self._iterations += 1
        if self.verbosity == 1:
            out(".", "")
        elif self.verbosity > 1:
            support, violation = getattr(step, "support", 0), getattr(step, "violation", None)
            told = f"({support} SV)" if violation is None else f"(max violation={violation:.5f})"
            out(f"Iteration {self._iterations}: \n => {told}")

    def print_end(self, steps: int, wrong: int | None, violation: float, runtime: str) -> None:
        """The end of the line of dots, and the next two."""
        self.say(
            f"done. ({steps} iterations)" if self.verbosity == 1 else "",
            "\n" if self.verbosity == 1 else "",
        )
        missed = "" if wrong is None else f"{wrong} misclassified, "
        self.say(f"Optimization finished ({missed}maxdiff={violation:.5f}).")
        self.say(f"Runtime in cpu-seconds: {runtime}")

    def sizes(
        self, vectors: int, bound: str, loss: float, norm: float, longest: float, drawn: str = ""
    ) -> None:
        """Support vectors, loss and lengths; drawn: of how many pairs those are that are not of
        all."""
        self.say(f"Number of SV: {vectors} ({bound}){drawn}")
        self.say(f"L1 loss: loss={loss:.5f}")
        self.say(f"Norm of weight vector: |w|={norm:.5f}")
        self.say(f"Norm of longest example vector: |x|={longest:.5f}{drawn}")

    def dimension(self, value: float, drawn: str = "") -> None:
        self.say(f"Estimated VCdim of classifier: VCdim<={value:.5f}{drawn}")

    def xi_alpha(
        self, estimate: Callable[[], Rates], seconds: Callable[[], float], how: str
    ) -> None:
        """The block of the XiAlpha estimates; how: rho and depth."""
        self.say("Computing XiAlpha-estimates...", end="")
        rates = estimate()
        self.say("done")
        self.say(f"Runtime for XiAlpha-estimates in cpu-seconds: {seconds():.2f}")
        self.say(f"XiAlpha-estimate of the error: error<={rates.error:.2f}% {how}")
        self.say(f"XiAlpha-estimate of the recall: recall=>{rates.recall:.2f}% {how}")
        self.say(f"XiAlpha-estimate of the precision: precision=>{rates.precision:.2f}% {how}")

    def left_out(self, rates: Rates, computed: int, rho: float, seconds: float) -> None:
        """The block of leave-one-out."""
        self.say(f"Leave-one-out estimate of the error: error={rates.error:.2f}%")
        self.say(f"Leave-one-out estimate of the recall: recall={rates.recall:.2f}%")
        self.say(f"Leave-one-out estimate of the precision: precision={rates.precision:.2f}%")
        self.say(f"Actual leave-one-outs computed:  {computed} (rho={rho:.2f})")
        self.say(f"Runtime for leave-one-out in cpu-seconds: {seconds:.2f}")

    def evaluations(self, count: int) -> None:
        self.say(f"Number of kernel evaluations: {count}")
