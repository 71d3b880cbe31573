# SPDX-License-Identifier: BSD-3-Clause
"""Hints about examples that another command or a scaling would serve better."""

from __future__ import annotations

from svmcut.base.messages import Message
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.files.names import are_sentences, guess_input
from svmcut.spec.catalog import COLUMNS, OF_TAGS, TASKS
from svmcut.spec.entries import SETS, TAGS

if TYPE_CHECKING:
    from svmcut.base.errors import DataError
    from svmcut.data.examples import Csr
    from svmcut.spec.parameters import Settings

#: Ratio of the largest values of two features that draws a hint; entries a feature needs to count;
#: entries looked at.
MAX_SCALE_RATIO, MIN_COUNT, SAMPLED_ENTRIES = 1e3, 5, 1 << 14


def hints(task: str, data: Any, settings: Settings | None = None) -> list[str]:
    """Lines on the data of a task, each with its remedy; `settings` are those of the run, resolved.
    The time hardly grows with the data."""
    row = TASKS[task]
    if row.labels == SETS:  # svmcut scale reads one label a line
        return []
    queries = row.has_classes and data.qid is not None
    texts = (
        [
            f"qid has no effect in {task}; svmcut rank learns the order within queries, --task "
            "sequence the tags of sequences"
        ]
        if queries
        else []
    )
    from svmcut.data.offset_features import offset_warnings

    bias = settings is not None and bool(settings.bias) and not settings.has_kernel
    return texts + (offset_warnings(data.X, data.source.path, bias) or _hint_at_scales(data.X))


def add_kind(error: DataError, path: str, labels: str) -> None:
    """Adds to a failure to read INDEX:VALUE the kind of file that the file looks like."""
    of_tags = labels == TAGS
    guess = guess_input(path, of_tags)
    if guess is not None:
        error.add(Message("it looks like another kind of file; add {input=}", guess))
    elif not of_tags and are_sentences(path):
        error.add(
            Message("it looks like words with tags; add {task=} and {input=}", OF_TAGS, COLUMNS)
        )


def _hint_at_scales(X: Csr) -> list[str]:
    """Hint at features that differ widely in scale, from an even sample of rows."""
    import numpy as np

    some = X.take(np.arange(0, X.n_rows, max(1, X.nnz // SAMPLED_ENTRIES)))
    columns, places = np.unique(some.indices, return_inverse=True)
    largest = np.zeros(len(columns), np.float32)
    np.maximum.at(largest, places, np.abs(some.data))
    known = (np.bincount(places, minlength=len(columns)) >= MIN_COUNT) & (largest > 0)
    columns, largest = columns[known], largest[known]
    if not len(columns) or float(largest.max()) <= MAX_SCALE_RATIO * float(largest.min()):
        return []
    low, high = largest.argmin(), largest.argmax()
    ends = (columns[low], float(largest[low])), (columns[high], float(largest[high]))
    return [different_scales(*ends)]


def different_scales(low: tuple[int, float], high: tuple[int, float]) -> str:
    """Hint at two columns, each with its largest value."""
    return (
        f"the values of feature {low[0] + 1} go to {low[1]:.3g} and those of feature {high[0] + 1} "
        f"to {high[1]:.3g}; svmcut scale brings features to one range"
    )
