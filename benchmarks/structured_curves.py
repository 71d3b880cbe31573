# SPDX-License-Identifier: BSD-3-Clause
"""Curves of the structured trainers: CPU seconds, objective, bound and test error along a run.

What counts is what the method itself needs. Left out are the looks of its certificate (Viterbi's
recursion or the relaxed argmax over all samples, the repair of factors that disagree) and measuring
the test error. Counted, though only the bound of ssg on chains needs them, are its cuts and their
quadratic programme. Cutting planes need every argmax they call.

The model of a point is the one the trainer would return, its best so far; for the factor-wise
trainers, gdmm and soft-bcfw, it is the better of the two models that one look at the present
iterate gives, whatever came before.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from svmcut.solvers.bcfw import RHO
from svmcut.solvers.gdmm import ChainFactors, LabelFactors
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spec.parameters import Settings
from svmcut.structured.multilabel import LabelSets
from svmcut.structured.protocol import StructuredProblem
from svmcut.training.driver import make_solver

FIELDS = ("trainer", "seconds", "primal", "dual", "error")


class Point(NamedTuple):
    """One row of a curve; nan or empty where something was not measured."""

    trainer: str
    seconds: float
    primal: float
    dual: float
    error: float


@dataclass(frozen=True, slots=True)
class Task:
    """What a figure's column is about.

    Attributes
    ----------
    model : ChainSequences or LabelSets
    C : float
        Per sample.
    error : callable
        Percent of wrong parts of the test set at w.
    task : {"sequence", "multilabel"}
        Whose solvers train.
    exact : Problem or None
        What cutting planes minimise.
    limit, growth : float
        CPU seconds of a trainer; a point is taken when they have grown by this factor, and at the
        end.
    """

    model: Any
    C: float
    error: Callable[[Any], float]
    task: str
    exact: Problem | None
    limit: float
    growth: float


class Clock:
    """CPU seconds of this process, less those of the calls it was told to leave out."""

    def __init__(self):
        self._zero, self._aside = time.process_time(), 0.0

    def seconds(self) -> float:
        return time.process_time() - self._zero - self._aside

    def leave_out(self, work):
        """The function, called without counting."""

        def call(*arguments, **named):
            began = time.process_time()
            try:
                return work(*arguments, **named)
            finally:
                self._aside += time.process_time() - began

        return call


def record(task: Task, trainer: str) -> Iterator[Point]:
    """Points of one trainer up to the time limit or its own end.

    Parameters
    ----------
    trainer : str
        A solver of the task; "gdmm-sublinear" or "gdmm-all-pairs" on chains, which gdmm chooses
        from by the number of tags; or "soft-bcfw:RHO".
    """
    factor_wise = trainer.startswith(("gdmm", "soft-bcfw"))
    yield from (_factor_points if factor_wise else _solver_points)(task, trainer)


class AllPairs(ChainFactors):
    """Reads all pairs of tags."""

    brute_tags = 1 << 30


class InOrder(ChainFactors):
    """Keeps the pairs of tags in order."""

    brute_tags = 0


def _factor_points(task: Task, trainer: str) -> Iterator[Point]:
    name, _, rho = trainer.partition(":")
    weight = float(rho or RHO) / task.C if name == "soft-bcfw" else None
    clock = Clock()
    if isinstance(task.model, LabelSets):
        run = LabelFactors(task.model, task.C, 0, weight, name == "soft-bcfw")
    else:
        kind = {"gdmm-all-pairs": AllPairs, "gdmm-sublinear": InOrder}.get(name, ChainFactors)
        run = kind(task.model, task.C, 0, weight, name == "soft-bcfw")
    due, lower = 0.0, 0.0
    while clock.seconds() < task.limit:
        run.run()
        seconds = clock.seconds()
        if seconds < min(due, task.limit):
            continue
        due = task.growth * seconds
        bound, found = clock.leave_out(run.look)()
        lower = max(lower, bound)
        primal, weights = min(found, key=lambda candidate: candidate[0])
        yield Point(
            trainer, seconds, primal, lower, clock.leave_out(lambda w=weights: task.error(w()))()
        )


def _solver_points(task: Task, trainer: str) -> Iterator[Point]:
    clock, model = Clock(), task.model
    rule = StoppingRule(0.0, 1e-5)
    if trainer == "cutting-plane":
        problem, watched = Problem(task.exact.risk, task.exact.space, task.C, rule), {}
    else:
        # the passes of these trainers are C++ of their own: the model's argmax serves the
        # certificate alone
        problem = StructuredProblem(model, task.C, rule)
        watched = {
            name: clock.leave_out(getattr(model, name))
            for name in ("separate", "joint", "relax")
            if hasattr(model, name)
        }
    solver, due = make_solver(trainer, Settings(task=task.task)), 0.0
    vars(model).update(watched)
    try:
        for progress in solver.start(problem):
            seconds = clock.seconds()
            if progress.iteration > 1 and seconds >= min(due, task.limit):
                due = task.growth * seconds
                error = clock.leave_out(lambda p=progress: task.error(p.solution()))()
                yield Point(trainer, seconds, progress.primal, progress.dual, error)
            if seconds >= task.limit:
                return
    finally:
        for name in watched:
            delattr(model, name)


def write(path: Path, points: Iterator[Point]) -> None:
    """A CSV file, a line as soon as its point is known; a file that is there gets further lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="", encoding="ascii") as stream:
        out = csv.writer(stream, lineterminator="\n")
        if new:
            out.writerow(FIELDS)
        for point in points:
            out.writerow([point.trainer, *(f"{value:.6g}" for value in point[1:])])
            stream.flush()


def read(path: Path) -> list[Point]:
    """The points of a file that `write` wrote."""
    with path.open(newline="", encoding="ascii") as stream:
        return [
            Point(row["trainer"], *(float(row[name]) for name in FIELDS[1:]))
            for row in csv.DictReader(stream)
        ]
