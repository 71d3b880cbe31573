# SPDX-License-Identifier: BSD-3-Clause
"""Split conformal prediction by its definition: p-values, counted one row at a time."""

from fractions import Fraction


def is_in(scores, new, coverage):
    """Test that a new row with this score belongs to the set: more than a share alpha of all rows,
    itself among them, is at least as strange."""
    alpha = 1 - Fraction(coverage)
    as_strange = sum(score >= new for score in scores) + 1
    return as_strange > alpha * (len(scores) + 1)


def least_rows(coverage):
    """Fewest rows with which a set can leave anything out."""
    n = 1
    while is_in([0.0] * n, 1.0, coverage):
        n += 1
    return n


def margin(scores, k):
    """How much the best other class exceeds class k."""
    return max(score for j, score in enumerate(scores) if j != k) - scores[k]
