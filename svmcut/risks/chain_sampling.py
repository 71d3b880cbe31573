# SPDX-License-Identifier: BSD-3-Clause
"""Cuts of the structured hinge of chains from a sample of its violated sequences.

    R(s) = sum_n H_n(s),   H_n = max_y [score_s(y) + Delta(y_n, y)] - score_s(y_n)
    I    = sequences with H_n > 0, drawn with equal probability
    cut    |I|/r times the sum over the draws of their most violated labellings: unbiased

A draw of r sequences has coefficients at their wrong tokens only, which is what a cut of a kernel costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from svmcut._native import chain
from svmcut.data import Labelling
from svmcut.risks.sampling import Draw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.labellings import Labellings


class ChainSampler:
    """A Sampler of sequences; points are places of scores as svmcut.labellings lays them out.

    Parameters
    ----------
    labellings : Labellings
    threads : int
    """

    def __init__(self, labellings: Labellings, threads: int = 1):
        self.labellings, self.threads = labellings, threads

    def violations(self, s: NDArray) -> ChainViolations:
        return ChainViolations(self, s)


class ChainViolations:
    """The sequences whose most violated labelling is not the right one; O(tokens K^2) at transition order 1."""

    def __init__(self, sampler: ChainSampler, s: NDArray):
        self._labellings = labellings = sampler.labellings
        chains = labellings.chains
        self._labels = np.empty(chains.n_tokens, np.int32)
        self._slacks, self._losses = np.empty(chains.n_sequences), np.empty(chains.n_sequences)
        chain.argmax(
            chains, np.ascontiguousarray(s[labellings.n_nodes :]), s, chain.HAMMING, 0, self._labels, self._slacks,
            self._losses, sampler.threads,
        )  # fmt: skip
        self.sequences = np.flatnonzero(self._slacks > 0)
        self.size, self.value = len(self.sequences), float(self._slacks.sum())

    def everything(self) -> Draw:
        weights = (self._slacks > 0).astype(np.float64)
        return self._cut(weights)

    def sample(self, rng: np.random.Generator, r: int, harder: bool = False) -> Draw:
        among = self.sequences
        if harder:
            among = among[np.argsort(-self._slacks[among], kind="stable")[: (self.size + 1) // 2]]
        return self._drawn(among[rng.integers(len(among), size=r)])

    def worst(self, r: int) -> Draw:
        return self._drawn(np.full(r, int(np.argmax(self._slacks))))

    def _drawn(self, sequences: NDArray) -> Draw:
        counts = np.bincount(sequences, minlength=len(self._slacks))
        return self._cut(self.size / len(sequences) * counts)

    def _cut(self, weights: NDArray) -> Draw:
        points, coef = self._labellings.coefficients(Labelling(self._labels, weights))
        return Draw(points, coef, float(weights @ self._losses), float(weights @ self._slacks))
