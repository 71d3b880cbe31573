# SPDX-License-Identifier: BSD-3-Clause
"""Choice of the threshold of a model of two classes, so that it keeps promises."""

from __future__ import annotations

from collections.abc import Iterable

from numpy.typing import NDArray

from svmcut.base.errors import ModelError, TrainingError
from svmcut.base.records import replace
from svmcut.base.typing import Any, NamedTuple
from svmcut.scoring.thresholds import Promises, choose_threshold
from svmcut.spec.catalog import TASKS
from svmcut.spec.entries import TWO_CLASSES
from svmcut.tasks.prediction import tally_blocks
from svmcut.tasks.protocol import Task, tasks_of


class ChosenThreshold(NamedTuple):
    """A model with its threshold, the number of rows it was chosen on, and their measures."""

    model: Any
    rows: int
    values: dict[str, float]

    def document(self, asked: Promises) -> dict[str, Any]:
        """Entries of a report."""
        return {
            "threshold": self.model.threshold,
            "at_least": dict(asked.floors),
            "maximise": asked.maximise,
            "confidence": asked.confidence,
            "chosen_on": self.rows,
        }


def check_two_classes(model: Any, path: str) -> None:
    """Raises ModelError for a model whose scores are not those of two classes."""
    if not any(TASKS[name].labels == TWO_CLASSES for name in tasks_of(model)):
        raise ModelError(path, "is no model of two classes, and has no threshold")


def choose(
    task: Task,
    model: Any,
    blocks: Iterable[Any],
    asked: Promises,
    threads: int = 1,
    training: Iterable[Any] | None = None,
) -> ChosenThreshold:
    """Chooses the threshold of a model on blocks of examples and replaces its own; `training` are
    the examples it was trained on, if at hand. Raises TrainingError if no threshold keeps the
    promises. See svmcut.scoring.thresholds."""
    bare: Any = replace(model, threshold=None)
    tally: Any = tally_blocks(task, bare, blocks, threads)
    positive, scores, _ = tally.of_classes()
    if not len(scores):
        raise TrainingError("there are no examples to choose a threshold on")
    before: NDArray | None = None
    if training is not None:
        seen: Any = tally_blocks(task, bare, training, threads)
        before = seen.scores
    chosen = replace(model, threshold=choose_threshold(positive, scores, asked, before))
    shifted: Any = task.tally(chosen)
    shifted.take(tally, chosen.threshold)
    return ChosenThreshold(chosen, len(scores), task.measure(shifted).values)
