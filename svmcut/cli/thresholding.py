# SPDX-License-Identifier: BSD-3-Clause
"""One run of threshold, and the threshold that a run of learn chooses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from numpy.typing import NDArray

from svmcut.base.errors import ModelError, TrainingError
from svmcut.base.records import record, replace
from svmcut.base.typing import Any, ClassVar, NamedTuple
from svmcut.cli.options import LearnOptions
from svmcut.cli.promising import Promise, outputs_for, run_promise
from svmcut.cli.training_report import fact
from svmcut.formats import written_and_read
from svmcut.scoring.thresholds import Promises, choose_threshold, make_promises
from svmcut.spec.catalog import TASKS
from svmcut.spec.entries import TWO_CLASSES
from svmcut.spec.parameters import DEFAULTS
from svmcut.spec.places import USUAL_CONFIDENCE
from svmcut.tasks.prediction import tally_blocks
from svmcut.tasks.protocol import Task, tasks_of


@record
class ThresholdOptions:
    """Options of a run of threshold."""

    command: ClassVar[str] = "threshold"
    at_least: tuple[tuple[str, float], ...] = ()
    maximise: str | None = None
    confidence: float = USUAL_CONFIDENCE
    input: str | None = None
    zero_based: bool = DEFAULTS["zero_based"]
    report: str | None = None
    threads: int | None = None


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


def run_threshold(dev: str, model_file: str, target: str, options: ThresholdOptions) -> None:
    """Chooses the threshold, writes the model, and prints what is promised. Raises SvmcutError if
    no threshold keeps the promises; nothing is written then."""
    outputs = outputs_for(dev, model_file, target, options.report)
    promise = make_promises(dict(options.at_least), options.maximise, options.confidence)

    def make(task: Task, model: Any, blocks: Iterable[Any], threads: int) -> Promise:
        chosen = choose(task, model, blocks, promise, threads)
        document = chosen.document(promise) | chosen.values
        return Promise(chosen.model, threshold_lines(chosen, promise), document)

    run_promise(dev, model_file, outputs, options, check_two_classes, make)


def choose_for_run(
    task: Task, model: Any, options: LearnOptions, held: Any, seen: Any
) -> tuple[Any, dict[str, Any], list[str]]:
    """Chooses the threshold of a run of learn on the rows of --validate, scored as a reader of the
    model file scores them. Returns the model, entries of the report, and lines to print."""
    from svmcut.cli.option_checks import promises_of

    promise, kept = promises_of(options), written_and_read(model)
    try:
        chosen = choose(task, kept, [held], promise, options.threads, [seen])
    except TrainingError as error:
        raise TrainingError("{}: {}", options.validate, error) from None
    with_threshold = replace(model, threshold=chosen.model.threshold)
    return with_threshold, chosen.document(promise), [*threshold_lines(chosen, promise)]


def threshold_lines(chosen: ChosenThreshold, promise: Promises) -> Iterator[str]:
    """Lines on what is promises_of, and on the rows that the threshold was chosen on."""
    values, sure = chosen.values, 100 * promise.confidence
    yield fact("Threshold", f"{chosen.model.threshold:.6g} of the scores, subtracted from them")
    floors = " and ".join(f"{name} of at least {floor:g}" for name, floor in promise.floors.items())
    yield fact("Promised", f"{floors} on new rows like these, with confidence {sure:g} %")
    yield fact(
        "Here",
        f"precision {values['precision']:.2f} %, recall {values['recall']:.2f} % of "
        f"{chosen.rows:,} rows",
    )
