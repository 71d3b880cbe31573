# SPDX-License-Identifier: BSD-3-Clause
"""Weights and queries of rows: files with one number per line, and the ``cost:`` that the lines of
a query or sequence share, or that clicked lines have."""

from __future__ import annotations

import math
from codecs import BOM_UTF8

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError
from svmcut.data.examples import Source
from svmcut.files.remote import has_file
from svmcut.files.text import open_text
from svmcut.spec.parameters import LARGEST_C


def read_weights(path: str) -> NDArray[np.float64]:
    """Return the numbers of a file with one per line, plain or compressed; ``-`` is standard input.

    Raises DataError if the file cannot be read, or a line is no number of at least 0.
    """
    with open_text(path) as text:
        lines = text.rest().split(b"\n")
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


SUFFIXES = (".group", ".query")


def find_queries(path: str) -> str | None:
    """Return the first existing file of the queries of a file, FILE.group or FILE.query, as for
    LightGBM and XGBoost; None if there is none."""
    return next(
        (path + suffix for suffix in SUFFIXES if path != "-" and has_file(path + suffix)), None
    )


def read_queries(path: str, rows: int, of: str) -> NDArray[np.int64]:
    """Return the query of every row (rows,), counted from 1 if the file has counts.

    The file has one whole number per line: the number of rows of each query, or the qid of each
    row. `of` names the file of the rows in messages. Raises DataError for an invalid line, numbers
    that are neither, and decreasing qids.
    """
    with open_text(path) as text:
        lines = text.rest().removeprefix(BOM_UTF8).rstrip().split(b"\n")
    numbers = np.empty(len(lines), np.int64)
    for k, line in enumerate(lines):
        word = line.strip()
        if not (word.isdigit() and len(word) < 19):
            shown = word[:40].decode("utf-8", "replace")
            raise DataError(
                path, f"'{shown}' is no whole number; expected the rows of a query a line", k + 1
            )
        numbers[k] = int(word)
    if int(numbers.astype(object).sum()) == rows:
        return np.repeat(np.arange(1, len(numbers) + 1), numbers)
    if len(numbers) != rows:
        raise DataError(
            path,
            f"its {len(numbers)} numbers are neither counts that add up to the {rows} rows of "
            f"{of} nor "
            "one qid a row",
        )
    falls = np.flatnonzero(numbers[1:] < numbers[:-1])
    if len(falls):
        k = int(falls[0]) + 1
        raise DataError(
            path, f"qid {numbers[k]} follows {numbers[k - 1]}; qids must not decrease", k + 1
        )
    return numbers
