# SPDX-License-Identifier: BSD-3-Clause
"""Squared hinge: R(s) = sum_i v_i max(0, 1 - y_i s_i)^2, as in LIBLINEAR's L2-loss support vector
machines.

    cut          a >= 0:   R(s') >= sum v (a - a^2/4) - (v a y).s';   the tangent has
                 a = 2 max(0, 1 - y s)
    dual         alpha = C v a:   sum alpha - sum alpha^2 / (4 C v) - 1/2 |w|^2
"""

from __future__ import annotations

import math

import numpy as np

from svmcut._native.losses import SQUARED_HINGE
from svmcut.risks.losses import SignedLosses
from svmcut.spec import schemas


class BoundSquaredHinge(SignedLosses):
    """The squared hinge risk of given labels."""

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
