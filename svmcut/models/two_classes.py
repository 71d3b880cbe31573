# SPDX-License-Identifier: BSD-3-Clause
"""What models of two classes know of probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svmcut.scoring.probabilities import LOG_ODDS, Sigmoid, of_two
from svmcut.spec.catalog import LOG_ODDS_OF

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class TwoClasses:
    """A model with a score a row, whose sigmoid and loss say what probability that is."""

    __slots__ = ()

    sigmoid: Sigmoid | None
    loss: str | None

    @property
    def calibration(self) -> Sigmoid | None:
        """The sigmoid, by itself that of the logistic loss; None where scores are no
        probabilities."""
        return LOG_ODDS if self.sigmoid is None and self.loss in LOG_ODDS_OF else self.sigmoid

    @property
    def has_probabilities(self) -> bool:
        return self.calibration is not None

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, 2) of the negative and of the positive class, of a model that has them."""
        assert self.calibration is not None
        return of_two(scores, self.calibration)
