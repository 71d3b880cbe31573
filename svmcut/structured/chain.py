# SPDX-License-Identifier: BSD-3-Clause
"""Chains of tags: sequences in memory, and the StructuredModel over them.

    w.Psi(x, y) = sum_t W[y_t].x_t + W'[y_(t-1), y_t].x_t + sum_{j=1..t} V_j[y_(t-j), ..., y_t]

with W' for emission order 1 alone; a term whose history starts before the sequence is left out. All orders up to the
transition order count. Psi has no entry for the start or the end of a sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from svmcut._native import chain, sparse
from svmcut.data import Sequences
from svmcut.models import ChainShape, check_lattice
from svmcut.structured.protocol import Argmax, Factor, Separation, SparseVector

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ChainSequences:
    """A StructuredModel of chains; see svmcut.structured.protocol.

    Parameters
    ----------
    sequences : Sequences
        Every tag below shape.n_tags.
    shape : ChainShape
        Orders, tags and features, and with them the layout of w.
    threads : int
    beam : int
        States kept a token, 0 for all: an argmax with a beam may miss the best labelling.

    Attributes
    ----------
    chains : chain.Chains
        What the C++ side sees.
    """

    def __init__(self, sequences: Sequences, shape: ChainShape, threads: int = 1, beam: int = 0):
        self.sequences, self.shape, self.threads, self.beam = sequences, shape, threads, beam
        self.parts, self.gold = sequences.indptr, sequences.tags
        self.n_samples, self.dim = len(sequences), shape.dim
        check_lattice(shape, sequences.indptr)
        self.chains = _chains(sequences, shape)

    def _one(self, i: int) -> Sequences:
        rows = slice(int(self.parts[i]), int(self.parts[i + 1]))
        X = self.sequences.X.rows(rows.start, rows.stop)
        return Sequences(X, np.array([0, X.n_rows]), self.gold[rows], self.sequences.source)

    def joint_feature(self, i: int, y: NDArray) -> SparseVector:
        """Psi(x_i, y); O(tokens nonzeros log)."""
        shape, rows = self.shape, self._one(i).X
        found: dict[int, float] = {}
        base = shape.n_features * shape.node_size
        for t in range(len(y)):
            entries = slice(int(rows.indptr[t]), int(rows.indptr[t + 1]))
            columns = [int(y[t])]
            if shape.emission_order and t:
                columns.append((1 + int(y[t - 1])) * shape.stride + int(y[t]))
            for j, x in zip(rows.indices[entries].tolist(), rows.data[entries].tolist()):
                for column in columns:
                    place = j * shape.node_size + column
                    found[place] = found.get(place, 0.0) + x
            history, start = 0, base
            for order in range(1, min(shape.transition_order, t) + 1):
                history += int(y[t - order]) * shape.n_tags ** (order - 1)
                place = start + history * shape.stride + int(y[t])
                found[place] = found.get(place, 0.0) + 1.0
                start += shape.n_tags**order * shape.stride
        indices = np.array(sorted(found), np.int64)
        return SparseVector(indices, np.array([found[k] for k in indices.tolist()]))

    def argmax(self, i: int, w: NDArray, *, loss_weight: float = 0.0) -> Argmax:
        """The best labelling of one sequence; O(tokens K^2) at transition order 1. loss_weight is 0 or 1."""
        if loss_weight not in (0.0, 1.0):
            raise ValueError("chains decode with loss weight 0 or 1")
        one = self._one(i)
        found, values, _ = run_argmax(_chains(one, self.shape), w, chain.HAMMING if loss_weight else chain.DECODE)
        value = float(values[0])
        if loss_weight:
            right = self.joint_feature(i, one.tags)
            value += float(w[right.indices] @ right.values)
        return Argmax(found, value)

    def loss(self, i: int, y: NDArray) -> float:
        """Wrong tags."""
        return float(np.count_nonzero(self.gold[self.parts[i] : self.parts[i + 1]] != y))

    def factors(self, i: int) -> Sequence[Factor]:
        """A node for every token and a pair for every two neighbours, at transition order 1 and emission order 0."""
        if (self.shape.transition_order, self.shape.emission_order) != (1, 0):
            raise ValueError("factors are those of transition order 1 and emission order 0")
        gold, K = self._one(i).tags.tolist(), self.shape.n_tags
        nodes = [Factor("node", (t,), K, tag) for t, tag in enumerate(gold)]
        pairs = [Factor("pair", (t - 1, t), K * K, gold[t - 1] * K + gold[t]) for t in range(1, len(gold))]
        return nodes + pairs

    def separate(self, w: NDArray) -> Separation:
        """The most violated labelling of every sequence; one pass over the features and Viterbi's recursion."""
        labels, slacks, losses = run_argmax(self.chains, w, chain.HAMMING, self.beam, self.threads)
        return Separation(labels, slacks, losses)

    def joint(self, labels: NDArray, weights: NDArray | None = None) -> NDArray:
        """sum_n weights[n] (Psi(x_n, right) - Psi(x_n, y_n)); reads the tokens whose tags differ."""
        out = np.zeros(self.dim)
        chain.joint(self.chains, labels, weights, out)
        return out


def _chains(sequences: Sequences, shape: ChainShape) -> chain.Chains:
    return chain.Chains(
        sparse.Rows(sequences.X), sequences.indptr, sequences.tags, shape.n_features, shape.n_tags, shape.stride,
        shape.transition_order, shape.emission_order,
    )  # fmt: skip


def run_argmax(chains: chain.Chains, w, loss: int, beam: int = 0, threads: int = 1, nodes=None):
    """Labels (tokens,) int32, values (n,) and losses (n,) float64 of svmcut_chain_argmax."""
    labels = np.empty(chains.n_tokens, np.int32)
    values, losses = np.empty(chains.n_sequences), np.zeros(chains.n_sequences)
    chain.argmax(chains, w, nodes, loss, beam, labels, values, losses, threads)
    return labels, values, losses
