# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of many files by workers, which write them too: one file each."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from svmcut.distributed.engine import each
from svmcut.errors import NoExamples, UsageError
from svmcut.files.output import write_atomically
from svmcut.files.remote import is_url, located
from svmcut.tasks.multiclass import Confusion
from svmcut.tasks.prediction import PredictionOptions, Predictions, predict
from svmcut.tasks.vectors import Scores
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmcut.tasks.protocol import Task


def targets_of(files: Sequence[str], folder: str) -> list[str]:
    """Where the predictions of these files go: into a folder, under their names.

    Raises
    ------
    UsageError
        Where there is no such folder, and for two files of one name.
    """
    if not is_url(folder) and not os.path.isdir(located(folder)):
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
    return [os.path.abspath(os.path.join(located(folder), name)) for name in names]


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
    """As svmcut.tasks.prediction.predict, of many files; what is counted of them comes together
    here.

    Raises
    ------
    UsageError
        For models whose predictions are no scores of rows.
    SvmcutError
        As predict; the predictions of other files may have been written then.
    """
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
