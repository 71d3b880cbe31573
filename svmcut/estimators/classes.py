# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers: two classes by one machine, more by one a class against the rest or all at once, on
the same rows."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from svmcut.base.errors import DataError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.typing import Any, ClassVar, Self
from svmcut.data.arrays import to_weights
from svmcut.data.examples import Csr, Examples, Source
from svmcut.data.labels import SIGNS
from svmcut.estimators.base import ClassifierMixin, Trained, numeric, threads_of, words_of
from svmcut.models import KernelMulticlassModel, MulticlassModel, ScoringModel
from svmcut.scoring.probabilities import (
    fit_temperature,
    multiclass_probabilities,
    two_class_probabilities,
)
from svmcut.spec.catalog import TASKS
from svmcut.spec.parameters import Settings
from svmcut.tasks.protocol import make_task
from svmcut.tasks.weights import balanced_weights
from svmcut.training.outcome import Outcome


def has_probability(machines: Machines) -> bool:
    """Tells whether there are probabilities; else raises an AttributeError that says how to get
    them."""
    if not getattr(machines, "probability", False):
        raise AttributeError(Message("there are no probabilities; fit with {probability=True}"))
    return True


class Machines(ClassifierMixin, Trained):
    """A classifier of one machine, of one a class, or of all classes at once where the settings'
    task is that.

    Attributes
    ----------
    classes_ : (K,) array
        Of the rows that weigh anything; of all rows where machines against the rest keep classes.
    """

    task = "classification"
    #: Whether a class whose rows weigh nothing has a machine, for which no row is positive.
    keeps_classes: ClassVar[bool] = False
    _calibration: Any
    classes_: NDArray

    def _fit(self, X: Any, y: Any, weights: Any = None, class_weight: Any = None) -> Self:
        """Trains the machines and keeps them."""
        X, y = self._validate(X, y=y)
        check_classification_targets(y)
        if (
            not self.__sklearn_tags__().classifier_tags.multi_class
            and type_of_target(y) == "multiclass"
        ):
            raise DataError(
                "y",
                "Only binary classification is supported. The type of the target is multiclass.",
            )
        rows = self._training_rows(X)
        settings = self._settings(**self._parameters(rows))
        classes, codes = np.unique(y, return_inverse=True)
        weights = self._class_weights(codes, classes, class_weight, weights)
        data = Examples(rows, codes.astype(np.float64), None, None, Source("X")).validate()
        _, data = self._apply_weights(data, settings, weights)
        left, codes = np.unique(data.y, return_inverse=True)
        settings = self._of_several(settings, len(left))
        if self.keeps_classes and settings.task == self.task and len(left) > 1:
            left, codes = np.arange(len(classes)), data.y.astype(np.intp)
        own = make_task(settings.task)
        self.classes_ = classes[left.astype(np.intp)]
        if len(left) == 1:
            what = f"all rows that weigh anything are of one class, {self.classes_.tolist()[0]!r}"
            raise DataError("y", f"{what}; {type(self).__name__} needs two")
        outcomes = []
        held = []
        starts: dict[Any, Any] = self._last(data, codes, settings) if self.warm_start else {}
        machines: Any = (None,)
        if settings.task == self.task:
            machines = range(1, 2) if len(left) == 2 else range(len(left))
        for k, outcome in zip(
            machines, self._at_once(data, codes, machines, settings, starts), strict=False
        ):
            if outcome is not None:
                outcomes.append(outcome)
                continue
            y = codes.astype(np.float64) if k is None else np.where(codes == k, *reversed(SIGNS))
            driver = own.plan(replace(data, y=y), settings)
            driver.warm = starts.get(k)
            if k is not None and not (codes == k).any():  # which class_weight or a fold asked for
                driver.warnings.clear()
            outcomes.append(self._drive(driver, settings))
            starts[k] = driver.warm
            held.append(getattr(driver, "held_out", None))
        self._keep(outcomes, settings)
        self._calibration = (
            calibration(outcomes, held, codes, data.weights) if settings.probability else None
        )
        return self._certify(outcomes)

    def _at_once(
        self, data: Examples, codes: NDArray, machines: Any, settings: Settings, starts: Any
    ) -> Iterable[Outcome | None]:
        """The outcomes of machines that one compiled loop trains; None for those that are left to
        drivers. starts: of `_last`, to be filled."""
        return itertools.repeat(None)

    def _class_weights(self, codes: NDArray, classes: NDArray, class_weight: Any, own: Any) -> Any:
        """Weights of the classes; see `class_weights`."""
        return class_weights(codes, classes, class_weight, own)

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        """Parameters of Settings for these rows."""
        raise NotImplementedError

    def _of_several(self, settings: Settings, n_classes: int) -> Settings:
        """The settings where there are so many classes."""
        return settings

    def _machines(self) -> list[ScoringModel]:
        """One, of the second class, or one a class."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores (n,) of the second class, or (n, K) of every class; above 0 for its side."""
        rows = self._rows(X)
        scores = [machine.scores(rows, threads_of(self.n_jobs)) for machine in self._machines()]
        return scores[0] if len(scores) == 1 else np.column_stack(scores)

    def predict(self, X: Any) -> NDArray:
        """The class (n,) of every row."""
        scores = self.decision_function(X)
        return self.classes_[
            (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        ]

    @available_if(has_probability)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities (n, K) of the classes, in the order of classes_; with probability=True."""
        scores = self.decision_function(X)
        self._check_calibrated()
        return (
            two_class_probabilities(scores, self._calibration)
            if scores.ndim == 1
            else multiclass_probabilities(scores, self._calibration)
        )

    def _check_calibrated(self) -> None:
        if not self._calibrated:
            raise NotFittedError(Message("the last fit was without {probability=True}; fit again"))

    @available_if(has_probability)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of predict_proba."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def save(self, path: str | os.PathLike) -> None:
        """Writes the model file of the command line, whose numbers have eight digits; pickle keeps
        them all.

        It keeps classes that are words and the columns of a DataFrame, as ``svmcut learn`` does.
        Other classes that are no numbers are -1 and 1, and of more than two 1, 2, 3, ...
        """
        self._check_saved()
        numbers, words = numeric(self.classes_), words_of(self.classes_)
        if numbers is None and (words or len(self.classes_) > 2):
            numbers = np.arange(1.0, len(self.classes_) + 1)
        if len(self.classes_) > 2:
            assert numbers is not None
            self._write(path, self._of_classes(numbers), words)
            return
        (machine,) = self._machines()
        labels = (
            None
            if numbers is None or tuple(numbers) == SIGNS
            else (float(numbers[0]), float(numbers[1]))
        )
        sigmoid = self._calibration if self._calibrated else None
        own = {"labels": labels, "loss": self._mark(), "sigmoid": sigmoid}
        self._write(path, replace(machine, **own), words)

    def _of_classes(self, names: NDArray[np.float64]) -> MulticlassModel | KernelMulticlassModel:
        """The model of more than two classes, with names that rise."""
        raise NotImplementedError

    def _mark(self) -> str | None:
        """The loss that a model file names; None for the task's own."""
        return None if self._loss in ("", TASKS[self.task].loss) else self._loss


def calibration(
    outcomes: list[Outcome], held: list[Any], codes: NDArray, weights: NDArray | None
) -> Any:
    """A and B of two classes; of more the temperature of the scores, None where each machine has
    its own probability.

    Parameters
    ----------
    held : list of arrays
        Scores of rows by machines that did not see them, one a machine, or one of all classes.
    """
    model: Any = outcomes[0].model
    if len(outcomes) == 1:
        if hasattr(model, "sigmoid"):
            return model.sigmoid
        return model.temperature if len(model.names) > 2 else (-model.temperature, 0.0)
    if any(scores is None for scores in held):
        return None
    return fit_temperature(np.column_stack(held), codes, weights)


def class_weights(codes: NDArray, classes: NDArray, class_weight: Any, weights: Any) -> Any:
    """Weights of rows by their classes and their own; None where all are 1.

    Parameters
    ----------
    class_weight : "balanced", dict or None
        As svmcut.tasks.weights.class_weights, whose keys are classes of any type here.

    Raises
    ------
    DataError
        For a class no row has, where another has no weight; for what is none of these.
    """
    if class_weight is None:
        return weights
    own = np.ones(len(codes)) if weights is None else to_weights(weights).copy()
    if len(own) != len(codes):
        return own
    rows = own > 0
    if isinstance(class_weight, str) and class_weight == "balanced":
        own[rows] *= balanced_weights(codes[rows], own[rows])
        return own
    if not hasattr(class_weight, "items"):
        raise DataError(
            "class_weight", f"is {class_weight!r}; expected 'balanced', weights by class, or None"
        )
    factors, places = np.ones(len(classes)), {label: k for k, label in enumerate(classes.tolist())}
    for label, weight in class_weight.items():
        if label not in places:
            if places.keys() <= class_weight.keys():
                continue  # a part of the rows may have none of a class
            raise DataError(
                "class_weight",
                f"no row is of class {label!r}; expected {', '.join(map(repr, places))}",
            )
        factors[places[label]] = weight
    return own * to_weights(factors)[codes]
