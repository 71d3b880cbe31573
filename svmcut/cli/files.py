# SPDX-License-Identifier: BSD-3-Clause
"""The files of a training run by the options that name them, and where its log goes.

A path of C over threads: cut into chains that do not hang on them, of which all but the first
are trained ahead.

A chain is values of C in the order given, each of which starts from the solution before; the first
of a chain starts from nothing, with one thread too. So the threads change no model. There are as
many chains as of `svmcut.selection.grid.CHAIN` values each, but the largest C takes most of the
work: chains are of about equal sums of sqrt(C), and the longest are trained first. The largest C
alone is often one of them, and loses little: of 100,000 rows like RCV1's it takes 152 passes from
nothing and 133 from a third of it, half of a path of eight either way. With a kernel all are one
chain: what is known of the kernel serves every C, and the threads go to its values.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Sequence

import numpy as np

from svmcut._native.interrupt import Cancelled
from svmcut.base.errors import UsageError
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple
from svmcut.files.roles import File, check_roles
from svmcut.selection.grid import CHAIN, Crew
from svmcut.spec.catalog import COLUMNS, INPUTS
from svmcut.tasks.protocol import OF_CLASSES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svmcut.cli.options import LearnOptions


def model_files(options: LearnOptions) -> list[str]:
    """Where each model goes: MODEL_FILE for one, MODEL_FILE.C for those of a path of several values
    of C."""
    if len(options.path) == 1 or options.searches:
        return [options.model_file]
    return [f"{options.model_file}.{cost.text}" for cost in options.path]


def check_training_files(options: LearnOptions, original: bool) -> list[File]:
    """All that a run may write, in the words of its command or of the executable.

    Raises
    ------
    UsageError, OutputError
        For what is an input or another output too, or cannot be written.
    """
    models = model_files(options)
    if options.model_file == "-" and len(models) > 1:
        raise UsageError(
            "several values of C train several models, for which standard output is no place; "
            "name a file"
        )
    if options.select and len(models) > 1:
        models.append(options.model_file)
    read = (
        ("EXAMPLE_FILE", options.example_file),
        ("--validate", options.validate),
        ("--until-decided", options.until_decided),
        ("--added", options.added),
        ("--removed", options.removed),
        ("--f", options.basis_file),
        ("--initial", options.initial),
        ("--weights", options.weights),
    )
    written: list[tuple[str, str | None]] = [
        *(("MODEL_FILE", path) for path in models),
        ("--report", options.report),
        ("--trace", options.trace),
        ("-a", options.alphas),
    ]
    if options.checkpoint is not None:
        from svmcut.files.checkpoints import lock_of, newest, previous

        written += [
            ("--checkpoint", name(options.checkpoint)) for name in (newest, previous, lock_of)
        ]
    inputs, outputs = (
        [File(name.lower() if original else name, path) for name, path in named if path is not None]
        for named in (read, written)
    )
    check_roles(inputs, outputs)
    return outputs


def log_beside(outputs: Iterable[File]) -> contextlib.AbstractContextManager:
    """What the run prints goes to standard error where one of its outputs is ``-``, standard
    output."""
    if any(file.path == "-" for file in outputs):
        return contextlib.redirect_stdout(sys.stderr)
    return contextlib.nullcontext()


def reading_of(options: LearnOptions, original: bool) -> dict[str, Any]:
    """What reading the examples takes of the options: of threads, of tables, and of labels that may
    be words."""
    given: dict[str, Any] = {
        "threads": options.threads,
        "max_memory": options.max_memory,
        "zero_based": options.zero_based,
    }
    if options.cache is not None:
        given["cache"] = options.cache
    if options.reads_table:
        from svmcut.tables.encoded import TrainingTable

        return given | {"table": TrainingTable(options.table, options.input)}
    if options.input == COLUMNS:
        return given | {"table": options.table}
    if options.is_given:
        given["given"] = 0
    words = not original and options.task in OF_CLASSES and options.input == INPUTS[0]
    return given | ({"words": ()} if words else {})


if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from svmcut.spec.parameters import Settings
    from svmcut.training.driver import Driver
    from svmcut.training.outcome import Outcome

    Costs = tuple[float | None, float | None]


class Fitted(NamedTuple):
    """One model, what was told of its training, and its measures."""

    outcome: Outcome
    told: list[Any]
    measured: dict[str, Any]


def chains_of(work: NDArray[np.float64]) -> list[list[int]]:
    """Places of a path, chain by chain, by the work of each place."""
    count = math.ceil(len(work) / CHAIN)
    parts = (count * (np.cumsum(work) - work / 2) / np.sum(work)).astype(int)
    return [np.flatnonzero(parts == part).tolist() for part in np.flatnonzero(np.bincount(parts))]


class Ahead(Crew):
    """The chains behind the first one, trained by threads of their own; as a context it ends with
    them.

    Parameters
    ----------
    path : list of (cost, example_cost)
    threads : int
        Of the run; with 1 nothing is trained ahead.
    settings : Settings
    plan : callable
        Gives a driver of settings.
    tell : callable
        What is to be kept of a Progress and its objective.
    measure : callable
        Measures of a model.

    Attributes
    ----------
    starts : set of int
        Places where chains begin.
    """

    def __init__(
        self,
        path: Sequence[Costs],
        threads: int,
        settings: Settings,
        plan: Callable[..., Driver],
        tell: Callable[..., Any],
        measure: Callable[[Any], dict[str, Any]],
    ):
        work = np.sqrt([cost or example_cost or 0.0 for cost, example_cost in path])
        cut = [list(range(len(path)))] if settings.has_kernel else chains_of(work)
        self.starts = {chain[0] for chain in cut}
        chains = sorted(cut[1:], key=lambda chain: -work[chain].sum())
        self._ahead = {place for chain in chains for place in chain} if threads > 1 else set()
        super().__init__(chains, self._train, threads)
        self._settings = replace(settings, threads=max(1, threads // len(cut)))
        self._path, self._plan, self._tell, self._measure = path, plan, tell, measure
        self._fitted: dict[int, Fitted | BaseException] = {}

    def __enter__(self) -> Self:
        self.add(self._most - 1)
        return self

    def take(self, place: int, look: Callable[[], None]) -> Fitted | None:
        """The model of a place, once it is there; None where it is not trained ahead.

        Raises
        ------
        Exception
            Of its training.
        """
        if place not in self._ahead:
            return None
        self.add(1)  # this thread has nothing to train any more
        self.wait(lambda: place in self._fitted, look)
        fitted = self._fitted.pop(place)
        if isinstance(fitted, BaseException):
            raise fitted
        return fitted

    def _train(self, chain: list[int]) -> None:
        place = chain[0]
        try:
            driver = self._plan(self._settings)
            for place in chain:
                self._put(place, self._fit(driver, place))
        except Cancelled:
            raise
        except BaseException as failure:
            self._put(place, failure)

    def _fit(self, driver: Driver, place: int) -> Fitted:
        told: list[Any] = []

        def observe(progress, objective) -> None:
            self.check()
            if progress.report:
                told.append(self._tell(progress, objective))

        outcome = driver.fit(*self._path[place], observe)
        return Fitted(outcome, told, self._measure(outcome.model))

    def _put(self, place: int, fitted: Fitted | BaseException) -> None:
        with self.change:
            self._fitted[place] = fitted
            self.change.notify_all()
