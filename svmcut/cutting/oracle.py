# SPDX-License-Identifier: BSD-3-Clause
"""Everything a cutting-plane solver may ask of a risk and a space: points, lines between them, and
cuts.

    point        R(w) and |w|^2, one pass over the features
    line         R and its slope at (1 - t) u + t w for any t, the minimum of 1/2 |.|^2 + C R on it:
                 one pass in all
    cut          R(w') >= b + a.w' for every w', one pass

The solver never sees rows or scores, so the same solver runs on an oracle whose rows are
distributed over several places. On a line, for any convex risk, the primal is minimised on cached
scores s of w and e of the direction d, without a pass over the features; ww, wd and dd are the dot
products of w and d:

    phi(t) = (ww + 2 t wd + t^2 dd) / 2 + C R(s + t e)
"""

from __future__ import annotations

import math

import numpy as np

from svmcut._native.sparse import dot
from svmcut.base.resources import ARGMAX, PSI, timed_part
from svmcut.base.typing import Any, NamedTuple, Protocol
from svmcut.cutting.bundle import Cut
from svmcut.risks.protocol import ExactLineRisk, Linearization, LineRisk
from svmcut.spaces.protocol import Space
from svmcut.spec import schemas
from svmcut.spec.schemas import Form, Kept, State


class LinePoint(NamedTuple):
    """A step t, phi(t), a certified lower bound of phi for all t >= 0, and what the line has
    computed at t."""

    t: float
    value: float
    lower: float
    evaluations: int
    known: Any


class ScoreLine:
    """A risk on the line s + t e of scores; `known` is its linearization at s, if already computed.
    Any object with the same `at` serves as a line."""

    def __init__(self, risk, s, e, known=None):
        self._risk, self._s, self._e, self._known = risk, s, e, known

    def at(self, t: float) -> tuple[float, float, tuple]:
        """R, its slope in t, and (scores, linearization), for reuse."""
        here = self._s + t * self._e if t else self._s
        cut = (None if t else self._known) or self._risk.linearize(here)
        return cut.value, dot(cut.coef, self._e), (here, cut)


class Products(NamedTuple):
    """w.w, w.d and d.d of a point w and a direction d."""

    ww: float
    wd: float
    dd: float

    @classmethod
    def towards(cls, ww: float, wu: float, uu: float) -> Products:
        """The products of w and u - w, from w.w, w.u and u.u."""
        return cls(ww, wu - ww, uu - 2 * wu + ww)


def line_minimum(
    line,
    products: Products,
    C: float,
    tol: float,
    max_evaluations: int = 30,
    first: float = 1.0,
) -> LinePoint:
    """The minimum of phi to within `tol`, by cutting planes in one dimension: between two tangents
    of R the model is a parabola with a closed-form minimum. `first` is the first step tried."""

    ww, wd, dd = products

    def quadratic(t):
        return 0.5 * (ww + 2 * t * wd + t * t * dd)

    value, slope, known = line.at(0.0)
    best_t, best = 0.0, quadratic(0.0) + C * value
    if wd + C * slope >= 0 or dd <= 0:
        return LinePoint(best_t, best, best, 1, known)
    lo, hi, t, lower = (0.0, value, slope), None, first, -math.inf
    evaluations = 1
    while evaluations < max_evaluations:
        value, slope, here = line.at(t)
        evaluations += 1
        phi = quadratic(t) + C * value
        if phi < best:
            best_t, best, known = t, phi, here
        if wd + t * dd + C * slope < 0:
            lo = (t, value, slope)
        else:
            hi = (t, value, slope)
        t_lo, v_lo, r_lo = lo
        lowest = -(wd + C * r_lo) / dd
        if hi is None:
            t = lowest
            lower = quadratic(t) + C * (v_lo + r_lo * (t - t_lo))
        else:
            t_hi, v_hi, r_hi = hi
            highest = -(wd + C * r_hi) / dd
            rise = r_hi - r_lo
            crossing = (v_lo - v_hi + r_hi * t_hi - r_lo * t_lo) / rise if rise > 0 else lowest
            t = min(max(crossing, highest), lowest)
            lower = quadratic(t) + C * max(v_lo + r_lo * (t - t_lo), v_hi + r_hi * (t - t_hi))
        if best - lower <= tol or not math.isfinite(t):
            break
    return LinePoint(best_t, best, lower, evaluations, known)


