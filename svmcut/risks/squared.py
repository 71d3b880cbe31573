# SPDX-License-Identifier: BSD-3-Clause
"""Squared slack: C xi^2 in place of C xi, for any risk xi(s) >= 0.

    R(s) = xi(s)^2,    R(s') >= xi^2 + 2 xi (xi(s') - xi),   xi(s') >= offset + coef.s'

A cut of xi thus becomes a cut of R with coefficients 2 xi coef and offset 2 xi offset - xi^2, and
bundle and certificate are the same as for any other risk.
"""

from __future__ import annotations

from svmcut.risks.protocol import Linearization


class BoundSquared:
    """The square of a nonnegative bound risk."""

    def __init__(self, bound):
        self._bound = bound

    def linearize(self, s) -> Linearization:
        xi, coef, offset = self._bound.linearize(s)
        return Linearization(xi * xi, 2 * xi * coef, 2 * xi * offset - xi * xi)


class SquaredRisk:
    """The square of a risk (svm_perf's -p 2, where the loss enters as its root)."""

    def __init__(self, risk):
        self.risk, self.name = risk, risk.name

    def bind(self, y, qid=None, cost=None, threads: int = 1) -> BoundSquared:
        return BoundSquared(self.risk.bind(y, qid, cost, threads))
