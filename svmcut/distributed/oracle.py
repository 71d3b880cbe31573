# SPDX-License-Identifier: BSD-3-Clause
"""The oracle of a risk that is a sum over parts: points, lines and cuts take one round of tasks
each.

Coordinate descent handles rows near a corner of their loss one by one: of the hinge at 1 - y s = 0,
of the tube at |y - s| = tube; farther away the loss is linear. Losses of all examples together
gather the scores of the parts, and send the coefficients of a cut back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut._native.losses import TUBE
from svmcut.base.records import record
from svmcut.base.typing import Any, ClassVar, NamedTuple
from svmcut.cutting.bundle import Cut
from svmcut.cutting.oracle import Point, Products, line_minimum
from svmcut.data.examples import Csr, Examples, Source
from svmcut.distributed import parts
from svmcut.distributed.parts import MOST_MOVES, STEPS, Part, Place, most_moves
from svmcut.distributed.rows import Rows
from svmcut.risks.hinge import BoundHinge
from svmcut.risks.losses import BoundEpsilonInsensitive
from svmcut.solvers.descent import hinge_cut
from svmcut.solvers.protocol import StoppingRule
from svmcut.spaces.linear import WeightSpace
from svmcut.spec import schemas

#: Part of the gap to which a line is searched, a round for every value.
TOLERANCE = 0.03


class Carried(NamedTuple):
    """A point whose scores parts form by lines from those of another: base, then t of the way to w,
    for all moves."""

    base: Any
    moves: Any = ()


class PartedOracle:
    """R = scale times the sum over the parts. gridded: parts know R at all STEPS of a line in one
    round."""

    def __init__(self, rows: Rows, space: WeightSpace, scale: float = 1.0, gridded: bool = False):
        self.rows, self.space, self.scale, self.gridded = rows, space, scale, gridded

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass

    def form(self) -> schemas.Check:
        kinds, real = self.space.kinds(), schemas.REAL
        move = schemas.row(schemas.real(0), kinds.element)
        known = schemas.instance(
            Carried, base=kinds.element, moves=schemas.many(move, 0, MOST_MOVES)
        )
        return schemas.instance(
            Point, w=kinds.element, risk=real, squared=real, age=schemas.COUNT, known=known
        )

    def risk(self, w) -> float:
        """R(w); one round."""
        return self.scale * float(self.rows.sum(parts.value, [Carried(w)])[0])

    def at(self, w) -> Point:
        return Point(w, self.risk(w), self.space.dot(w, w), 0, Carried(w))

    def line(self, here: Point, w, squared: float) -> PartedLine:
        return (GridLine if self.gridded else PartedLine)(self, here, w, squared)

    def cut(self, point: Point) -> Cut:
        return self.cut_along(point.known, point.known, 0.0)

    def cut_along(self, here: Carried, target: Carried, t: float) -> Cut:
        """The cut at this step from here towards the target; one round."""
        cut = self.rows.sum(parts.cut, [here, target], t)
        cut *= self.scale
        return Cut(cut[2:].copy(), float(cut[1]), float(cut[0]))

    def move(self, here: Carried, t: float, w, there) -> Carried:
        """The point `there`, t of the way to w."""
        if len(here.moves) >= most_moves(self.space.dim):
            return Carried(there)
        return Carried(here.base, (*here.moves, (t, w)))


class PartedLine:
    """A line whose values are asked for one after the other, the first two together."""

    def __init__(self, oracle: PartedOracle, here: Point, w, squared: float):
        self._oracle, self._here, self._w, self._target = oracle, here, w, Carried(w)
        self._products = Products.towards(here.squared, oracle.space.dot(here.w, w), squared)
        self._values: dict[float, tuple[float, float]] = {}
        self._after = here.known

    def value(self, t: float) -> tuple[float, float]:
        if t not in self._values:
            steps = (t,) if self._values else tuple(dict.fromkeys((t, 0.0, 1.0)))
            ends = [self._here.known, self._target]
            values = self._oracle.scale * self._oracle.rows.sum(parts.along, ends, *steps)
            self._values.update(
                {step: (float(value), float(slope)) for step, (value, slope) in zip(steps, values)}
            )
        return self._values[t]

    def at(self, t: float) -> tuple[float, float, None]:
        """The value and the slope at t, for `line_minimum`."""
        return *self.value(t), None

    def minimum(self, C: float, gap: float) -> float:
        return line_minimum(self, self._products, C, TOLERANCE * gap).t

    def point(self, t: float) -> Point:
        oracle, here = self._oracle, self._here
        risk = self._risk(t)
        w = oracle.space.blend(1 - t, here.w, t, self._w)
        self._after = oracle.move(here.known, t, self._w, w)
        return Point(w, risk, oracle.space.dot(w, w), here.age + 1, self._after)

    def _risk(self, t: float) -> float:
        return self.value(t)[0]

    def cut(self, t: float, share: float) -> Cut:
        return self._oracle.cut_along(self._here.known, self._target, t + share * (1 - t))


class GridLine(PartedLine):
    """A line whose values at all STEPS are known in one round; its minimum is the best of them."""

    def minimum(self, C: float, gap: float) -> float:
        oracle = self._oracle
        values, slopes = oracle.scale * oracle.rows.sum(
            parts.grid, [self._here.known, self._target]
        )
        _, wd, dd = self._products
        k = int(np.argmin(0.5 * STEPS * (STEPS * dd + 2 * wd) + C * values))
        self._values[float(STEPS[k])] = float(values[k]), float(slopes[k])
        return float(STEPS[k])


class Smooth(NamedTuple):
    """Facts of losses and rows for Newton's method; see svmcut.risks.smoothed.SmoothedRisk."""

    #: Whether losses have some.
    corners: bool
    foresees: bool
    n_rows: int
    #: Whether the Hessian is formed and factorised.
    formed: bool
    #: Bytes of all rows, where those near a corner of their loss may come to one place; else 0.
    nbytes: float = 0.0
    #: The unbound risk of the rows near a corner, if any.
    risk: Any = None
    #: The sum of the weights of all rows.
    weight: float = 1.0


