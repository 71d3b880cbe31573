# SPDX-License-Identifier: BSD-3-Clause
"""Examples from arrays and matrices of a caller."""

from __future__ import annotations

import math
import reprlib
from array import array
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from svmcut.base.errors import DataError
from svmcut.base.messages import Message
from svmcut.base.typing import Any
from svmcut.data.examples import Csr, Examples, MultilabelExamples, Source


def vector_examples(X: Any, y: Any, qid: Any = None) -> Examples:
    """Return validated rows with one label each; raise DataError if they are invalid."""
    queries = None if qid is None else _to_integers(qid, "qid")
    return Examples(as_rows(X), _to_column(y, "y"), queries, None, Source("X")).validate()


def multilabel_examples(X: Any, Y: Any, qid: Any = None) -> MultilabelExamples:
    """Return validated rows with the labels whose column of Y is 1; raise DataError if they are
    invalid."""
    if qid is not None:
        raise DataError("X", "label sets have no queries; give (X, Y)")
    rows, sets = as_rows(X), as_rows(Y, "Y")
    if not np.all(sets.data == 1):
        raise DataError("Y", "an entry is neither 0 nor 1; expected an indicator matrix")
    names = np.arange(sets.n_features, dtype=np.int64)
    return MultilabelExamples(rows, names, sets.indptr, sets.indices, Source("X")).validate()


def to_weights(values: Any) -> Any:
    """Return validated weights as (n,) float64; raise DataError if they are invalid."""
    weights = _to_column(values, "weights")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise DataError(
            "weights",
            f"entry {bad[0]} is {weights[bad[0]]:g}; expected a finite number of at least 0",
        )
    return weights


def as_rows(X: Any, name: str = "X") -> Csr:
    """Return an array, a scipy.sparse matrix or a Csr as Csr; the caller's matrix is not changed.

    Raises DataError for data that is not two-dimensional or holds a value beyond float32, and for a
    sparse matrix whose index arrays leave its shape.
    """
    if isinstance(X, Csr):
        return X
    sparse = hasattr(X, "tocsr")
    matrix: Any = X if sparse else np.asarray(X)
    if not sparse and matrix.dtype.kind not in "fiub" and hasattr(X, "columns"):
        check_columns(X, name)
        matrix = matrix.astype(np.float64)
    if len(matrix.shape) != 2 or matrix.dtype.kind not in "fiub":
        raise DataError(
            name,
            f"is {len(matrix.shape)}-dimensional of {matrix.dtype}; expected a matrix of numbers",
        )
    return _from_sparse(matrix, name) if sparse else Csr.from_dense(_to_float32(matrix, name), True)


