# SPDX-License-Identifier: BSD-3-Clause
"""svmcut on the workers of Dask."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from svmcut.api import make_settings, weights_of
from svmcut.distributed.engine import DaskRows
from svmcut.distributed.gathered import MOST_GATHERED
from svmcut.distributed.parts import Reading
from svmcut.distributed.plan import Files, make_driver
from svmcut.files.patterns import files_of
from svmcut.loading import Fitted
from svmcut.spec.refusals import check_names

if TYPE_CHECKING:
    from typing import Unpack

    from dask.distributed import Client

    from svmcut.estimators.clusters import LinearSVM
    from svmcut.solvers.protocol import Progress
    from svmcut.spec.typed import Parameters

__all__ = ["LinearSVM", "train"]


def __getattr__(name: str) -> Any:
    if name != "LinearSVM":
        raise AttributeError(f"module 'svmcut.dask' has no attribute {name!r}")
    from svmcut.estimators.clusters import LinearSVM

    return LinearSVM


def train(
    client: Client,
    paths: str | os.PathLike | Sequence[str | os.PathLike],
    *,
    task: str | None = None,
    weights: Any = None,
    callback: Callable[[Progress], None] | None = None,
    cache: str | None = None,
    work_dir: str | None = None,
    most_gathered: int = MOST_GATHERED,
    **parameters: Unpack[Parameters],
) -> Fitted:
    """Trains on files that the workers of a scheduler read, as `svmcut.train` does on one.

    Parameters
    ----------
    client : dask.distributed.Client
    paths : str, path, or sequence of them
        A pattern, or files, each of which is a part; all workers see them under these names.
    task : str or None
        classification, rank, regression or multiclass; None for classification.
    weights, callback, cache, **parameters
        As `svmcut.train` takes them; threads are those of a worker's thread, 1.
    work_dir : str or None
        Folder that all workers see, by which vectors above 10 MB go; without it they go by
        messages.
    most_gathered : int
        Examples up to which a loss of all examples together has their scores in one place; of more
        it has histograms, and a certificate with what these hide. The model depends on it.

    Returns
    -------
    Outcome
        Its model has the same bytes whatever workers there are and whatever becomes of them.

    Raises
    ------
    UsageError, DataError, TrainingError, MemoryLimitError
        As svmcut.train.
    ClusterError
        Where the scheduler or its workers are lost.
    """
    named = {**parameters}
    check_names(named)
    settings = make_settings(task, "classification", named, threads=1)
    given, where = weights_of(weights, settings)
    name, files = files_of(paths)
    rows = DaskRows(client, work_dir)
    reading = Reading(settings.zero_based, settings.max_memory, 1, cache)
    try:
        parts = Files(files, reading, name, given, where)
        _, driver = make_driver(rows, parts, settings, most_gathered=most_gathered)
        observe = None if callback is None else lambda progress, objective: callback(progress)
        outcome = driver.fit(settings.cost, settings.example_cost, observe)
    finally:
        rows.close()
    outcome.warnings = [
        *rows.warnings,
        *driver.warnings,
        *outcome.warnings,
        *driver.underfitted(outcome),
    ]
    return Fitted.of(outcome)
