# SPDX-License-Identifier: BSD-3-Clause
"""One run of classify, whatever command line asked for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from svmcut import __version__
from svmcut.cli.files import log_beside
from svmcut.cli.presentations import PRESENTATIONS, presentation
from svmcut.cli.report import write_report
from svmcut.cli.training_report import step
from svmcut.cli.words import in_options
from svmcut.errors import ModelError, UsageError
from svmcut.files.models import is_model, read_model
from svmcut.files.roles import File, check_roles
from svmcut.messages import printable
from svmcut.spec.catalog import INPUTS
from svmcut.spec.records import replace
from svmcut.tasks.prediction import Predictions, predict
from svmcut.tasks.protocol import named, names_for, tasks_of


class Spread(NamedTuple):
    """Files that workers predict, where the predictions go, and the function that has it done."""

    files: list[str]
    targets: list[str]
    predict: Callable[..., Predictions]


def count_vectors(model: Any) -> int:
    """Support vectors that a model of svm_light has: weights of features are one."""
    return model.support.n_rows if hasattr(model, "support") else 1


@np.errstate(
    over="ignore", invalid="ignore", divide="ignore"
)  # a model may have scores beyond float64
def run_scoring(
    examples: str,
    model: str,
    predictions: str,
    *,
    task: str | None = None,
    verbosity: int = 1,
    threads: int = 1,
    labels: bool = False,
    probability: bool = False,
    unlabelled: bool = False,
    format: str | None = None,
    report: str | None = None,
    beam: int = 0,
    light_verbosity: int = 0,
    zero_based: bool = False,
    input: str = INPUTS[0],
    arguments: tuple[str, str, str] = ("EXAMPLE_FILE", "MODEL_FILE", "PREDICTIONS_FILE"),
    spread: Spread | None = None,
) -> list[str]:
    """Scores, writes, prints the measures; returns warnings.

    Parameters
    ----------
    task : str or None
        Whose measures are printed; None lets the model and the file say: ranking where it has
        queries.
    verbosity : int
        0 prints the measures alone; 2 adds the contingency table.
    light_verbosity : int
        From 1 on what the readers of svm_light say, where a task has them, is told too.
    labels, probability, unlabelled, report, beam, zero_based, input
        As the options of classify.
    format : {"plain", "svm_perf"} or None
        Of the measures of classes; None for svm_perf's where a task is given, else for plain words.
    arguments : tuple of str
        Names of the three files in messages.
    spread : Spread or None
        Who predicts many files in place of one.

    Raises
    ------
    SvmcutError
        Whatever the files or the system refuse; no prediction file is written then.
    """
    *inputs, output = map(File, arguments, (examples, model, predictions))
    outputs = [output]
    if spread is not None:
        inputs += [File(arguments[0], path) for path in spread.files]
        outputs = [File(arguments[2], path) for path in spread.targets]
    outputs += [] if report is None else [File("--report", report)]
    check_roles(inputs, outputs)
    began = time.perf_counter()

    def say(text: str = "", end: str = "\n") -> None:
        if verbosity >= 1:
            print(text, end=end, flush=True)

    def say_light(text: str) -> None:
        if light_verbosity >= 1 and task is not None and PRESENTATIONS[task].of_light:
            print(text, flush=True)

    with log_beside(outputs):
        with step(say, "Reading model") as close:
            try:
                scorer: Any = read_model(model, task is None, zero_based, probability)
            except ModelError:
                if not is_model(examples):
                    raise
                swapped = (
                    f"no model, but {examples} is one; expected {' '.join(arguments)}, in this "
                    "order"
                )
                raise ModelError(model, swapped) from None
            say_light(f"Reading model...OK. ({count_vectors(scorer)} support vectors read)")
            close("done.")
        with step(say, "Reading test examples") as close:
            own = tasks_of(scorer)
            shown = presentation(own[0], task is not None)
            if task not in (None, *own):
                raise ModelError(model, shown.foreign, 1, 1)
            if task is not None and getattr(
                scorer, "labels", None
            ):  # the originals know one rule for labels
                scorer = replace(scorer, labels=None)
            if labels and shown.no_labels:
                raise UsageError("{}", shown.no_labels)
            if probability and not getattr(scorer, "has_probabilities", False):
                raise ModelError(model, "the model has no probabilities" + shown.no_probability)
            if unlabelled and shown.no_missing:
                raise UsageError("{}", shown.no_missing)
            if format is not None and (unlabelled or not shown.has_plain):
                raise UsageError("--format is for measures of two classes; leave it out")
            if beam and task is None and not shown.has_beam:
                raise UsageError("{beam} is for models of sequences; leave it out")
            reader = named(task or own[-1], task is not None, input)
            given: dict[str, Any] = {
                "threads": threads,
                "beam": beam,
                "labels": labels,
                "probability": probability,
            }
            if zero_based and input != INPUTS[0]:
                raise UsageError("{zero_based} has no effect on attributes by name; leave it out")
            how = {"unlabelled": unlabelled, "zero_based": zero_based} | names_for(
                scorer, model, input
            )
            if spread is None:
                found = predict(reader, scorer, examples, predictions, **given, **how)
            else:
                found = spread.predict(reader, scorer, **given, **how)
            say_light("Scanning examples...done")
            say_light(
                f"Reading examples into memory...OK. ({found.tally.counts()['examples']} examples "
                "read)"
            )
            close(f"{shown.sizes(found.tally)}.")
        if task is not None and verbosity <= 0:
            print(shown.quiet(found.tally), end="", flush=True)
        name = task or own[-1 if found.tally.queries or unlabelled else 0]
        judge, shown = named(name, input=input), presentation(name, task is not None)
        warnings = [*found.warnings, *judge.warnings(found.tally, examples)]
        if format is not None and not shown.has_plain:
            warnings.append(f"--format has no effect where {printable(examples)} has queries")
        if labels and (caution := PRESENTATIONS[own[0]].caution(scorer)):
            warnings.append(caution)
        measured = None if unlabelled else judge.measured(found.tally)
        skill = found.skill.values() if found.skill and shown.has_plain else {}
        plain = shown.has_plain and (format or ("svm_perf" if task else "plain")) == "plain"
        details = (
            shown.details(found.tally, measured) if verbosity > 1 and measured and not plain else ""
        )
        say(f"Classifying test examples...{details}done")
        say(f"Runtime (without IO) in cpu-seconds: {found.cpu_seconds:.2f}")
        if measured:
            say("" if plain else shown.losses(measured), end="")
            text = shown.plain(found.tally, measured, scorer) if plain else shown.measures(measured)
            print(printable(text + shown.table(found.tally), lines=True), end="", flush=True)
            if skill:
                print(shown.skill(skill), end="", flush=True)
        if report is not None:
            seconds = dict(found.seconds, total=time.perf_counter() - began)
            head = {"command": "classify", "version": __version__, **judge.counts_of(found.tally)}
            values = measured.values | skill if measured else {}
            write_report(
                report,
                head | values | {"seconds": seconds, "warnings": [*map(in_options, warnings)]},
            )
    return warnings