def check_columns(frame: Any, name: str = "X") -> None:
    """Refuse a DataFrame with a column of anything but finite numbers, by a DataError that names
    it."""
    for title in frame.columns:
        column = np.asarray(frame[title])
        try:
            values = column.astype(np.float64)
        except (TypeError, ValueError):
            held = next((value for value in column.tolist() if not _is_number(value)), column[0])
            raise DataError(
                name,
                f"column {str(title)!r} holds {held!r}, which is no number; encode it, as "
                "OneHotEncoder does, or give the whole table to svmcut.train(table, label=..)",
            ) from None
        if not np.isfinite(values).all():
            what = "NaN" if np.isnan(values).any() else "infinity"
            raise DataError(
                name, f"column {str(title)!r} contains {what}; fill it in, as SimpleImputer does"
            )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def check_sparse(X: Any, name: str = "X") -> None:
    """Refuse a scipy.sparse matrix whose index arrays point outside it, which SciPy's own functions
    trust; O(nnz).

    Raises DataError that names the array and its fault.
    """
    if len(X.shape) != 2:
        return
    kind = getattr(X, "format", None)
    if kind == "coo":
        for what, places, most in (("row", X.row, X.shape[0]), ("col", X.col, X.shape[1])):
            _check_places(name, what, places, most)
            if len(places) != len(X.data):
                raise DataError(
                    name, f"{what} has {len(places)} entries, data {len(X.data)}; expected one each"
                )
    elif kind in ("csr", "csc", "bsr"):
        block = X.blocksize if kind == "bsr" else (1, 1)
        lines, most = [length // size for length, size in zip(X.shape, block, strict=True)]
        lines, most = (most, lines) if kind == "csc" else (lines, most)
        indptr = _integers(name, "indptr", X.indptr)
        if len(indptr) != lines + 1:
            raise DataError(
                name, f"indptr has {len(indptr)} entries; expected {lines + 1} for shape {X.shape}"
            )
        if len(X.data) != len(X.indices):
            raise DataError(
                name, f"data has {len(X.data)} entries, indices {len(X.indices)}; expected one each"
            )
        if indptr[0] != 0 or indptr[-1] > len(X.indices) or np.any(indptr[1:] < indptr[:-1]):
            raise DataError(
                name, f"indptr must rise from 0 to at most {len(X.indices)}, the length of indices"
            )
        _check_places(name, "indices", X.indices, most)


def _check_places(name: str, what: str, places: Any, most: int) -> None:
    """Refuse places that are no row or column."""
    places = _integers(name, what, places)
    if len(places) and not 0 <= places.min() <= places.max() < most:
        entry = int(np.argmax((places < 0) | (places >= most)))
        raise DataError(
            name, f"entry {entry} of {what} is {places[entry]}; expected 0 to {most - 1}"
        )


def _integers(name: str, what: str, array: Any) -> Any:
    if not (isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iu"):
        shape = (
            f"{array.ndim}-dimensional of {array.dtype}"
            if isinstance(array, np.ndarray)
            else type(array).__name__
        )
        raise DataError(name, f"{what} is {shape}; expected a 1-dimensional array of integers")
    return array


def _from_sparse(X: Any, name: str) -> Csr:
    """Return the rows of a sparse matrix; entries of one place add up."""
    check_sparse(X, name)
    if not X.shape[1] < 2**31:
        raise DataError(name, f"has {X.shape[1]} columns; expected fewer than 2147483648")
    matrix = X.tocsr()
    if matrix is not X:
        check_sparse(matrix, name)
    if not _is_sorted(matrix):
        # a new matrix: what one says of its own order may be of the time before its arrays were
        # changed
        matrix = type(matrix)((matrix.data, matrix.indices, matrix.indptr), matrix.shape, copy=True)
        matrix.sum_duplicates()
    stored = int(matrix.indptr[-1])
    values = _to_float32(matrix.data[:stored], name)
    indices = np.ascontiguousarray(matrix.indices[:stored], np.int32)
    return Csr(
        values, indices, np.ascontiguousarray(matrix.indptr, np.int64), matrix.shape[1], True
    )


def _is_sorted(matrix: Any) -> bool:
    """Test that the columns of every row of a CSR matrix increase."""
    indices, indptr = matrix.indices, matrix.indptr
    falls = indices[1 : indptr[-1]] <= indices[: max(0, indptr[-1] - 1)]
    inner = indptr[1:-1]
    falls[inner[(inner > 0) & (inner < indptr[-1])] - 1] = False  # from one row to the next
    return not falls.any()


def gather_rows(lengths: Any, columns: Any, values: Any, n_features: int, name: str = "X") -> Csr:
    """Return rows of given lengths from entries in any order; entries in one column of a row add
    up.

    Raises DataError if a value or a sum exceeds float32.
    """
    rows = np.repeat(np.arange(len(lengths)), lengths)
    keys = rows * (n_features + 1) + columns
    if not (keys[1:] > keys[:-1]).all():
        order = np.argsort(keys, kind="stable")
        keys, starts = np.unique(keys[order], return_index=True)
        values = np.add.reduceat(np.asarray(values, np.float64)[order], starts)
        rows, columns = np.divmod(keys, n_features + 1)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(lengths)))])
    indices = np.ascontiguousarray(columns, np.int32)
    return Csr(_to_float32(values, name), indices, indptr.astype(np.int64), n_features, True)


