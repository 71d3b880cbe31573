# SPDX-License-Identifier: BSD-3-Clause
"""Models with one score per row: linear functions of the row, and sums of kernel values over
support vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import sparse
from svmcut.base.records import field, record, replace
from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar, Self
from svmcut.data.examples import Csr
from svmcut.data.labels import SIGNS, Labels, label_texts
from svmcut.models.base import (
    CERTIFICATE,
    COST,
    MULTIPLIERS,
    BaseModel,
    Ends,
    certificate_facts,
    feature_facts,
    kernel_facts,
    renumber,
    support_facts,
)
from svmcut.models.kernels import Kernel
from svmcut.models.linear_sums import linear_scores, linear_weights
from svmcut.scoring.probabilities import LOG_ODDS, Sigmoid, fit_sigmoid, two_class_probabilities
from svmcut.spec import schemas
from svmcut.spec.catalog import LOG_ODDS_OF, MARKED, ONE_CLASS_LOSS

if TYPE_CHECKING:
    from svmcut.scoring.conformal import Coverage
    from svmcut.tables.encoding import Encoding


@record(eq=False, kw_only=True)
class Marks(BaseModel):
    """Fields of models with one score per row other than weights."""

    #: Negative and positive class, as svmcut.data.labels has them.
    labels: Labels | None = None
    #: Loss that a model of classes was trained for; None for the task's first.
    loss: str | None = None
    #: A and B of P(positive) = 1 / (1 + exp(A f + B)).
    sigmoid: Sigmoid | None = None
    #: Encoding of columns or texts, if the rows are made of them.
    table: Encoding | None = None
    #: beta, floor or range of the loss, if it has one.
    parameter: tuple[float, ...] | None = None
    #: Subtracted from scores, but not for probabilities: f is positive above it.
    threshold: float | None = None
    #: Mean size of the Laplace noise around scores that are numbers.
    sigma: float | None = None
    #: Gap of its file, radius of the ball that holds the exact optimum, and constant feature of its
    #: rows.
    certificate: tuple[float, float, float] | None = None
    #: C of an example that weighs 1, for which the certificate holds.
    cost: float | None = None
    #: C, and for the rows with a multiplier other than 0 (k,) keys and (k,) parts of C.
    multipliers: Any = None
    #: Promised coverage, as in BaseModel.
    coverage: Coverage | None = None


class TwoClasses(Marks):
    """A model with one score per row, whose sigmoid and loss give its probability."""

    b: float

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n,) float64 f(x) of every row; the same bytes for any number of threads."""
        raise NotImplementedError

    @property
    def offset(self) -> float:
        """Number subtracted from sums of weights: b and the threshold."""
        return self.b if self.threshold is None else self.b + self.threshold

    def without_threshold(self) -> Self:
        """The same scores and probabilities with the threshold in b, for formats without
        thresholds; a model of classes, whatever its loss was."""
        if self.threshold is None:
            return self
        sigmoid = self.calibration
        if sigmoid is not None:
            sigmoid = (sigmoid[0], sigmoid[1] + sigmoid[0] * self.threshold)
        return replace(self, b=self.offset, threshold=None, loss=None, sigmoid=sigmoid)

    def decisions(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n,) input of `probabilities`: the scores."""
        return self.scores(X, threads)

    def label_scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n,) numbers with the signs of `scores`, which alone make labels."""
        return self.scores(X, threads)

    def predict(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n,) float64 labels, nan for a class of many; for one class 1 inside, else -1; numbers of
        a regression."""
        if self.loss in MARKED and self.loss != ONE_CLASS_LOSS:
            return self.scores(X, threads)
        scores = self.label_scores(X, threads)
        if self.loss == ONE_CLASS_LOSS:
            return np.where(scores >= 0, SIGNS[1], SIGNS[0])
        negative, positive = self.labels or SIGNS
        return np.where(scores > 0, positive, np.nan if negative is None else negative)

    def label_texts(self) -> list[str]:
        return label_texts(self.labels or SIGNS, self.words)

    def form(self) -> dict[str, schemas.Check]:
        return {
            "b": schemas.REAL,
            "labels": schemas.maybe(schemas.row(schemas.maybe(schemas.REAL), schemas.REAL)),
            "loss": schemas.maybe(schemas.text()),
            "sigmoid": schemas.maybe(schemas.row(schemas.REAL, schemas.REAL)),
            "parameter": schemas.maybe(schemas.many(schemas.REAL)),
            "threshold": schemas.maybe(schemas.REAL),
            "sigma": schemas.maybe(schemas.real(0)),
            "certificate": CERTIFICATE,
            "cost": COST,
            "multipliers": MULTIPLIERS,
        }

    def _head(self, kind: str) -> dict[str, Any]:
        head: dict[str, Any] = {"kind": kind, "loss": self.loss}
        if self.parameter is not None:
            head["parameter"] = list(self.parameter)
        head["labels"] = self.label_texts()
        if self.threshold is not None:
            head["chosen_threshold"] = self.threshold
        if self.sigma is not None:
            head["sigma"] = self.sigma
        head |= certificate_facts(self.certificate, self.cost)
        if self.coverage is not None:
            head["promise"] = self.coverage.facts(self.label_texts())
        if self.multipliers is not None:
            head["multipliers"] = len(self.multipliers[1])
        if self.calibration is not None:
            head["probabilities"] = {"sigmoid": list(self.calibration)}
        return head

    def with_probabilities(
        self, scores: NDArray, places: NDArray[np.int64], weights: NDArray | None
    ) -> Self:
        """This model with probabilities fitted to held-out rows, as SeveralClasses; places: 1 for
        the positive class."""
        return replace(self, sigmoid=fit_sigmoid(scores, places == 1, weights))

    @property
    def calibration(self) -> Sigmoid | None:
        """The sigmoid, by default that of the logistic loss; None if scores give no
        probabilities."""
        return LOG_ODDS if self.sigmoid is None and self.loss in LOG_ODDS_OF else self.sigmoid

    @property
    def has_probabilities(self) -> bool:
        return self.calibration is not None

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, 2) probabilities of the negative and of the positive class, if the model has them."""
        assert self.calibration is not None
        return two_class_probabilities(scores + (self.threshold or 0.0), self.calibration)


