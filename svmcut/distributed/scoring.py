# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of many files by workers, which write them too: one file each.

Training for one C after the other with a checkpoint, from Python.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence

from svmcut._version import __version__
from svmcut.base import records
from svmcut.base.errors import CheckpointError, NoExamples, UsageError
from svmcut.base.typing import Any, NamedTuple
from svmcut.distributed.engine import each
from svmcut.files.checkpoints import (
    Generations,
    check_names,
    fingerprint,
    hold_lock,
    read_checkpoint,
    refuse_unfit,
    write_checkpoint,
)
from svmcut.files.output import write_atomically
from svmcut.files.remote import is_url, local_path
from svmcut.solvers.protocol import Progress
from svmcut.spec import schemas
from svmcut.spec.parameters import Settings
from svmcut.spec.schemas import state_classes
from svmcut.tasks.multiclass import Confusion
from svmcut.tasks.prediction import PredictionOptions, Predictions, predict
from svmcut.tasks.protocol import Task
from svmcut.tasks.vectors import Scores
from svmcut.training.certificate import with_certificate
from svmcut.training.driver import Driver
from svmcut.training.outcome import Outcome


def targets_of(files: Sequence[str], folder: str) -> list[str]:
    """The files that the predictions of these files go to: in a folder, under their names. Raises
    UsageError where there is no such folder, and for two files of one name."""
    if not is_url(folder) and not os.path.isdir(local_path(folder)):
        raise UsageError(
            "{!r} is no folder; the predictions of every file go there, under the name of the file",
            folder,
        )
    names = [os.path.basename(path) for path in files]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(
            "two files are called {}, and their predictions would be one file; give them two names",
            twice,
        )
    if is_url(folder):
        return [f"{folder.rstrip('/')}/{name}" for name in names]
    return [os.path.abspath(os.path.join(local_path(folder), name)) for name in names]


def score(shared: tuple[Task, Any, PredictionOptions], path: str, target: str) -> Predictions:
    """The predictions of one file, written where it is read."""
    task, model, options = shared
    try:
        return predict(task, model, path, target, options)
    except NoExamples as error:
        with write_atomically(target):  # as many predictions as rows
            return Predictions(task.tally(model), {}, 0.0, None, (str(error),))


def predict_files(
    client: Any,
    files: Sequence[str],
    targets: Sequence[str],
    task: Task,
    model: Any,
    options: PredictionOptions,
) -> Predictions:
    """Predicts many files as svmcut.tasks.prediction.predict does one, and adds up their counts
    here. Raises UsageError for models whose predictions are no scores of rows, and what predict
    raises; the predictions of other files may have been written then."""
    tally = task.tally(model)
    if not isinstance(tally, Scores | Confusion) or options.probability:
        raise UsageError(
            "workers score with models of classes, rankings and numbers, without probabilities; "
            "leave out {scheduler}"
        )
    began, cpu, warnings = time.perf_counter(), 0.0, []
    shared = task, model, options._replace(threads=1)
    for predicted in each(client, score, shared, list(zip(files, targets, strict=True))):
        tally.join(predicted.tally)
        cpu += predicted.cpu_seconds
        warnings += predicted.warnings
    if len(warnings) == len(files):
        raise NoExamples(files[0])
    seconds = {"read": 0.0, "classify": time.perf_counter() - began, "write": 0.0}
    return Predictions(tally, seconds, cpu, None, tuple(warnings))


#: What may differ between a run and the one that goes on from its checkpoint.
FREE = frozenset({"threads", "max_memory", "time_limit", "max_iterations", "given", "zero_based"})


class Saving(NamedTuple):
    """The checkpoint of a run."""

    #: None for none.
    path: str | os.PathLike | None = None
    #: Whether to go on from what is there.
    resume: bool = False
    #: Seconds between two states that are written.
    every: float = 60.0

    def check(self) -> None:
        """Refuses what means nothing, as a UsageError."""
        if self.resume and self.path is None:
            raise UsageError("resume=True needs {checkpoint}, the file to go on from")
        if not self.every >= 0:
            raise UsageError("checkpoint_every is {!r}; expected seconds, at least 0", self.every)


