# SPDX-License-Identifier: BSD-3-Clause
"""Stochastic subgradients for chains, which end where the error on sequences held out no longer
falls.

    problem      min_w  P(w) = 1/2 |w|^2 + C sum_n v_n H_n(w)
    first        the passes of ssg.py over nine tenths of the sequences, the long ones in pieces;
                 after each the average tags the others
    then         as many passes over all sequences as had the lowest error: 100 - F1 of the chunks
                 where the tags say chunks, else the share of wrong tags
    at the end   the best multiple of the average, where its P is above that of w = 0
    certificate  P at the average; after whole passes w = C sum_n v_n (mean of psi_n over the
                 passes) is a dual point, and so is every smaller multiple of it. No gap ends the
                 run

An error counts as lower if it has fallen by a hundredth at least, so that chance does not prolong
the run. Pieces of a sequence lack the transitions between them, and their cuts are not cuts of the
whole: the bound is then that of one cut at the end.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from svmcut._native import chain, chain_ssg
from svmcut.base.records import record
from svmcut.base.typing import Any, ClassVar
from svmcut.scoring.chunks import ChunkCounts, split_tags
from svmcut.solvers.protocol import Progress, Run, Solver, Start, constant
from svmcut.spec import schemas
from svmcut.spec.schemas import Form, State
from svmcut.structured.chain import ChainSequences, run_argmax
from svmcut.structured.protocol import StructuredProblem

CHUNK = 5000  # visits between two checks of signals
LONGEST = 100  # tokens; a step on a longer sequence would be of one among very many labellings
SHARE = 10  # one sequence in so many is held out
PATIENCE = 5  # passes without a lower error
LOWER = 0.99  # a lower error is at most this part of the lowest so far
#: Multiples that are tried where w is too long for C: quarters down from 1, then bisections of the
#: last in the logarithm.
MAX_QUARTERS, HALVINGS = 20, 6


class QuickRun(Run):
    """A step a pass; P of the average is known after 1, 2, 4, 8 ... passes over the part that is
    trained on, and at the end.

    `seen` (dim,) is the average over that part after the passes of the lowest error; `scale` is the
    factor of the average over all sequences.
    """

    def __init__(self, solver: Quick, problem: StructuredProblem, start: Start | None):
        super().__init__(solver, problem, start)
        self._model, self._C = problem.model, problem.C
        self._pieces = model = problem.model.in_pieces(LONGEST)
        self._rng = np.random.default_rng(solver.seed)
        held = self._rng.permutation(model.n_samples) < max(1, model.n_samples // SHARE)
        self._part, self._all = (
            np.flatnonzero(rows).astype(np.int32) for rows in (~held, held | ~held)
        )
        #: The sequences, or pieces of them, that are held out.
        self.watched = ChainSequences(model.sequences.take(held), model.shape, model.threads)
        names = model.sequences.names
        self._chunks = None if names is None else split_tags(names.tags)
        zero = np.zeros(model.dim)
        self.seen, self.scale = np.zeros(model.dim), 1.0
        model = problem.model
        self._best, self._risk = zero, model.weighted_sum(np.diff(model.parts).astype(np.float64))
        self._at_zero = self._risk
        self._primal, self._dual, self._passes = self._C * self._risk, 0.0, 0
        self._fewest, self._least, self._error = 0, math.inf, math.inf
        self._told = math.inf
        self._refit = False
        self._clear()

    def form(self) -> Form:
        w, beyond = schemas.weights(self._model.dim), schemas.real(infinite=True)
        return {
            "_rng": schemas.generator,
            **dict.fromkeys(("_best", "_z", "_weighted", "seen"), w),
            **dict.fromkeys(("_passes", "_done", "_visits", "_fewest"), schemas.COUNT),
            **dict.fromkeys(("_loss", "_primal", "_dual", "_risk", "scale"), schemas.REAL),
            **dict.fromkeys(("_least", "_error", "_told"), beyond),
            "_refit": schemas.flag,
        }

    def restore(self, state: State) -> None:
        super().restore(state)
        rows = self._all if self._refit else self._part
        fits = self._visits == self._done * len(rows) and self._done <= self._passes
        schemas.require(fits, "the visits of the state", f"{len(rows)} a pass")

    def counts(self) -> dict[str, Any]:
        """Return the values of the part held out, for the report."""
        counts = {
            "held_out": self.watched.n_samples,
            "held_out_error": self._told,
            "passes": self._fewest,
        }
        return counts if self._chunks is None else counts | {"held_out_chunk_f1": 100 - self._least}

    @property
    def is_whole(self) -> bool:
        """True once all passes over all sequences are made."""
        return self._refit and self._done == self._fewest

    def __iter__(self) -> Iterator[Progress]:
        began = time.perf_counter()
        while True:
            if not self._resumed:
                self._pass()
            self._resumed = False
            state = self._passes, float(self._passes), self._primal, self._dual
            extra = {"held_out_error": self._error}
            yield Progress.since(began, *state, constant(self._best), risk=self._risk, extra=extra)
            if self.is_whole:
                return

    def _clear(self) -> None:
        self._z, self._weighted = np.zeros(self._model.dim), np.zeros(self._model.dim)
        self._visits = self._done = 0
        self._loss = 0.0

    def _pass(self) -> None:
        """Make a pass; over all sequences once the error has not fallen for a while."""
        if not self._refit and self._done >= self._fewest + PATIENCE:
            self._refit = True
            self._clear()
        model, rows = self._pieces, self._all if self._refit else self._part
        order, steps = self._rng.permutation(rows), self._C * len(rows) / model.n_samples
        for at in range(0, len(order), CHUNK):
            self._visits, loss, _ = chain_ssg.visit(
                model.chains,
                steps,
                order[at : at + CHUNK],
                self._visits,
                self._z,
                self._weighted,
                weights=model.weights,
            )
            self._loss += loss
        self._done += 1
        self._passes += 1
        k = self._visits
        average = 2 * len(rows) * self._C / (k * (k + 1)) * (k * self._z - self._weighted)
        if not self._refit:
            value, self._error = self._measure(average)
            if value < LOWER * self._least:
                self._least, self._told, self._fewest = value, self._error, self._done
                self.seen = average
        if self._done == self._fewest if self._refit else self._done & (self._done - 1) == 0:
            self._look(average)
        if self.is_whole:
            self._bound(average)
            if self._primal > self._C * self._at_zero:
                self._shorten(average)

    def _measure(self, w) -> tuple[float, float]:
        """Return the criterion of the sequences held out, lower is better, and the percentage of
        their tokens with a wrong tag, by the weights of the sequences."""
        watched = self.watched
        tags = run_argmax(watched.chains, w, chain.DECODE, 0, watched.threads)[0]
        wrong = np.add.reduceat(tags != watched.gold, watched.parts[:-1], dtype=np.float64)
        tokens = watched.weighted_sum(np.diff(watched.parts).astype(np.float64))
        error = 100 * watched.weighted_sum(wrong) / tokens
        if self._chunks is None:
            return error, error
        counts = ChunkCounts(self._chunks)
        counts.add(watched.gold, tags, watched.parts)
        f1 = counts.f1()
        return 100 - f1 if f1 == f1 else 100.0, error

    def _look(self, w) -> None:
        self._best, self._risk = w, self._model.weighted_sum(self._model.separate(w).slacks)
        self._primal = 0.5 * float(w @ w) + self._C * self._risk

    def _shorten(self, w) -> None:
        """Take the multiple t w, 0 <= t < 1, of the least primal; all but t = 0, the last choice,
        tag alike. P(t w) is convex, of slope t |w|^2 + C (R - loss of the worst tags) / t."""
        squared, low, high = float(w @ w), 1.0, 1.0

        def rises(t: float) -> bool:
            separation = self._model.separate(t * w)
            risk = self._model.weighted_sum(separation.slacks)
            primal = 0.5 * t * t * squared + self._C * risk
            if primal < self._primal:
                self._best, self._risk, self._primal, self.scale = t * w, risk, primal, t
            return (
                t * t * squared + self._C * (risk - self._model.weighted_sum(separation.losses)) > 0
            )

        self._best, self.scale = np.zeros(len(w)), 0.0
        self._risk = self._at_zero
        self._primal = self._C * self._at_zero
        for _ in range(MAX_QUARTERS):
            low, high = low / 4, low
            if not rises(low):
                break
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if rises(middle) else (middle, high)

    def _bound(self, w) -> None:
        """Set the dual to that of the best multiple of the mean of all cuts since the passes go
        over all sequences, or of the cut at w where sequences were trained in pieces."""
        model = self._model
        if self._pieces is model:
            squared = (self._C / self._done) ** 2 * float(self._z @ self._z)
            linear = self._C / self._done * self._loss
        else:
            separation = model.separate(w)
            cut = model.joint(separation.labels, model.weights)
            squared = self._C**2 * float(cut @ cut)
            linear = self._C * model.weighted_sum(separation.losses)
        scale = min(1.0, linear / squared) if squared > 0 else 1.0
        self._dual = max(0.0, scale * linear - 0.5 * scale**2 * squared)


@record
class Quick(Solver):
    """Stochastic subgradients that end by themselves."""

    run = QuickRun
    patience: ClassVar[int | None] = None
    #: Seed of the part held out and of the order of the visits.
    seed: int = 0
