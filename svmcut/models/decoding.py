# SPDX-License-Identifier: BSD-3-Clause
"""Labellings of sequences beyond the best one: under a scheme or with given tags, the best few, and
probabilities of tags.

Forbidden tags and pairs of tags have the score -infinity. With temperature t the probability of a
labelling y is proportional to exp(t score(y)), that of a tag its sum over the labellings that have
it, by the forward-backward algorithm; t is fitted to held-out sequences, where

    L(t) = sum over sequences of ln sum_y exp(t score(y)) - t score(right tags)

is least. L is convex, and its slope the mean score under these probabilities less that of the right
tags.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from svmcut._native import chain, sparse
from svmcut.base.errors import MemoryLimitError
from svmcut.base.resources import describe_shortage
from svmcut.base.typing import NamedTuple
from svmcut.data.examples import Csr
from svmcut.models.chain import ChainShape, TagsModel
from svmcut.scoring.chunks import SchemeRules

_MAX_STEPS = 60
#: Larger temperatures mean that every held-out sequence is right by far.
_MAX_TEMPERATURE = 1e6


class Lattice:
    """Scores of all labellings of sequences by a model.

    Sequence k is rows sequences[k] to sequences[k + 1], at least one. `rules` allow only some
    labellings, `given` (tokens,) fixes tags, -1 for none. Raises MemoryLimitError.
    """

    def __init__(
        self,
        model: TagsModel,
        X: Csr,
        sequences: NDArray[np.int64],
        rules: SchemeRules | None = None,
        given: NDArray[np.int32] | None = None,
        threads: int = 1,
    ):
        shape, self._threads = model.shape, threads
        nodes, self.transitions = model.lattice(X, sequences, threads)
        self.nodes = nodes.reshape(X.n_rows, shape.node_size)
        if rules is not None:
            shape = self._obey(rules, shape, sequences)
        if given is not None:
            fixed = np.flatnonzero(given >= 0)
            kept = self.nodes[fixed, given[fixed]]
            self.nodes[fixed, : shape.n_tags] = -math.inf
            self.nodes[fixed, given[fixed]] = kept
        self.shape = shape
        self.chains, self.sequences = _native_chains(shape, sequences), sequences

    def _obey(
        self, rules: SchemeRules, shape: ChainShape, sequences: NDArray[np.int64]
    ) -> ChainShape:
        K = shape.n_tags
        first, last = sequences[:-1], sequences[1:] - 1
        self.nodes[np.ix_(first, np.flatnonzero(~rules.first))] = -math.inf
        self.nodes[np.ix_(last, np.flatnonzero(~rules.last))] = -math.inf
        if shape.transition_order == 0:
            shape = ChainShape(K, shape.n_features, 1, 0)
            self.transitions = np.zeros(shape.transitions)
        pairs = self.transitions[: K * shape.stride].reshape(K, shape.stride)[:, :K]
        self.transitions = self.transitions.copy()
        self.transitions[: K * shape.stride].reshape(K, shape.stride)[:, :K] = np.where(
            rules.pairs, pairs, -math.inf
        )
        return shape

    def tags(self, beam: int = 0) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """(tokens,) tags of the best labelling of every sequence, and (n,) its score, -inf if there
        is none."""
        labels, values = (
            np.empty(self.chains.n_tokens, np.int32),
            np.empty(self.chains.n_sequences),
        )
        chain.argmax(
            self.chains,
            self.transitions,
            self.nodes.ravel(),
            chain.DECODE,
            beam,
            labels,
            values,
            np.empty_like(values),
            self._threads,
        )
        return labels, values

    def best(self, count: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The best labellings: (count * tokens,) tags, those of sequence k from count *
        sequences[k] on, best first; (n, count) scores, -inf after the last there is. Raises
        MemoryLimitError if that many entries of all states do not fit."""
        self._check(count)
        labels = np.empty(count * self.chains.n_tokens, np.int32)
        values = np.empty(count * self.chains.n_sequences)
        chain.best(
            self.chains, self.nodes.ravel(), self.transitions, count, labels, values, self._threads
        )
        return labels, values.reshape(-1, count)

    def _check(self, count: int) -> None:
        shape = self.shape
        states = self.chains.n_tokens * shape.n_tags ** max(0, shape.transition_order - 1)
        need = 24e-6 * count * states * shape.stride
        if there := describe_shortage(need, least=100):
            raise MemoryLimitError(
                "the {} best labellings need about {:,.0f} MB for their states and {}; ask for "
                "fewer",
                count,
                need,
                there,
            )

    def highest(self) -> NDArray[np.float64]:
        """(tokens, K) score of the best labelling that has a tag at a token; -inf for none."""
        best = np.empty(self.chains.n_tokens * self.shape.n_tags)
        chain.highest(self.chains, self.nodes.ravel(), self.transitions, best, self._threads)
        return best.reshape(-1, self.shape.n_tags)

    def sums(
        self, scale: float, marginals: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None]:
        """(n,) ln of the sums of exp(scale score), (n,) mean scores under these weights, and
        (tokens, K) probabilities of the tags."""
        n, K = self.chains.n_sequences, self.shape.n_tags
        sums = np.empty(n), np.empty(n)
        parts = np.empty(self.chains.n_tokens * K) if marginals else None
        chain.sums(
            self.chains, self.nodes.ravel(), self.transitions, scale, *sums, parts, self._threads
        )
        return *sums, None if parts is None else parts.reshape(-1, K)

    def score(self, tags: NDArray[np.int32]) -> NDArray[np.float64]:
        """(n,) scores of given tags; -inf if one is forbidden."""
        nodes = np.full_like(self.nodes, -math.inf)
        given = Lattice.__new__(Lattice)
        rows = np.arange(len(tags))
        nodes[rows, tags] = self.nodes[rows, tags]
        S = self.shape.stride
        nodes[:, S:] = self.nodes[:, S:]
        given.nodes, given.transitions = nodes, self.transitions
        given.chains, given.shape, given._threads = self.chains, self.shape, self._threads
        return given.tags()[1]