@record
class PartedProblem:
    """min over w of 1/2 |w|^2 + C R(w), as cutting planes know it."""

    #: PartedOracle or BinnedOracle.
    parts: Any
    C: float
    stop: StoppingRule
    qp: str | None = None
    risk: None = None  # it lies with the parts
    l1: float = 0.0
    #: Of a sum of losses of one score each.
    smooth: Smooth | None = None

    @property
    def space(self) -> WeightSpace:
        """The space of w."""
        return self.parts.space

    def oracle(self, carry: bool = True) -> Any:
        """R, by points and lines."""
        return self.parts

    def value(self, w) -> float:
        """R(w)"""
        return self.parts.risk(w)

    def penalty(self, w) -> float:
        """1/2 |w|^2"""
        return self.space.dot(w, w) / 2


class Corners:
    """The corners of the losses of a risk's rows."""

    #: Whether distances are in the unit of the targets, which a run finds out.
    scaled: ClassVar[bool]
    #: The number of svmcut._native.losses; 0 for the hinge.
    number: ClassVar[int] = 0
    #: The lower bound of fractions, alpha / (C v); the upper one is 1.
    least: ClassVar[float] = 0.0
    tube = 0.0

    def __init__(self, risk: Any):
        self.risk = risk
        self.labels: NDArray[np.float64] = (
            risk.signs if isinstance(risk, BoundHinge) else risk.targets
        )

    def distances(self, s: NDArray) -> NDArray[np.float64]:
        """(n,) how far scores are from the nearest corner."""
        raise NotImplementedError

    def tangent(self, s: NDArray) -> NDArray[np.float64]:
        """Fractions of the cut at these scores."""
        raise NotImplementedError

    def smooth(self, s: NDArray, width: float) -> NDArray[np.float64]:
        """Values of the loss smoothed over a width."""
        raise NotImplementedError

    def fractions(self, alpha: NDArray, box: Any) -> NDArray[np.float64]:
        """alpha as fractions of its box, the largest values that it may have."""
        return np.clip(np.divide(alpha, box), self.least, 1.0)

    def cut(self, fractions: NDArray) -> tuple[NDArray[np.float64], float]:
        """Coefficients and offset."""
        raise NotImplementedError


