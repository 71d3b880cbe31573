# SPDX-License-Identifier: BSD-3-Clause
"""Files of sequences in the format of svm_hmm: one token per line, ``TAG qid:N INDEX:VALUE ...``;
lines of a sequence are consecutive and qids increase."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError
from svmcut.base.records import replace
from svmcut.base.typing import Any
from svmcut.data.examples import MAX_TAGS, Csr, Examples, Sequences
from svmcut.files.examples import read_examples, stream_examples
from svmcut.files.weights import structure_weights


def read_sequences(path: str, *, least: int = 1, costs: bool = False, **how: Any) -> Sequences:
    """Return all sequences of a file.

    `how` are options of `read_examples`; `least` is the smallest tag, 1 in a training file, 0 in a
    test file. With `costs`, ``cost:`` weighs the sequences; else it has no effect. Raises DataError
    with the line of an invalid token, a tag that is no integer of at least `least`, a qid that
    decreases, or lines of a sequence that differ in ``cost:``.
    """
    tokens = read_examples(path, **how)
    return as_sequences(tokens if costs else replace(tokens, weights=None), least)


def as_sequences(tokens: Examples, least: int = 1) -> Sequences:
    """Return tokens labelled with tags as sequences; raise as `read_sequences`."""
    _check_tags(tokens, least)
    bounds, costs = _find_bounds(tokens, -1), tokens.weights
    weights = None if costs is None else structure_weights(costs, bounds, tokens.source, "sequence")
    return Sequences(tokens.X, bounds, (tokens.y - 1).astype(np.int32), tokens.source, weights)


def stream_sequences(path: str, **how: Any) -> Iterator[Sequences]:
    """Yield the sequences of a test file in blocks of at least one; `how` are options of
    `stream_examples`.

    Tags are the file's less 1, so that 0, an unknown tag, is -1. Raises DataError as
    `read_sequences`, but accepts tags of 0.
    """
    kept: Sequences | None = None
    last = -1
    for block in stream_examples(path, **how):
        _check_tags(block, 0)
        bounds = _find_bounds(block, last)
        goes_on = kept is not None and _qid(block, 0) == last
        last = _qid(block, len(block) - 1)
        here = Sequences(block.X, bounds, (block.y - 1).astype(np.int32), block.source)
        if kept is not None:
            here = _join(kept, here, goes_on)
        cut = int(here.indptr[-2])
        if cut:
            yield Sequences(here.X.rows(0, cut), here.indptr[:-1], here.tags[:cut], here.source)
        kept = Sequences(
            _copy_rows(here.X, cut),
            np.array([0, here.X.n_rows - cut]),
            here.tags[cut:],
            here.source,
        )
    if kept is not None:
        yield kept


def _qid(block: Examples, row: int) -> int:
    return 0 if block.qid is None else int(block.qid[row])


def _check_tags(tokens: Examples, least: int) -> None:
    y, source = tokens.y, tokens.source
    bad = np.flatnonzero((y < least) | (y != np.floor(y)) | (y > MAX_TAGS))
    if len(bad):
        row = int(bad[0])
        expected = f"an integer from {least} to {MAX_TAGS}"
        raise DataError(
            source.path, f"tag {y[row]:.15g} is refused; expected {expected}", source.line_of(row)
        )


def _find_bounds(tokens: Examples, last: int) -> NDArray[np.int64]:
    """Return the row numbers where sequences start, and the number of rows."""
    n, source = len(tokens), tokens.source
    qid = np.zeros(n, np.int64) if tokens.qid is None else tokens.qid
    before = np.concatenate([[max(last, 0)], qid[:-1]])
    falls = np.flatnonzero(qid < before)
    if len(falls):
        row = int(falls[0])
        if qid[row] < 0:
            raise DataError(
                source.path, f"qid {qid[row]} is negative; expected 0 or more", source.line_of(row)
            )
        message = f"qid {qid[row]} follows {before[row]}; qids must not decrease"
        raise DataError(source.path, message, source.line_of(row))
    inner = 1 + np.flatnonzero(qid[1:] != qid[:-1])
    return np.concatenate([[0], inner, [n]]).astype(np.int64)


def _copy_rows(X: Csr, start: int) -> Csr:
    """Return the rows from `start` on in arrays of their own, so that the block they came from can
    be freed."""
    X = X.rows(start, X.n_rows)
    return Csr(
        X.data[X.stored].copy(),
        X.indices[X.stored].copy(),
        X.indptr - X.indptr[0],
        X.n_features,
        X.proven,
    )


def _join(first: Sequences, second: Sequences, goes_on: bool) -> Sequences:
    """Concatenate two sets of sequences; with `goes_on` the first sequence of the second continues
    the last of the first."""
    a, b = first.X, _copy_rows(second.X, 0)
    X = Csr(
        np.concatenate([a.data, b.data]),
        np.concatenate([a.indices, b.indices]),
        np.concatenate([a.indptr, b.indptr[1:] + a.indptr[-1]]),
        max(a.n_features, b.n_features),
        a.proven and b.proven,
    )
    inner = first.indptr[:-1] if goes_on else first.indptr
    indptr = np.concatenate([inner, second.indptr[1:] + a.n_rows])
    return Sequences(X, indptr, np.concatenate([first.tags, second.tags]), second.source)
