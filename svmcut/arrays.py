# SPDX-License-Identifier: BSD-3-Clause
"""Arrays and matrices of a caller as examples."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from svmcut.data import Csr, Examples, MultilabelExamples, Source
from svmcut.errors import DataError


def vector_examples(X: Any, y: Any, qid: Any = None) -> Examples:
    """Rows with one label each, validated; a DataError where they cannot be."""
    queries = None if qid is None else _column(qid, "qid").astype(np.int64)
    return Examples(as_rows(X), _column(y, "y"), queries, None, Source("X")).checked()


def multilabel_examples(X: Any, Y: Any, qid: Any = None) -> MultilabelExamples:
    """Rows with the labels whose column of Y is 1, validated; a DataError where they cannot be."""
    if qid is not None:
        raise DataError("X", "label sets have no queries; give (X, Y)")
    rows, sets = as_rows(X), as_rows(Y, "Y")
    if not np.all(sets.data == 1):
        raise DataError("Y", "an entry is neither 0 nor 1; expected an indicator matrix")
    names = np.arange(sets.n_features, dtype=np.int64)
    return MultilabelExamples(rows, names, sets.indptr, sets.indices, Source("X")).checked()


def given_weights(values: Any) -> Any:
    """Weights as (n,) float64, validated; a DataError where they are none."""
    weights = _column(values, "weights")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise DataError("weights", f"entry {bad[0]} is {weights[bad[0]]:g}; expected a finite number of at least 0")
    return weights


def as_rows(X: Any, name: str = "X") -> Csr:
    """An array, a scipy.sparse matrix or rows that are Csr already, as Csr; the caller's matrix is left as it is.

    Raises
    ------
    DataError
        For what is not two-dimensional or holds a value that no float32 can.
    """
    if isinstance(X, Csr):
        return X
    sparse = hasattr(X, "tocsr")
    matrix: Any = X.tocsr() if sparse else np.asarray(X)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise DataError(name, f"is {matrix.ndim}-dimensional of {matrix.dtype}; expected a matrix of numbers")
    if sparse:
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        if not -1 < matrix.shape[1] < 2**31:
            raise DataError(name, f"has {matrix.shape[1]} columns; expected fewer than 2147483648")
        values = _float32(matrix.data, name)
        indices, indptr = matrix.indices.astype(np.int32, copy=False), matrix.indptr.astype(np.int64, copy=False)
        return Csr(values, indices, indptr, matrix.shape[1])
    return Csr.from_dense(_float32(matrix, name))


def gathered_rows(lengths: Any, columns: Any, values: Any, n_features: int, name: str = "X") -> Csr:
    """Rows of so many entries each, in any order; what stands in one column of a row adds up.

    Raises
    ------
    DataError
        Where a value, or what they add up to, is beyond a float of 32 bits.
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
    return Csr(_float32(values, name), indices, indptr.astype(np.int64), n_features, True)


def named_rows(tokens: Iterable[Any], columns: dict[str, int], learn: bool = False) -> Csr:
    """Tokens as rows of the columns by name, which grow where they are learnt; other names are left out.

    A token is a mapping of features or a list of their names, as python-crfsuite has them: {"word": "dog"} is the name
    word:dog, True is 1, {"near": {"dog": 2.0}} is near:dog of 2, and {"near": ["dog", "cat"]} both names.
    """
    places, values, lengths = array("i"), array("d"), array("q")
    for token in tokens:
        before = len(places)
        for name, value in _features(token):
            place = columns.setdefault(name, len(columns)) if learn else columns.get(name, -1)
            if place >= 0:
                places.append(place)
                values.append(value)
        lengths.append(len(places) - before)
    return gathered_rows(np.array(lengths), np.array(places), np.array(values), len(columns))


def _features(token: Any, front: str = "") -> Iterator[tuple[str, float]]:
    """Names and values of a token."""
    if not isinstance(token, Mapping):
        for name in [token] if isinstance(token, str) else token:
            yield front + name, 1.0
        return
    for name, value in token.items():
        if isinstance(value, str | Mapping | list | tuple | set | frozenset):
            yield from _features(value, f"{front}{name}:")
        else:
            yield front + name, float(value)


def _float32(values: Any, name: str) -> Any:
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(values, np.float32)
    if not np.isfinite(single).all():
        raise DataError(name, "a value is nan or beyond a float of 32 bits; expected finite numbers")
    return single


def _column(values: Any, name: str) -> Any:
    try:
        column = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise DataError(name, "is no column of numbers") from None
    if column.ndim != 1:
        raise DataError(name, f"is {column.ndim}-dimensional; expected one number a row")
    return column
