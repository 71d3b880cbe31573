# SPDX-License-Identifier: BSD-3-Clause
"""A model of two classes with a threshold that keeps promises, chosen on examples."""

from __future__ import annotations

from svmcut.base.errors import ModelError, TrainingError
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple
from svmcut.scoring.thresholds import Promises, choose_threshold
from svmcut.spec.catalog import TASKS
from svmcut.spec.entries import TWO_CLASSES
from svmcut.tasks.prediction import tallied
from svmcut.tasks.protocol import tasks_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from svmcut.tasks.protocol import Task


class Chosen(NamedTuple):
    """A model with its threshold, the rows it was chosen on, and their measures."""

    model: Any
    rows: int
    values: dict[str, float]

    def document(self, asked: Promises) -> dict[str, Any]:
        """Keys of a report."""
        return {
            "threshold": self.model.threshold,
            "at_least": dict(asked.floors),
            "maximise": asked.maximise,
            "confidence": asked.confidence,
            "chosen_on": self.rows,
        }


def check_two_classes(model: Any, path: str) -> None:
    """Refuses, as a ModelError, a model whose scores are not those of two classes."""
    if not any(TASKS[name].labels == TWO_CLASSES for name in tasks_of(model)):
        raise ModelError(path, "is no model of two classes, and has no threshold")


def choose(
    task: Task,
    model: Any,
    blocks: Iterable[Any],
    asked: Promises,
    threads: int = 1,
    training: Iterable[Any] | None = None,
) -> Chosen:
    """The model with a threshold; see svmcut.scoring.thresholds.

    Parameters
    ----------
    task : Task
        Of two classes.
    model
        Its threshold, if it has one, is replaced.
    blocks, training : iterable of examples
        Those to choose on; those it was trained on, where they are at hand.

    Raises
    ------
    TrainingError
        Where no threshold keeps the promises.
    """
    bare: Any = replace(model, threshold=None)
    tally: Any = tallied(task, bare, blocks, threads)
    positive, scores, _ = tally.of_classes()
    if not len(scores):
        raise TrainingError("there are no examples to choose a threshold on")
    before: NDArray | None = None
    if training is not None:
        seen: Any = tallied(task, bare, training, threads)
        before = seen.scores
    chosen = replace(model, threshold=choose_threshold(positive, scores, asked, before))
    told: Any = task.tally(chosen)
    told.take(tally, chosen.threshold)
    return Chosen(chosen, len(scores), task.measured(told).values)
