# SPDX-License-Identifier: BSD-3-Clause
"""Numbers: the label of an example is what its score is to be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from svmcut.messages import Message
from svmcut.scoring.measures import Measured, regression_measures
from svmcut.tasks.presentation import Presentation
from svmcut.tasks.vectors import Scores, VectorTask

if TYPE_CHECKING:
    pass


class NumberLines(Presentation):
    """Lines of numbers, which have no original."""

    foreign = "a model of numbers; score with svmcut classify"
    no_probability = Message("numbers have none; classify says the noise that learn fitted")
    no_labels = "has no meaning for numbers; what is predicted is no class"

    def objects(self, data: Any, driver: Any) -> str:
        return f"{len(data)} examples, targets from {data.y.min():g} to {data.y.max():g}"

    def losses(self, measured: Measured) -> str:
        return ""

    def noise(self, model: Any) -> str:
        """What is known of the noise."""
        if model.sigma is None:
            return ""
        within = math.log(20) * model.sigma
        return (
            f"Noise              : Laplace, sigma {model.sigma:.6g}; 95 % within {within:.6g} of "
            "the prediction\n"
        )

    def number(self, value: float) -> str:
        return "undefined" if math.isnan(value) else f"{value:.6g}"


class Regression(VectorTask):
    """Examples with a target each, and their scores."""

    presentation = NumberLines

    def measured(self, tally: Scores) -> Measured:
        return regression_measures(tally.y, tally.scores)
