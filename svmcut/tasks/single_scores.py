# SPDX-License-Identifier: BSD-3-Clause
"""Tasks of one score a row that are no classification: numbers, one class and survival times."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from svmcut.base.messages import Message
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.data.examples import Examples
from svmcut.data.labels import SIGNS
from svmcut.scoring.measures import Measures, one_class_measures, regression_measures
from svmcut.scoring.survival import check_times, survival_measures
from svmcut.spec.parameters import Settings
from svmcut.tasks.presentation import NumberLines, Presentation
from svmcut.tasks.vectors import Scores, VectorTask

if TYPE_CHECKING:
    from svmcut.training.driver import Driver


class Regression(VectorTask):
    """Numbers: a score predicts the label."""

    presentation = NumberLines

    def measure(self, tally: Scores) -> Measures:
        return regression_measures(tally.y, tally.scores)


class OneClassLines(Presentation):
    """Lines of one class, which have no original."""

    foreign = "a model of one class; score with svmcut classify"
    no_probability = Message("one class has none; leave out {probability}")

    def losses(self, measured: Measures) -> str:
        return ""

    def number(self, value: float) -> str:
        return "undefined" if math.isnan(value) else f"{value:6.2f} %"


class OneClass(VectorTask):
    """One class: rows like those of training score at least 0, whatever their labels."""

    presentation = OneClassLines

    def class_signs(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) 1 for a score of at least 0, else -1."""
        return np.where(predicted >= 0, SIGNS[1], SIGNS[0])

    def measure(self, tally: Scores) -> Measures:
        return one_class_measures(tally.y, tally.scores)

    def counts_of(self, tally: Scores) -> dict[str, Any]:
        return tally.counts() | {"inside": int((tally.scores >= 0).sum())}


class SurvivalLines(Presentation):
    """Lines of times, which have no original."""

    foreign = "a model of survival times; score with svmcut classify"
    no_labels = "has no meaning for survival times; what is predicted is no class"

    def size_summary(self, data: Any, driver: Any) -> str:
        events = int((data.y > 0).sum())
        return f"{len(data)} examples ({events} events / {len(data) - events} censored)"

    def losses(self, measured: Measures) -> str:
        return ""

    def number(self, value: float) -> str:
        return "undefined" if math.isnan(value) else f"{value:.4f}"


class Survival(VectorTask):
    """Times until an event, negative if observation ended before it: a higher score is a higher
    risk.
    """

    presentation = SurvivalLines

    def plan(self, data: Examples, settings: Settings, time_limit: float | None = None) -> Driver:
        """Plans as Task.plan; raises DataError for a time of 0, and if no two times can be
        compared."""
        check_times(data.validate().y, data.source.path)
        driver = super().plan(data, settings, time_limit)
        events = int((data.y > 0).sum())
        driver.counts = {"events": events, "censored": len(data) - events}
        return driver

    def measure(self, tally: Scores) -> Measures:
        return survival_measures(tally.y, tally.scores)

    def counts_of(self, tally: Scores) -> dict[str, Any]:
        """Counts and numbers of events."""
        events = int((tally.y > 0).sum())
        return tally.counts() | {"events": events, "censored": len(tally.y) - events}
