# SPDX-License-Identifier: BSD-3-Clause
"""Features whose values are far from 0 beside what they differ by, as seconds since 1970 are.

Rows are kept as floats of 32 bits, which round such values by much of their spread; and a linear
machine, whose bias is regularised as LinearSVC's is, would need a bias that costs more than it
gains.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.messages import Message
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.examples import Csr

#: What is told: a rounding above this part of the spread; a mean above so many spreads, where there
#: is a bias.
PART, FAR = 1 / 32, 1000.0
#: Rows that must have a feature; how many rows must be, all of one number beyond float32's whole
#: ones, to be told.
ROWS, SAME_ROWS, SAME = 3, 10, 2.0**24
#: Numbers of 32 bits below are not looked at; of 64 bits, smaller differences are roundings
#: themselves.
LEAST, NOISE = 2.0**13, 1e-12
#: Squares below may be of numbers whose floats of 32 bits have fewer digits.
TINY = 1e-60
#: Entries looked at, of rows that lie evenly among all.
_ENTRIES = 50_000


class Coarse(NamedTuple):
    """A column that is told of.

    Attributes
    ----------
    column : int
    value : float
        A mean of the entries that are not 0.
    step : float
        The distance of two floats of 32 bits there.
    part : float
        The rounding by the standard deviation; inf where all entries are rounded to one number.
    far : float
        The mean of all rows by their standard deviation.
    """

    column: int
    value: float
    step: float
    part: float
    far: float


def coarse_features(X: Any, bias: bool = False) -> list[Coarse]:
    """The columns, the worst first.

    Parameters
    ----------
    X : Csr, (n, d) array or scipy.sparse matrix
        Before it is rounded, where it is of 64 bits. Of more than 50,000 entries some rows are
        looked at.
    bias : bool
        Whether a regularised bias is trained.
    """
    if _spread_out(X):
        return []
    n, values, columns = _entries(X)
    single = values.dtype == np.float32
    told = np.abs(values) >= LEAST if single else values != 0
    values, columns = values[told].astype(np.float64), columns[told]
    if len(values) < ROWS:
        return []
    names, places, counts = _by_column(columns)
    noise, often = 0.0 if single else NOISE, counts >= ROWS
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        means = np.bincount(places, values) / counts
        spread = np.sqrt(np.bincount(places, np.square(values - means[places])) / counts)
        steps = np.spacing(np.abs(means).astype(np.float32)).astype(np.float64)
        rounding = steps[places] / np.sqrt(12) if single else values - values.astype(np.float32)
        parts = np.sqrt(np.bincount(places, np.square(rounding)) / counts) / spread
        differ, whole = spread > noise * np.abs(means), np.minimum(counts / n, 1.0)
        same = ~differ & single & (counts >= max(n, SAME_ROWS)) & (np.abs(means) > SAME)
        parts[~differ] = np.where(same[~differ], np.inf, 0.0)
        far = np.sqrt(whole) * np.abs(means) / np.hypot(spread, np.sqrt(1 - whole) * means)
        shown = same | (differ & often & ((parts > PART) | (bias & (far > FAR))))
    order = np.flatnonzero(shown)[np.lexsort((-far[shown], -parts[shown]))]
    rest = (column[order].tolist() for column in (means, steps, parts, far))
    return [Coarse(*one) for one in zip(names[order].tolist(), *rest, strict=True)]


def _spread_out(X: Any) -> bool:
    """Whether sums of a matrix of 64 bits already show that no column is told of: every standard
    deviation of what is not 0 is above a thousandth of its mean."""
    if not isinstance(X, np.ndarray) or X.dtype != np.float64 or X.ndim != 2:
        return False
    some = _some(X)
    counts = np.maximum(np.count_nonzero(some, axis=0), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        means = some.sum(axis=0) / counts
        squares = np.einsum("ij,ij->j", some, some) / counts
        enough = squares >= np.square(means) * (1 + 2 / FAR**2)
    return bool((enough & ((squares > TINY) | (squares == 0))).all())


def coarse_warning(
    X: Any, file: str | None = None, bias: bool = False, names: Any = None
) -> list[str]:
    """What a user should know of such columns, one sentence or none.

    Parameters
    ----------
    file : str or None
        Where the rows come from; None for an array.
    names : sequence of str or None
        Of the columns of an array.
    """
    features = coarse_features(X, bias)
    if not features:
        return []
    worst = features[0]
    named = worst.column if names is None else repr(str(names[worst.column]))
    where = f"feature {worst.column + 1} of {file}" if file else f"column {named} of X"
    others = f", and {len(features) - 1} more," if len(features) > 1 else ""
    if worst.part > PART:
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


def _by_column(columns: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """The columns there are, which of them each entry is of, and how many are of each."""
    if columns.max() >= 4 * len(columns):
        return np.unique(columns, return_inverse=True, return_counts=True)
    counts = np.bincount(columns)
    names = np.flatnonzero(counts)
    places = np.empty(len(counts), np.intp)
    places[names] = np.arange(len(names))
    return names, places[columns], counts[names]


def _some(X: NDArray) -> NDArray:
    """Rows of a matrix, evenly among all."""
    return X[:: max(1, X.size // _ENTRIES)]


def _entries(X: Any) -> tuple[int, NDArray, NDArray]:
    """How many rows are looked at, evenly among all, their values and the columns of these."""
    if isinstance(X, Csr) or hasattr(X, "tocsr"):
        matrix: Any = X if isinstance(X, Csr) else X.tocsr()
        n, (first, last) = len(matrix.indptr) - 1, matrix.indptr[[0, -1]].tolist()
        values, columns = matrix.data[first:last], matrix.indices[first:last]
        if values.dtype == np.float32 and not (
            len(values) and max(values.max(), -values.min()) >= LEAST
        ):
            return n, values[:0], columns[:0]
        if len(values) <= _ENTRIES:
            return n, values, columns
        rows = np.arange(0, n, -(-len(values) // _ENTRIES))
        picked = np.concatenate([np.arange(*matrix.indptr[row : row + 2]) for row in rows.tolist()])
        return len(rows), matrix.data[picked], matrix.indices[picked]
    X = np.asarray(X)
    some = _some(X)
    return len(some), some.ravel(), np.tile(np.arange(X.shape[1]), len(some))
