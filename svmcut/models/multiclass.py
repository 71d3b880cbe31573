# SPDX-License-Identifier: BSD-3-Clause
"""Classes, each with weights of its own; the largest score wins."""

from __future__ import annotations

import numpy as np

from svmcut._native import sparse
from svmcut.base.records import record
from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar
from svmcut.data.examples import Csr
from svmcut.models import facts
from svmcut.models.classes import SeveralClasses
from svmcut.models.columns import renumber
from svmcut.scoring.probabilities import LOG_ODDS
from svmcut.spec import schemas
from svmcut.spec.catalog import LOG_ODDS_OF

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.tables.encoding import Encoding


@record(eq=False)
class MulticlassModel(SeveralClasses):
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
    certificate : (float, float, float, ..) or None
        As in LinearModel; with the radius of every machine against the rest.
    """

    has_ball: ClassVar[bool] = True

    W: NDArray[np.float64]
    constant: NDArray[np.float64]
    bias: float
    names: NDArray[np.float64]
    columns: NDArray[np.int32] | None = None
    highest_index: int = 0
    n_documents: int = 0
    loss: str | None = None
    temperature: float | None = None
    table: Encoding | None = None
    certificate: tuple[float, ...] | None = None

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) float64 scores of every class."""
        from svmcut._native import multilabel

        W, constant = np.ascontiguousarray(self.W), np.ascontiguousarray(self.constant)
        weights = multilabel.Weights(W, None, self.bias, constant if self.bias else None)
        return multilabel.scores(sparse.Rows(renumber(X, self.columns)), weights, threads)

    @property
    def has_probabilities(self) -> bool:
        """Whether scores are probabilities: by a temperature, or of machines of the logistic
        loss."""
        return super().has_probabilities or self.loss in LOG_ODDS_OF

    @property
    def n_radii(self) -> int:
        return len(self.names)

    @property
    def n_features(self) -> int:
        return len(self.W)

    def form(self) -> dict[str, schemas.Check]:
        shared, K = super().form(), len(self.names)
        own = {"W": schemas.reals(None, K), "constant": schemas.reals(K), "bias": schemas.REAL}
        return own | shared

    def facts(self, ends: facts.Ends) -> dict[str, Any]:
        weights = [
            {"of": label, "constant": float(self.bias * constant)}
            | ends.of_features(w, self.columns)
            for label, constant, w in zip(self.label_texts(), self.constant, self.W.T, strict=True)
        ]
        head = self._head(
            "classes", {"sigmoid": list(LOG_ODDS)} if self.has_probabilities else None
        )
        used = facts.features(self.columns, np.count_nonzero(self.W, 1))
        return head | {"features": used, "weights": weights}
