# SPDX-License-Identifier: BSD-3-Clause
"""Logistic loss: R(s) = sum_i v_i log(1 + exp(-y_i s_i)), the logistic regression of LIBLINEAR.

cut          u in [0, 1]:   R(s') >= sum v H(u) - (v u y).s';   the tangent has
             u = 1 / (1 + exp(y s));   H(u) = -u log u - (1 - u) log(1 - u)
dual         alpha = C v u:   C sum v H(u) - 1/2 |w|^2
"""

from __future__ import annotations

import numpy as np

from svmcut._native import losses as native
from svmcut.risks.losses import SignedLosses
from svmcut.spec import schemas

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
    """The logistic risk of given labels."""

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