class HingeCorners(Corners):
    """1 - y s = 0."""

    scaled = False

    def distances(self, s: NDArray) -> NDArray[np.float64]:
        return np.abs(s - self.labels)

    def tangent(self, s: NDArray) -> NDArray[np.float64]:
        return np.where(1 - self.labels * s > 0, 1.0, 0.0)

    def smooth(self, s: NDArray, width: float) -> NDArray[np.float64]:
        return np.clip((1 - self.labels * s) / width + 0.5, 0.0, 1.0)

    def cut(self, fractions: NDArray) -> tuple[NDArray[np.float64], float]:
        return hinge_cut(fractions, self.labels, self.risk.weights)


class TubeCorners(Corners):
    """|y - s| = tube: two of every row."""

    scaled, number, least = True, TUBE, -1.0

    def __init__(self, risk: BoundEpsilonInsensitive):
        super().__init__(risk)
        self.tube = risk.tube

    def distances(self, s: NDArray) -> NDArray[np.float64]:
        return np.abs(np.abs(self.labels - s) - self.tube)

    def tangent(self, s: NDArray) -> NDArray[np.float64]:
        rest = self.labels - s
        return np.where(np.abs(rest) > self.tube, np.sign(rest), 0.0)

    def smooth(self, s: NDArray, width: float) -> NDArray[np.float64]:
        rest = self.labels - s
        up, down = (np.clip((side - self.tube) / width + 0.5, 0.0, 1.0) for side in (rest, -rest))
        return up - down

    def cut(self, fractions: NDArray) -> tuple[NDArray[np.float64], float]:
        return self.risk.dual_cut(fractions, None)


def corners_of(risk: Any) -> Corners | None:
    """The corners of a bound risk, where they are known."""
    if isinstance(risk, BoundHinge):
        return HingeCorners(risk)
    return TubeCorners(risk) if isinstance(risk, BoundEpsilonInsensitive) else None


#: Examples up to which their scores are gathered: 80 MB a round.
MOST_GATHERED = 10_000_000
NO_ROWS = Csr(np.empty(0, np.float32), np.empty(0, np.int32), np.zeros(1, np.int64), 0, True)


def part_signs(part: Part) -> NDArray[np.float64]:
    """Return (rows,) labels as the risk takes them."""
    return part.examples.y


def part_scores(part: Part, at: Place) -> NDArray[np.float64]:
    """Return (rows,) scores at a point."""
    return part.scores(at)


def part_scores_and_labels(part: Part, at: Place) -> tuple:
    """Return labels as the risk takes them, queries, and scores at a point."""
    examples = part.examples
    return examples.y, examples.qid, part.scores(at)


def part_normal(part: Part, dim: float, coef: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (dim,) A^T coef."""
    return part.space(int(dim)).adjoint(coef)


def tally_parts(rows: Rows, tally: Any, w: NDArray[np.float64], n: int) -> Any:
    """Add the scores of n rows at w to a Tally and return it; None if they are too many to
    gather."""
    K = len(tally.names) if hasattr(tally, "names") else 1
    if n * K > MOST_GATHERED:
        return None
    for y, qid, of_rows in rows.gather(part_scores_and_labels, [Carried(w)]):
        of_rows = of_rows if K == 1 else of_rows.reshape(-1, K)
        tally.add(Examples(NO_ROWS, y, qid, None, Source("a part")), of_rows)
    return tally


class GatheredSpace(WeightSpace):
    """Rows in parts whose scores are gathered; `bounds` (parts + 1,) are the first example of every
    part, and the number of all."""

    def __init__(
        self, rows: Rows, bounds: Sequence[int], n_features: int, bias: float, threads: int
    ):
        super().__init__(n_features, bias, threads)
        self._rows, self._bounds = rows, bounds

    def kinds(self) -> schemas.Kinds:
        of_examples = schemas.reals(self._bounds[-1])
        return super().kinds()._replace(scores=of_examples, coef=of_examples)

    def scores(self, w) -> NDArray[np.float64]:
        """Return A w, (n,) scores; one round."""
        return np.concatenate(self._rows.gather(part_scores, [Carried(w)]))

    def adjoint(self, coef) -> NDArray[np.float64]:
        """Return A^T coef; one round."""
        each = [
            coef[start:stop] for start, stop in zip(self._bounds, self._bounds[1:], strict=False)
        ]
        return self._rows.sum(part_normal, [], float(self.dim), each=each)
