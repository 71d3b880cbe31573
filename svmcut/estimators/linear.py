# SPDX-License-Identifier: BSD-3-Clause
"""Linear machines of classes: a sum of losses, and the measures that are none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from svmcut.base.errors import UsageError
from svmcut.base.typing import Any, Self
from svmcut.data.examples import Csr, Examples
from svmcut.estimators.base import (
    MULTI_CLASS,
    Intercept,
    Penalised,
    check_features_solver,
    columns_of,
    intercept,
    penalties,
    whole,
)
from svmcut.estimators.classes import Machines
from svmcut.models import LinearModel, MulticlassModel, ScoringModel
from svmcut.risks.contingency import ContingencyRisk
from svmcut.scoring.measures import classification_measures
from svmcut.spec.catalog import MULTICLASS, TASKS, losses
from svmcut.spec.parameters import Settings
from svmcut.spec.spellings import respelt
from svmcut.tasks.presentation import aims_of, measure_of
from svmcut.training.outcome import PERCENT, Outcome
from svmcut.training.small_machines import is_small, train_small

HINGE = "hinge"
#: Under this name the starts of a next fit have the weights of machines that were trained at once.
AT_ONCE = "at once"
#: Losses of LinearSVM, sums over examples, and their names on the command line.
SUMS = {
    HINGE if name == TASKS["classification"].loss else name: name
    for name, row in losses("classification").items()
    if row.is_sum
}


class LinearMachines(Intercept, Machines):
    """A classifier of weights.

    Attributes
    ----------
    coef_ : (1, d) or (K, d) float64
    intercept_ : (1,) or (K,) float64
    """

    def _at_once(
        self, data: Examples, codes: NDArray, machines: Any, settings: Settings, starts: Any
    ) -> Iterable[Outcome | None]:
        if self.verbose > 0 or not is_small(data.X, settings):
            return super()._at_once(data, codes, machines, settings, starts)
        known = starts.get(AT_ONCE)
        outcomes, W = train_small(data.X, codes, machines, data.weights, settings, known)
        starts[AT_ONCE] = W
        return outcomes

    def _keep(self, outcomes: list[Outcome], settings: Settings) -> None:
        super()._keep(outcomes, settings)
        models: list[Any] = [outcome.model for outcome in outcomes]
        if isinstance(models[0], MulticlassModel):
            self._keep_all(models[0])
            return
        self.coef_ = np.zeros((len(models), self.n_features_in_))
        self.intercept_ = np.array([0.0 - model.b for model in models])
        for row, model in zip(self.coef_, models, strict=True):
            row[columns_of(model, len(model.w))] = model.w

    def _keep_all(self, model: MulticlassModel) -> None:
        """Weights trained together; of two classes their difference is what decides."""
        W, b = np.zeros((len(self.classes_), self.n_features_in_)), model.bias * model.constant
        W[:, columns_of(model, len(model.W))] = model.W.T
        self.coef_, self.intercept_ = (W, b) if len(W) > 2 else (W[1:] - W[:1], b[1:] - b[:1])

    def _of_classes(self, names: NDArray[np.float64]) -> MulticlassModel:
        bias = float(self.intercept_.any())
        known: dict[str, Any] = {"temperature": self._calibration} if self._calibrated else {}
        known["loss"] = self._mark()
        return MulticlassModel(
            self.coef_.T, self.intercept_, bias, names, None, self.n_features_in_, **known
        )

    def _machines(self) -> list[ScoringModel]:
        return [
            LinearModel(w, -b)
            for w, b in zip(self._rows_of(), self.intercept_.tolist(), strict=True)
        ]

    def _rows_of(self) -> NDArray[np.float64]:
        coef: Any = self.coef_
        return coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef, np.float64)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of the rows; see Machines.decision_function."""
        check_is_fitted(self)
        scores = self._score_rows(X, self._rows_of(), np.asarray(self.intercept_, np.float64))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _bias(self) -> float:
        check_features_solver(self)
        return super()._bias()


