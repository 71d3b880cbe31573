# SPDX-License-Identifier: BSD-3-Clause
"""Classes by machines of two on kernel values, which share their support vectors."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from svmcut.data.examples import Csr
from svmcut.models.columns import renumber
from svmcut.models.kernels import Kernel
from svmcut.scoring.probabilities import Sigmoid, of_pairs, of_several
from svmcut.spec.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """(0, 1), (0, 2), .., (1, 2), ..: the classes of the machines, one against one."""
    return list(itertools.combinations(range(n_classes), 2))


@record(eq=False)
class KernelMulticlassModel:
    """f_j(x) = sum of alpha[e] K(z_places[e], x) over starts[j] <= e < starts[j + 1], less b[j].

    Attributes
    ----------
    kernel : Kernel
    support : Csr
        (m, d) support vectors z of all machines, one row each.
    starts : (M + 1,) int64
        Where the coefficients of a machine begin.
    places : (E,) int32
        Support vectors, increasing within a machine.
    alpha : (E,) float64
        Their weights, labels included.
    b : (M,) float64
        Thresholds, subtracted.
    names : (K,) float64
        The labels of the classes, increasing; of a foreign model in the order of its file.
    paired : bool
        Whether the machines are of the pairs of classes, as `pairs_of` orders them, f above 0 being
        for the first; else machine k is of class k against the rest.
    columns, highest_index, n_documents, loss
        As in MulticlassModel.
    sigmoids : tuple of (float, float) or None
        A and B of every pair of classes, of the probability of its first.
    temperature : float or None
        Of machines against the rest, as in MulticlassModel.
    """

    kernel: Kernel
    support: Csr
    starts: NDArray[np.int64]
    places: NDArray[np.int32]
    alpha: NDArray[np.float64]
    b: NDArray[np.float64]
    names: NDArray[np.float64]
    paired: bool
    columns: NDArray[np.int32] | None = None
    highest_index: int = 0
    n_documents: int = 0
    loss: str | None = None
    sigmoids: tuple[Sigmoid, ...] | None = None
    temperature: float | None = None

    @property
    def has_probabilities(self) -> bool:
        return (self.sigmoids if self.paired else self.temperature) is not None

    def probabilities(self, decisions: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, K) of the classes by `decisions`, of a model that has them; of pairs by coupling."""
        if not self.paired:
            return of_several(decisions, self.temperature)
        assert self.sigmoids is not None
        return of_pairs(decisions, self.sigmoids, len(self.names))

    def decisions(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, M) float64 f_j(x) of every machine; the same bytes for any number of threads."""
        return self._sums(X, threads, False)

    def _sums(self, X: Csr, threads: int, narrow: bool) -> NDArray[np.float64]:
        from svmcut._native.kernels import machine_scores

        known = self.support, self.starts, self.places, self.alpha, self.kernel, self.b
        return machine_scores(renumber(X, self.columns), *known, threads, narrow)

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) float64: f_k of every class; of pairs the votes, nan for a class with a decision
        that is none."""
        found = self.decisions(X, threads)
        if not self.paired:
            return found
        votes = np.zeros((X.n_rows, len(self.names)))
        for f, (first, second) in zip(found.T, pairs_of(len(self.names)), strict=True):
            bad = np.where(np.isfinite(f), 0.0, np.nan)
            votes[:, first] += (f > 0) + bad
            votes[:, second] += ~(f > 0) + bad
        return votes

    def predict(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n,) labels of the largest score, the first of equal ones."""
        return self.names[np.argmax(self.scores(X, threads), axis=1)]


@record(eq=False)
class JointKernelModel(KernelMulticlassModel):
    """Functions f_k of a kernel, one a class, trained at once and without thresholds: machines
    against the rest."""

    def printed(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) float64 f_k(x) as svm_multiclass writes them: products of two features are rounded
        to float32."""
        return self._sums(X, threads, True)
