# SPDX-License-Identifier: BSD-3-Clause
"""Weights in files: one number per line, the ``cost:`` that all lines of a query or sequence share,
and that of clicked lines."""

from __future__ import annotations

import math

import numpy as np

from svmcut.base.errors import DataError
from svmcut.base.typing import TYPE_CHECKING
from svmcut.files.text import BLOCK_BYTES, open_text
from svmcut.spec.parameters import LARGEST_C

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data.examples import Source


def read_weights(path: str) -> NDArray[np.float64]:
    """Return the numbers of a file with one per line, plain or compressed; ``-`` is standard input.

    Raises DataError if the file cannot be read, or a line is no number of at least 0.
    """
    pieces, buffer = [], bytearray(BLOCK_BYTES)
    with open_text(path) as text, memoryview(buffer) as view:
        while count := text.readinto(view):
            pieces.append(bytes(view[:count]))
    lines = b"".join(pieces).split(b"\n")
    if not lines[-1]:
        lines.pop()
    weights = np.empty(len(lines))
    for k, line in enumerate(lines):
        try:
            weights[k] = value = float(line) if b"_" not in line else math.nan
        except ValueError:
            value = math.nan
        if not 0 <= value < math.inf:
            word = repr(line.strip().decode("utf-8", "replace")) if line.strip() else "a blank line"
            raise DataError(
                path, f"{word} is no weight; expected one number of at least 0 a line", k + 1
            )
    return weights


def structure_weights(
    costs: NDArray, bounds: NDArray, source: Source, one: str
) -> NDArray[np.float64]:
    """Return the weight of each structure, rows bounds[q] to bounds[q + 1]: the cost that its rows
    share.

    Raises DataError if they differ.
    """
    weights = costs[bounds[:-1]]
    differ = np.flatnonzero(costs != np.repeat(weights, np.diff(bounds)))
    if len(differ):
        row = int(differ[0])
        first = weights[np.searchsorted(bounds, row, side="right") - 1]
        message = (
            f"cost {costs[row]:g} (1 where a line has none) stands in a {one} of cost {first:g}"
        )
        raise DataError(
            source.path, f"{message}; give all lines of a {one} the same", source.line_of(row)
        )
    return weights


def click_weights(
    costs: NDArray | None, given: NDArray | None, y: NDArray, source: Source, where: str
) -> NDArray[np.float64] | None:
    """Return the weights of rows: for clicked ones, of labels above 0, their ``cost:`` times the
    given weight, 1 for all others; None if all are 1.

    `where` names the given weights in messages. Raises DataError for a cost of a row that is not
    clicked, one that is negative or too large, for clicks that all weigh 0, and for weights that
    are not one per row.
    """
    clicked, weights = y > 0, np.ones(len(y)) if costs is None else costs.copy()
    if given is not None and len(given) != len(y):
        message = f"{len(given)} weights for {source.path}; expected {len(y)}, one for every row"
        raise DataError(where, message)
    wrong = ~clicked & (weights != 1)
    message = "cost {:g} stands on a line of label {:g}, which is no click; leave it out"
    if not wrong.any():
        weights[clicked] *= 1.0 if given is None else given[clicked]
        wrong = ~((weights >= 0) & (weights <= LARGEST_C))
        if clicked.any() and not weights[clicked].any():
            raise DataError(source.path, "all clicks weigh 0; give one a weight above 0")
        message = "a click weighs {:g}; expected 1 over its propensity, from 0 to {most:g}"
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            source.path, message.format(weights[row], y[row], most=LARGEST_C), source.line_of(row)
        )
    return None if (weights == 1).all() else weights
