# SPDX-License-Identifier: BSD-3-Clause
"""svmcut on the workers of Dask."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from dask.distributed import Client

from svmcut.api import Asked, Choice, choose, examples_of, make_settings, weights_of, width_of
from svmcut.base.errors import UsageError
from svmcut.base.messages import Parameter
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.distributed.blocks import blocks_of, is_blocks
from svmcut.distributed.engine import DaskRows, here
from svmcut.distributed.jobs import SpreadSearch, share
from svmcut.distributed.oracle import MOST_GATHERED
from svmcut.distributed.parts import Reading
from svmcut.distributed.plan import Files, make_driver, should_hold_all
from svmcut.distributed.scoring import Saving, fit_all
from svmcut.estimators.clusters import (
    LinearSVM,
    LinearSVMRegressor,
    MultilabelSVM,
    RankSVM,
)
from svmcut.files.names import input_by_ending, is_pattern, list_files
from svmcut.loading import Fitted
from svmcut.solvers.protocol import Progress
from svmcut.spec.refusals import check_names, check_weights
from svmcut.spec.typed import Lists
from svmcut.tables.encoded import TrainingTable
from svmcut.tables.options import TABLE_OPTIONS, table_options
from svmcut.training.driver import Driver

if TYPE_CHECKING:
    from typing import Unpack

ESTIMATORS = ("LinearSVM", "LinearSVMRegressor", "MultilabelSVM", "RankSVM")

__all__ = [
    "LinearSVM",
    "LinearSVMRegressor",
    "MultilabelSVM",
    "RankSVM",
    "cross_validate",
    "train",
]

USUAL = "classification"


def __getattr__(name: str) -> Any:
    if name not in ESTIMATORS:
        raise AttributeError(f"module 'svmcut.dask' has no attribute {name!r}")
    from svmcut.estimators import clusters

    return getattr(clusters, name)


def train(
    client: Client,
    data: Any,
    *,
    task: str | None = None,
    weights: Any = None,
    callback: Callable[[Progress], None] | None = None,
    cache: str | None = None,
    work_dir: str | None = None,
    most_gathered: int = MOST_GATHERED,
    checkpoint: str | os.PathLike | None = None,
    resume: bool = False,
    checkpoint_every: float = 60.0,
    **parameters: Unpack[Lists],
) -> Any:
    """Trains on rows that the workers of a scheduler hold, as `svmcut.train` does on one.

    Parameters
    ----------
    client : dask.distributed.Client
    data : str, path, sequence of them, or tuple
        A pattern, or files and URLs, each of which is a part; all workers see them under these
        names; files of tables too, by the ending of the first. Or (X, y) or (X, y, qid): dask
        arrays, DataFrames and Series, or lists of delayed or computed pieces, in blocks of rows;
        beside X the others may be arrays in memory.
    task : str or None
        classification, rank, regression or multiclass; None for classification, of three or more
        labels multiclass. multilabel takes data as `svmcut.train` does; with pairs="none", and
        label_block or tree, workers train blocks of labels.
    weights : str, array or None
        As `svmcut.train` takes them; beside blocks also in pieces as these.
    callback
        As `svmcut.train` takes it.
    cache : str or None
        As `svmcut.train` takes it: a folder of each worker.
    work_dir : str or None
        Folder that all workers see, by which vectors above 10 MB go; without it they go by
        messages.
    most_gathered : int
        Examples up to which a loss of all examples together has their scores in one place; of more
        it has histograms, and a certificate with what these hide. The model depends on it.
    checkpoint : str, path or None
        File or URL where the state of the run is kept every so many seconds, and where it fails; it
        is removed at the end. The same call with ``resume=True`` goes on from it to the same bytes.
    resume : bool
        Whether to go on from the checkpoint, where there is one.
    checkpoint_every : float
        Seconds.
    **parameters
        As `svmcut.train` takes them, those of tables too but for group; threads are those
        of a worker's thread, 1. cost or example_cost may be a list, for which the rows are read
        once.

    Returns
    -------
    Outcome, or list of them
        One for each C of a list. The model has the same bytes whatever workers there are and
        whatever becomes of them.

    Raises
    ------
    UsageError, DataError, TrainingError, MemoryLimitError
        As svmcut.train.
    CheckpointError
        For one that is damaged or of another run.
    ClusterError
        Where the scheduler or its workers are lost.
    """
    client, saving = here(client), Saving(checkpoint, resume, checkpoint_every)
    saving.check()
    table, named = _split_table({**parameters})
    check_names(named)
    unit, values = _list_in(named)
    first = named | ({unit: values[0]} if unit else {})
    settings = make_settings(task, "rank" if _has_queries(data) else USUAL, first, threads=1)
    if should_hold_all(settings, _is_in_one_place(data)):
        asked = Asked(data, 0, None, task, weights, {**table, **first})
        pieced = _in_pieces(client, asked, cache, (unit, values), saving, callback)
        return pieced if unit else pieced[0]
    reading = Reading(settings.zero_based, settings.max_memory, 1, cache)
    parts = _parts(client, data, weights, settings, reading)._replace(
        table=_table(data, table, cache)
    )
    rows = DaskRows(client, work_dir)
    try:
        parted, driver = make_driver(rows, parts, settings, most_gathered=most_gathered)
        costs = _costs(driver, unit, values)
        outcomes = fit_all(driver, parted, costs, saving, callback)
    finally:
        rows.close()
    fits = _finish(outcomes, rows.warnings, driver)
    return fits if unit else fits[0]


def _costs(
    driver: Driver, unit: str, values: Sequence[Any]
) -> list[tuple[float | None, float | None]]:
    """C of every fit, as Driver.fit takes it."""
    if not unit:
        return [(driver.settings.cost, driver.settings.example_cost)]
    return [(C, None) if unit == "cost" else (None, C) for C in map(float, values)]


def _finish(
    outcomes: Sequence[Any], before: Sequence[str], driver: Driver, width: int | None = None
) -> list[Fitted]:
    """The results of `train`, with all warnings."""
    for outcome in outcomes:
        more = driver.underfit_warnings(outcome)
        outcome.warnings = [*before, *driver.warnings, *outcome.warnings, *more]
    return [Fitted.of(outcome, width) for outcome in outcomes]


def _in_pieces(
    client: Client,
    asked: Asked,
    cache: str | None,
    lists: tuple[str, Sequence[Any]],
    saving: Saving,
    callback: Callable[[Progress], None] | None,
) -> list[Fitted]:
    """Trains on rows that every worker holds; see train."""
    data, _, _, task, weights, given = asked
    own, examples, settings, idle = examples_of(data, task, weights, given, cache)
    rows = DaskRows(client)
    rows.workers()
    driver = own.plan(examples, settings)
    share(driver, examples, client)
    outcomes = fit_all(driver, examples, _costs(driver, *lists), saving, callback)
    return _finish(outcomes, [*idle, *rows.warnings], driver, width_of(data))


def cross_validate(
    client: Client,
    data: Any,
    folds: int = 5,
    *,
    select: str | None = None,
    task: str | None = None,
    weights: Any = None,
    **parameters: Unpack[Lists],
) -> Choice:
    """Cross-validates as `svmcut.cross_validate` does, on workers, to the same numbers.

    Parameters
    ----------
    client : dask.distributed.Client
    data, folds, select, task, weights, **parameters
        As of svmcut.cross_validate. The rows are read here, and every worker holds them.

    Returns
    -------
    Choice

    Raises
    ------
    UsageError, DataError, TrainingError, MemoryLimitError
        As svmcut.cross_validate.
    ClusterError
        Where the scheduler or its workers are lost.
    """
    client = here(client)
    DaskRows(client).workers()
    asked = Asked(data, folds, select, task, weights, {**parameters})
    return choose(asked, partial(SpreadSearch, client))


def _split_table(given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of tables, and other parameters."""
    table = {name: value for name, value in given.items() if name in TABLE_OPTIONS}
    return table, {name: value for name, value in given.items() if name not in table}


