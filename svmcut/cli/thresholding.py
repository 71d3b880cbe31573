# SPDX-License-Identifier: BSD-3-Clause
"""One run of threshold, and the threshold that a run of learn chooses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut import __version__
from svmcut.base.errors import ModelError, TrainingError
from svmcut.base.messages import Message, escape, hide_secrets
from svmcut.base.records import record, replace
from svmcut.base.resources import usable_cpus
from svmcut.base.typing import Any, NamedTuple
from svmcut.cli.files import redirect_log, write_report
from svmcut.cli.guard import warn
from svmcut.cli.options import LearnOptions
from svmcut.cli.training_report import fact
from svmcut.files.output import File, check_roles
from svmcut.formats import read_file, write_model, written_and_read
from svmcut.scoring.thresholds import Promises, choose_threshold, make_promises
from svmcut.spec.catalog import TASKS
from svmcut.spec.entries import TWO_CLASSES
from svmcut.spec.parameters import DEFAULTS
from svmcut.spec.places import USUAL_CONFIDENCE
from svmcut.tasks.prediction import tally_blocks
from svmcut.tasks.protocol import Task, input_for, make_task, names_for, tasks_of


@record
class ThresholdOptions:
    """Options of a run of threshold."""

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


# a model may have scores beyond float64
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def run_threshold(dev: str, model_file: str, target: str, options: ThresholdOptions) -> None:
    """Chooses the threshold, writes the model, and prints what is promised. Raises SvmcutError if
    no threshold keeps the promises; nothing is written then."""
    report, zero_based = options.report, options.zero_based
    outputs = [File("OUT", target), *([] if report is None else [File("--report", report)])]
    check_roles([File("DEV", dev), File("MODEL", model_file)], outputs)
    promise = make_promises(dict(options.at_least), options.maximise, options.confidence)
    file = read_file(model_file, zero_based=zero_based)
    model: Any = file.model
    check_two_classes(model, model_file)
    input = input_for(model, dev, options.input)
    task, threads = make_task(tasks_of(model)[0], input=input), options.threads or usable_cpus()
    reading = {"zero_based": zero_based} | names_for(model, model_file, input)
    try:
        blocks = task.stream(dev, threads=threads, **reading)
        chosen = choose(task, model, blocks, promise, threads)
    except TrainingError as error:
        raise TrainingError("{}: {}", dev, error) from None
    with redirect_log(outputs):
        write_model(target, chosen.model)
        for line in threshold_lines(chosen, promise):
            print(escape(line))
        print(fact("Model", escape(hide_secrets(target))))
    if file.is_changed:
        warn("svmcut threshold", Message("{}: {}", hide_secrets(model_file), file.caution))
    if report is not None:
        head = {"command": "threshold", "version": __version__}
        write_report(report, head | chosen.document(promise) | chosen.values)


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