def fit_all(
    driver: Driver,
    examples: Any,
    costs: Sequence[tuple[float | None, float | None]],
    saving: Saving,
    observe: Callable[[Progress], None] | None = None,
) -> list[Outcome]:
    """An Outcome for each C, of which the first that is stopped is the last.

    examples: Parted, or examples in memory. costs: pairs for Driver.fit. The checkpoint is removed
    once all have met their stopping rule. Raises CheckpointError where it is damaged, or of another
    run; UsageError, TrainingError and ClusterError after the last state was written.
    """
    encoding = None if examples.table is None else examples.table.encoding
    if saving.path is None:
        tell = lambda outcomes, progress: _tell(observe, progress)  # noqa: E731
        return _fit(_Fits(driver, costs, encoding), [], None, tell)
    path = os.fspath(saving.path)
    check_names(path)
    with hold_lock(path):
        keeper = _Keeper(path, saving.every, driver, _identity(driver.settings, examples, costs))
        done, state = keeper.resume() if saving.resume else ([], None)

        def look(outcomes: list[Outcome], progress: Progress) -> None:
            _tell(observe, progress)
            keeper.take(outcomes)

        with (
            keeper.last_words(),
            refuse_unfit(path) if state is not None else contextlib.nullcontext(),
        ):
            fitted = _fit(_Fits(driver, costs, encoding), done, state, look)
        keeper.finish(len(fitted) == len(costs) and all(one.converged for one in fitted))
        return fitted


class _Fits(NamedTuple):
    """The driver of a run, and the part of a table that models keep."""

    driver: Driver
    costs: Sequence[tuple[float | None, float | None]]
    table: Any


def _fit(
    fits: _Fits, done: list[Outcome], state: Any, look: Callable[[list[Outcome], Progress], None]
) -> list[Outcome]:
    (driver, costs, table), outcomes = fits, [*done]
    for cost, example_cost in costs[len(done) :]:
        observe = lambda progress, objective: look(outcomes, progress)  # noqa: E731
        outcome = driver.fit(cost, example_cost, observe, state)
        model = with_certificate(outcome.model, outcome, driver.settings)
        outcome.model = model if table is None else records.replace(model, table=table)
        outcomes.append(outcome)
        state = None
        if outcome.stopped_by == "interrupt" or driver.is_late():
            break
    return outcomes


def _tell(observe: Callable[[Progress], None] | None, progress: Progress) -> None:
    if observe is not None:
        observe(progress)


def _identity(settings: Settings, examples: Any, costs: Sequence[Any]) -> dict[str, Any]:
    """The facts that a run shares with the one that goes on from its checkpoint."""
    values = {item.name: getattr(settings, item.name) for item in records.fields(settings)}
    values |= {"cost": [cost for cost, _ in costs], "example_cost": [cost for _, cost in costs]}
    options = {name: str(value) for name, value in values.items() if name not in FREE}
    return {"version": __version__, "examples": fingerprint(examples), "options": options}


class _Keeper:
    """Writes the state of a run now and then, and where it fails."""

    def __init__(self, path: str, every: float, driver: Driver, identity: dict[str, Any]):
        self._path, self._every, self._driver, self._identity = path, every, driver, identity
        self._files, self._classes = Generations(path), state_classes()
        self._latest: Any = None
        self._written = time.perf_counter()

    def resume(self) -> tuple[list[Outcome], Any]:
        """Outcomes that are done, and the state of the next fit; nothing where nothing is there."""
        saved = read_checkpoint(self._path, self._classes)
        if saved is None:
            return [], None
        identity, state = saved
        for what in ("version", "examples", "options"):
            if identity.get(what) != self._identity[what]:
                raise CheckpointError(self._path, self._difference(what, identity))
        with refuse_unfit(self._path):
            most = max(0, len(self._identity["options"]["cost"]))
            known = {
                "outcomes": schemas.many(schemas.instance(Outcome), 0, most),
                "driver": schemas.maybe(schemas.instance(dict)),
            }
            schemas.checked(state, schemas.fields(**known))
        self._files.own_all()
        return list(state["outcomes"]), state["driver"]

    def _difference(self, what: str, identity: dict[str, Any]) -> str:
        of = {"version": "another svmcut", "examples": "other examples or weights"}
        told = of.get(what, "")
        if what == "options":
            was, now = identity[what], self._identity[what]
            name = next(key for key in sorted({*was, *now}) if was.get(key) != now.get(key))
            told = f"{name}={was.get(name)} and not {now.get(name)}"
        return f"is of another run, with {told}; remove it or leave out resume"

    def take(self, outcomes: list[Outcome]) -> None:
        """Keeps a state to go on from."""
        self._latest = {
            "outcomes": [one.portable() for one in outcomes],
            "driver": self._driver.state(),
        }
        if time.perf_counter() - self._written >= self._every:
            self._write()

    @contextlib.contextmanager
    def last_words(self) -> Iterator[None]:
        """Writes the last state where the run fails within."""
        try:
            yield
        except BaseException:
            if self._latest is not None:
                self._write()
            raise

    def finish(self, done: bool) -> None:
        """Removes what this run wrote where it is done; else its last state stays for larger
        limits."""
        if done:
            self._files.remove()
        elif self._latest is not None:
            self._write()

    def _write(self) -> None:
        write_checkpoint(self._path, self._identity, self._latest, self._classes)
        self._files.own_newest()
        self._written = time.perf_counter()
