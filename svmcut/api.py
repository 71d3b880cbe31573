# SPDX-License-Identifier: BSD-3-Clause
"""The library's door: parameters by name in, an Outcome out."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut.config import configure
from svmcut.data import Csr, Examples, MultilabelExamples, Source
from svmcut.errors import DataError, UsageError
from svmcut.files.examples import read_examples
from svmcut.files.sequences import as_sequences, read_sequences
from svmcut.parameters import Settings
from svmcut.refusals import check, check_names

if TYPE_CHECKING:
    from svmcut.outcomes import Outcome
    from svmcut.solvers.protocol import Progress


def train(
    data: Any, *, task: str | None = None, callback: Callable[[Progress], None] | None = None, **parameters: Any
) -> Outcome:
    """Trains to the stopping rule, a limit or Ctrl-C; the best model so far is returned in every case.

    Parameters
    ----------
    data : str or tuple
        A file as the command line reads it, or (X, y) or (X, y, qid): X an array or scipy.sparse matrix of one row an
        example, y its labels; in multilabel an indicator matrix of one column a label; qid the queries or sequences.
    task : str or None
        A name of svmcut.catalog.TASKS; None for rank where there are queries in a tuple, else classification.
    callback : callable
        Called with every Progress.
    **parameters
        Fields of svmcut.parameters.Settings; cost or example_cost is required.

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
    """
    check_names(parameters)
    arrays = () if isinstance(data, str | os.PathLike) else data
    if not isinstance(arrays, tuple) or (arrays and len(arrays) not in (2, 3)) or data == ():
        raise UsageError("data is neither a path nor (X, y) or (X, y, qid)")
    settings = Settings(task=("rank" if len(arrays) == 3 else "classification") if task is None else task, **parameters)
    check(settings)
    if arrays:
        examples = multilabel_examples(*arrays) if settings.task == "multilabel" else vector_examples(*arrays)
        trainer = trainer_of(settings, examples)
    else:
        trainer = trainer_of(settings, _read(os.fspath(data), settings))
    observe = None if callback is None else lambda progress, objective: callback(progress)
    outcome = trainer.fit(settings.cost, settings.example_cost, observe)
    outcome.warnings = [*trainer.warnings, *outcome.warnings]
    return outcome


def vector_examples(X: Any, y: Any, qid: Any = None) -> Examples:
    """Rows with one label each, validated.

    Raises
    ------
    DataError
    """
    queries = None if qid is None else _column(qid, "qid").astype(np.int64)
    return Examples(as_rows(X), _column(y, "y"), queries, None, Source("X")).checked()


def multilabel_examples(X: Any, Y: Any, qid: Any = None) -> MultilabelExamples:
    """Rows with the labels whose column of Y is not 0, validated.

    Raises
    ------
    DataError
    """
    if qid is not None:
        raise DataError("X", "label sets have no queries; give (X, Y)")
    rows, sets = as_rows(X), as_rows(Y, "Y")
    if not np.all(sets.data == 1):
        raise DataError("Y", "an entry is neither 0 nor 1; expected an indicator matrix")
    names = np.arange(sets.n_features, dtype=np.int64)
    return MultilabelExamples(rows, names, sets.indptr, sets.indices, Source("X")).checked()


def as_rows(X: Any, name: str = "X") -> Csr:
    """An array, a scipy.sparse matrix or rows that are Csr already, as Csr; the caller's matrix is left as it is.

    Raises
    ------
    DataError
        For what is not two-dimensional or holds a value that no float32 can.
    """
    if isinstance(X, Csr):
        return X
    sparse = hasattr(X, "tocsr")
    matrix: Any = X.tocsr() if sparse else np.asarray(X)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise DataError(name, f"is {matrix.ndim}-dimensional of {matrix.dtype}; expected a matrix of numbers")
    if sparse:
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        if not -1 < matrix.shape[1] < 2**31:
            raise DataError(name, f"has {matrix.shape[1]} columns; expected fewer than 2147483648")
        values = _float32(matrix.data, name)
        return Csr(values, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int64), matrix.shape[1])
    return Csr.from_dense(_float32(matrix, name))


def _float32(values: Any, name: str) -> Any:
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(values, np.float32)
    if not np.isfinite(single).all():
        raise DataError(name, "a value is nan or beyond a float of 32 bits; expected finite numbers")
    return single


def _column(values: Any, name: str) -> Any:
    try:
        column = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise DataError(name, "is no column of numbers") from None
    if column.ndim != 1:
        raise DataError(name, f"is {column.ndim}-dimensional; expected one number a row")
    return column


def _read(path: str, settings: Settings) -> Any:
    given: dict[str, Any] = {"threads": settings.threads, "max_memory": settings.max_memory}
    if settings.task == "sequence":
        return read_sequences(path, **given)
    if settings.task == "multilabel":
        from svmcut.files.multilabel import read_multilabel

        return read_multilabel(path, **given)
    return read_examples(path, **given)


def trainer_of(settings: Settings, examples: Any) -> Any:
    """The trainer of checked settings on examples as their task reads them."""
    config = configure(settings)
    if settings.task == "multilabel":
        from svmcut.train_multilabel import MultilabelTrainer

        return MultilabelTrainer(examples, config, settings.pairs == "all")
    if settings.task != "sequence":
        from svmcut.training import make_trainer

        return make_trainer(examples, config)
    tokens, sequences = as_sequences(examples) if isinstance(examples, Examples) else examples
    if settings.has_kernel:
        from svmcut.train_emissions import EmissionTrainer

        return EmissionTrainer(tokens, sequences, config, settings.transitions, settings.beam)
    from svmcut.train_sequences import ChainOrders, SequenceTrainer

    orders = ChainOrders(settings.transitions, settings.emissions, settings.beam)
    return SequenceTrainer(tokens, sequences, config, orders)
