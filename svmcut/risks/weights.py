# SPDX-License-Identifier: BSD-3-Clause
"""Weights of the terms of a risk, one for each example or structure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import TrainingError


def total(weights: NDArray | None, n: int) -> float:
    """The sum of n weights."""
    return n if weights is None else float(weights.sum())


def boxes(C: float, weights: NDArray | None) -> float | NDArray[np.float64]:
    """C of every term: (n,) if they have weights, each product rounded once."""
    return C if weights is None else C * weights


def query_weights(cost: NDArray | None, start: NDArray) -> NDArray | None:
    """The weight of every query, which all its rows must share; `start` (Q + 1,) has the first row
    of every query and, last, n.

    Raises what `example_weights` raises, and TrainingError when the rows of a query differ.
    """
    cost = example_weights(cost, int(start[-1]))
    if cost is None:
        return None
    weights = cost[start[:-1]]
    differs = cost != np.repeat(weights, np.diff(start))
    if differs.any():
        row = int(np.argmax(differs))
        first = int(start[np.searchsorted(start, row, side="right") - 1])
        raise TrainingError(
            "rows {} and {} are of one query, but weigh {:g} and {:g}; give every row of a "
            "query the same weight",
            first + 1,
            row + 1,
            cost[first],
            cost[row],
        )
    return weights


def example_weights(cost: NDArray | None, n: int) -> NDArray | None:
    """The weights, checked; None if all are 1, so that weights of 1 change no bit.

    Raises TrainingError when a weight is negative or not finite, or all are 0, and ValueError when
    they are not n.
    """
    if cost is None:
        return None
    weights = np.ascontiguousarray(cost, np.float64)
    if weights.shape != (n,):
        raise ValueError(f"{weights.shape} weights for {n} examples")
    good = np.isfinite(weights) & (weights >= 0)
    if not good.all():
        row = int(np.argmin(good))
        raise TrainingError(
            "weight {:g} of example {} is none; weights are finite and at least 0",
            weights[row],
            row + 1,
        )
    if n and not weights.any():
        raise TrainingError("all weights are 0; give an example a weight above 0")
    return None if (weights == 1).all() else weights
