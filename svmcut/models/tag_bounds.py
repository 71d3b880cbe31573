# SPDX-License-Identifier: BSD-3-Clause
"""Which tags of sequences are proven to be those of the exact optimum; see svmcut.training.balls.

With y the best labelling by w and y' another one, the optimum w* scores

    w*.Psi(y') - w*.Psi(y)  <=  w.Psi(y') - w.Psi(y) + r |Psi(y') - Psi(y)|

and |Psi(y') - Psi(y)| is at most sqrt(2) times the sum of the lengths of what differs: |x_t| for
every token t with another tag, 1 for every transition with another tag, and |x_t| for every pair of
features and two tags. Each is charged to the tokens it has: an upper bound. So the tag of token t
is that of the optimum where no labelling with another one at t, its other tags charged, reaches the
score of y.
"""

from __future__ import annotations

import math

import numpy as np

from svmcut._native import sparse
from svmcut.models.bounds import ROUNDING
from svmcut.models.decoding import Lattice
from svmcut.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data.examples import Csr
    from svmcut.models.chain import ChainModel


def proven_tags(
    model: ChainModel, X: Csr, sequences: NDArray[np.int64], threads: int = 1
) -> NDArray[np.bool_]:
    """(tokens,) whether the best tag is proven.

    Parameters
    ----------
    model : ChainModel
        With a certificate.
    X, sequences
        As of Lattice; features that the model does not have count, too.
    """
    assert model.certificate is not None
    if model.shape.n_tags < 2:
        return np.ones(X.n_rows, bool)
    lattice = Lattice(model, X, sequences, threads=threads)
    tags, values = lattice.tags()
    K, rows = model.shape.n_tags, np.arange(X.n_rows)
    price = model.certificate[1] * math.sqrt(2.0) * _lengths(model, X, sequences)
    kept = lattice.nodes[rows, tags]
    lattice.nodes[:, :K] += price[:, None]
    lattice.nodes[rows, tags] = kept
    highest = lattice.highest()
    highest[rows, tags] = -np.inf
    scores = np.repeat(values, np.diff(sequences))
    slip = ROUNDING * (np.abs(scores) + np.abs(highest.max(axis=1)) + price)
    return highest.max(axis=1) + slip < scores


def _lengths(model: ChainModel, X: Csr, sequences: NDArray[np.int64]) -> NDArray[np.float64]:
    """(tokens,) the lengths of all that has a token's tag."""
    shape = model.shape
    squared = np.empty(X.n_rows)
    sparse.row_norms(sparse.Rows(X), squared)
    own = np.sqrt(squared) * (1 + ROUNDING)
    counts = np.diff(sequences)
    before = np.arange(X.n_rows) - np.repeat(sequences[:-1], counts)
    behind = np.repeat(sequences[1:], counts) - np.arange(X.n_rows) - 1
    lengths = own.copy()
    for order in range(1, shape.transition_order + 1):
        # transitions of this order that end at this token or at one of the next, as far as there is
        # one, and have their first token in the sequence
        last, first = np.minimum(order, behind), np.maximum(0, order - before)
        lengths += np.maximum(0, last - first + 1)
    if shape.emission_order:
        following = np.append(own[1:], 0.0)
        lengths += own * (before > 0) + following * (behind > 0)
    return lengths
