# SPDX-License-Identifier: BSD-3-Clause
"""Weighted sums of losses of one score each: R(s) = sum_i v_i l(y_i, s_i).

    cut          any g in the losses' domain:   R(s') >= sum v h(g) - (v g).s'
                 (csrc/linear/losses.h)
    dual         alpha = C v g of the cut's coefficients: C sum v h(g) - 1/2 |C A'(v g)|^2

At g = -l'(s) the cut is the tangent at s, so trainers of alpha or w are certified by their last
cut.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from svmcut._native import losses as native
from svmcut._native import sparse
from svmcut._native.losses import SQUARED_HINGE, SQUARED_TUBE, TUBE
from svmcut.base.typing import ClassVar
from svmcut.risks.protocol import Linearization
from svmcut.risks.smoothed import Smoothed, line_step
from svmcut.risks.weights import example_weights
from svmcut.spec import schemas


class BoundLosses:
    """A sum of losses of given labels in {-1, +1}, or of targets, (n,) float64. Results do not
    depend on `threads`; `weights` (n,) are those of the examples, None for 1 each. See
    SmoothedRisk."""

    #: Of svmcut._native.losses.
    number: ClassVar[int]
    has_narrow_band: ClassVar[bool] = False
    has_two_curvatures: ClassVar[bool] = False
    should_cut_ahead: ClassVar[bool] = True
    #: True if alpha has the sign of its row's part of w.
    signed: ClassVar[bool] = False
    #: The largest slope of a loss.
    steepest: ClassVar[float] = 1.0
    #: Of the epsilon-insensitive loss.
    tube = 0.0

    def __init__(self, targets, threads: int = 1, weights=None):
        self.targets, self.weights = targets, weights
        self._threads = threads

    def linearize(self, s) -> Linearization:
        """Value and tangent; O(n)."""
        return self._evaluate(np.ascontiguousarray(s, np.float64), None, 0.0)

    def initial_width(self) -> float:
        """See SmoothedRisk; 0, for losses without corners."""
        return 0.0

    def smooth(self, s, delta: float) -> Smoothed:
        """See SmoothedRisk; delta is 0 for a loss without corners."""
        s = np.ascontiguousarray(s, np.float64)
        bends = np.empty(len(s))
        known = self._evaluate(s, bends, delta)
        rows = np.flatnonzero(bends).astype(np.int32)
        excess = (
            known.value - known.offset - sparse.dot(known.coef, s, self._threads) if delta else 0.0
        )
        return Smoothed(*known, excess, rows, bends, 1.0)

    def slope(self, s, e, t: float, delta: float) -> tuple[float, float]:
        """See SmoothedRisk."""
        return native.slope(
            self.number, self.targets, s, e, self.tube, t, self._threads, self.weights, delta
        )

    def _evaluate(self, s, bends, delta: float) -> Linearization:
        coef = np.empty(len(s))
        value, offset = native.losses(
            self.number, self.targets, s, self.tube, coef, bends, self._threads, self.weights, delta
        )
        return Linearization(value, coef, offset)

    def line_minimum(self, s, e, wd: float, dd: float, C: float) -> float:
        """A t >= 0 near the minimum of (t^2 dd + 2 t wd)/2 + C R(s + t e), not above its value at
        0; a few O(n)."""

        def rate(t: float) -> tuple[float, float]:
            rise, bend = self.slope(s, e, t, 0.0)
            return wd + t * dd + C * rise, dd + C * bend

        here, bend = rate(0.0)
        return line_step(rate, -here, -here / bend) if here < 0 < bend else 0.0

    def take(self, rows) -> BoundLosses:
        """The risk of these examples alone."""
        weights = None if self.weights is None else self.weights[rows]
        return type(self)(self.targets[rows], self._threads, weights)

    def apply_weights(self, x):
        """v x; x itself if there are no weights."""
        return x if self.weights is None else self.weights * x

    def dual_cut(self, fractions, logit) -> tuple:
        """(coef, offset) of the cut of fractions = alpha / (C v); `logit` are their logits, for the
        logistic loss."""
        raise NotImplementedError

    def nearest_cut(self, coef) -> tuple:
        """See SmoothedRisk."""
        raise NotImplementedError

    def fractions(self, coef):
        """The fractions alpha / (C v) of the cut with these coefficients."""
        parts = -coef if self.signed else -(coef * self.targets)
        return (
            parts
            if self.weights is None
            else np.divide(parts, self.weights, out=parts, where=self.weights > 0)
        )

    def box(self, n: int, most: float = 1.0) -> schemas.Check:
        """The check that fractions have to pass in a checkpoint; `most` scales their bounds."""
        raise NotImplementedError


class SignedLosses(BoundLosses):
    """Losses of y_i s_i."""

    @classmethod
    def from_labels(cls, y, cost, threads: int):
        """The risk of labels, positive above 0 and negative otherwise, as in svm_perf."""
        return cls(np.where(np.asarray(y) > 0, 1.0, -1.0), threads, example_weights(cost, len(y)))


class BoundSquaredHinge(SignedLosses):
    """Squared hinge: R(s) = sum_i v_i max(0, 1 - y_i s_i)^2, as in LIBLINEAR's L2-loss support
    vector machines.

        cut          a >= 0:   R(s') >= sum v (a - a^2/4) - (v a y).s';   the tangent has
                     a = 2 max(0, 1 - y s)
        dual         alpha = C v a:   sum alpha - sum alpha^2 / (4 C v) - 1/2 |w|^2
    """

    number, steepest, has_two_curvatures = SQUARED_HINGE, math.inf, True

    def dual_cut(self, fractions, logit) -> tuple:
        offset = float(np.sum(self.apply_weights(fractions - 0.25 * fractions * fractions)))
        return -self.apply_weights(fractions * self.targets), offset

    def nearest_cut(self, coef) -> tuple:
        return self.dual_cut(np.maximum(self.fractions(coef), 0.0), None)

    def box(self, n: int, most: float = 1.0) -> schemas.Check:
        return schemas.reals(n, low=0)


class SquaredHingeRisk:
    """Sum of weighted squared hinge losses."""

    name = "squared-hinge"

    def bind(self, y, qid=None, cost=None, threads: int = 1) -> BoundSquaredHinge:
        return BoundSquaredHinge.from_labels(y, cost, threads)


#: Logit at which a descent takes a fraction for 0 or 1.
MAX_LOGIT = 30.0
#: The same for cuts whose coefficients have to add up to 0: all digits of float64.
MAX_EXACT_LOGIT = 700.0


def logits(fractions, limit: float = MAX_LOGIT):
    """log u - log(1 - u), clipped to [-limit, limit]."""
    out = np.empty(len(fractions))
    native.logits(fractions, limit, out)
    return out


class BoundLogistic(SignedLosses):
    """Logistic loss: R(s) = sum_i v_i log(1 + exp(-y_i s_i)), the logistic regression of LIBLINEAR.

    cut          u in [0, 1]:   R(s') >= sum v H(u) - (v u y).s';   the tangent has
                 u = 1 / (1 + exp(y s));   H(u) = -u log u - (1 - u) log(1 - u)
    dual         alpha = C v u:   C sum v H(u) - 1/2 |w|^2
    """

    number = native.LOGISTIC

    def dual_cut(self, fractions, logit) -> tuple:
        """The tangent at the margin -logit, which keeps all digits of H."""
        known = self.linearize(-logit * self.targets)
        return known.coef, known.offset

    def nearest_cut(self, coef) -> tuple:
        fractions = np.minimum(np.maximum(self.fractions(coef), 0.0), 1.0)
        return self.dual_cut(fractions, logits(fractions, MAX_EXACT_LOGIT))

    def box(self, n: int, most: float = 1.0) -> schemas.Check:
        return schemas.reals(n, low=0, high=most)


class LogisticRisk:
    """Sum of weighted logistic losses."""

    name = "logistic"

    def bind(self, y, qid=None, cost=None, threads: int = 1) -> BoundLogistic:
        return BoundLogistic.from_labels(y, cost, threads)


class BoundTube(BoundLosses):
    """A risk of errors beyond a tube around given targets."""

    signed = True

    def __init__(self, targets, threads: int = 1, weights=None, tube: float = 0.1):
        super().__init__(targets, threads, weights)
        self.tube = tube

    def take(self, rows) -> BoundTube:
        weights = None if self.weights is None else self.weights[rows]
        return type(self)(self.targets[rows], self._threads, weights, self.tube)


class TubeRisk:
    """Sum of weighted losses of errors beyond a tube; `tube` is half its width."""

    bound: type[BoundTube]

    def __init__(self, tube: float = 0.1):
        self.tube = tube

    def bind(self, y, qid=None, cost=None, threads: int = 1) -> BoundTube:
        targets = np.ascontiguousarray(y, np.float64)
        return self.bound(targets, threads, example_weights(cost, len(targets)), self.tube)


class BoundEpsilonInsensitive(BoundTube):
    """Epsilon-insensitive loss: R(s) = sum_i v_i max(0, |y_i - s_i| - tube), linear support vector
    regression.

        cut          c in [-1, 1]:   R(s') >= sum v (c y - tube |c|) - (v c).s';   the tangent has
                     c = sign(y - s) outside the tube and 0 inside
        dual         beta = C v c:   sum beta y - tube sum |beta| - 1/2 |w|^2
        smoothed     two smoothed hinges (svmcut.risks.hinge), of y - tube - s and of s - y - tube
    """

    number = TUBE

    def line_minimum(self, s, e, wd: float, dd: float, C: float) -> float:
        """The t >= 0 that minimises (t^2 dd + 2 t wd)/2 + C R(s + t e), exactly; expected O(n). The
        loss is a sum of two hinges."""
        beyond = 1.0 + self.tube
        signs, weights = self._hinges()
        scores = np.concatenate([s - self.targets + beyond, s - self.targets - beyond])
        return sparse.hinge_line(
            signs, scores, np.concatenate([e, e]), wd, dd, C, self._threads, weights
        )

    def on_grid(self, s, target, grid, even: int):
        """See GridRisk; O(n + steps). Hinges with the margin -tube lose no digit to adding 1."""
        rest, end = s - self.targets, target - self.targets
        signs, weights = self._hinges()
        ends = np.concatenate([rest, rest]), np.concatenate([end, end])
        return sparse.hinge_grid(signs, *ends, grid, even, self._threads, weights, -self.tube)

    def _hinges(self) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """(2n,) signs and weights of the two hinges of every row."""
        weights = None if self.weights is None else np.concatenate([self.weights, self.weights])
        return np.repeat([1.0, -1.0], len(self.targets)), weights

    def initial_width(self) -> float:
        """The mean loss at 0."""
        n = len(self.targets)
        return self.linearize(np.zeros(n)).value / n or 1.0

    def corners(self, s) -> tuple:
        """(2, n) biases at which a loss has its corners, the jumps of its slope there, and its
        slopes below each, where the second one starts from 0."""
        weights = np.ones(len(s)) if self.weights is None else self.weights
        rest = self.targets - s
        jumps = np.array([weights, weights])
        return (
            np.array([rest - self.tube, rest + self.tube]),
            jumps,
            np.array([-weights, np.zeros(len(s))]),
        )

    def dual_cut(self, fractions, logit) -> tuple:
        offset = float(
            np.sum(self.apply_weights(fractions * self.targets - self.tube * np.abs(fractions)))
        )
        return -self.apply_weights(fractions), offset

    def nearest_cut(self, coef) -> tuple:
        return self.dual_cut(np.clip(self.fractions(coef), -1.0, 1.0), None)

    def box(self, n: int, most: float = 1.0) -> schemas.Check:
        return schemas.reals(n, low=-most, high=most)


class EpsilonInsensitiveRisk(TubeRisk):
    """Sum of weighted epsilon-insensitive losses."""

    name = "epsilon-insensitive"
    bound = BoundEpsilonInsensitive


class BoundSquaredEpsilon(BoundTube):
    """Squared epsilon-insensitive loss: R(s) = sum_i v_i max(0, |y_i - s_i| - tube)^2, LIBLINEAR's
    L2-loss support vector regression (Ho and Lin, JMLR 2012).

        cut          any c:   R(s') >= sum v (c y - tube |c| - c^2/4) - (v c).s';   the tangent has
                     c = 2 sign(y - s) max(0, |y - s| - tube)
        dual         beta = C v c:   sum beta y - tube sum |beta| - sum beta^2 / (4 C v) - 1/2 |w|^2
    """

    number, steepest, has_two_curvatures = SQUARED_TUBE, math.inf, True

    def dual_cut(self, fractions, logit) -> tuple:
        size = np.abs(fractions)
        worth = fractions * self.targets - size * (self.tube + 0.25 * size)
        return -self.apply_weights(fractions), float(np.sum(self.apply_weights(worth)))

    def nearest_cut(self, coef) -> tuple:
        return self.dual_cut(self.fractions(coef), None)

    def box(self, n: int, most: float = 1.0) -> schemas.Check:
        return schemas.reals(n)


class SquaredEpsilonRisk(TubeRisk):
    """Sum of weighted squared epsilon-insensitive losses."""

    name = "squared-epsilon-insensitive"
    bound = BoundSquaredEpsilon
