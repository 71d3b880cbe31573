# SPDX-License-Identifier: BSD-3-Clause
"""Probabilities of tags: a temperature of scores, fitted to sequences by chains that did not see
them, for the chain of all sequences."""

from __future__ import annotations

import numpy as np

from svmcut.data.folds import folds, split
from svmcut.models.decoding import Held, Lattice
from svmcut.training.calibration import FOLDS, CalibratedDriver
from svmcut.training.driver import Driver
from svmcut.training.temperature import tempered
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmcut.data.examples import Sequences
    from svmcut.training.outcome import Outcome
    from svmcut.training.stage import Plan


class CalibratedChains(CalibratedDriver):
    """Trains as a Driver does, then a chain on each of five parts, and fits a temperature to the
    sequences that these did not see.

    Sequences with a tag that a part lacks are left out there.

    Parameters
    ----------
    plan : Plan
    data : Sequences
        What the plan was made of.

    Raises
    ------
    UsageError
        For fewer sequences than parts.
    """

    def __init__(self, plan: Plan, data: Sequences):
        Driver.__init__(self, plan)
        self.held_out: Any = None
        self._own, self._sequences = False, data
        self._folds = folds(self.settings.task, data, FOLDS, self.settings.seed)

    def _scores(self, cost: float | None, example_cost: float | None) -> Any:
        """Of every part the lattice of the sequences that its chain did not see; None where the
        time is over before."""
        lattices = []
        for fold in self._folds:
            if self.late():
                return None
            train, rest = split(self._sequences, fold)
            model: Any = self._fitted(train, cost, example_cost).model
            known = np.maximum.reduceat(rest.tags, rest.indptr[:-1]) < model.shape.n_tags
            if not known.any():
                continue
            rest = rest.take(known)
            lattice = Lattice(model, rest.X, rest.indptr, threads=self.settings.threads)
            weights = np.ones(len(rest)) if rest.weights is None else rest.weights
            lattices.append(Held(lattice, rest.tags, weights))
        return None if self.late() else lattices

    def _calibrate(self, outcome: Outcome, scores: Any) -> None:
        """Fits the temperature, and says what the probabilities are worth on the same sequences."""
        tempered(outcome, scores, self.plan.path)
