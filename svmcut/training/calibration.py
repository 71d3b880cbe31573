# SPDX-License-Identifier: BSD-3-Clause
"""Probabilities of a model: fitted to the scores of rows by machines that did not see them, for
that of all rows.

The temperature of a chain of tags, fitted to sequences that were held out.

Probabilities of tags: a temperature of scores, fitted to sequences by chains that did not see
them, for the chain of all sequences.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import TrainingError
from svmcut.base.records import replace
from svmcut.base.typing import Any
from svmcut.data.examples import Examples, Sequences
from svmcut.data.folds import make_folds, split
from svmcut.models import ChainModel
from svmcut.models.decoding import HeldSequences, Lattice, fit_temperature
from svmcut.scoring.probabilities import LOG_ODDS, ProbabilityLosses, fit_laplace
from svmcut.solvers.protocol import State
from svmcut.solvers.quick import QuickRun
from svmcut.spec.catalog import LOG_ODDS_OF, load, plan_of
from svmcut.spec.entries import NUMBERS, TWO_CLASSES
from svmcut.training.driver import Cost, Driver, Observe, Plan
from svmcut.training.outcome import Outcome

FOLDS = 5


class CalibratedDriver(Driver):
    """Trains as a Driver does, then a machine on each of five parts, and fits probabilities to
    their scores.

    The settings are the same in the parts, which have the choices that were made for all rows; C
    keeps its weight of an example. Machines of the logistic loss on two classes have their own
    probabilities. For numbers the size of the noise is fitted. `data` is what the plan was made of;
    labels above 0 are of the positive class, where the task is of two. A checkpoint keeps no
    machine of a part: a run that goes on trains them again.

    Raises TrainingError for a class of which a part may have no row to train on.
    """

    def __init__(self, plan: Plan, data: Examples):
        super().__init__(plan)
        self.held_out: NDArray[np.float64] | None = None
        self._pair = self.settings.labels == TWO_CLASSES
        y = np.where(data.y > 0, 1.0, -1.0) if self._pair else data.y
        self._data = replace(data, y=y)
        names, self._places, counts = np.unique(y, return_inverse=True, return_counts=True)
        self._numbers = self.settings.labels == NUMBERS
        self._own = self._pair and self.settings.loss in LOG_ODDS_OF
        if not (self._own or self._numbers) and (len(names) < 2 or counts.min() < 2):
            few = "all rows are of one class" if len(names) < 2 else "there is one row of a class"
            raise TrainingError(
                "{}: {}; probabilities need two rows of every class, so leave out {probability} "
                "or add rows",
                data.source.path,
                few,
            )
        self._folds = (
            []
            if self._own
            else make_folds(self.settings.task, self._data, min(FOLDS, len(y)), self.settings.seed)
        )

    def fit(
        self, cost: Cost, example_cost: Cost, observe: Observe = None, state: State | None = None
    ) -> Outcome:
        """See Driver.fit. A run that ends before its aim leaves the model without probabilities,
        unless the number of iterations ended it, as that limit holds for each machine."""
        outcome, began = super().fit(cost, example_cost, observe, state), time.perf_counter()
        model: Any = outcome.model
        if self._own:
            outcome.model = replace(model, sigmoid=LOG_ODDS)
            return outcome
        ended = outcome.stopped_by if outcome.stopped_by == "interrupt" else None
        self.held_out = None
        try:
            if ended is None:
                ended, self.held_out = "limit", self._scores(cost, example_cost)
        except KeyboardInterrupt:
            ended = "interrupt"
        if self.held_out is None:
            outcome.converged, outcome.stopped_by = False, ended
            outcome.warnings.append(
                "training ended before the probabilities were fitted; the model has none"
            )
        else:
            self._calibrate(outcome, self.held_out)
        outcome.seconds += time.perf_counter() - began
        return outcome

    def _scores(self, cost: float | None, example_cost: float | None) -> NDArray[np.float64] | None:
        """Scores of every row by the machine that did not see it; None if the time is over before.

        Raises KeyboardInterrupt, also where a machine was trained.
        """
        scores: Any = None
        for fold in self._folds:
            if self.is_late():
                return None
            train, rest = split(self._data, fold)
            model: Any = self._fit_part(train, cost, example_cost).model
            held = model.decisions(rest.X, self.settings.threads)
            if scores is None:
                scores = np.empty((len(self._data), *held.shape[1:]))
            scores[fold.held] = held
        if not np.isfinite(scores).all():
            what = "scores of rows that were held out are not finite"
            raise TrainingError("{}: {}; scale the features", self.plan.path, what)
        return None if self.is_late() else scores

    def _fit_part(self, data: Any, cost: float | None, example_cost: float | None) -> Outcome:
        """The outcome of a part, in which C keeps its weight of an example; a KeyboardInterrupt
        where it was ended by one."""
        driver = self._part(data)
        all_rows, rows = self.plan.units.samples, driver.plan.units.samples
        part_cost = cost if cost is None or not all_rows else cost * rows / all_rows
        outcome = driver.fit(part_cost, example_cost)
        if driver.interrupted or outcome.stopped_by == "interrupt":
            raise KeyboardInterrupt
        return outcome

    def _part(self, data: Any) -> Driver:
        """A driver of the same settings on a part of the rows, with the time that is left."""
        s = replace(self.settings, initial=None)  # which may have seen the rows that are held out
        if s.time_limit is not None:
            s = replace(s, time_limit=max(0.0, s.time_limit - (time.perf_counter() - self._began)))
        return Driver(load(plan_of(s.task, s.has_kernel, s.solver, s.multiclass))(data, s))

    def _calibrate(self, outcome: Outcome, scores: NDArray[np.float64]) -> None:
        """Fits the probabilities, and says what they are worth on the same scores."""
        weights, places = self._data.weights, self._places
        model: Any = outcome.model
        if self._numbers:
            sigma = fit_laplace(self._data.y - scores, weights)
            outcome.model, outcome.details["sigma"] = replace(model, sigma=sigma), sigma
            return
        model = model.with_probabilities(scores, places, weights)
        outcome.model = model
        outcome.details |= (
            ProbabilityLosses().add(model.probabilities(scores), places, weights).values()
        )


#: Held out, which are enough for one number, and how closely it is fitted to them.
MAX_HELD_TOKENS, TEMPERATURE_TOLERANCE = 3000, 1e-3


def calibrate_quick(outcome: Outcome, run: QuickRun, path: str, threads: int) -> None:
    """Gives the model of a run of `quick` a temperature: that of the average of the part, fitted to
    sequences held out, of `TOKENS` tokens at most, over what the last average was multiplied by."""
    watched = run.watched
    sequences = watched.sequences
    enough = max(1, int(np.searchsorted(sequences.indptr, MAX_HELD_TOKENS, "right")) - 1)
    if enough < len(sequences):
        sequences = sequences.take(np.arange(len(sequences)) < enough)
    weights = np.ones(len(sequences)) if sequences.weights is None else sequences.weights
    model = ChainModel(run.scale * run.seen, watched.shape)
    lattice = Lattice(model, sequences.X, sequences.indptr, threads=threads)
    calibrate_temperature(
        outcome,
        [HeldSequences(lattice, sequences.tags, weights)],
        path,
        TEMPERATURE_TOLERANCE,
        smooth=True,
    )


def calibrate_temperature(
    outcome: Outcome,
    held: list[HeldSequences],
    path: str,
    tolerance: float = 1e-6,
    smooth: bool = False,
) -> None:
    """Fits the temperature of the model as `fit_temperature` does, and says what its probabilities
    are worth on the same sequences. Raises TrainingError for scores that are not finite."""
    try:
        temperature = fit_temperature(held, tolerance, smooth)
    except ValueError as error:
        raise TrainingError("{}: {}; scale the features", path, error) from None
    model: Any = outcome.model
    outcome.model, skill = replace(model, temperature=temperature), ProbabilityLosses()
    for one in held:
        marginals = one.lattice.sums(temperature, marginals=True)[2]
        assert marginals is not None
        lengths = np.diff(one.lattice.sequences)
        skill.add(marginals, one.tags, np.repeat(one.weights, lengths))
    outcome.details |= skill.values()


class CalibratedChains(CalibratedDriver):
    """Trains as a Driver does, then a chain on each of five parts, and fits a temperature to the
    sequences that these did not see; sequences with a tag that a part lacks are left out there.
    Raises UsageError for fewer sequences than parts."""

    def __init__(self, plan: Plan, data: Sequences):
        Driver.__init__(self, plan)
        self.held_out: Any = None
        self._own, self._sequences = False, data
        self._folds = make_folds(self.settings.task, data, FOLDS, self.settings.seed)

    def _scores(self, cost: float | None, example_cost: float | None) -> Any:
        """Lattices of the sequences of every part by the chain that did not see them; None if the
        time is over before."""
        lattices = []
        for fold in self._folds:
            if self.is_late():
                return None
            train, rest = split(self._sequences, fold)
            model: Any = self._fit_part(train, cost, example_cost).model
            known = np.maximum.reduceat(rest.tags, rest.indptr[:-1]) < model.shape.n_tags
            if not known.any():
                continue
            rest = rest.take(known)
            lattice = Lattice(model, rest.X, rest.indptr, threads=self.settings.threads)
            weights = np.ones(len(rest)) if rest.weights is None else rest.weights
            lattices.append(HeldSequences(lattice, rest.tags, weights))
        return None if self.is_late() else lattices

    def _calibrate(self, outcome: Outcome, scores: Any) -> None:
        """Fits the temperature, and says what the probabilities are worth on the same sequences."""
        calibrate_temperature(outcome, scores, self.plan.path)
