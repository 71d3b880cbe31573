# SPDX-License-Identifier: BSD-3-Clause
"""Rows in memory as parts: blocks of Dask's arrays and DataFrames, delayed and computed pieces.

A part is a dict of X, y and, where there are such, weights, qid and classes or label sets: futures
of a client where it stands, and what they hold where a worker reads it. Dask computes what is lost
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError, NoExamples, UsageError
from svmcut.base.records import replace
from svmcut.base.typing import Any
from svmcut.data.arrays import check_columns, to_weights, vector_examples
from svmcut.data.examples import Examples, Source

Block = dict[str, Any]

#: What stands beside X, and what messages call it.
BESIDE = {"y": "y", "weights": "sample_weight", "qid": "qid"}


def is_blocks(X: Any) -> bool:
    """Tells whether rows are pieces that a client of Dask knows, or a collection of them."""
    if hasattr(X, "to_delayed"):
        return True
    return isinstance(X, list | tuple) and len(X) > 0 and all(map(_is_piece, X))


def blocks_of(client: Any, X: Any, **beside: Any) -> list[Block]:
    """The parts of rows X, each with its labels, weights and queries.

    X is a dask array or DataFrame, or a list of delayed or computed pieces, in blocks of rows whose
    lengths need not be known. `beside` has the names of BESIDE: the same in as many pieces, or an
    array in memory, which is cut as X is; None for none. Raises UsageError where the pieces are not
    as many as those of X, and DataError where an array has another number of rows.
    """
    pieces, lengths = _pieces(client, X), None
    blocks: list[Block] = [
        {"X": piece, "name": f"block {k} of {len(pieces)} of X"}
        for k, piece in enumerate(pieces, 1)
    ]
    for name, values in beside.items():
        if values is None:
            continue
        if is_blocks(values):
            own = _pieces(client, _cut_alike(values, X))
            if len(own) != len(pieces):
                raise UsageError(
                    "{} is in {} pieces and X in {}; cut both alike",
                    BESIDE[name],
                    len(own),
                    len(pieces),
                )
        else:
            lengths = lengths or _lengths(client, X, pieces)
            own = _slices(values, lengths, BESIDE[name])
        for block, piece in zip(blocks, own, strict=True):
            block[name] = piece
    return blocks


def classes_in(client: Any, blocks: Sequence[Block]) -> NDArray:
    """The labels of the rows that weigh above 0, in order."""
    asked = [client.submit(_distinct, one["y"], one.get("weights"), pure=False) for one in blocks]
    labels_of = [labels for labels in client.gather(asked) if len(labels)]
    if not labels_of:
        raise DataError("y", "no row weighs above 0; expected some")
    try:
        return np.unique(np.concatenate(labels_of))
    except TypeError:
        kinds = sorted({type(label).__name__ for labels in labels_of for label in labels.tolist()})
        text = f"labels are of several kinds: {', '.join(kinds)}; expected one"
        raise DataError("y", text) from None


def sets_in(client: Any, blocks: Sequence[Block]) -> NDArray[np.bool_]:
    """(S, K) the sets of labels that rows have, in order; raises DataError for blocks that are no
    indicator matrices of equally many labels."""
    sets = client.gather([client.submit(_pack_sets, one["y"], pure=False) for one in blocks])
    for block, (packed, K) in zip(blocks, sets, strict=True):
        if packed is None:
            text = "Y: an entry is neither 0 nor 1; expected an indicator matrix"
            raise DataError(block["name"], text)
        if sets[0][1] != K:
            raise DataError(block["name"], f"Y: has {K} labels, and other blocks {sets[0][1]}")
    packed = np.unique(np.concatenate([packed for packed, _ in sets]), axis=0)
    return np.unpackbits(packed, axis=1, count=sets[0][1]).astype(bool)


def _pack_sets(Y: Any) -> tuple[NDArray[np.uint8] | None, int]:
    """The sets of the rows, each once, bit by bit; None where they are none. How many labels."""
    on = _indicators(Y)
    return (None, 0) if on is None else (np.unique(np.packbits(on, axis=1), axis=0), on.shape[1])


def _indicators(Y: Any) -> NDArray[np.bool_] | None:
    Y = Y.toarray() if hasattr(Y, "toarray") else np.asarray(Y)
    if Y.ndim != 2 or Y.dtype.kind not in "fiub" or not ((Y == 0) | (Y == 1)).all():
        return None
    return Y.astype(bool)


def block_examples(block: Block) -> Examples:
    """The rows of a part whose pieces are there; with classes or sets a label is its place among
    these. Raises a DataError that names the block."""
    name, X = block["name"], block["X"]
    try:
        if hasattr(X, "columns"):
            check_columns(X)
        sets = block.get("sets")
        y: Any = np.asarray(block["y"]) if sets is None else _set_places(block)
        if (classes := block.get("classes")) is not None:
            y = _places(y, classes)
        qid = block.get("qid")
        examples = vector_examples(X, y, None if qid is None else np.asarray(qid))
        if (weights := block.get("weights")) is not None:
            examples = replace(examples, weights=to_weights(np.asarray(weights))).validate()
    except DataError as error:
        raise DataError(name, error.sentence) from None
    if not len(examples):
        raise NoExamples(name)
    return replace(examples, source=Source(name))


def _places(y: NDArray, classes: NDArray) -> NDArray[np.float64]:
    """(n,) of each label among the classes; of one that is none, whose row weighs nothing, 0."""
    places = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return np.where(classes[places] == y, places, 0).astype(np.float64)


def _set_places(block: Block) -> NDArray[np.float64]:
    """(n,) of the set of each row among those that there are."""
    sets, Y = block["sets"], _indicators(block["y"])
    places = {one.tobytes(): k for k, one in enumerate(np.packbits(sets, axis=1))}
    assert Y is not None
    packed = np.packbits(Y, axis=1)
    own, inverse = np.unique(packed, axis=0, return_inverse=True)
    return np.array([places[one.tobytes()] for one in own], np.float64)[inverse.ravel()]


def _is_piece(one: Any) -> bool:
    return hasattr(type(one), "key") and (hasattr(type(one), "dask") or _is_future(one))


def _is_future(one: Any) -> bool:
    return hasattr(type(one), "status")  # what is delayed has attributes of any name


def _pieces(client: Any, X: Any) -> list[Any]:
    """Futures of the pieces of rows."""
    if hasattr(X, "to_delayed"):
        if len(getattr(X, "numblocks", ())) > 1 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        delayed = X.to_delayed()
        X = delayed.ravel().tolist() if hasattr(delayed, "ravel") else list(delayed)
    return [one if _is_future(one) else client.compute(one) for one in X]


def _cut_alike(values: Any, X: Any) -> Any:
    """An array in the blocks of another where the lengths of both are known."""
    own, other = getattr(values, "chunks", None), getattr(X, "chunks", None)
    if own is None or other is None or own[0] == other[0]:
        return values
    if np.isnan([*own[0], *other[0]]).any():
        return values
    return values.rechunk((other[0], *own[1:]))


def _lengths(client: Any, X: Any, pieces: Sequence[Any]) -> list[int]:
    """The number of rows of each piece."""
    chunks = getattr(X, "chunks", None)
    if chunks is not None and not np.isnan(chunks[0]).any():
        return list(chunks[0])
    return client.gather([client.submit(_rows, piece, pure=False) for piece in pieces])


def _rows(piece: Any) -> int:
    return int(np.shape(piece)[0])


def _slices(values: Any, lengths: Sequence[int], name: str) -> list[Any]:
    """A vector, or a matrix of label sets, cut at these lengths."""
    bounds = np.cumsum([0, *lengths])
    values = values.tocsr() if hasattr(values, "tocsr") else np.asarray(values)
    if values.ndim > 2 or values.shape[:1] != (bounds[-1],):
        raise DataError(name, f"has shape {values.shape}; expected ({bounds[-1]},), one a row of X")
    return [values[start:stop] for start, stop in pairwise(bounds)]


def _distinct(y: Any, weights: Any) -> NDArray:
    labels = np.asarray(y)
    if labels.dtype.kind == "O" and len(labels):
        labels = np.array(labels.tolist())
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DataError("y", "contains NaN or infinity; give every row a label")
    return np.unique(labels if weights is None else labels[np.asarray(weights) > 0])
