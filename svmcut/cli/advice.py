# SPDX-License-Identifier: BSD-3-Clause
"""Advice of svmcut learn, rank and classify, one line per measured fact with what to try, and
messages of the library in the words of the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from svmcut.base.messages import Message, Parameter, escape, word_for_python
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.data.examples import Csr
from svmcut.data.labels import distinct, is_number
from svmcut.files.remote import has_file
from svmcut.models import LinearModel
from svmcut.spec.catalog import TASKS, measures
from svmcut.spec.entries import TWO_CLASSES
from svmcut.tasks.vectors import Scores

if TYPE_CHECKING:
    from svmcut.cli.options import LearnOptions
    from svmcut.selection.grid import Search


#: Rows of a kernel machine, and the share of support vectors that is too large.
MIN_ROWS, MAX_SUPPORT_SHARE = 50, 0.98
#: Exponent of the rbf kernel from which rows have nothing in common.
ISOLATING_EXPONENT = 4.0
#: Rows of a file, and the share of them without a feature of the model that is too large.
MIN_SCORED_ROWS, MAX_UNKNOWN_SHARE = 10, 0.5
#: Values of two files that are compared row by row.
MAX_COMPARED_VALUES = 20_000_000
#: Rows that are hashed at once, and odd numbers that mix bits.
_HASH_BLOCK_ROWS = 1 << 16
_MIX = [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xBF58476D1CE4E5B9]


def advise_on_checkpoint(options: LearnOptions) -> list[str]:
    """Warns of a run that starts afresh although its checkpoint file holds an earlier run."""
    if options.checkpoint is None or options.resume or not has_file(options.checkpoint):
        return []
    return [
        f"{escape(options.checkpoint)} holds an unfinished run, which this one replaces; "
        "add --resume to go on with it"
    ]


def advise_on_labels(words: Sequence[str]) -> list[str]:
    """Warns of labels that mix numbers and words."""
    numbers = [word for word in words if is_number(word)]
    if not numbers or len(numbers) == len(words):
        return []
    other = next(word for word in words if not is_number(word))
    return [
        f"the label '{escape(other)}' is no number, so all labels are words, "
        f"'{numbers[0]}' too; correct it if it is a mistake"
    ]


def advise_on_errors(options: LearnOptions, values: Mapping[str, float]) -> list[str]:
    """Gives remedies where a measure on the training examples is 0."""
    texts = [
        measure.none
        for measure in measures(options.task).values()
        if measure.none and values.get(measure.name) == 0
    ]
    remedies = [] if options.class_weight is not None else ["--class-weight balanced"]
    remedies += ["-l f1"] * (TASKS[options.task].loss == options.loss)
    return [f"{text}; try {_either([*remedies, 'a larger C'])}" for text in texts]


def advise_on_kernel(options: LearnOptions, model: Any, examples: Any) -> list[str]:
    """Warns of an rbf kernel so narrow that nearly all rows become support vectors."""
    rows, support = examples.X.n_rows, getattr(model, "support", None)
    if options.kernel != "rbf" or support is None or rows < MIN_ROWS:
        return []
    if options.labels != TWO_CLASSES or support.n_rows < MAX_SUPPORT_SHARE * rows:
        return []
    if model.kernel.gamma * _median_distance(examples.X) < ISOLATING_EXPONENT:
        return []
    return [
        f"{support.n_rows:,} of {rows:,} rows are support vectors: gamma is too large for these "
        "features; try -g scale, or svmcut scale on the files first"
    ]


def _median_distance(X: Csr, most: int = 200) -> float:
    """Estimates the median squared distance between rows from an even sample of them."""
    some = X.take(distinct(np.linspace(0, X.n_rows - 1, most).astype(int))).to_scipy()
    products = (some @ some.T).toarray().astype(np.float64)
    norms = products.diagonal()
    distances = norms[:, None] + norms - 2 * products
    return float(np.median(distances[~np.eye(len(norms), dtype=bool)]))


def advise_on_grid(options: LearnOptions, search: Search, examples: Any) -> list[str]:
    """Warns of a grid whose best cell is at its edge, or whose cells all lose to the most frequent
    class."""
    name = options.select or TASKS[options.task].measure
    sign = 1 if measures(options.task)[name].rises else -1
    merits = [sign * float(np.mean(values)) for values in search.values(name) if values]
    if len(merits) < len(search.cells):
        return []
    texts, best = [], search.cells[search.best(name)]
    for parameter, value in best.items():
        others = [
            merit
            for merit, cell in zip(merits, search.cells, strict=True)
            if cell[parameter] != value
        ]
        if others and max(merits) > max(others):
            texts += _advise_on_end(parameter, value, [cell[parameter] for cell in search.cells])
    return texts + _advise_on_largest_class(options.task, name, examples, merits)


def _advise_on_end(parameter: str, value: float, known: list[float]) -> list[str]:
    """Warns if the best value of a parameter is the first or the last tried."""
    if min(known) < value < max(known):
        return []
    side, more = ("largest", "larger") if value == max(known) else ("smallest", "smaller")
    return [f"the best {parameter} of the grid is its {side}, {value:g}; try {more} values too"]


def _advise_on_largest_class(
    task: str, name: str, examples: Any, means: Sequence[float]
) -> list[str]:
    if not means or not measures(task)[name].of_rows:
        return []
    counts = np.unique(examples.y, return_counts=True)[1]
    share = 100 * float(counts.max(initial=0)) / max(1, len(examples.y))
    if max(means) > share + 1e-9:
        return []
    return [
        f"no model of the grid is better than always answering the most frequent label "
        f"({share:.2f} %); try other features, a kernel (-t rbf) or --select f1"
    ]


def advise_on_validation(examples: Any, validation: Any, path: str) -> list[str]:
    """Warns of rows of --validate that are training rows too."""
    X, held = examples.X, getattr(validation, "X", None)
    if not (isinstance(X, Csr) and isinstance(held, Csr)) or X.nnz + held.nnz > MAX_COMPARED_VALUES:
        return []
    keys = _hashes_of_rows(held)
    twice = int(np.isin(keys[keys > 0], _hashes_of_rows(X)).sum())
    if not twice:
        return []
    return [
        f"{twice:,} of the {held.n_rows:,} rows of {escape(path)} are training rows too, so "
        "its measures are too good; hold out other rows"
    ]


def _hashes_of_rows(X: Csr) -> NDArray[np.uint64]:
    """(n,) hashes of the entries of each row, 0 for rows without entries."""
    keys = np.zeros(X.n_rows, np.uint64)
    ends = X.indptr
    for start in range(0, X.n_rows, _HASH_BLOCK_ROWS):
        stop = min(start + _HASH_BLOCK_ROWS, X.n_rows)
        own = slice(ends[start], ends[stop])
        mixed = (X.indices[own].astype(np.uint64) + np.uint64(1)) * np.uint64(_MIX[0])
        mixed ^= X.data[own].view(np.uint32).astype(np.uint64) * np.uint64(_MIX[1])
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(_MIX[2])
        sums = np.append(np.uint64(0), np.cumsum(mixed))
        keys[start:stop] = np.diff(sums[ends[start : stop + 1] - ends[start]])
    return keys


def _either(remedies: list[str]) -> str:
    return remedies[0] if len(remedies) == 1 else f"{', '.join(remedies[:-1])} or {remedies[-1]}"


def advise_on_scores(model: Any, tally: Any, path: str) -> list[str]:
    """Warns if a linear model has no weight for any feature of most rows."""
    if not (isinstance(model, LinearModel) and isinstance(tally, Scores)):
        return []
    scores = tally.scores
    if len(scores) < MIN_SCORED_ROWS:
        return []
    unknown = int((scores == -model.b).sum())
    if unknown < MAX_UNKNOWN_SHARE * len(scores) or not model.w.any():
        return []
    return [
        f"{unknown:,} of the {len(scores):,} rows of {escape(path)} have no feature that weighs "
        "in the model; were they made as the training rows were, with the same numbers of features?"
    ]


def in_options(message: str, original: bool = False) -> str:
    """Returns a message with options in place of parameters; with `original`, the one-letter
    options of the original program."""
    if not isinstance(message, Message):
        return message
    from svmcut.cli.options import ROWS

    known = {option.field: option for option in ROWS}
    return message.word(partial(_flag, known, original))


def _flag(known: dict[str, Any], original: bool, parameter: Parameter) -> str:
    from svmcut.spec.kinds import FLAG

    name, value = parameter
    if name not in known:
        return word_for_python(parameter)
    option = known[name]
    if option.kind is FLAG:
        return option.flags[0].split("/")[parameter.texts(False) == "False"]
    spelt = option.letter if original and option.letter else option.flags[0]
    return spelt if value is None else f"{spelt} {parameter.texts(False)}"
