# SPDX-License-Identifier: BSD-3-Clause
"""Calibration of a model's intervals or sets of labels on rows, and both for new rows; see
svmcut.scoring.conformal."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import TrainingError
from svmcut.base.typing import Any
from svmcut.scoring.conformal import (
    ABSOLUTE,
    MARGIN,
    PROBABILITY,
    Coverage,
    calibrate,
    class_strangeness,
)
from svmcut.spec.catalog import TASKS
from svmcut.spec.entries import CLASSES, TWO_CLASSES
from svmcut.tasks.protocol import Task, tasks_of


def score_of(model: Any) -> str | None:
    """The score of strangeness for a model; None for one that predicts neither numbers nor
    classes."""
    name = tasks_of(model)[0]
    if TASKS[name].labels in (TWO_CLASSES, CLASSES):
        return PROBABILITY if model.has_probabilities else MARGIN
    return ABSOLUTE if name == "regression" else None


def strangeness_inputs(
    task: Task, model: Any, score: str, part: Any, predicted: Any, threads: int = 1
) -> NDArray[np.float64]:
    """The numbers, probabilities or scores of classes that strangeness is computed of; the scores
    of two classes have no threshold."""
    if score == PROBABILITY:
        return task.probabilities(part, predicted, model, threads)
    return predicted + (getattr(model, "threshold", None) or 0.0)


def _drop_uncounted(block: Any) -> Any:
    """The rows of a block without those of weight 0; raises TrainingError for other weights than 0
    and 1, of which no copies can be made."""
    if block.weights is None:
        return block
    if other := int(((block.weights != 0) & (block.weights != 1)).sum()):
        raise TrainingError(
            "weights other than 0 and 1 are on {} rows, and a row counts once; leave them out",
            other,
        )
    return block.take(block.weights == 1)


def calibrate_on(
    task: Task,
    model: Any,
    blocks: Iterable[Any],
    share: float,
    by_class: bool = False,
    threads: int = 1,
) -> Coverage:
    """The coverage of a model that has a score of strangeness, by the rows of all blocks. Raises
    TrainingError where there are too few, or labels that the model does not know."""
    score, predictor = score_of(model), task.predictor(model, threads)
    assert score is not None
    scores, places = list[NDArray](), list[NDArray]()
    for block in map(_drop_uncounted, blocks):
        for part in task.parts(block, model) if len(block) else ():
            made = strangeness_inputs(task, model, score, part, predictor(part), threads)
            if score == ABSOLUTE:
                scores.append(np.abs(part.y - made))
                continue
            own = task.places(part, model)
            if unknown := int((own < 0).sum()):
                raise TrainingError(
                    "labels that the model does not know are in {} rows; leave them out", unknown
                )
            scores.append(class_strangeness(made, score)[np.arange(len(own)), own])
            places.append(own)
    if not scores:
        raise TrainingError("there are no examples to promise a coverage by")
    if not by_class:
        return calibrate(np.concatenate(scores), share, score)
    n_classes = len(model.label_texts())
    return calibrate(np.concatenate(scores), share, score, np.concatenate(places), n_classes)
