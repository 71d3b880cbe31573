# SPDX-License-Identifier: BSD-3-Clause
"""One class: rows like those of training score at least 0, whatever their labels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from svmcut.base.messages import Message
from svmcut.base.typing import Any
from svmcut.data.labels import SIGNS
from svmcut.scoring.measures import Measures, one_class_measures
from svmcut.tasks.presentation import Presentation
from svmcut.tasks.vectors import Scores, VectorTask


class OneClassLines(Presentation):
    """Lines of one class, which have no original."""

    foreign = "a model of one class; score with svmcut classify"
    no_probability = Message("one class has none; leave out {probability}")

    def losses(self, measured: Measures) -> str:
        return ""

    def number(self, value: float) -> str:
        return "undefined" if math.isnan(value) else f"{value:6.2f} %"


class OneClass(VectorTask):
    """Rows of one class, and their scores."""

    presentation = OneClassLines

    def class_signs(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) 1 for a score of at least 0, else -1."""
        return np.where(predicted >= 0, SIGNS[1], SIGNS[0])

    def measure(self, tally: Scores) -> Measures:
        return one_class_measures(tally.y, tally.scores)

    def counts_of(self, tally: Scores) -> dict[str, Any]:
        return tally.counts() | {"inside": int((tally.scores >= 0).sum())}
