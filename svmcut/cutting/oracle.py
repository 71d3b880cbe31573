# SPDX-License-Identifier: BSD-3-Clause
"""All that a cutting-plane solver may ask of a risk and a space: points, lines between them, and
cuts.

    point        R(w) and |w|^2, one pass over the features
    line         R and its slope at (1 - t) u + t w for any t, the minimum of 1/2 |.|^2 + C R on it:
                 one pass in all
    cut          R(w') >= b + a.w' for every w', one pass

Rows of scores stay behind this door. So the solver does not know where the rows are: an oracle
whose rows lie in many places answers the same questions, one round each.
"""

from __future__ import annotations

import numpy as np

from svmcut.base.resources import ARGMAX, PSI, part
from svmcut.base.typing import Any, NamedTuple, Protocol
from svmcut.cutting.bundle import Cut
from svmcut.cutting.line_search import LinePoint, Products, ScoreLine, line_minimum
from svmcut.risks.protocol import ExactLineRisk, Linearization, LineRisk
from svmcut.spaces.protocol import Space
from svmcut.spec import schemas
from svmcut.spec.schemas import Form, Kept, State

#: Cuts and steps along lines after which normals and scores are formed afresh, so that rounding
#: does not add up.
REFRESH = 50
#: Step tried first where each value on a line decodes: most minima are nearer than the other end.
FIRST_STEP = 0.3
#: Parts of the gap to which a line is searched; where its values need no scores a closer minimum
#: costs little and saves cuts.
_TOLERANCE, _CLOSE = 0.1, 0.03


class Point(NamedTuple):
    """A w with all that is known there.

    Attributes
    ----------
    w : element of the space
    risk, squared : float
        R(w) and |w|^2.
    age : int
        How often it was carried along a line since its scores were formed from w.
    known : Any
        What the oracle knows there, for itself.
    """

    w: Any
    risk: float
    squared: float
    age: int
    known: Any


class Line(Protocol):
    """From a point, t = 0, towards another w, t = 1.

    What comes first: `minimum` or `value`, then `point` at the step chosen, then `cut`, the last
    that is asked.
    """

    def value(self, t: float) -> tuple[float, float]:
        """R and its slope in t, at t >= 0."""
        ...

    def minimum(self, C: float, gap: float) -> float:
        """A t >= 0 near the minimum of 1/2 |w|^2 + C R, as near as a part of the gap; 0 where it
        does not fall."""
        ...

    def point(self, t: float) -> Point:
        """The point at t > 0; its scores may be formed by `cut` only."""
        ...

    def cut(self, t: float, share: float) -> Cut:
        """The cut at (1 - share) p + share w, p being the last `point` and at t; the first point
        where t is 0."""
        ...


class Oracle(Protocol):
    """R on a space.

    Attributes
    ----------
    space : Space
        Where w and the normals of cuts live.
    """

    space: Space

    def at(self, w) -> Point: ...

    def line(self, here: Point, w, squared: float) -> Line:
        """To w, squared being |w|^2."""
        ...

    def cut(self, point: Point) -> Cut: ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any]) -> None: ...

    def form(self) -> schemas.Check:
        """What a Point in a state must look like."""
        ...


class Scored(NamedTuple):
    """What a RiskOracle knows of a point: A w and R linearised there."""

    scores: Any
    cut: Linearization


