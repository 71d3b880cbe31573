# SPDX-License-Identifier: BSD-3-Clause
"""Numbers: a score predicts the label."""

from __future__ import annotations

from svmcut.scoring.measures import Measures, regression_measures
from svmcut.tasks.row_lines import NumberLines
from svmcut.tasks.vectors import Scores, VectorTask


class Regression(VectorTask):
    """Examples with a target each, and their scores."""

    presentation = NumberLines

    def measure(self, tally: Scores) -> Measures:
        return regression_measures(tally.y, tally.scores)
