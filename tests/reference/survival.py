# SPDX-License-Identifier: BSD-3-Clause
"""Times until an event from their definitions, pair by pair; slow on purpose."""

import numpy as np


def pairs(y):
    """(i, j) where the event of i was seen and j was observed for longer, or as long and is
    censored."""
    times, seen = np.abs(y), ~(y < 0)
    later = times[None, :] > times[:, None]
    with_it = (times[None, :] == times[:, None]) & ~seen[None, :]
    return np.nonzero(seen[:, None] & (later | with_it))


def risk(s, y, power, weights=None):
    """n times the weighed mean over pairs of max(0, 1 - (s_i - s_j)) to a power, and its slopes."""
    v = np.ones(len(y)) if weights is None else weights
    i, j = pairs(y)
    each = v[i] * v[j]
    scale, slack = v.sum() / each.sum(), np.maximum(0, 1 - (s[i] - s[j]))
    slopes = scale * each * (slack > 0) * (2 * slack if power == 2 else 1)
    coef = np.bincount(j, slopes, len(y)) - np.bincount(i, slopes, len(y))
    return scale * float(each @ slack**power), coef


def concordance(s, y):
    """Harrell's c."""
    i, j = pairs(y)
    return float(((s[i] > s[j]) + 0.5 * (s[i] == s[j])).mean()) if len(i) else float("nan")
