# SPDX-License-Identifier: BSD-3-Clause
"""The files of a training run by the options that name them, where its log goes, its report, and a
path of C trained by several threads.

A path of C is cut into chains that do not depend on each other, of which all but the first are
trained ahead. A chain is values of C in the order given, each starting from the solution before;
the first of a chain starts from zero, with one thread too, so threads change no model. There are as
many chains as of `svmcut.selection.grid.CHAIN` values each, but the largest C takes most of the
work: chains have about equal sums of sqrt(C), and the longest are trained first. The largest C
alone is often a chain, and loses little: on 100,000 rows like RCV1's it takes 152 passes from zero
and 133 from a third of it. With a kernel all are one chain: kernel values serve every C, and the
threads compute them.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut._native.interrupt import Cancelled
from svmcut.base.errors import UsageError
from svmcut.base.messages import hide_secrets
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple, Self
from svmcut.cli.options import LearnOptions
from svmcut.files.output import File, check_roles, write_atomically
from svmcut.selection.grid import CHAIN, Crew
from svmcut.spec.catalog import COLUMNS, INPUTS
from svmcut.spec.parameters import Settings
from svmcut.tasks.protocol import OF_CLASSES

if TYPE_CHECKING:
    from svmcut.training.driver import Driver
    from svmcut.training.outcome import Outcome

    Costs = tuple[float | None, float | None]


def model_files(options: LearnOptions) -> list[str]:
    """Path of each model: MODEL_FILE for one, MODEL_FILE.C for those of a path of several values of
    C."""
    if len(options.path) == 1 or options.searches:
        return [options.model_file]
    return [f"{options.model_file}.{cost.text}" for cost in options.path]


def check_training_files(options: LearnOptions, original: bool) -> list[File]:
    """All files that a run may write, named as its command or the original names them. Raises
    UsageError or OutputError for a file that is an input or another output too, or cannot be
    written."""
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
        from svmcut.files.checkpoints import lock_path, previous_path, resolve_path

        written += [
            ("--checkpoint", name(options.checkpoint))
            for name in (resolve_path, previous_path, lock_path)
        ]
    inputs, outputs = (
        [File(name.lower() if original else name, path) for name, path in named if path is not None]
        for named in (read, written)
    )
    check_roles(inputs, outputs)
    return outputs


def redirect_log(outputs: Iterable[File]) -> contextlib.AbstractContextManager:
    """Redirects what a run prints to standard error if one of its outputs is ``-``, standard
    output."""
    if any(file.path == "-" for file in outputs):
        return contextlib.redirect_stdout(sys.stderr)
    return contextlib.nullcontext()


def reading_keywords(options: LearnOptions, original: bool) -> dict[str, Any]:
    """Keywords for reading the examples: threads, tables, and labels that may be words."""
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


class FittedModel(NamedTuple):
    """One model of a path, the log lines of its training, and its measures."""

    outcome: Outcome
    lines: list[Any]
    measured: dict[str, Any]


def chains_of(work: NDArray[np.float64]) -> list[list[int]]:
    """Places of a path, chain by chain, by the work of each place."""
    count = math.ceil(len(work) / CHAIN)
    parts = (count * (np.cumsum(work) - work / 2) / np.sum(work)).astype(int)
    return [np.flatnonzero(parts == part).tolist() for part in np.flatnonzero(np.bincount(parts))]


class PathTrainer(Crew):
    """Trains the chains after the first in threads of its own, which end with the context.

    `plan` gives a driver of settings, `tell` what to keep of a Progress and its objective,
    `measure` the measures of a model; with one thread nothing is trained ahead.
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
        #: Places where chains begin.
        self.starts = {chain[0] for chain in cut}
        chains = sorted(cut[1:], key=lambda chain: -work[chain].sum())
        self._trained_ahead = (
            {place for chain in chains for place in chain} if threads > 1 else set()
        )
        super().__init__(chains, self._train, threads)
        self._settings = replace(settings, threads=max(1, threads // len(cut)))
        self._path, self._plan, self._tell, self._measure = path, plan, tell, measure
        self._finished: dict[int, FittedModel | BaseException] = {}

    def __enter__(self) -> Self:
        self.add(self._most - 1)
        return self

    def take(self, place: int, check_signals: Callable[[], None]) -> FittedModel | None:
        """Waits for the model of a place and returns it, or raises what its training raised; None
        if the place is not trained ahead."""
        if place not in self._trained_ahead:
            return None
        self.add(1)  # this thread has nothing to train any more
        self.wait(lambda: place in self._finished, check_signals)
        fitted = self._finished.pop(place)
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

    def _fit(self, driver: Driver, place: int) -> FittedModel:
        lines: list[Any] = []

        def observe(progress, objective) -> None:
            self.check()
            if progress.report:
                lines.append(self._tell(progress, objective))

        outcome = driver.fit(*self._path[place], observe)
        return FittedModel(outcome, lines, self._measure(outcome.model))

    def _put(self, place: int, fitted: FittedModel | BaseException) -> None:
        with self.change:
            self._finished[place] = fitted
            self.change.notify_all()


def write_report(path: str, document: dict[str, Any]) -> None:
    """Writes one JSON document; what is not finite becomes null. Raises OutputError if the file
    cannot be written."""
    text = report_text(document)
    with write_atomically(path) as output:
        output.write(text.encode("ascii") + b"\n")


def report_text(document: dict[str, Any]) -> str:
    """JSON of a document; what is not finite becomes null."""
    import json

    return json.dumps(_finite(without_url_secrets(document)), indent=2, allow_nan=False)


def without_url_secrets(document: dict[str, Any]) -> dict[str, Any]:
    """Copy of a document without secrets in URLs."""
    return {
        key: _redact(value) if key in _OF_FILES else value for key, value in document.items()
    } | {
        key: [
            without_url_secrets(item) if isinstance(item, dict) else item for item in document[key]
        ]
        for key in ("path",)
        if key in document
    }


#: Keys whose values name files.
_OF_FILES = ("options", "model", "file", "warnings", "report", "trace", "data", "run")


def _redact(value: Any) -> Any:
    if isinstance(value, str):
        return hide_secrets(value)
    if isinstance(value, dict):
        return {key: _redact(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_redact(item) for item in value]
    return value


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "item"):
        return _finite(value.item())
    return value
