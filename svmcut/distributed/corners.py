# SPDX-License-Identifier: BSD-3-Clause
"""What rows near a corner of their loss are: of the hinge at 1 - y s = 0, of the tube at |y - s| =
tube. There coordinate descent has them one by one; from any farther the loss is linear."""

from __future__ import annotations

import numpy as np

from svmcut._native.losses import TUBE
from svmcut.risks.epsilon_insensitive import BoundEpsilonInsensitive
from svmcut.risks.hinge import BoundHinge
from svmcut.solvers.descent import hinge_cut
from svmcut.typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Corners:
    """Those of a risk's rows.

    Attributes
    ----------
    scaled : bool
        Whether distances are in the unit of the targets, which a run finds out.
    number : int
        Of svmcut._native.losses; 0 for the hinge.
    tube : float
    least : float
        What fractions, alpha / (C v), are at least; at most they are 1.
    labels : (n,) float64
        Signs or targets.
    """

    scaled: ClassVar[bool]
    number: ClassVar[int] = 0
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
        """Those of the loss smoothed over a width."""
        raise NotImplementedError

    def fractions(self, alpha: NDArray, box: Any) -> NDArray[np.float64]:
        """Of alpha, whose largest values these are."""
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
    """Those of a bound risk, where they are known."""
    if isinstance(risk, BoundHinge):
        return HingeCorners(risk)
    return TubeCorners(risk) if isinstance(risk, BoundEpsilonInsensitive) else None
