# SPDX-License-Identifier: BSD-3-Clause
"""Checks before training: labels, queries, memory, and the earlier model that training starts
from."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError, MemoryLimitError, TrainingError, UsageError
from svmcut.base.messages import Message
from svmcut.base.resources import describe_shortage
from svmcut.base.typing import Any
from svmcut.data.examples import Examples, MultilabelExamples, Sequences
from svmcut.models import KernelModel, LinearModel
from svmcut.models.kernels import Kernel
from svmcut.risks.weights import example_weights
from svmcut.spec.catalog import MARKED, TASKS, losses
from svmcut.spec.parameters import Settings

#: Of a weight in a model file of svm_hmm.
LARGEST_INDEX = 2**31 - 2


def checked_weights(data: Examples | Sequences | MultilabelExamples) -> NDArray | None:
    """The weights of examples or structures; None if all are 1. Raises TrainingError as
    svmcut.risks.weights.example_weights does."""
    try:
        return example_weights(data.weights, len(data))
    except TrainingError as error:
        raise TrainingError("{}: {}", data.source.path, error) from None


def rank_warnings(bound) -> list[str]:
    """Warnings about the queries of a ranking set."""
    if bound.n_pairs:
        return []
    unlike = getattr(bound, "unlike", "two rows with different labels")
    return [f"no query has {unlike}; there is nothing to rank and all weights will be 0"]


def class_warnings(path: str, n: int, names: NDArray) -> list[str]:
    """Warnings about the classes."""
    if len(names) > 1:
        return []
    return [
        Message("all {} labels of {} are {:g}; there is no other class to learn", n, path, names[0])
    ]


def check_nu(
    path: str,
    nu: float,
    plus: float,
    minus: float,
    first: str = "the positive class",
    second: str = "the negative one",
) -> None:
    """Refuses a nu that two classes of these weights and names do not allow, as a TrainingError."""
    if not min(plus, minus) > 0:
        raise TrainingError("{}: {nu} needs rows of two classes; give it up or add rows", path)
    most = 2 * min(plus, minus) / (plus + minus)
    if nu > most * (1 + 1e-12):
        raise TrainingError(
            "{}: {nu=} is not feasible: {} weighs {:g} and {} {:g}, which allows at most {:g}; "
            "lower {nu}",
            path,
            nu,
            first,
            plus,
            second,
            minus,
            math.floor(most * 1e6) / 1e6,
        )


def check_memory(path: str, n_features: int, limit_mb: float | None) -> None:
    """Raise MemoryLimitError if a dozen vectors of one float64 a feature would not fit."""
    need = 12 * 8 * n_features / 1e6
    if there := describe_shortage(need, limit_mb, least=1.0):
        raise MemoryLimitError(
            "{}: training on {} features needs about {:,.0f} MB for weight vectors and {}",
            path,
            n_features,
            need,
            there,
        )


def check_class_numbers(path: str, K: int, n_features: int) -> None:
    """Refuses classes with more weights than a model file numbers, as a UsageError."""
    if K * (n_features + 1) > LARGEST_INDEX:
        raise UsageError(
            "{}: {} classes of {} features give weights above number {} of a model file; number "
            "the features without "
            "gaps",
            path,
            K,
            n_features,
            LARGEST_INDEX,
        )


def check_class_memory(path: str, K: int, n: int, n_features: int, limit_mb: float | None) -> None:
    """Raise MemoryLimitError if a few copies of the weights and of one number a class and example
    would not fit."""
    need = 8e-6 * K * (6 * n_features + 5 * n)
    if there := describe_shortage(need, limit_mb):
        raise MemoryLimitError(
            "{}: training {} classes on {} features and {} examples needs about {:,.0f} MB and {}",
            path,
            K,
            n_features,
            n,
            need,
            there,
        )


def check_parts(path: str, parts: int | None, count: int, what: str) -> None:
    """Raise UsageError for more parts than labels or tags."""
    if parts is not None and parts > max(1, count):
        raise UsageError("{}: {parts=} is more than its {} {}; lower it", path, parts, count, what)


def check_counting(
    path: str, numbers: NDArray, lengths: NDArray, option: str, limit_mb: float | None
) -> None:
    """Refuses, with MemoryLimitError, sequences whose states would not fit when their wrong tags
    are counted.

    `numbers` (threads,) says how many the states of the sequences are that may be in work at once,
    `lengths` (threads,) has the tokens of these, the longest first, and `option` asks for counting.
    """
    need = 8e-6 * float(numbers.sum())
    if there := describe_shortage(need, limit_mb):
        refusal = Message(
            "{}: {} counts the wrong tags of sequences of up to {} tokens, which needs about "
            "{:,.0f} MB for {} at a "
            "time, and {}",
            path,
            option,
            lengths[0],
            need,
            len(numbers),
            there,
        )
        others = Message("{transitions}, cut the sequences, or leave out {}", option)
        raise MemoryLimitError(
            "{}; lower {threads} or {}",
            refusal,
            others,
            original=Message("{}; lower {}", refusal, others),
        )


def check_queries(examples: Examples) -> None:
    """Raise DataError, with the line, for queries that are not in increasing order."""
    qid = examples.qid
    if qid is None:
        return
    path, line_of = examples.source.path, examples.source.line_of
    falls = np.flatnonzero(qid[1:] < qid[:-1])
    if len(falls):
        row = int(falls[0]) + 1
        raise DataError(
            path, f"qid {qid[row]} follows {qid[row - 1]}; qids must not decrease", line_of(row)
        )
    if qid[0] < 0:
        raise DataError(path, f"qid {qid[0]} is negative; expected 0 or more", line_of(0))


def check_label_memory(
    examples: MultilabelExamples, n_features: int, pairs: bool, limit_mb: float | None
) -> None:
    """Raise MemoryLimitError if a few copies of the weights and of one number a label and example
    would not fit."""
    K = len(examples.names)
    need = 8e-6 * K * (4 * n_features + len(examples) + pairs * 4 * K)
    if there := describe_shortage(need, limit_mb):
        raise MemoryLimitError(
            "{}: training {} labels on {} features and {} examples needs about {:,.0f} MB and {}",
            examples.source.path,
            K,
            n_features,
            len(examples),
            need,
            there,
        )


def read_initial(settings: Settings, kernel: Kernel | None = None) -> Any:
    """The model to start from: a LinearModel, or a KernelModel of this kernel.

    Raises ModelError, and UsageError if it belongs to another task or kernel.
    """
    from svmcut.formats import read_model

    path, task = settings.initial or "", TASKS[settings.task]
    model = read_model(path)
    kind, how = (
        (LinearModel, "without a kernel") if kernel is None else (KernelModel, "with this kernel")
    )
    what = Message(
        "{initial} names {}, which is no {} model",
        path,
        "linear" if kernel is None else kernel.name,
    )
    remedy = f"leave it out or name one that was trained for this task {how}"
    own = set(losses(task.name)) if task.marked else MARKED
    if not isinstance(model, kind) or (model.loss in own) != task.marked:
        raise UsageError("{} of {}; {}", what, task.objects, remedy)
    if isinstance(model, KernelModel) and kernel is not None and not model.kernel.is_same(kernel):
        raise UsageError("{} of these parameters; {}", what, remedy)
    return model
