# SPDX-License-Identifier: BSD-3-Clause
"""Clicks, each weighed by the inverse of the probability that the user looked at it.

    R(s) = (1/Q) sum over queries  sum over clicked rows i of
           c_i sum over the other rows j of the query of  max(0, 1 - (s_i - s_j))

The other rows include clicked ones. A term is at least c_i times the rank of i less 1, so R bounds
the propensity-weighted estimate of the sum of ranks of the relevant rows (Joachims, Swaminathan and
Schnabel, WSDM 2017, section 5). Q counts all queries, also those without clicks. O(n log n).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native.constraints import propensity_cut, workspace
from svmcut.risks.ordinal import query_starts
from svmcut.risks.protocol import Linearization
from svmcut.risks.weights import example_weights


class PropensityRisk:
    """The hinge of clicked rows and all others."""

    name = "propensities"

    def bind(
        self, y: NDArray, qid: NDArray | None = None, cost: NDArray | None = None, threads: int = 1
    ) -> BoundPropensities:
        """Rows with y > 0 are clicked; `cost` (n,) has the inverse propensities of clicked rows,
        None for 1 each, and those of other rows are ignored.

        Raises TrainingError when qid decreases, or a cost is negative or not finite.
        """
        return BoundPropensities(np.asarray(y) > 0, qid, cost, threads)


class BoundPropensities:
    """The risk of given clicks; 52 bytes of workspace per row, allocated once. Not reentrant;
    results do not depend on threads."""

    #: Of the queries: 1 each.
    weights = None
    #: A pair in words.
    unlike = "a clicked row, of label above 0, and another"

    def __init__(self, clicked: NDArray, qid: NDArray | None, cost: NDArray | None, threads: int):
        n = len(clicked)
        self._start, self._work, self._threads = query_starts(qid, n), workspace(n), threads
        weights = example_weights(cost, n)
        self._cost = clicked * (np.ones(n) if weights is None else weights)
        rows = np.diff(self._start)
        until = np.concatenate(([0], np.cumsum(clicked)))[self._start]
        self.pairs_per_query = np.diff(until).astype(np.int64) * (rows - 1)
        self.n_queries, self.n_pairs = len(rows), int(self.pairs_per_query.sum())

    def linearize(self, s: NDArray) -> Linearization:
        """Value, coefficients (n,) and offset of the cut by the pairs with s_j + 1 > s_i."""
        weight = 1.0 / max(self.n_queries, 1)
        coef, value, offset = propensity_cut(
            np.ascontiguousarray(s, np.float64),
            self._start,
            self._cost,
            weight,
            self._work,
            self._threads,
        )
        total = float(value.sum())
        return Linearization(
            weight * (0.0 if total < 0 else total), coef, weight * float(offset.sum())
        )  # below 0 by rounding alone; nan stays
