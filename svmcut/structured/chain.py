# SPDX-License-Identifier: BSD-3-Clause
"""Chains of tags: sequences in memory, and the StructuredModel over them.

    w.Psi(x, y) = sum_t W[y_t].x_t + W'[y_(t-1), y_t].x_t + sum_{j=1..t} V_j[y_(t-j), ..., y_t]

W' exists for emission order 1 only. Transitions of all orders up to the transition order count; a
term whose history starts before the sequence is left out, and Psi has no entry for the start or the
end of a sequence.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import chain, sparse
from svmcut.base.records import replace
from svmcut.data.examples import Sequences
from svmcut.models import ChainShape, check_lattice
from svmcut.structured.protocol import Samples, Separation


class ChainSequences(Samples):
    """A StructuredModel of chains; see svmcut.structured.protocol.

    Every tag is below shape.n_tags and weights are positive. `beam` is the number of states kept
    per token, 0 for all; with a beam the argmax may miss the best labelling.
    """

    def __init__(self, sequences: Sequences, shape: ChainShape, threads: int = 1, beam: int = 0):
        self.sequences, self.shape, self.threads, self.beam = sequences, shape, threads, beam
        self.parts, self.gold, self.weights = sequences.indptr, sequences.tags, sequences.weights
        self.n_samples, self.dim = len(sequences), shape.dim
        check_lattice(shape, sequences.indptr)
        #: The same sequences for C++.
        self.chains = _chains(sequences, shape)

    def separate(self, w: NDArray) -> Separation:
        """The most violated labelling of every sequence; one pass over the features, then
        Viterbi."""
        labels, slacks, losses = run_argmax(self.chains, w, chain.HAMMING, self.beam, self.threads)
        return Separation(labels, slacks, losses)

    def joint(
        self, labels: NDArray, weights: NDArray | None = None, out: NDArray | None = None
    ) -> NDArray:
        """sum_n weights[n] (Psi(x_n, right) - Psi(x_n, y_n)), in `out` if given; reads only tokens
        with a wrong tag."""
        if out is None:
            out = np.zeros(self.dim)
        else:
            out.fill(0)
        chain.joint(self.chains, labels, weights, out)
        return out

    def is_model(self, w: NDArray) -> bool:
        """Check that w gets fewer tags wrong than w = 0, which always predicts the first tag."""
        tags = run_argmax(self.chains, w, chain.DECODE, self.beam, self.threads)[0]
        return bool(np.count_nonzero(tags != self.gold) < np.count_nonzero(self.gold))

    def in_pieces(self, length: int) -> ChainSequences:
        """The same tokens with long sequences cut into equal pieces of at most `length` tokens; C
        and weights then count per piece. Returns self if no sequence is longer."""
        lengths = np.diff(self.parts)
        if lengths.max(initial=0) <= length:
            return self
        counts = -(-lengths // length)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + 1
        ends = within * np.repeat(lengths, counts) // np.repeat(counts, counts)
        indptr = np.concatenate([[0], np.repeat(self.parts[:-1], counts) + ends])
        weights = None if self.weights is None else np.repeat(self.weights, counts)
        cut = replace(self.sequences, indptr=indptr.astype(np.int64), weights=weights)
        return ChainSequences(cut, self.shape, self.threads, self.beam)


def _chains(sequences: Sequences, shape: ChainShape) -> chain.Chains:
    return chain.Chains(
        sparse.Rows(sequences.X),
        sequences.indptr,
        sequences.tags,
        shape.n_features,
        shape.n_tags,
        shape.stride,
        shape.transition_order,
        shape.emission_order,
    )


def run_argmax(chains: chain.Chains, w, loss: int, beam: int = 0, threads: int = 1, nodes=None):
    """Labels (tokens,) int32, values (n,) and losses (n,) float64 of svmcut_chain_argmax."""
    labels = np.empty(chains.n_tokens, np.int32)
    values, losses = np.empty(chains.n_sequences), np.zeros(chains.n_sequences)
    chain.argmax(chains, w, nodes, loss, beam, labels, values, losses, threads)
    return labels, values, losses
