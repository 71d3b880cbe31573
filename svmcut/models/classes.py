# SPDX-License-Identifier: BSD-3-Clause
"""Base of models of several classes: their names and probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any, Self
from svmcut.data.labels import label_texts
from svmcut.models.base import CERTIFICATES, COST, BaseModel, certificate_facts
from svmcut.scoring.probabilities import fit_temperature, multiclass_probabilities
from svmcut.spec import schemas
from svmcut.spec.catalog import TASKS

if TYPE_CHECKING:
    from svmcut.data.examples import Csr


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
        return self.names[np.argmax(self.scores(X, threads), axis=1)]

    @property
    def has_probabilities(self) -> bool:
        """True if there are probabilities of the classes."""
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
        """Labels in the order of the scores."""
        return label_texts(self.names.tolist(), self.words)

    def _head(self, kind: str, other: dict[str, Any] | None) -> dict[str, Any]:
        """First facts; `other` are those of probabilities if there is no temperature."""
        loss = self.loss or TASKS["multiclass"].loss
        head: dict[str, Any] = {"kind": kind, "loss": loss, "labels": self.label_texts()}
        head |= certificate_facts(self.certificate, self.cost)
        fitted = other if self.temperature is None else {"temperature": self.temperature}
        return head if fitted is None else head | {"probabilities": fitted}
