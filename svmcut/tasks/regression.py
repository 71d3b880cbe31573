# SPDX-License-Identifier: BSD-3-Clause
"""Numbers: the label of an example is what its score is to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svmcut.scoring.measures import Measured, regression_measures
from svmcut.tasks.vectors import Scores, VectorTask

if TYPE_CHECKING:
    from svmcut.data.examples import Examples
    from svmcut.spec.parameters import Settings
    from svmcut.training.driver import Driver


class Regression(VectorTask):
    """Examples with a target each, and their scores."""

    def plan(self, data: Examples, settings: Settings, time_limit: float | None = None) -> Driver:
        driver = super().plan(data, settings, time_limit)
        driver.marks = {"loss": driver.settings.loss}  # which tells that a model is none of classes
        return driver

    def measured(self, tally: Scores) -> Measured:
        return regression_measures(tally.y, tally.scores)
