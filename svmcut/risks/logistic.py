# SPDX-License-Identifier: BSD-3-Clause
"""Logistic loss: R(s) = sum_i v_i log(1 + exp(-y_i s_i)), the logistic regression of LIBLINEAR.

cut          u in [0, 1]:   R(s') >= sum v H(u) - (v u y).s',   H(u) = -u log u - (1 - u) log(1 -
             u); u = 1 / (1 + exp(y s)) is the tangent
dual         alpha = C v u:   C sum v H(u) - 1/2 |w|^2
"""

from __future__ import annotations

import numpy as np

from svmcut._native import losses as native
from svmcut.risks.losses import SignedLosses
from svmcut.spec import schemas

#: Logit of a fraction that is as good as 0, and of one as good as 1, to a descent; and where
#: float64 ends, as a cut whose coefficients have to add up to 0 needs all digits.
FAR, FARTHEST = 30.0, 700.0


def logits(fractions, far: float = FAR):
    """log u - log(1 - u), from -far to far."""
    out = np.empty(len(fractions))
    native.logits(fractions, far, out)
    return out


class BoundLogistic(SignedLosses):
    """The logistic risk of given labels."""

    number = native.LOGISTIC

    def dual_cut(self, fractions, logit) -> tuple:
        """The tangent where the margin is -logit: H by the logit has all its digits."""
        known = self.linearize(-logit * self.targets)
        return known.coef, known.offset

    def nearest_cut(self, coef) -> tuple:
        fractions = np.minimum(np.maximum(self.fractions(coef), 0.0), 1.0)
        return self.dual_cut(fractions, logits(fractions, FARTHEST))

    def box(self, n: int, most: float = 1.0) -> schemas.Check:
        return schemas.reals(n, low=0, high=most)


class LogisticRisk:
    """Sum of weighted logistic losses."""

    name = "logistic"

    def bind(self, y, qid=None, cost=None, threads: int = 1) -> BoundLogistic:
        return BoundLogistic.of(y, cost, threads)
