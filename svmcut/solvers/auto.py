# SPDX-License-Identifier: BSD-3-Clause
"""Which certified trainer of the hinge loss is fastest on rows of a given shape; measured by benchmarks/auto.py."""

from __future__ import annotations

NEWTON_DIM = 320


def choose(n: int, d: int, nnz: int, C: float) -> str:
    """The solver's name for n rows, d features, nnz nonzeros and C per example.

    Newton's method forms a d x d matrix from the rows near the margin, so it wins where features are few; dual coordinate
    descent everywhere else.
    """
    return "newton" if d <= NEWTON_DIM and n > 2 * d else "dual-cd"
