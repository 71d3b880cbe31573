# SPDX-License-Identifier: BSD-3-Clause
"""Classes, each with weights of its own; the largest score wins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from svmcut._native import sparse
from svmcut.data.examples import Csr
from svmcut.models.columns import renumber
from svmcut.scoring.probabilities import of_several
from svmcut.spec.catalog import LOG_ODDS_OF
from svmcut.spec.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray


@record(eq=False)
class MulticlassModel:
    """s_k(x) = W[:, k].x + bias constant[k].

    Attributes
    ----------
    W : (d, K) float64
        Weights; those of a feature are neighbours.
    constant : (K,) float64
        Weights of the constant feature.
    bias : float
        Its value, 0 for none.
    names : (K,) float64
        The labels of the classes, increasing; of a foreign model in the order of its file.
    columns : (d,) int32 or None
        As in LinearModel.
    highest_index : int
        The highest feature index (1-based) a model file states.
    n_documents : int
        Training examples.
    loss : str or None
        Which it was trained for; None for the task's first.
    temperature : float or None
        t of the probabilities softmax(t s).
    """

    W: NDArray[np.float64]
    constant: NDArray[np.float64]
    bias: float
    names: NDArray[np.float64]
    columns: NDArray[np.int32] | None = None
    highest_index: int = 0
    n_documents: int = 0
    loss: str | None = None
    temperature: float | None = None

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) float64 scores of every class."""
        from svmcut._native import multilabel

        weights = multilabel.Weights(np.vstack([self.W, self.constant]), None, self.bias or 1.0)
        if not self.bias:
            weights = multilabel.Weights(np.ascontiguousarray(self.W), None, 0.0)
        return multilabel.scores(sparse.Rows(renumber(X, self.columns)), weights, threads)

    @property
    def has_probabilities(self) -> bool:
        """Whether scores are probabilities: by a temperature, or of machines of the logistic
        loss."""
        return self.temperature is not None or self.loss in LOG_ODDS_OF

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, K) of the classes, of a model that has them."""
        return of_several(scores, self.temperature)

    def predict(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n,) labels of the largest score, the first of equal ones."""
        return self.names[np.argmax(self.scores(X, threads), axis=1)]
