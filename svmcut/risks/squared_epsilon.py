# SPDX-License-Identifier: BSD-3-Clause
"""Squared epsilon-insensitive loss: R(s) = sum_i v_i max(0, |y_i - s_i| - tube)^2, LIBLINEAR's
L2-loss support vector regression (Ho and Lin, JMLR 2012).

    cut          any c:   R(s') >= sum v (c y - tube |c| - c^2/4) - (v c).s';   the tangent has
                 c = 2 sign(y - s) max(0, |y - s| - tube)
    dual         beta = C v c:   sum beta y - tube sum |beta| - sum beta^2 / (4 C v) - 1/2 |w|^2
"""

from __future__ import annotations

import math

import numpy as np

from svmcut._native.losses import SQUARED_TUBE
from svmcut.risks.tubes import BoundTube, TubeRisk
from svmcut.spec import schemas


class BoundSquaredEpsilon(BoundTube):
    """The squared epsilon-insensitive risk of given targets."""

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