class Normals(Kept):
    """Normals of cuts, one after the other.

    Parameters
    ----------
    space : Space
    refresh : int
        A normal is formed from the last one where few coefficients changed (a fraction of the rows
        is read), and afresh every `refresh` cuts. 1 switches this off.
    """

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

    @part(PSI)
    def of(self, coef):
        """A^T coef; one pass, over changed rows alone where it pays."""
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
    """The oracle of a risk, which knows scores, and a space, which knows features.

    Parameters
    ----------
    risk : BoundRisk
    space : Space
    carry : bool
        Whether a normal may be formed from the one before it. Coefficients that are labellings are
        never differences.
    """

    def __init__(self, risk, space, carry: bool = True):
        self.risk, self.space = risk, space
        # asked once: protocols look at every attribute
        self._valued, self.exact = isinstance(risk, LineRisk), isinstance(risk, ExactLineRisk)
        self._normals = Normals(space, REFRESH if carry and not self._valued else 1)

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
        """One pass for the scores."""
        scores = self._scores(w)
        return self.known(w, scores, self.linearized(scores))

    @part(PSI)
    def _scores(self, w):
        return self.space.scores(w)

    @part(ARGMAX)
    def linearized(self, scores) -> Linearization:
        """R linearised at these scores."""
        return self.risk.linearize(scores)

    def known(self, w, scores, cut: Linearization, age: int = 0) -> Point:
        """The point with these scores and this linearization there."""
        return Point(w, cut.value, self.space.dot(w, w), age, Scored(scores, cut))

    def line(self, here: Point, w, squared: float) -> Line:
        """One pass for the scores of w, none later."""
        if self._valued:
            return ValuedLine(self, here, w, squared)
        return FormedLine(self, here, w, squared)

    def cut(self, point: Point) -> Cut:
        """One pass for the normal, over changed rows alone where it pays."""
        return self.cut_of(point.known.cut)

    def cut_of(self, known: Linearization) -> Cut:
        """The cut of a linearization."""
        return Cut(self._normals.of(known.coef), known.offset, known.value, known.coef)


class _Line:
    """What both lines share: products of u and d = w - u, the scores' rates of change, and values
    of `_line`."""

    _line: Any

    @part(PSI)
    def __init__(self, oracle: RiskOracle, here: Point, w, squared: float):
        space = oracle.space
        self._oracle, self._here, self._w = oracle, here, w
        self._products = Products.towards(here.squared, space.dot(here.w, w), squared)
        self._target = space.scores(
            w
        )  # a space may know the scores of an element: they are not to be changed
        self._rates = self._target - here.known.scores
        self._lowest: LinePoint | None = None

    def value(self, t: float) -> tuple[float, float]:
        value, slope, _ = self._line.at(t)
        return value, slope

    def _blended(self, t: float):
        return self._oracle.space.blend(1 - t, self._here.w, t, self._w)

    def _move(self, t: float):
        """Scores at t, in the place of the rates, which are no more."""
        scores, self._rates = self._rates, None
        scores *= t
        scores += self._here.known.scores
        return scores


class FormedLine(_Line):
    """A line whose values are those of the risk at scores that are formed for each."""

    def __init__(self, oracle: RiskOracle, here: Point, w, squared: float):
        super().__init__(oracle, here, w, squared)
        self._line = ScoreLine(oracle.risk, here.known.scores, self._rates, here.known.cut)
        self._base = here.known.scores

    @part(ARGMAX)
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
            scores = self._move(t)
            cut = oracle.linearized(scores)
        self._base = scores
        return oracle.known(self._blended(t), scores, cut, self._here.age + 1)

    def cut(self, t: float, share: float) -> Cut:
        base = self._base if t else self._here.known.scores
        query = self._target * share
        query += (1 - share) * base
        return self._oracle.cut_of(self._oracle.linearized(query))


class ValuedLine(_Line):
    """A line whose values the risk knows without their scores: those of the point alone are formed,
    in place, for they may take more memory than all else."""

    def __init__(self, oracle: RiskOracle, here: Point, w, squared: float):
        super().__init__(oracle, here, w, squared)
        self._target = None
        self._line = oracle.risk.along(here.known.scores, self._rates, here.known.cut)

    @part(ARGMAX)
    def minimum(self, C: float, gap: float) -> float:
        self._lowest = line_minimum(self._line, self._products, C, _CLOSE * gap, first=FIRST_STEP)
        return self._lowest.t

    def point(self, t: float) -> Point:
        known = (
            self._lowest.known
            if self._lowest is not None and self._lowest.t == t
            else self._line.at(t)[2]
        )
        return self._oracle.known(self._blended(t), self._rates, known, self._here.age + 1)

    def cut(self, t: float, share: float) -> Cut:
        query = self._line.at(t + share * (1 - t))[2]
        if t:
            self._move(t)
        return self._oracle.cut_of(query)