def _native_chains(shape: ChainShape, sequences: NDArray[np.int64]) -> chain.Chains:
    """Sequences whose scores are given, for the C++ side."""
    n = int(sequences[-1])
    tokens = Csr(np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros(n + 1, np.int64), 0, True)
    return chain.Chains(
        sparse.Rows(tokens),
        sequences,
        np.zeros(n, np.int32),
        0,
        shape.n_tags,
        shape.stride,
        shape.transition_order,
        shape.emission_order,
    )


class HeldSequences(NamedTuple):
    """Sequences that a model did not see, their right tags, and (n,) weights."""

    lattice: Lattice
    tags: NDArray[np.int32]
    weights: NDArray[np.float64]


def fit_temperature(
    held: Iterable[HeldSequences], tolerance: float = 1e-6, smooth: bool = False
) -> float:
    """Temperature with the least loss on held-out sequences, up to a relative tolerance; 0 if
    scores are uninformative. Raises ValueError if a score is not finite.

    With `smooth` the right tags have all but 1 / (tokens + 2) of the weight, and random tags the
    rest: a few sequences that are right by far do not make a model without any doubt (Platt, 1999,
    of two classes).
    """
    parts = [(one, one.lattice.score(one.tags)) for one in held]
    if not all(np.isfinite(scores).all() for _, scores in parts):
        raise ValueError("scores of sequences that were held out are not finite")

    if smooth:
        share = 1 / (2 + sum(len(one.tags) for one, _ in parts))
        parts = [
            (one, (1 - share) * scores + share * one.lattice.sums(0.0)[1]) for one, scores in parts
        ]

    def slope(t: float) -> float:
        return sum(float(one.weights @ (one.lattice.sums(t)[1] - scores)) for one, scores in parts)

    low, high, below = 0.0, 1.0, slope(0.0)
    if below >= 0:
        return 0.0
    while (above := slope(high)) < 0:
        low, below = high, above
        high *= 4
        if high > _MAX_TEMPERATURE:
            return low
    for _ in range(_MAX_STEPS):
        if high - low <= tolerance * high:
            break
        # regula falsi within the bracket, at a tenth of it from either end at least
        middle = low - below * (high - low) / (above - below)
        middle = min(max(middle, low + 0.1 * (high - low)), high - 0.1 * (high - low))
        value = slope(middle)
        if value < 0:
            low, below = middle, value
        else:
            high, above = middle, value
    return 0.5 * (low + high)
