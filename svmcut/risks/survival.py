# SPDX-License-Identifier: BSD-3-Clause
"""Times until an event: of a comparable pair, the earlier event should have the higher score.

    R(s) = n / |pairs|  sum over pairs (i, j) of  max(0, 1 - (s_i - s_j))^p,      p = 1 or 2

(i, j) is a pair if the event of i was observed, and j was observed for longer, or as long and is
censored. With weights v a pair weighs v_i v_j, |pairs| is the sum of these and n that of the v. O(n
log n). p = 2 is the problem of scikit-survival's FastSurvivalSVM with rank_ratio=1.

References
----------
V. Van Belle et al., Support vector machines for survival analysis, 2007. L. Evers, C.-M. Messow,
Bioinformatics 2008. S. Poelsterl, N. Navab, A. Katouzian, ECML PKDD 2015.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native.constraints import survival_cut
from svmcut.risks.protocol import Linearization
from svmcut.risks.weights import example_weights, total
from svmcut.scoring.survival import count_pairs, order_keys


class SurvivalRisk:
    """The hinge of pairs of times, or its square."""

    def __init__(self, name: str):
        self.name = name

    def bind(
        self, y: NDArray, qid: NDArray | None = None, cost: NDArray | None = None, threads: int = 1
    ) -> BoundSurvival:
        """Times y, negative where censored; qid is ignored, cost weighs rows."""
        return BoundSurvival(np.asarray(y), cost, "squared" in self.name, threads)


class BoundSurvival:
    """The risk of given times, with weights (n,) or None for 1 each."""

    def __init__(self, y: NDArray, cost: NDArray | None, squared: bool, threads: int):
        self.weights = example_weights(cost, len(y))
        self._key, self._keys = order_keys(y)
        pairs = count_pairs(self._key, self._keys, self.weights)
        self._scale = total(self.weights, len(y)) / pairs if pairs else 0.0
        self._squared, self._threads = squared, threads

    def linearize(self, s: NDArray) -> Linearization:
        """Value, coefficients (n,) and offset of the tangent."""
        s = np.ascontiguousarray(s, np.float64)
        coef, hinges, squares, pairs = survival_cut(
            s, self._key, self._keys, self.weights, self._squared, self._threads
        )
        coef *= self._scale
        if self._squared:
            squares = max(0.0, squares)
            return Linearization(self._scale * squares, coef, self._scale * (2 * hinges - squares))
        return Linearization(self._scale * max(0.0, hinges), coef, self._scale * pairs)
