# SPDX-License-Identifier: BSD-3-Clause
"""Two classes: the positive one has labels above 0."""

from __future__ import annotations

from svmcut.measures import Measured, classification_measures
from svmcut.tasks.vectors import Scores, VectorTask


class Classification(VectorTask):
    """Examples of two classes, and their scores."""

    def measured(self, tally: Scores) -> Measured:
        return classification_measures(tally.y, tally.scores)

    def warnings(self, tally: Scores, path: str) -> list[str]:
        n, positives, found = len(tally.y), int((tally.y > 0).sum()), []
        if positives in (0, n):
            sign = "positive" if positives else "negative"
            found.append(f"all {n} examples are {sign}: a label is positive where it is above 0")
        return found + super().warnings(tally, path)