@dataclass(kw_only=True, repr=False, eq=False)
class LinearSVM(Penalised, LinearMachines):
    """Linear support vector machines with a certificate: 1/2 w'w + C sum_i v_i loss(y_i f(x_i)).

    Parameters
    ----------
    C : float
        Weighs the loss of one example, as in LinearSVC and SVC.
    tol : float
        Training ends where the gap is at most this part of the primal value.
    fit_intercept : bool
    intercept_scaling : float
        The bias is the weight of a constant feature of this value, and regularised, as in
        LinearSVC.
    free_intercept : bool
        Whether it is not regularised, as in SVC and LogisticRegression; intercept_scaling has no
        part in it then.
    class_weight : dict, "balanced" or None
        Weights by class; those of sample_weight count too.
    probability : bool
        Whether there are predict_proba and predict_log_proba: a sigmoid of the score of two
        classes, a temperature of those of more, fitted to scores of five folds that are trained
        beside; of the logistic loss its own.
    loss : {"hinge", "squared-hinge", "logistic"}
    penalty : {"l2", "l1", "elastic-net"}
        In place of 1/2 w'w |w|_1, which leaves features without weight, or l1_ratio |w|_1 + (1 -
        l1_ratio)/2 w'w, which the hinge is to have a part of.
    l1_ratio : float
        Of the elastic net, from 0 to 1.
    multi_class : {"ovr", "crammer_singer"}
        Of more than two classes one machine each, against the rest; or all at once after Crammer
        and Singer, with one certificate, for the hinge: sum_k |w_k|^2 / 2 + C sum_i v_i max_k(1
        where k is wrong + f_k(x_i)) - f_right(x_i). Two classes are then half the problem at twice
        this C.
    solver : str
        One of ``svmcut learn --solver`` for features; "auto" for the fastest.
    max_iter : int or None
        None for no limit.
    warm_start : bool
        Whether a fit starts from what the last one left, where it differs from that in C alone.
    n_jobs : int or None
        Threads; None is 1, -1 all CPUs. The result has the same bytes for any number.
    random_state : int, RandomState or None
    verbose : int
        Above 0 for a bar.

    Attributes
    ----------
    coef_, intercept_, classes_
    primal_, dual_, gap_, converged_, solver_, n_iter_
        The certificate: no machine has a primal value below dual_.

    Examples
    --------
    >>> from svmcut import LinearSVM
    >>> machine = LinearSVM(C=1.0, random_state=0)
    >>> _ = machine.fit([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]], ["no", "yes", "yes"])
    >>> machine.predict([[3.0, 0.0]]).tolist(), machine.converged_
    (['yes'], True)
    """

    C: float = field(default=1.0, kw_only=False)
    class_weight: Any = None
    loss: str = HINGE
    multi_class: str = "ovr"
    warm_start: bool = False
    probability: bool = False

    @whole
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Trains on rows X (n, d), their classes y (n,), and what they weigh.

        Raises
        ------
        ValueError, MemoryError
            That say what to do.
        """
        return self._fit(X, y, sample_weight, self.class_weight)

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        loss = respelt(self.loss, SUMS)
        if loss not in SUMS:
            raise UsageError("loss {!r} is unknown; expected one of {}", self.loss, ", ".join(SUMS))
        if self.multi_class not in (known := list(MULTI_CLASS)[:2]):
            raise UsageError(
                "multi_class {!r} is unknown; expected one of {}",
                self.multi_class,
                ", ".join(known),
            )
        given: dict[str, Any] = {
            "example_cost": self.C,
            "loss": SUMS[loss],
            **intercept(self, self._bias()),
            **penalties(self),
        }
        given |= {"probability": True} if self.probability else {}
        kind = MULTI_CLASS[self.multi_class]
        return given | ({"task": "multiclass", "multiclass": kind} if kind == MULTICLASS[0] else {})


@dataclass(kw_only=True, repr=False, eq=False)
class PerfClassifier(LinearMachines):
    """Two classes, trained for a measure of all of them: F1, ROC area, precision among the first k,
    ...

    Parameters
    ----------
    loss : str
        One of ``svmcut learn --loss`` that is no sum over examples.
    C : float
        Weighs the loss in percent, as svm_perf's -c. The loss is none of single examples, so they
        have no weights.
    k : float or None
        Of the losses at k, as a fraction of the positives; None for the loss's own.
    at : float, (float, float) or None
        The floor of recall-at-precision and precision-at-recall, 0.9 by default, or the range of
        false-positive rates of partial-auc, (0, 0.1) by default.
    beta : float or None
        Of fbeta, q, qacc, qf1 and qgm; None for 1.
    rescaling : {"margin", "slack"}
    tol, fit_intercept, intercept_scaling, solver, max_iter
        As of LinearSVM.
    warm_start, n_jobs, random_state, verbose
        As of LinearSVM.

    Attributes
    ----------
    coef_, intercept_, classes_, primal_, dual_, gap_, converged_, solver_, n_iter_
        As of LinearSVM. The second class is the positive one.

    Examples
    --------
    >>> from svmcut import PerfClassifier
    >>> machine = PerfClassifier("f1", C=1.0).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]], [0, 1, 1])
    >>> machine.score([[0.0, 1.0], [3.0, 0.0]], [0, 1])
    1.0
    """

    loss: str = field(default="f1", kw_only=False)
    C: float = field(default=1.0, kw_only=False)
    k: float | None = None
    at: Any = None
    beta: float | None = None
    rescaling: str = "margin"
    warm_start: bool = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @whole
    def fit(self, X: Any, y: Any) -> Self:
        """Trains on rows X (n, d) of two classes y (n,).

        Raises
        ------
        ValueError, MemoryError
            That say what to do.
        """
        return self._fit(X, y)

    def score(self, X: Any, y: Any, sample_weight: None = None) -> float:
        """1 - the loss that was trained for, of rows X and their classes y; ties count as errors.

        Of kld, which has no upper end, it is -kld; of recall-at-precision and precision-at-recall
        the best over all thresholds.

        Raises
        ------
        ValueError
            For sample_weight: the measure is none of single examples.
        """
        if sample_weight is not None:
            raise UsageError(
                "sample_weight weighs examples, but {} is no measure of single examples", self.loss
            )
        scores, positive = self.decision_function(X), np.asarray(y) == self.classes_[1]
        if (row := losses(self.task)[self._loss]).at is None:
            return self._worth(positive, scores)
        k = (
            ContingencyRisk(self._loss, self._k, one_class=True)
            .bind(np.where(positive, 1.0, -1.0))
            .k
        )
        hits = int(positive[np.lexsort((positive, -scores))][:k].sum())
        return hits / (
            k if row.at[1] <= 1 else max(1, int(positive.sum()))
        )  # of the first k, or of the positives

    def _worth(self, positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
        """1 - the loss."""
        aims = aims_of(self._loss, self._parameter)
        measured, row = (
            classification_measures(positive, scores, None, aims),
            measure_of(self._loss),
        )
        if row is None:
            return float(measured.correct)
        value = measured.values[row.name]
        return -value if row.digits > 2 else (value if row.rises else PERCENT - value) / PERCENT

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        known = [name for name, row in losses(self.task).items() if not row.is_sum]
        if self.loss not in known:
            raise UsageError(
                "loss {!r} is no measure of this class; expected one of {}",
                self.loss,
                ", ".join(known),
            )
        return {
            "cost": self.C,
            "bias": self._bias(),
            "loss": self.loss,
            "p": self.k or 0.0,
            "rescaling": self.rescaling,
            **self._of_loss(),
        }

    def _of_loss(self) -> dict[str, Any]:
        """at and beta, where they were given."""
        given = {"at": self.at, "beta": self.beta}
        return {name: value for name, value in given.items() if value is not None}
