# SPDX-License-Identifier: BSD-3-Clause
"""Models of several classes: names and probabilities, and classes with weights of their own, of
which the largest score wins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import multilabel, sparse
from svmcut.base.records import record, replace
from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar, Self
from svmcut.data.examples import Csr
from svmcut.data.labels import label_texts
from svmcut.models.base import (
    CERTIFICATES,
    COST,
    BaseModel,
    Ends,
    certificate_facts,
    feature_facts,
    renumber,
)
from svmcut.scoring.probabilities import LOG_ODDS, fit_temperature, multiclass_probabilities
from svmcut.spec import schemas
from svmcut.spec.catalog import LOG_ODDS_OF, TASKS

if TYPE_CHECKING:
    from svmcut.scoring.conformal import Coverage
    from svmcut.tables.encoding import Encoding


class SeveralClasses(BaseModel):
    """A model with one score per class, and a temperature for probabilities."""

    __slots__ = ()

    names: NDArray[np.float64]
    loss: str | None
    temperature: float | None
    certificate: tuple[float, ...] | None
    cost: float | None

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) float64 scores of every class."""
        raise NotImplementedError

    def decisions(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) input of `probabilities`: the scores."""
        return self.scores(X, threads)

    def predict(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n,) labels of the largest score, the first of equal ones."""
        return self.names[np.argmax(self.label_scores(X, threads), axis=1)]

    def label_scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) numbers the largest of which is where that of `scores` is."""
        return self.scores(X, threads)

    @property
    def has_probabilities(self) -> bool:
        return self.temperature is not None

    def probabilities(self, decisions: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, K) probabilities of the classes, if the model has them."""
        return multiclass_probabilities(decisions, self.temperature)

    def with_probabilities(
        self, scores: NDArray, places: NDArray[np.int64], weights: NDArray | None
    ) -> Self:
        """This model with probabilities fitted to decisions on held-out rows; `places` (n,) are
        those of their labels in `names`, `weights` (n,) those of the rows."""
        return replace(self, temperature=fit_temperature(scores, places, weights))

    def form(self) -> dict[str, schemas.Check]:
        self.require(names=schemas.array(np.float64, None, rising=True))
        return {
            "highest_index": schemas.COUNT,
            "loss": schemas.maybe(schemas.text()),
            "temperature": schemas.maybe(schemas.real(0)),
            "certificate": CERTIFICATES,
            "cost": COST,
        }

    def label_texts(self) -> list[str]:
        return label_texts(self.names.tolist(), self.words)

    def _head(self, kind: str, other: dict[str, Any] | None) -> dict[str, Any]:
        """First facts; `other` are those of probabilities if there is no temperature."""
        loss = self.loss or TASKS["multiclass"].loss
        head: dict[str, Any] = {"kind": kind, "loss": loss, "labels": self.label_texts()}
        head |= certificate_facts(self.certificate, self.cost)
        if self.coverage is not None:
            head["promise"] = self.coverage.facts(self.label_texts())
        fitted = other if self.temperature is None else {"temperature": self.temperature}
        return head if fitted is None else head | {"probabilities": fitted}


@record(eq=False)
class MulticlassModel(SeveralClasses):
    """s_k(x) = W[:, k].x + bias constant[k]."""

    has_ball: ClassVar[bool] = True

    #: (d, K) weights; those of a feature are adjacent.
    W: NDArray[np.float64]
    #: (K,) weights of the constant feature.
    constant: NDArray[np.float64]
    #: Value of the constant feature, 0 for none.
    bias: float
    #: (K,) labels of the classes, increasing; of a foreign model in the order of its file.
    names: NDArray[np.float64]
    columns: NDArray[np.int32] | None = None
    #: Highest feature index (1-based) in a model file.
    highest_index: int = 0
    #: Training examples.
    n_documents: int = 0
    #: Loss it was trained for; None for the task's first.
    loss: str | None = None
    #: t of the probabilities softmax(t s).
    temperature: float | None = None
    table: Encoding | None = None
    #: As in LinearModel; with the radius of every machine against the rest.
    certificate: tuple[float, ...] | None = None
    #: C of an example that weighs 1, for which the certificate holds.
    cost: float | None = None
    coverage: Coverage | None = None

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) float64 scores of every class."""
        W, constant = np.ascontiguousarray(self.W), np.ascontiguousarray(self.constant)
        weights = multilabel.Weights(W, None, self.bias, constant if self.bias else None)
        return multilabel.scores(sparse.Rows(renumber(X, self.columns)), weights, threads)

    @property
    def has_probabilities(self) -> bool:
        """True if scores give probabilities: with a temperature, or from machines of the logistic
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

    def facts(self, ends: Ends) -> dict[str, Any]:
        weights = [
            {"of": label, "constant": float(self.bias * constant)}
            | ends.of_features(w, self.columns)
            for label, constant, w in zip(self.label_texts(), self.constant, self.W.T, strict=True)
        ]
        head = self._head(
            "classes", {"sigmoid": list(LOG_ODDS)} if self.has_probabilities else None
        )
        used = feature_facts(self.columns, np.count_nonzero(self.W, 1))
        return head | {"features": used, "weights": weights}
