# SPDX-License-Identifier: BSD-3-Clause
"""Features whose mean is large against their spread, such as seconds since 1970.

Rows are stored in float32, which rounds such values by much of their spread; and a linear machine
with a regularised bias, as LinearSVC has, would need a bias that costs more than it gains.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.messages import Message
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.examples import Csr

#: Limits without a warning: rounding relative to the spread, and with a bias the mean in spreads.
MAX_ROUNDING, MAX_OFFSET = 1 / 32, 1000.0
#: Rows that must have a feature; and the rows and the value from which on features of one number
#: beyond the integers of float32 get a warning.
MIN_ROWS, MIN_SAME_ROWS, MIN_SAME_VALUE = 3, 10, 2.0**24
#: Smallest float32 values checked; relative differences of float64 below NOISE are rounding errors.
MIN_VALUE, NOISE = 2.0**13, 1e-12
#: Squares below may belong to numbers that float32 stores with fewer digits.
MIN_SQUARE = 1e-60
#: Largest number of entries checked, of rows spread evenly.
_MAX_ENTRIES = 50_000


class OffsetFeature(NamedTuple):
    """A column that gets a warning."""

    column: int
    #: Mean of the nonzero entries.
    value: float
    #: Distance of neighbouring float32 numbers there.
    step: float
    #: Rounding error relative to the standard deviation; inf if all entries are rounded to one
    #: number.
    part: float
    #: Mean of all rows relative to their standard deviation.
    far: float


def find_offset_features(X: Any, bias: bool = False) -> list[OffsetFeature]:
    """Return the columns that get a warning, the worst first.

    X is a Csr, an array or a scipy.sparse matrix (n, d), before rounding if it is float64; of more
    than 50,000 entries a sample of rows is checked. `bias` says that a regularised bias is trained.
    """
    if _is_spread_out(X):
        return []
    n, values, columns = _sample_entries(X)
    single = values.dtype == np.float32
    told = np.abs(values) >= MIN_VALUE if single else values != 0
    values, columns = values[told].astype(np.float64), columns[told]
    if len(values) < MIN_ROWS:
        return []
    names, places, counts = _group_by_column(columns)
    noise, often = 0.0 if single else NOISE, counts >= MIN_ROWS
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        means = np.bincount(places, values) / counts
        spread = np.sqrt(np.bincount(places, np.square(values - means[places])) / counts)
        steps = np.spacing(np.abs(means).astype(np.float32)).astype(np.float64)
        rounding = steps[places] / np.sqrt(12) if single else values - values.astype(np.float32)
        parts = np.sqrt(np.bincount(places, np.square(rounding)) / counts) / spread
        differ, whole = spread > noise * np.abs(means), np.minimum(counts / n, 1.0)
        same = (
            ~differ & single & (counts >= max(n, MIN_SAME_ROWS)) & (np.abs(means) > MIN_SAME_VALUE)
        )
        parts[~differ] = np.where(same[~differ], np.inf, 0.0)
        far = np.sqrt(whole) * np.abs(means) / np.hypot(spread, np.sqrt(1 - whole) * means)
        shown = same | (differ & often & ((parts > MAX_ROUNDING) | (bias & (far > MAX_OFFSET))))
    order = np.flatnonzero(shown)[np.lexsort((-far[shown], -parts[shown]))]
    rest = (column[order].tolist() for column in (means, steps, parts, far))
    return [OffsetFeature(*one) for one in zip(names[order].tolist(), *rest, strict=True)]


def _is_spread_out(X: Any) -> bool:
    """Test by sums that no column of a float64 matrix gets a warning: every standard deviation of
    nonzero entries is above a thousandth of their mean."""
    if not isinstance(X, np.ndarray) or X.dtype != np.float64 or X.ndim != 2:
        return False
    some = _sample_rows(X)
    counts = np.maximum(np.count_nonzero(some, axis=0), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        means = some.sum(axis=0) / counts
        squares = np.einsum("ij,ij->j", some, some) / counts
        enough = squares >= np.square(means) * (1 + 2 / MAX_OFFSET**2)
    return bool((enough & ((squares > MIN_SQUARE) | (squares == 0))).all())


def offset_warnings(
    X: Any, file: str | None = None, bias: bool = False, names: Any = None
) -> list[str]:
    """Return a warning of such columns, one sentence or none.

    `file` is the origin of the rows, None for an array, whose columns may have `names`.
    """
    features = find_offset_features(X, bias)
    if not features:
        return []
    worst = features[0]
    named = worst.column if names is None else repr(str(names[worst.column]))
    where = f"feature {worst.column + 1} of {file}" if file else f"column {named} of X"
    others = f", and {len(features) - 1} more," if len(features) > 1 else ""
    if worst.part > MAX_ROUNDING:
        much = (
            "which hides what they differ by"
            if worst.part >= 1
            else f"{worst.part:.0%} of their standard deviation"
        )
        what = (
            f"values near {worst.value:.4g} are rounded to floats of 32 bits in steps of "
            f"{worst.step:g}, {much}"
        )
    else:
        what = (
            f"the mean is {worst.far:.0f} standard deviations from 0, and the bias that would undo "
            "it is regularised"
        )
    remedy = (
        "scale the features with svmcut scale"
        if file
        else "centre and scale the columns, as StandardScaler does"
    )
    return [Message("{}{}: {}; {}", where, others, what, remedy)]


def _group_by_column(columns: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Return the columns that occur, the place of each entry among them, and their counts."""
    if columns.max() >= 4 * len(columns):
        return np.unique(columns, return_inverse=True, return_counts=True)
    counts = np.bincount(columns)
    names = np.flatnonzero(counts)
    places = np.empty(len(counts), np.intp)
    places[names] = np.arange(len(names))
    return names, places[columns], counts[names]


def _sample_rows(X: NDArray) -> NDArray:
    """Return rows of a matrix, spread evenly."""
    return X[:: max(1, X.size // _MAX_ENTRIES)]


def _sample_entries(X: Any) -> tuple[int, NDArray, NDArray]:
    """Return the number of sampled rows, spread evenly, their values and the columns of these."""
    if isinstance(X, Csr) or hasattr(X, "tocsr"):
        matrix: Any = X if isinstance(X, Csr) else X.tocsr()
        n, (first, last) = len(matrix.indptr) - 1, matrix.indptr[[0, -1]].tolist()
        values, columns = matrix.data[first:last], matrix.indices[first:last]
        if values.dtype == np.float32 and not (
            len(values) and max(values.max(), -values.min()) >= MIN_VALUE
        ):
            return n, values[:0], columns[:0]
        if len(values) <= _MAX_ENTRIES:
            return n, values, columns
        rows = np.arange(0, n, -(-len(values) // _MAX_ENTRIES))
        picked = np.concatenate([np.arange(*matrix.indptr[row : row + 2]) for row in rows.tolist()])
        return len(rows), matrix.data[picked], matrix.indices[picked]
    X = np.asarray(X)
    some = _sample_rows(X)
    return len(some), some.ravel(), np.tile(np.arange(X.shape[1]), len(some))
