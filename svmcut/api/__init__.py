# SPDX-License-Identifier: BSD-3-Clause
"""The library's door: parameters by name in, an Outcome out, or the choice of one."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from svmcut.base.errors import UsageError
from svmcut.base.messages import Parameter
from svmcut.base.records import replace
from svmcut.base.resources import one_blas_thread
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple
from svmcut.data.arrays import as_rows, to_weights
from svmcut.data.labels import choose_task, number_labels
from svmcut.data.offset_features import offset_warnings
from svmcut.data.precomputed import number_rows
from svmcut.files.names import input_by_ending
from svmcut.files.weights import read_weights
from svmcut.loading import Fitted
from svmcut.models.kernels import resolve_gamma
from svmcut.selection.grid import Search, Terms, cells_of, check_grid, parts_of
from svmcut.selection.interval import GridProof
from svmcut.solvers.protocol import Progress
from svmcut.spec.catalog import COLUMNS, KERNEL_PARAMETERS, KERNELS, TABLES, TASKS, measures
from svmcut.spec.entries import CLASSES
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import check, check_names, check_weights, plain
from svmcut.spec.typed import Lists, Training
from svmcut.tables.options import (
    COLUMN_OPTIONS,
    TABLE_OPTIONS,
    TOKEN_OPTIONS,
    is_frame,
    options_for,
    table_options,
)
from svmcut.tasks.protocol import OF_CLASSES, Task, make_task, names_for_second_file
from svmcut.tasks.weights import apply_weights
from svmcut.training.certificate import check_decidable, finish_model
from svmcut.training.driver import Driver
from svmcut.training.update import DecidingDriver, check_fraction

if TYPE_CHECKING:
    from typing import Unpack


@one_blas_thread()
def train(
    data: Any,
    *,
    task: str | None = None,
    weights: Any = None,
    callback: Callable[[Progress], None] | None = None,
    cache: str | None = None,
    **parameters: Unpack[Training],
) -> Fitted:
    """Trains to the stopping rule, a limit or Ctrl-C; the best model so far is returned in every
    case.

    Parameters
    ----------
    data : str, DataFrame or tuple
        A file as the command line reads it, a table in memory, or (X, y) or (X, y, qid): X an
        array or scipy.sparse matrix of one row an example, y its labels; in multilabel an indicator
        matrix of one column a label; qid the queries or sequences.
    task : str or None
        A name of svmcut.spec.catalog.TASKS; None for rank where there are queries in a tuple,
        multiclass of three or more whole labels where `positive` is not given, else classification.
    weights : str, array or None
        What every example, query, sequence or label set weighs, 0 for none: an array, or a file of
        one number a line. They multiply with ``cost:`` in a file, and with class_weight. Where the
        loss is one of clicks one a row, of which those of clicked rows count.
    callback : callable
        Called with every Progress.
    cache : str or None
        Folder where the rows of a file, or of all that fit a pattern, are kept and mapped into
        memory by later runs; not of sequences and label sets.
    **parameters
        Fields of svmcut.spec.parameters.Settings; cost is required for losses that are no sums over
        examples. Of tables those of svmcut.tables.options.TableOptions too, such as label and text.
        until_decided, a file or rows as `predict` takes them, in place of a gap: training ends
        where the share `fraction` (0.99) of the labels that the model gives them is proven to be
        that of the exact optimum; .details["decided_fraction"] has the share that was reached.

    Returns
    -------
    Outcome
        .predict(X), .decision_function(X), .save(path); .model, .primal, .dual, .gap, .converged;
        .stopped_by says what else ended training.

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
    >>> svmcut.train((X, y), example_cost=1.0, threads=1).predict([[3.0, 0.0]]).tolist()
    [1.0]
    """
    given: dict[str, Any] = {**parameters}
    until, fraction = given.pop("until_decided", None), given.pop("fraction", None)
    share = check_fraction(until, fraction)
    if until is not None:
        _check_decidable(task, given)
    own, examples, settings, idle = examples_of(data, task, weights, given, cache)
    driver = own.plan(examples, settings)
    if until is not None:
        rows = rows_beside(until, own, examples, settings)
        driver = DecidingDriver(driver, rows, share, "until_decided")
    observe = None if callback is None else lambda progress, objective: callback(progress)
    outcome = driver.fit(settings.cost, settings.example_cost, observe)
    told = _coarse(data, examples, driver)
    outcome.model = complete(outcome, examples, driver.settings)
    outcome.warnings = [
        *idle,
        *told,
        *driver.warnings,
        *outcome.warnings,
        *driver.underfit_warnings(outcome),
    ]
    return Fitted.of(outcome, width_of(data))


class Choice(NamedTuple):
    """The choice of a cross-validation.

    Attributes
    ----------
    outcome : Outcome
        Of training on all examples with the chosen values, as `train` returns it.
    best : dict
        The chosen values: C, and the parameters that the kernel reads.
    cells : list of dict
        One a cell of the grid: those values, "mean" and "std" of the measure over the folds,
        "folds", its value on each, "converged", "selected".
    proof : dict or None
        Of two classes on features and values of C, chosen by accuracy: "within" is the share of
        errors by which no C between the least and the largest is better than "C", the best of
        them; "intervals" has what is proven between neighbours. Of `certified_choice` also
        "proven".
    """

    outcome: Fitted
    best: dict[str, float]
    cells: list[dict[str, Any]]
    proof: dict[str, Any] | None = None


def cross_validate(
    data: Any,
    folds: int = 5,
    *,
    select: str | None = None,
    task: str | None = None,
    weights: Any = None,
    **parameters: Unpack[Lists],
) -> Choice:
    """Trains every combination of values on all folds but one, measures it there, and trains the
    best on all examples.

    Parameters
    ----------
    data, task, weights
        As in `train`.
    folds : int
        At least 2; they depend on the seed. Classes are dealt evenly, queries and sequences stay
        whole.
    select : str or None
        A measure of svmcut.spec.catalog.MEASURES; None for the task's own. The best mean wins, of
        equal ones the first.
    **parameters
        As in `train`; cost or example_cost, gamma, degree, coef0 and scale_kernel may be lists. C
        of a fold has the weight of one example's loss that it has of all examples.

    Raises
    ------
    UsageError, DataError, TrainingError, MemoryLimitError
        As `train`.
    """
    return choose(Asked(data, folds, select, task, weights, {**parameters}))


class Asked(NamedTuple):
    """Arguments of `cross_validate`."""

    data: Any
    folds: int
    select: str | None
    task: str | None
    weights: Any
    parameters: dict[str, Any]


@one_blas_thread()
def choose(asked: Asked, search_of: Callable[..., Search] = Search) -> Choice:
    """Cross-validates; search_of makes the Search of its arguments. See cross_validate."""
    data, folds, select, task, weights, given = asked
    lists = {
        name: list(values)
        for name, values in given.items()
        if name in ("cost", "example_cost", *KERNEL_PARAMETERS) and np.ndim(values)
    }
    for name, values in lists.items():
        if not values:
            raise UsageError("parameter {!r} is an empty list; give one value at least", name)
    firsts = {name: values[0] for name, values in lists.items()}
    own, examples, settings, idle = examples_of(data, task, weights, given | firsts)
    for name, values in lists.items():
        for value in values[1:]:
            check(replace(settings, **{name: value}))
    if "gamma" in lists:
        lists["gamma"] = [resolve_gamma(value, examples.X) for value in lists["gamma"]]
    check_grid(settings.kernel, lists)
    name = select or TASKS[settings.task].measure
    if name not in (known := measures(settings.task)):
        raise UsageError("{select=} is unknown; expected one of {}", name, ", ".join(known))
    whole = own.plan(examples, replace(settings, probability=False))
    unit = "example_cost" if settings.cost is None else "cost"
    taken = {
        key: lists.get(key, [getattr(settings, key)]) for key in KERNELS[settings.kernel].takes
    }
    cells = cells_of([float(C) for C in lists.get(unit, [getattr(settings, unit)])], taken)
    parts, parted, warnings = parts_of(examples, whole.settings, folds)
    terms = Terms(settings.time_limit)
    values = [cell["C"] for cell in cells]
    proof = None
    if search_of is Search and GridProof.can_prove(whole.settings, values, name):
        proof = GridProof(len(parts))
        terms = terms._replace(taken=proof.take)
    search = search_of(own, parted, cells, parts, whole, terms)
    search.run()
    proven = None if proof is None or not search.complete else proof.finish(values)
    best = cells[search.best(name)]
    best_of: dict[str, Any] = {unit: best["C"], **{key: best[key] for key in taken}}
    chosen = replace(settings, **best_of)
    driver = own.plan(examples, chosen)
    outcome = driver.fit(chosen.cost, chosen.example_cost)
    warnings = [*_coarse(data, examples, driver), *warnings]
    outcome.model = complete(outcome, examples, driver.settings)
    outcome.warnings = [
        *idle,
        *warnings,
        *driver.warnings,
        *outcome.warnings,
        *driver.underfit_warnings(outcome),
    ]
    return Choice(Fitted.of(outcome, width_of(data)), best, search.rows(name), proven)


def rows_beside(data: Any, own: Task, examples: Any, settings: Settings) -> Any:
    """The rows of a file, a table or a matrix, for the model of these examples."""
    if isinstance(data, str | os.PathLike):
        path = os.fspath(data)
        how = names_for_second_file(examples, settings.task, settings.input, path)
        how |= {"threads": settings.threads, "max_memory": settings.max_memory}
        return own.read(path, test=True, **how, zero_based=settings.zero_based).X
    if examples.table is not None and is_frame(data):
        from svmcut.tables.encoded import TestTable, join_examples

        return join_examples([*TestTable(examples.table.encoding).stream(data, CLASSES, True)]).X
    return as_rows(data)


def width_of(data: Any) -> int | None:
    """Columns of the array that was given."""
    shape = np.shape(data[0]) if isinstance(data, tuple) else ()
    return shape[1] if len(shape) == 2 else None


def make_settings(
    task: str | None, usual: str, parameters: dict[str, Any], **usually: Any
) -> Settings:
    """Settings of known parameters, with what was asked for; task None for the usual one."""
    asked = frozenset(parameters if task is None else {*parameters, "task"})
    return plain(
        Settings(task=usual if task is None else task, **{**usually, **parameters}, given=asked)
    )


def weights_of(weights: Any, settings: Settings) -> tuple[Any, str]:
    """Weights that are given or stand in a file, None for none, and what to call them."""
    if weights is None:
        return None, "weights"
    check_weights(settings, "weights")
    if isinstance(weights, str | os.PathLike):
        return read_weights(where := os.fspath(weights)), where
    return to_weights(weights), "weights"


def complete(outcome: Any, examples: Any, settings: Settings) -> Any:
    """The model with its certificate, its multipliers and the encoding of its table."""
    model = finish_model(outcome, examples, settings)
    return model if examples.table is None else replace(model, table=examples.table.encoding)


def _coarse(data: Any, examples: Any, driver: Driver) -> list[str]:
    """A warning of features far from 0: of arrays as they are given, of files as they are kept."""
    bias = bool(driver.settings.bias) and not driver.settings.has_kernel
    if isinstance(data, tuple):
        X = data[0]
        names = X.columns if hasattr(X, "columns") else None
        return offset_warnings(X, None, bias, names)
    return offset_warnings(examples.X, examples.source.path, bias)


def examples_of(
    data: Any,
    task: str | None,
    weights: Any,
    parameters: dict[str, Any],
    cache: str | None = None,
    change: Callable[[Task, Any, Settings], Any] | None = None,
) -> tuple[Task, Any, Settings, list[str]]:
    """Return the task, the weighed examples, checked settings, and warnings of parameters without
    effect; `change` gives other examples for those that were read."""
    table = {name: parameters[name] for name in TABLE_OPTIONS if name in parameters}
    parameters = {name: value for name, value in parameters.items() if name not in table}
    check_names(parameters)
    frame, arrays = is_frame(data), _arrays_of(data)
    if not (frame or arrays or "input" in parameters) and (
        input := input_by_ending(os.fspath(data))
    ):
        parameters["input"] = input
    settings = make_settings(task, "rank" if len(arrays) == 3 else "classification", parameters)
    idle = check(settings)
    given, where = weights_of(weights, settings)
    _check_table(table, frame, settings.input)
    own = make_task(settings.task, input=settings.input)
    if cache is not None and (arrays or not TASKS[settings.task].of_rows):
        raise UsageError("{cache} keeps the rows of files with one label each; leave it out")
    if arrays:
        examples = _from_arrays(own, arrays, settings)
    elif frame:
        from svmcut.tables import encoded

        examples = encoded.encode_frame(data, table_options(table), own.label_kind)
    else:
        examples = _read_file(own, os.fspath(data), settings, table, cache)
    examples = examples if change is None else change(own, examples, settings)
    return *_with_labels(own, examples, settings, (given, where), tight=not arrays), idle


def _arrays_of(data: Any) -> tuple[Any, ...]:
    """Return (X, y) or (X, y, qid); () of a table or a path."""
    if is_frame(data) or isinstance(data, str | os.PathLike):
        return ()
    if not (isinstance(data, tuple) and len(data) in (2, 3)):
        raise UsageError("data is neither a path nor (X, y) or (X, y, qid)")
    return data


def _from_arrays(own: Task, arrays: tuple[Any, ...], settings: Settings) -> Any:
    if settings.zero_based:
        raise UsageError("{zero_based} says where a file's indices start; leave it out with arrays")
    examples = own.from_arrays(*arrays)
    return number_rows(examples) if settings.is_given else examples


def _read_file(
    own: Task, path: str, settings: Settings, table: dict[str, Any], cache: str | None
) -> Any:
    how: dict[str, Any] = {"threads": settings.threads, "max_memory": settings.max_memory}
    if cache is not None:
        how["cache"] = cache
    if settings.input in TABLES:
        from svmcut.tables.encoded import TrainingTable

        how["table"] = TrainingTable(table_options(table), settings.input)
    elif settings.input == COLUMNS:
        how["table"] = table_options(table)
    elif settings.task in OF_CLASSES:
        how["words"] = ()
    if settings.is_given:
        how["given"] = 0
    return own.read(path, **how, zero_based=settings.zero_based, costs=True)


def _with_labels(
    own: Task, examples: Any, settings: Settings, weights: tuple[Any, Any], tight: bool
) -> tuple[Task, Any, Settings]:
    """Return the task, examples with weights, and settings that follow from the labels and rows."""
    words = () if examples.table is None else examples.table.encoding.words
    settings = number_labels(settings, words, examples.source.path)
    examples, _ = apply_weights(own, examples, settings, *weights, tight=tight)
    if settings.is_open:
        settings = choose_task(settings, examples.y, examples.source.path, words)
        own = make_task(settings.task)
    return own, examples, replace(settings, gamma=resolve_gamma(settings.gamma, examples.X))


def _check_decidable(task: str | None, given: dict[str, Any]) -> None:
    """Refuses, before anything is read, training whose gap proves no label."""
    parameters = {name: value for name, value in given.items() if name not in TABLE_OPTIONS}
    check_names(parameters)
    check_decidable(make_settings(task, "classification", parameters), "until_decided")


def _check_table(table: dict[str, Any], frame: bool, input: str) -> None:
    """Refuses options of tables where there is none, or a table of another kind."""
    known = COLUMN_OPTIONS if frame else options_for(input)
    for name in table:
        if name not in known:
            if name in TOKEN_OPTIONS and name not in COLUMN_OPTIONS:
                raise UsageError("{} is for {input=conll}; leave it out", Parameter(name))
            raise UsageError("{} is for tables; leave it out", Parameter(name))