@record(eq=False)
class LinearModel(TwoClasses):
    """f(x) = w.x - b; the other fields as in svmcut.models.two_classes.Marks."""

    has_ball: ClassVar[bool] = True

    #: (d,) weights; features at or above d, or not in ``columns``, have none.
    w: NDArray[np.float64]
    #: Threshold, subtracted.
    b: float
    #: (d,) increasing columns of the data; None for 0 to d - 1.
    columns: NDArray[np.int32] | None = None
    #: Linear kernel with the parameters in a model file.
    kernel: Kernel = field(default_factory=Kernel)
    #: Highest feature index (1-based) in a model file; None for the largest there is.
    highest_index: int | None = None
    #: Number of training documents in a model file (svm_perf: constraints of the last working set).
    n_documents: int = 0

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n,) float64 w.x - b of every row; products and sums in float64, in the order of the
        features."""
        rows, scores = sparse.Rows(renumber(X, self.columns)), np.empty(X.n_rows)
        sparse.predict(rows, np.asarray(self.w, np.float64), -self.offset, scores, threads)
        return scores

    @property
    def n_features(self) -> int:
        return len(self.w)

    def form(self) -> dict[str, schemas.Check]:
        return {"w": schemas.reals(None), **super().form()}

    def facts(self, ends: Ends) -> dict[str, Any]:
        of = self.label_texts()[1]
        return self._head("linear") | {
            "features": feature_facts(self.columns, self.w != 0),
            "threshold": float(self.b),
            "weights": [{"of": of, **ends.of_features(self.w, self.columns)}],
        }


@record(eq=False)
class KernelModel(TwoClasses):
    """f(x) = sum_k alpha_k K(z_k, x) - b; the other fields as in LinearModel."""

    has_ball: ClassVar[bool] = True

    kernel: Kernel
    #: (m, d) support vectors z, one row each.
    support: Csr
    #: (m,) their weights, labels included.
    alpha: NDArray[np.float64]
    #: Threshold, subtracted.
    b: float
    columns: NDArray[np.int32] | None = None
    highest_index: int | None = None
    n_documents: int = 0

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n,) float64 f(x) of every row; the same bytes for any number of threads. See
        Kernel.expansion; the linear kernel uses its weights."""
        rows = renumber(X, self.columns)
        if self.kernel.is_linear:
            return linear_scores(rows, self.weights(), self.offset, threads)
        return self.kernel.expansion(rows, self.support, self.alpha, self.offset, threads)

    def label_scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n,) numbers with the signs of `scores`: float32 sums where their error cannot matter."""
        if self.kernel.is_linear:
            return self.scores(X, threads)
        from svmcut._native.kernels import machine_scores

        m, b = self.support.n_rows, np.array([self.offset])
        parts = np.array([0, m]), np.arange(m, dtype=np.int32), self.alpha, self.kernel, b
        rows = renumber(X, self.columns)
        return machine_scores(rows, self.support, *parts, threads, labels="signs")[:, 0]

    def weights(self) -> NDArray[np.float64]:
        """(d,) weights of the features, for the linear kernel."""
        return linear_weights(self.support, self.alpha)

    @property
    def n_features(self) -> int:
        return self.support.n_features

    def form(self) -> dict[str, schemas.Check]:
        return {"alpha": schemas.reals(self.support.n_rows), **super().form()}

    def facts(self, ends: Ends) -> dict[str, Any]:
        known = support_facts(self.support, self.alpha, self.columns)
        own = {"kernel": kernel_facts(self.kernel), "threshold": float(self.b)}
        return self._head("kernel") | own | known