def _table(data: Any, given: dict[str, Any], cache: str | None) -> TrainingTable | None:
    """Options for reading tables, where the first name of a file says that it is one."""
    first = data if isinstance(data, str | os.PathLike) else data[0] if data else ""
    input = input_by_ending(os.fspath(first)) if isinstance(first, str | os.PathLike) else None
    if input is None:
        if given:
            raise UsageError("{} is for tables; leave it out", Parameter(min(given)))
        return None
    if cache is not None:
        raise UsageError("{cache} is for examples in LIBSVM's text; leave it out")
    return TrainingTable(table_options(given), input)


def _is_in_one_place(data: Any) -> bool:
    """Tells whether the data is one file, or rows in memory."""
    if isinstance(data, tuple):
        return bool(data) and not is_blocks(data[0])
    return isinstance(data, str | os.PathLike) and not is_pattern(os.fspath(data))


def _has_queries(data: Any) -> bool:
    return isinstance(data, tuple) and len(data) == 3 and is_blocks(data[0])


def _list_in(named: dict[str, Any]) -> tuple[str, Sequence[Any]]:
    """The one parameter that is a list, C, and its values; no name where none is."""
    lists = [name for name, value in named.items() if np.ndim(value)]
    if not lists:
        return "", ()
    if len(lists) > 1 or lists[0] not in ("cost", "example_cost"):
        raise UsageError(
            "parameter {!r} is a list; on workers {cost} or {example_cost} alone may be one",
            lists[-1],
        )
    values = list(named[lists[0]])
    if not values:
        raise UsageError("parameter {!r} is an empty list; give one value at least", lists[0])
    return lists[0], values


def _parts(client: Client, data: Any, weights: Any, settings: Any, reading: Reading) -> Files:
    """The files or blocks to train on, and the weights of their rows."""
    blocks = isinstance(data, tuple) and bool(data) and is_blocks(data[0])
    if isinstance(data, tuple) and data and hasattr(data[0], "__array__") and not blocks:
        raise UsageError(
            "X is in the memory of this process; train on it with svmcut.train, or give a dask "
            "array"
        )
    if not blocks:
        given, where = weights_of(weights, settings)
        name, files = list_files(data)
        return Files(files, reading, name, given, where)
    if len(data) not in (2, 3):
        raise UsageError("data is neither a path nor (X, y) or (X, y, qid)")
    if is_blocks(weights):
        check_weights(settings, "weights")
    else:
        weights, _ = weights_of(weights, settings)
    X, y, *queries = data
    qid = queries[0] if queries else None
    return Files(blocks_of(client, X, y=y, qid=qid, weights=weights), reading, "X")