#: Cuts and steps along lines after which normals and scores are formed afresh, so that rounding
#: does not accumulate.
REFRESH = 50
#: Step tried first where each value on a line decodes: most minima are nearer than the far end.
FIRST_STEP = 0.3
#: Fraction of the gap to which a line is searched.
_TOLERANCE = 0.1
#: The same for a line whose values need no scores: a closer minimum costs little and saves cuts.
_VALUED_TOLERANCE = 0.03


class Point(NamedTuple):
    """A w and everything known there."""

    w: Any
    #: R(w).
    risk: float
    #: |w|^2.
    squared: float
    #: Number of moves along lines since the scores were formed from w.
    age: int
    #: Private data of the oracle.
    known: Any


class Line(Protocol):
    """The line from a point, t = 0, towards another w, t = 1.

    Call `minimum` or `value` first, then `point` at the chosen step, and `cut` last.
    """

    def value(self, t: float) -> tuple[float, float]:
        """R and its slope in t, for t >= 0."""
        ...

    def minimum(self, C: float, gap: float) -> float:
        """A t >= 0 within a fraction of `gap` of the minimum of 1/2 |w|^2 + C R; 0 if the line does
        not descend."""
        ...

    def point(self, t: float) -> Point:
        """The point at t > 0; its scores may be left for `cut` to form."""
        ...

    def cut(self, t: float, share: float) -> Cut:
        """The cut at (1 - share) p + share w, where p is the last `point`, at t, or the first one
        if t is 0."""
        ...


class Oracle(Protocol):
    """A risk R as a function on a space of w and normals."""

    space: Space

    def at(self, w) -> Point: ...

    def line(self, here: Point, w, squared: float) -> Line:
        """The line to w; `squared` is |w|^2."""
        ...

    def cut(self, point: Point) -> Cut: ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any]) -> None: ...

    def form(self) -> schemas.Check:
        """The check that a Point in a checkpoint has to pass."""
        ...


class Scored(NamedTuple):
    """Private data of a RiskOracle at a point: its scores A w and the linearization of R there."""

    scores: Any
    cut: Linearization


class Normals(Kept):
    """Normals of successive cuts. A normal is updated from the last one where few coefficients
    changed, which reads only those rows, and formed afresh every `refresh` cuts; 1 always forms it
    afresh."""

    called = "oracle"

    def __init__(self, space, refresh: int):
        self._space, self._refresh = space, refresh
        self._coef: Any = None
        self._a: Any = None
        self._age = 0

    def form(self) -> Form:
        kinds = self._space.kinds()
        coef, a = schemas.maybe(kinds.coef), schemas.maybe(kinds.element)
        return {"_coef": coef, "_a": a, "_age": schemas.COUNT}

    def restore(self, state: State) -> None:
        super().restore(state)
        schemas.require(
            (state["coef"] is None) == (state["a"] is None),
            "oracle.coef and oracle.a",
            "both or none",
        )

    @timed_part(PSI)
    def of(self, coef):
        """A^T coef in one pass, over changed rows alone where that is cheaper."""
        if self._a is not None and self._age < self._refresh:
            change = coef - self._coef
            if 2 * np.count_nonzero(change) < np.count_nonzero(coef):
                a = self._space.adjoint(change)
                a += self._a
                self._age += 1
                self._coef, self._a = coef, a
                return a
        self._age = 1
        self._coef, self._a = coef, self._space.adjoint(coef)
        return self._a


class RiskOracle:
    """The oracle of a risk, which sees scores, and a space, which sees features. `carry` allows
    normals to be updated from the last one; label coefficients never are."""

    def __init__(self, risk, space, carry: bool = True):
        self.risk, self.space = risk, space
        # once, as isinstance with a protocol looks at every attribute
        self._has_line_values, self.exact = (
            isinstance(risk, LineRisk),
            isinstance(risk, ExactLineRisk),
        )
        self._normals = Normals(space, REFRESH if carry and not self._has_line_values else 1)

    def state(self) -> dict[str, Any]:
        return self._normals.state()

    def restore(self, state: dict[str, Any]) -> None:
        self._normals.restore(state)

    def form(self) -> schemas.Check:
        kinds, real = self.space.kinds(), schemas.REAL
        cut = schemas.instance(
            Linearization, value=real, coef=schemas.maybe(kinds.coef), offset=real
        )
        known = schemas.instance(Scored, scores=kinds.scores, cut=cut)
        return schemas.instance(
            Point, w=kinds.element, risk=real, squared=real, age=schemas.COUNT, known=known
        )

    def at(self, w) -> Point:
        """The point at w; one pass for its scores."""
        scores = self._scores(w)
        return self.make_point(w, scores, self.linearize(scores))

    @timed_part(PSI)
    def _scores(self, w):
        return self.space.scores(w)

    @timed_part(ARGMAX)
    def linearize(self, scores) -> Linearization:
        """The linearization of R at these scores."""
        return self.risk.linearize(scores)

    def make_point(self, w, scores, cut: Linearization, age: int = 0) -> Point:
        """The point with these scores and this linearization."""
        return Point(w, cut.value, self.space.dot(w, w), age, Scored(scores, cut))

    def line(self, here: Point, w, squared: float) -> Line:
        """The line to w; one pass for its scores, none later."""
        if self._has_line_values:
            return ValuedLine(self, here, w, squared)
        return FormedLine(self, here, w, squared)

    def cut(self, point: Point) -> Cut:
        """The cut at a point; one pass for the normal, over changed rows alone where that is
        cheaper."""
        return self.make_cut(point.known.cut)

    def make_cut(self, known: Linearization) -> Cut:
        """The cut of a linearization."""
        return Cut(self._normals.of(known.coef), known.offset, known.value, known.coef)


