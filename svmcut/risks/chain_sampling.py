# SPDX-License-Identifier: BSD-3-Clause
"""Cuts of the structured hinge of chains from a sample of its violated sequences.

    R(s) = sum_n v_n H_n(s),   H_n = max_y [score_s(y) + Delta(y_n, y)] - score_s(y_n)
    I    = sequences with v_n H_n > 0, drawn in proportion to v, 1 without weights
    cut    sum_I v / r times the sum over the draws of their most violated labellings: unbiased

A draw of r sequences has coefficients at their wrong tokens only, and the cost of a cut with a
kernel grows with those.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import chain
from svmcut.data.labellings import Labelling, Labellings
from svmcut.risks.sampling import Draw, choose_terms
from svmcut.risks.weights import example_weights


class ChainSampler:
    """A Sampler of sequences; points are positions of scores as in svmcut.data.labellings.
    `weights` are those of the sequences, None for 1 each."""

    def __init__(self, labellings: Labellings, threads: int = 1, weights: NDArray | None = None):
        self.labellings, self.threads = labellings, threads
        self.weights = example_weights(weights, labellings.chains.n_sequences)

    def violations(self, s: NDArray) -> ChainViolations:
        return ChainViolations(self, s)


class ChainViolations:
    """The sequences whose most violated labelling is not the right one; O(tokens K^2) at transition
    order 1."""

    def __init__(self, sampler: ChainSampler, s: NDArray):
        self._labellings = labellings = sampler.labellings
        chains = labellings.chains
        self._labels = np.empty(chains.n_tokens, np.int32)
        self._slacks, self._losses = np.empty(chains.n_sequences), np.empty(chains.n_sequences)
        chain.argmax(
            chains,
            np.ascontiguousarray(s[labellings.n_nodes :]),
            s,
            chain.HAMMING,
            0,
            self._labels,
            self._slacks,
            self._losses,
            sampler.threads,
        )
        v = sampler.weights
        self.sequences = np.flatnonzero(
            self._slacks > 0 if v is None else (self._slacks > 0) & (v > 0)
        )
        self._weights = None if v is None else v[self.sequences]
        self.size = len(self.sequences)
        self.value = float(self._slacks.sum() if v is None else (v * self._slacks).sum())
        self._mass = self.size if self._weights is None else float(self._weights.sum())

    def everything(self) -> Draw:
        weights = np.zeros(len(self._slacks))
        weights[self.sequences] = 1.0 if self._weights is None else self._weights
        return self._cut(weights)

    def sample(self, rng: np.random.Generator, r: int) -> Draw:
        sequences = self.sequences[choose_terms(rng, r, self.size, self._weights)]
        return self._cut(self._mass / r * np.bincount(sequences, minlength=len(self._slacks)))

    def _cut(self, weights: NDArray) -> Draw:
        points, coef = self._labellings.coefficients(Labelling(self._labels, weights))
        return Draw(points, coef, float(weights @ self._losses), float(weights @ self._slacks))
