# SPDX-License-Identifier: BSD-3-Clause
"""One run of classify, whatever command line asked for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from svmcut import __version__
from svmcut.cli import advice
from svmcut.cli.certifying import both, certifying
from svmcut.cli.counting_bar import counting
from svmcut.cli.files import log_beside
from svmcut.cli.report import write_report
from svmcut.cli.score_lines import Files, ScoringOptions, check_files, print_lines
from svmcut.cli.training_report import step
from svmcut.cli.words import in_options
from svmcut.errors import ModelError, UsageError
from svmcut.files.models import ModelFile, is_model, read_file
from svmcut.messages import Message, join_names, without_secrets
from svmcut.spec.catalog import COLUMNS, INPUTS, NAMED, SCHEMES, TASKS
from svmcut.spec.entries import GRADES, SETS, TAGS
from svmcut.spec.records import replace
from svmcut.tasks.prediction import PredictionOptions, Predictions, predict
from svmcut.tasks.protocol import Task, input_for, named, names_for, presentation, tasks_of
from svmcut.typing import Any, NamedTuple


class Spread(NamedTuple):
    """Files that workers predict, where the predictions go, and the function that has it done."""

    files: list[str]
    targets: list[str]
    predict: Callable[..., Predictions]


# a model may have scores beyond float64
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def run_scoring(
    files: Files, options: ScoringOptions, spread: Spread | None = None
) -> Sequence[str]:
    """Scores, writes, prints the measures; returns warnings.

    Parameters
    ----------
    files : Files
    options : ScoringOptions
    spread : Spread or None
        Who predicts many files in place of one.

    Raises
    ------
    SvmcutError
        Whatever the files or the system refuse; no prediction file is written then.
    """
    began = time.perf_counter()
    with log_beside(check_files(files, options, spread[:2] if spread else ())):
        with step(options.say, "Reading model") as close:
            scorer, file = read_scorer(files, options)
            close("done.")
        with step(options.say, "Reading test examples") as close:
            options = replace(options, input=input_for(scorer, files.examples, options.input))
            task = check_model(scorer, files.model, options)
            task = ranking_task(decoding_task(task, scorer, files, options), scorer, options)
            if file.caution and (options.certify or options.bounds is not None):
                raise ModelError(files.model, file.caution)
            predicted, table = predict_files(task, scorer, files, options, spread)
            if table is not None and not table.labelled:
                options = replace(options, unlabelled=True)
            options.say_light("Scanning examples...done")
            count = predicted.tally.counts()["examples"]
            options.say_light(f"Reading examples into memory...OK. ({count} examples read)")
            shown = options.present(tasks_of(scorer)[0])
            close(f"{shown.sizes(predicted.tally)}.")
        if options.task is not None and options.verbosity <= 0:
            print(shown.quiet(predicted.tally), end="", flush=True)
        own, queries = tasks_of(scorer), predicted.tally.queries
        name = options.task or own[-1 if queries or options.unlabelled else 0]
        warnings = warnings_of(predicted, name, scorer, files, options)
        if file.is_changed and options.task is None:
            warnings.insert(0, Message("{}: {}", without_secrets(files.model), file.caution))
        measures = print_measures(predicted, name, scorer, options)
        if options.report is not None:
            seconds = dict(predicted.seconds, total=time.perf_counter() - began)
            counts = named(name, input=options.input or INPUTS[0]).counts_of(predicted.tally)
            head = {"command": "classify", "version": __version__, **counts}
            if predicted.certifier is not None:
                measures = measures | predicted.certifier.report()
            last = {"seconds": seconds, "warnings": [*map(in_options, warnings)]}
            write_report(options.report, head | measures | last)
    return warnings


def read_scorer(files: Files, options: ScoringOptions) -> tuple[Any, ModelFile]:
    """The model of a run, and what its file has.

    Raises
    ------
    ModelError
        With a hint where the files are in the wrong order.
    """
    own = options.task is None
    try:
        file = read_file(files.model, own, options.zero_based, options.probability)
    except ModelError:
        if not is_model(files.examples):
            raise
        swapped = (
            f"no model, but {files.examples} is one; expected {' '.join(options.names)}, in this "
            "order"
        )
        raise ModelError(files.model, swapped) from None
    scorer: Any = file.model
    # weights of features are one vector
    vectors = scorer.support.n_rows if hasattr(scorer, "support") else 1
    options.say_light(f"Reading model...OK. ({vectors} support vectors read)")
    if options.task is not None and getattr(scorer, "labels", None):
        scorer = replace(scorer, labels=None)  # the originals know one rule for labels
    return scorer, file


def check_model(scorer: Any, model: str, options: ScoringOptions) -> Task:
    """The task that reads the examples.

    Raises
    ------
    ModelError, UsageError
        When the model is not of the task that was given, or has not what an option asks for.
    """
    own = tasks_of(scorer)
    shown = options.present(own[0])
    if options.task not in (None, *own):
        raise ModelError(model, shown.foreign, 1, 1)
    if options.labels and shown.no_labels:
        raise UsageError("--labels {}", shown.no_labels)
    if options.probability and not getattr(scorer, "has_probabilities", False):
        raise ModelError(model, Message("the model has no probabilities; {}", shown.no_probability))
    if options.unlabelled and shown.no_missing:
        raise UsageError("--unlabelled {}", shown.no_missing)
    if options.format is not None and (options.unlabelled or not shown.has_plain):
        raise UsageError("--format is for measures of classes, rankings and tags; leave it out")
    has_beam = shown.has_beam or getattr(scorer, "has_beam", False)
    if options.beam and options.task is None and not has_beam:
        raise UsageError("{beam} is for models of sequences and trees of labels; leave it out")
    task = named(options.task or own[-1], options.task is not None, options.input or INPUTS[0])
    if options.zero_based and options.input in (NAMED, COLUMNS):
        raise UsageError("{zero_based} has no effect on attributes by name; leave it out")
    return task


def _asked(options: ScoringOptions) -> str:
    """The first option of decoding that was given; "" for none."""
    names = ("scheme", "n_best", "confidence", "partial")
    return next((f"--{name.replace('_', '-')}" for name in names if getattr(options, name)), "")


def decoding_task(task: Any, scorer: Any, files: Files, options: ScoringOptions) -> Any:
    """The task that decodes as the options say.

    Raises
    ------
    UsageError, ModelError
        For options that exclude each other, models without tags, and a scheme that is not that of
        the model's tags.
    """
    name = _asked(options)
    if not name:
        return task
    if options.certify:
        raise UsageError("{certify} is for the best tags; leave out {}", name)
    if TASKS[tasks_of(scorer)[0]].labels != TAGS:
        raise UsageError("{} is for models of sequences; leave it out", name)
    if options.n_best and (options.confidence or options.probability):
        raise UsageError(
            "--n-best writes scores of labellings, --confidence probabilities of tags; leave one "
            "of them out"
        )
    if options.beam and (options.n_best or options.confidence):
        raise UsageError("{} needs all states; leave out {beam}", name)
    if options.partial and options.input != COLUMNS:
        raise UsageError("--partial is for tokens in columns; leave it out")
    from svmcut.scoring.chunks import parts_of, rules_of
    from svmcut.tasks.decoding import Decoding

    if options.scheme is not None:
        parts = None if scorer.names is None else parts_of(scorer.names.tags)
        if rules_of(parts, options.scheme) is None:
            letters = [f"{letter}-TYPE" for letter in SCHEMES[options.scheme] if letter != "O"]
            message = "--scheme {} needs the tags O, {}, and the model has others"
            raise ModelError(files.model, Message(message, options.scheme, join_names(letters)))
    sure = options.confidence or options.probability
    how = options.scheme, options.n_best, sure, options.partial
    return task.decoding_as(Decoding(files.examples, *how))


def ranking_task(task: Any, scorer: Any, options: ScoringOptions) -> Any:
    """The task that ranks labels as the options say.

    Raises
    ------
    UsageError
        For models without sets of labels.
    """
    asked = [
        name
        for name, value in (
            ("--top", options.top),
            ("--propensity", options.propensity),
            ("--label-names", options.label_names),
        )
        if value
    ]
    if not asked:
        return task
    if TASKS[tasks_of(scorer)[0]].labels != SETS:
        name = asked[0]
        raise UsageError("{} is for models of label sets; leave it out", name)
    from svmcut.files.label_files import read_label_names
    from svmcut.scoring.tops import Propensity

    names = options.label_names and read_label_names(options.label_names, scorer.names)
    return task.ranking_as(options.top, Propensity(*(options.propensity or ())), names)


def predict_files(
    task: Task, scorer: Any, files: Files, options: ScoringOptions, spread: Spread | None
) -> tuple[Predictions, Any]:
    """Reads and predicts the examples, here or by the workers of `spread`, and writes what they
    are; with the reader of a table, where they are one."""
    reading = {"unlabelled": options.unlabelled, "zero_based": options.zero_based}
    input = options.input or INPUTS[0]
    reading |= names_for(scorer, files.model, input, options.unlabelled, options.partial)
    if options.task is not None:
        reading.pop("words", None)  # the originals know numbers alone
    how = PredictionOptions(
        options.threads,
        options.beam,
        options.labels,
        options.probability or options.confidence,
        reading,
    )
    table: Any = reading.get("table")
    if spread is None:
        wanted = options.progress if options.task is None else False
        asked = files.model, options.certify, options.bounds, options.threads
        with counting(wanted) as count, certifying(scorer, *asked) as certifier:
            how = how._replace(watch=both(count, certifier))
            predicted = predict(task, scorer, files.examples, files.predictions, how)
            predicted = predicted._replace(certifier=certifier)
    elif table is not None:
        raise UsageError("{scheduler} is for examples in LIBSVM's text; leave it out")
    elif options.certify or options.bounds is not None:
        raise UsageError("{certify} and {scheduler} do not go together; leave one of them out")
    else:
        predicted = spread.predict(task, scorer, how)
    if table is not None:
        predicted = predicted._replace(warnings=(*predicted.warnings, *table.warnings))
    return predicted, table


def warnings_of(
    predicted: Predictions, name: str, scorer: Any, files: Files, options: ScoringOptions
) -> list[str]:
    """What a user should know of predictions whose measures are those of a task."""
    judge = named(name, input=options.input or INPUTS[0])
    warnings = [*predicted.warnings]
    if options.unlabelled:
        warnings += judge.score_warnings(predicted.tally)
    else:
        warnings += judge.warnings(predicted.tally, files.examples)
    if options.task is None:
        warnings += advice.of_scores(scorer, predicted.tally, files.examples)
    if options.confidence and scorer.temperature is None:
        warnings.append(
            Message(
                "the probabilities are not calibrated, as the model has no temperature; train it "
                "with {probability}"
            )
        )
    if options.labels and (caution := presentation(tasks_of(scorer)[0]).caution(scorer)):
        warnings.append(caution)
    return warnings


def print_measures(
    predicted: Predictions, name: str, scorer: Any, options: ScoringOptions
) -> dict[str, Any]:
    """Prints what the predictions are worth to a task; returns it, nothing where rows have no
    labels."""
    tally, shown = predicted.tally, options.present(name)
    measured = None
    if not options.unlabelled:
        measured = named(name, input=options.input or INPUTS[0]).measured(tally)
    print_lines(shown, predicted, measured, scorer, options)
    if not measured:
        return {}
    skilled = shown.has_plain and TASKS[name].labels != GRADES
    skill = predicted.skill.values() if predicted.skill and skilled else {}
    if skill:
        print(shown.skill(skill), end="", flush=True)
    return measured.values | skill
