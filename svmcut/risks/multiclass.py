# SPDX-License-Identifier: BSD-3-Clause
"""The risk of Crammer and Singer: R(s) = sum_i v_i max_k ([k != y_i] + s_ik - s_iy), v_i = 1
without weights.

Scores are (n, K) row by row. A cut has q_i in the simplex of the classes: coef_ik = v_i (q_ik - [k
= y_i]), offset sum_i v_i (1 - q_iy); the most violated one puts q_i on the first class with the
largest term. With xi_i^2 in place of the term xi_i of every row, a cut of R is squared row by row
as in svmcut.risks.squared.
"""

from __future__ import annotations

import numpy as np

from svmcut._native import multiclass
from svmcut.risks.protocol import Linearization
from svmcut.risks.weights import example_weights


class CrammerSingerRisk:
    """An ExactLineRisk of right classes y (n,), from 0; `weights` (n,) are those of the examples,
    None for 1 each. Results do not depend on `threads`."""

    def __init__(self, y, n_classes: int, threads: int = 1, weights=None):
        self.y = np.ascontiguousarray(y, np.int32)
        self.n_classes = n_classes
        self._threads = threads
        self.weights = example_weights(weights, len(y))

    def linearize(self, s) -> Linearization:
        """Value, subgradient and offset; O(n K)."""
        coef = np.empty((len(self.y), self.n_classes))
        scores = np.ascontiguousarray(s, np.float64).reshape(coef.shape)
        value, offset = multiclass.crammer_singer(self.y, scores, coef, self._threads, self.weights)
        return Linearization(value, coef.ravel(), offset)

    def value(self, s) -> float:
        """R(s); O(n K)."""
        scores = np.ascontiguousarray(s, np.float64).reshape(len(self.y), self.n_classes)
        return multiclass.crammer_singer(self.y, scores, None, self._threads, self.weights)[0]

    def line_minimum(self, s, e, wd: float, dd: float, C: float) -> float:
        """The t >= 0 that minimises (t^2 dd + 2 t wd)/2 + C R(s + t e), to a thousandth of its
        gain; O(n K) a step. s None is 0."""
        shape = len(self.y), self.n_classes
        e = np.ascontiguousarray(e, np.float64).reshape(shape)
        s = None if s is None else np.ascontiguousarray(s, np.float64).reshape(shape)
        return multiclass.crammer_singer_line(self.y, s, e, wd, dd, C, self._threads, self.weights)


class SquaredCrammerSingerRisk:
    """A BoundRisk, sum_i v_i xi_i^2; see CrammerSingerRisk."""

    def __init__(self, y, n_classes: int, threads: int = 1, weights=None):
        self._plain = CrammerSingerRisk(y, n_classes, threads)
        self.y = self._plain.y
        self.n_classes = n_classes
        self.weights = example_weights(weights, len(y))

    def linearize(self, s) -> Linearization:
        """Value, subgradient and offset; O(n K)."""
        coef = self._plain.linearize(s).coef.reshape(-1, self.n_classes)
        met = coef.any(axis=1)
        xi = met + np.einsum("ik,ik->i", coef, np.reshape(s, coef.shape))
        weighed = xi if self.weights is None else self.weights * xi
        squared = float(weighed @ xi)
        return Linearization(
            squared, (2 * weighed[:, None] * coef).ravel(), 2 * float(weighed @ met) - squared
        )
