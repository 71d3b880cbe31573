# SPDX-License-Identifier: BSD-3-Clause
"""Questions to a part about the rows near the margin, or the edge of the tube: how many there are,
which, and the cut of all others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import NamedTuple
from svmcut.data.examples import Csr
from svmcut.distributed.oracle import corners_of
from svmcut.distributed.parts import Part, Place

#: Distances from a corner up to which rows are counted, in units of a scale and increasing: four in
#: an octave.
EDGES = np.sort([2.0**k * f for k in range(-18, 3) for f in (1.0, 1.1875, 1.4140625, 1.6875)])
#: Bytes of a gathered row beside its entries, and of an entry.
ROW_BYTES, ENTRY_BYTES = 40, 8


class Nearby(NamedTuple):
    """Rows near the margin."""

    #: (k,) their places, increasing.
    rows: NDArray[np.int64]
    X: Csr
    #: (k,) signs or targets.
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None


def distances(part: Part, at: Place) -> NDArray[np.float64]:
    """(rows,) how far scores are from a corner of their loss."""
    corners = corners_of(part.risk)
    assert corners is not None
    return corners.distances(part.scores(at))


def counts(part: Part, at: Place, scale: float) -> NDArray[np.float64]:
    """(1 + EDGES,): R at a point, and bytes of rows up to each edge from a corner but beyond the
    edge before."""
    sums = np.zeros(1 + len(EDGES))
    if part.risk:
        s, X = part.scores(at), part.examples.X
        sums[0] = part.risk.linearize(s).value
        places = np.searchsorted(scale * EDGES, distances(part, at))
        sizes = ENTRY_BYTES * np.diff(X.indptr) + ROW_BYTES
        sums[1:] = np.bincount(places, sizes, len(EDGES) + 1)[: len(EDGES)]
    return sums


def others(part: Part, at: Place, delta: float) -> NDArray[np.float64]:
    """(1 + dim,): offset and normal of the cut at a point of all rows farther than delta from a
    corner."""
    dim = len(at.vectors[0])
    cut = np.zeros(1 + dim)
    if part.risk:
        coef, near = part.risk.linearize(part.scores(at)).coef, distances(part, at) <= delta
        coef[near] = 0.0
        cut[0], cut[1:] = part.risk.nearest_cut(coef)[1], part.space(dim).adjoint(coef)
    return cut


def gather_near(part: Part, at: Place, delta: float) -> tuple:
    """The arrays of the other rows, as `joined` takes them, after how many rows there are."""
    n = len(part.examples)
    if not part.risk:
        return n, None
    rows = np.flatnonzero(distances(part, at) <= delta)
    near = corners_of(part.risk.take(rows))
    assert near is not None
    X, v = part.examples.X.take(rows), near.risk.weights
    arrays = X.data, X.indices, np.diff(X.indptr), near.labels
    return n, (rows, *arrays, v)


def join_near(pieces: Sequence[tuple], n_features: int) -> Nearby:
    """The rows of all parts, in their order."""
    starts = np.cumsum([0, *(n for n, _ in pieces)])
    full = [(start, *piece) for start, (_, piece) in zip(starts, pieces, strict=False) if piece]
    if not full:
        none = np.zeros(0)
        return Nearby(none.astype(np.int64), Csr.from_dense(np.zeros((0, n_features))), none, None)
    start, rows, data, indices, lengths, y, weights = zip(*full, strict=True)
    indptr = np.zeros(1 + sum(map(len, rows)), np.int64)
    np.cumsum(np.concatenate(lengths), out=indptr[1:])
    X = Csr(np.concatenate(data), np.concatenate(indices), indptr, n_features, True)
    v = None
    if any(some is not None for some in weights):
        v = np.concatenate(
            [np.ones(len(r)) if some is None else some for r, some in zip(rows, weights)]
        )
    places = np.concatenate([first + some for first, some in zip(start, rows, strict=True)])
    return Nearby(places, X, np.concatenate(y), v)