class _Line:
    """Base of both lines: the products of u and d = w - u, the rates of change of the scores, and
    `_line` for values."""

    _line: Any

    @timed_part(PSI)
    def __init__(self, oracle: RiskOracle, here: Point, w, squared: float):
        space = oracle.space
        self._oracle, self._here, self._w = oracle, here, w
        self._products = Products.towards(here.squared, space.dot(here.w, w), squared)
        self._target = space.scores(w)  # not to be changed, a space may own them
        self._rates = self._target - here.known.scores
        self._lowest: LinePoint | None = None

    def value(self, t: float) -> tuple[float, float]:
        value, slope, _ = self._line.at(t)
        return value, slope

    def _blend(self, t: float):
        return self._oracle.space.blend(1 - t, self._here.w, t, self._w)

    def _move_rates_to(self, t: float):
        """The scores at t, formed in the array of the rates, which are gone afterwards."""
        scores, self._rates = self._rates, None
        scores *= t
        scores += self._here.known.scores
        return scores


class FormedLine(_Line):
    """A line that forms the scores of each step and evaluates the risk there."""

    def __init__(self, oracle: RiskOracle, here: Point, w, squared: float):
        super().__init__(oracle, here, w, squared)
        self._line = ScoreLine(oracle.risk, here.known.scores, self._rates, here.known.cut)
        self._base = here.known.scores

    @timed_part(ARGMAX)
    def minimum(self, C: float, gap: float) -> float:
        risk, here = self._oracle.risk, self._here
        if self._oracle.exact:
            _, wd, dd = self._products
            return risk.line_minimum(here.known.scores, self._rates, wd, dd, C)
        self._lowest = line_minimum(self._line, self._products, C, _TOLERANCE * gap)
        return self._lowest.t

    def point(self, t: float) -> Point:
        oracle = self._oracle
        if self._lowest is not None and self._lowest.t == t:
            scores, cut = self._lowest.known
        else:
            scores = self._move_rates_to(t)
            cut = oracle.linearize(scores)
        self._base = scores
        return oracle.make_point(self._blend(t), scores, cut, self._here.age + 1)

    def cut(self, t: float, share: float) -> Cut:
        base = self._base if t else self._here.known.scores
        query = self._target * share
        query += (1 - share) * base
        return self._oracle.make_cut(self._oracle.linearize(query))


class ValuedLine(_Line):
    """A line whose risk has values without scores; only a point's scores are formed, in place, as
    they may take more memory than everything else."""

    def __init__(self, oracle: RiskOracle, here: Point, w, squared: float):
        super().__init__(oracle, here, w, squared)
        self._target = None
        self._line = oracle.risk.along(here.known.scores, self._rates, here.known.cut)

    @timed_part(ARGMAX)
    def minimum(self, C: float, gap: float) -> float:
        self._lowest = line_minimum(
            self._line, self._products, C, _VALUED_TOLERANCE * gap, first=FIRST_STEP
        )
        return self._lowest.t

    def point(self, t: float) -> Point:
        known = (
            self._lowest.known
            if self._lowest is not None and self._lowest.t == t
            else self._line.at(t)[2]
        )
        return self._oracle.make_point(self._blend(t), self._rates, known, self._here.age + 1)

    def cut(self, t: float, share: float) -> Cut:
        query = self._line.at(t + share * (1 - t))[2]
        if t:
            self._move_rates_to(t)
        return self._oracle.make_cut(query)