def rows_of_tokens(tokens: Iterable[Any], columns: dict[str, int], learn: bool = False) -> Csr:
    """Return tokens as rows of named columns; with `learn`, new names add columns, else they are
    left out.

    A token is a mapping of features or a list of their names, as in python-crfsuite: {"word":
    "dog"} is the name word:dog, True is 1, {"near": {"dog": 2.0}} is near:dog of 2, and {"near":
    ["dog", "cat"]} both names.
    """
    places, values, lengths = array("i"), array("d"), array("q")
    for token in tokens:
        before = len(places)
        if token is None or isinstance(token, bytes | bytearray):
            raise _bad_token(token)
        try:
            features = list(_list_features(token))
        except (TypeError, ValueError):
            raise _bad_token(token) from None
        for name, value in features:
            place = columns.setdefault(name, len(columns)) if learn else columns.get(name, -1)
            if place >= 0:
                places.append(place)
                values.append(value)
        lengths.append(len(places) - before)
    return gather_rows(np.array(lengths), np.array(places), np.array(values), len(columns))


def _bad_token(token: Any) -> DataError:
    return DataError(
        "X",
        Message(
            "{} is no token; expected a dict of features, whose values are finite numbers or "
            "texts, or a list of their names",
            reprlib.repr(token),
        ),
    )


def _list_features(token: Any, front: str = "") -> Iterator[tuple[str, float]]:
    """Yield the names and values of a token."""
    if not isinstance(token, Mapping):
        for name in [token] if isinstance(token, str) else token:
            if not isinstance(name, str):
                raise TypeError
            yield front + name, 1.0
        return
    for name, value in token.items():
        if isinstance(value, str | Mapping | list | tuple | set | frozenset):
            yield from _list_features(value, f"{front}{name}:")
        elif isinstance(value, bytes | bytearray):
            raise TypeError
        else:
            number = float(value)
            if not math.isfinite(number):
                raise ValueError
            yield front + name, number


def _to_float32(values: Any, name: str) -> Any:
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(values, np.float32)
    if not np.isfinite(single).all():
        raise DataError(
            name, "a value is nan or beyond a float of 32 bits; expected finite numbers"
        )
    return single


def _to_column(values: Any, name: str) -> Any:
    """Return numbers as (n,) float64; refuse an integer that float64 cannot represent."""
    try:
        given = np.asarray(values)
        if given.dtype.kind in "cmM":
            raise TypeError
        column = given.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(
            name, "is no column of numbers; give numbers, or use an estimator, which takes words"
        ) from None
    if column.ndim != 1:
        raise DataError(name, f"is {column.ndim}-dimensional; expected one number a row")
    if given.dtype.kind in "iuO":
        large = np.flatnonzero(
            np.abs(column) >= 2**53
        )  # Python compares what NumPy would round first
        for k, value, exact in zip(
            large.tolist(), column[large].tolist(), given[large].tolist(), strict=True
        ):
            if value != exact:
                raise DataError(
                    name,
                    f"entry {k} is {exact}, which no float of 64 bits holds; give smaller numbers, "
                    "as numpy.unique(.., return_inverse=True) does of names",
                )
    return column


def _to_integers(values: Any, name: str) -> Any:
    """Return whole numbers as (n,) int64."""
    given = np.asarray(values)
    if given.dtype.kind in "iu" and given.ndim == 1:
        return given.astype(np.int64)
    column = _to_column(values, name)
    wrong = np.flatnonzero(~((np.abs(column) < 2**63) & (np.round(column) == column)))
    if len(wrong):
        raise DataError(name, f"entry {wrong[0]} is {column[wrong[0]]:g}; expected a whole number")
    return column.astype(np.int64)
