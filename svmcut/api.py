# SPDX-License-Identifier: BSD-3-Clause
"""The library's door: parameters by name in, an Outcome out."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from svmcut.arrays import given_weights
from svmcut.classes import by_labels
from svmcut.errors import UsageError
from svmcut.files.weights import read_weights
from svmcut.parameters import Settings
from svmcut.refusals import check, check_names, check_weights, plain
from svmcut.tasks.protocol import named
from svmcut.tasks.weights import weighed

if TYPE_CHECKING:
    from svmcut.solvers.protocol import Progress
    from svmcut.training.outcome import Outcome


def train(
    data: Any, *, task: str | None = None, weights: Any = None, callback: Callable[[Progress], None] | None = None,
    **parameters: Any,
) -> Outcome:  # fmt: skip
    """Trains to the stopping rule, a limit or Ctrl-C; the best model so far is returned in every case.

    Parameters
    ----------
    data : str or tuple
        A file as the command line reads it, or (X, y) or (X, y, qid): X an array or scipy.sparse matrix of one row an
        example, y its labels; in multilabel an indicator matrix of one column a label; qid the queries or sequences.
    task : str or None
        A name of svmcut.catalog.TASKS; None for rank where there are queries in a tuple, multiclass of three or more
        whole labels where `positive` is not given, else classification.
    weights : str, array or None
        What every example, query, sequence or label set weighs, 0 for none: an array, or a file of one number a line.
        They multiply with ``cost:`` in a file, and with class_weight.
    callback : callable
        Called with every Progress.
    **parameters
        Fields of svmcut.parameters.Settings; cost is required for losses that are no sums over examples.

    Returns
    -------
    Outcome
        .model, .primal, .dual, .gap, .converged; .stopped_by says what else ended training.

    Raises
    ------
    UsageError, DataError, TrainingError
        ValueErrors that say what to do. Parameters are checked before a file is opened.
    MemoryLimitError
        A MemoryError.

    Examples
    --------
    >>> import svmcut
    >>> outcome = svmcut.train("data/text.train", example_cost=1.0, gap=1e-3)
    >>> outcome.converged, outcome.gap <= 1e-3 * outcome.primal
    (True, True)
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]], [-1, 1, 1]
    >>> steps = []
    >>> svmcut.train((X, y), loss="f1", cost=1.0, callback=steps.append).solver, steps[0].iteration
    ('cutting-plane', 1)
    """
    check_names(parameters)
    arrays = () if isinstance(data, str | os.PathLike) else data
    if not isinstance(arrays, tuple) or (arrays and len(arrays) not in (2, 3)) or data == ():
        raise UsageError("data is neither a path nor (X, y) or (X, y, qid)")
    asked = frozenset(parameters if task is None else {*parameters, "task"})
    task = ("rank" if len(arrays) == 3 else "classification") if task is None else task
    settings = plain(Settings(task=task, **parameters, given=asked))
    idle = check(settings)
    given, where = None, "weights"
    if weights is not None:
        check_weights(settings, "weights")
        if isinstance(weights, str | os.PathLike):
            given = read_weights(where := os.fspath(weights))
        else:
            given = given_weights(weights)
    own = named(settings.task)
    if arrays and settings.zero_based:
        raise UsageError("parameter 'zero_based' says where a file's indices start; leave it out with arrays")
    if arrays:
        examples = own.from_arrays(*arrays)
    else:
        how: dict[str, Any] = {"threads": settings.threads, "max_memory": settings.max_memory}
        examples = own.read(os.fspath(data), **how, zero_based=settings.zero_based, costs=True)
    examples, _ = weighed(own, examples, settings, given, where, tight=not arrays)
    if settings.is_open:
        settings = by_labels(settings, examples.y, examples.source.path)
        own = named(settings.task)
    driver = own.plan(examples, settings)
    observe = None if callback is None else lambda progress, objective: callback(progress)
    outcome = driver.fit(settings.cost, settings.example_cost, observe)
    outcome.warnings = [*idle, *driver.warnings, *outcome.warnings, *driver.underfitted(outcome)]
    return outcome
