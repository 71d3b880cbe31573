# SPDX-License-Identifier: BSD-3-Clause
"""The commands of svmcut, what runs them, and a parser of plain_run command lines.

Importing click costs more than training on a small file. Click does help, completion and refusals;
a correct command line is parsed here, to the same values.
"""

from __future__ import annotations

import os
from functools import partial

from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.spec.catalog import SCHEMES, TASKS
from svmcut.spec.kinds import ADDRESS, FLAG, LEVEL, PATH, PRINTED, integer, one_of, two_numbers
from svmcut.spec.options import COMPATIBILITY, DATA, OUTPUT, RUNNING, Option, warn_of_inert
from svmcut.spec.parameters import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from svmcut.cli.options import LearnOptions

#: Command, the module and the function behind it, and its line in ``svmcut --help``.
COMMANDS = {
    "learn": ("svmcut.cli.learn", "learn", "Train a model on a file of examples."),
    "rank": ("svmcut.cli.learn", "rank", "Learn to rank the rows of queries."),
    "classify": ("svmcut.cli.classify", "classify", "Score examples with a model."),
    "inspect": ("svmcut.cli.inspect", "inspect", "Show what a model has learnt."),
    "threshold": (
        "svmcut.cli.threshold",
        "threshold",
        "Choose a threshold that promises precision or recall.",
    ),
    "convert": ("svmcut.cli.convert", "convert", "Make examples of a table or of texts."),
    "export": ("svmcut.cli.export", "export", "Write a model in another program's format."),
    "scale": ("svmcut.cli.scale", "scale", "Scale features to one range."),
    "names": (
        "svmcut.originals.names",
        "names",
        "Write programs with LIBSVM's and LIBLINEAR's names.",
    ),
}
#: Those that train.
TRAINING = {row.command for row in TASKS.values()}
THREADS = Option(
    "threads",
    ("--threads",),
    RUNNING,
    "Number of threads; it does not change the results.",
    default="all",
    kind=KINDS["threads"],
)


def input_option(help: str) -> Option:
    """Option for the format of a test file."""
    default = "by the file's ending, else svm"
    return Option("input", ("--input",), DATA, help, default=default, kind=KINDS["input"])


#: Options of ``svmcut classify``.
SCORING = (
    Option(
        "labels",
        ("--labels",),
        OUTPUT,
        "Write the predicted label instead of the score.",
        default="off",
    ),
    Option(
        "probability",
        ("--probability",),
        OUTPUT,
        "Write and measure class probabilities, one column per label in the model's order; with "
        "--labels the label comes first. The model must be trained with --probability or -l "
        "logistic.",
        default="off",
    ),
    Option(
        "unlabelled",
        ("--unlabelled",),
        DATA,
        "Ignore the first word of each line, which may be ?, any label or missing; measure "
        "nothing.",
        default="off",
    ),
    Option(
        "format",
        ("--format",),
        OUTPUT,
        "How to print the measures: plain words, or the original's lines, as svm_perf, svm_rank or "
        "svm_hmm has them.",
        default="plain",
        kind=PRINTED,
    ),
    Option(
        "scheme",
        ("--scheme",),
        OUTPUT,
        "Sequences: predict only valid chunks of iob1, iob2 or iobes.",
        default="all sequences of tags",
        kind=one_of(tuple(SCHEMES)),
    ),
    Option(
        "n_best",
        ("--n-best",),
        OUTPUT,
        "Sequences: write the N best labellings, each after a line # RANK SCORE.",
        default="the best, without its score",
        kind=integer(1, 1 << 20),
    ),
    Option(
        "confidence",
        ("--confidence",),
        OUTPUT,
        "Sequences: write TAG P, where P is the probability of the tag, and measure P. It is "
        "calibrated if the model was trained with --probability.",
        default="off",
    ),
    Option(
        "top",
        ("--top",),
        OUTPUT,
        "Label sets: write so many of the best labels of a row as LABEL:SCORE, the best first.",
        default="the predicted set",
        kind=integer(1, 1 << 20),
    ),
    Option(
        "propensity",
        ("--propensity",),
        OUTPUT,
        "Label sets: A,B of the propensities that PSP@k divides by; 0.5,0.4 for Wikipedia, 0.6,2.6 "
        "for Amazon.",
        default="0.55,1.5",
        kind=two_numbers(0),
    ),
    Option(
        "label_names",
        ("--label-names",),
        OUTPUT,
        "Label sets: write names in place of numbers; a file of one name per line, that of label 0 "
        "first. Pairs of --top have tabs between them then.",
        default="numbers",
        kind=PATH,
    ),
    Option(
        "partial",
        ("--partial",),
        DATA,
        "Tokens in columns: keep the tags in the file and predict those written as ?; measure "
        "nothing.",
        default="off",
    ),
    Option(
        "report",
        ("--report",),
        OUTPUT,
        "Write all measures as one JSON document.",
        default="none",
        kind=PATH,
    ),
    Option(
        "certify",
        ("--certify",),
        OUTPUT,
        "Count the labels that are proven to be those of the exact optimum.",
        default="off",
    ),
    Option(
        "bounds",
        ("--bounds",),
        OUTPUT,
        "Write LOW HIGH per row, bounds of the score at the exact optimum; with several classes, "
        "LOW HIGH of each.",
        default="none",
        kind=PATH,
    ),
    Option(
        "progress",
        ("--progress/--no-progress",),
        OUTPUT,
        "Show a progress bar on standard error.",
        default="on a terminal",
    ),
    Option(
        "verbosity",
        ("-v",),
        OUTPUT,
        "Verbosity; 0 prints only the measures, 2 the steps too.",
        default="1",
        kind=LEVEL,
    ),
    Option(
        "beam",
        ("--beam", "--b"),
        RUNNING,
        "Sequences: keep this many states per token while searching for the best tags; 0 keeps "
        "all. Trees of labels: go on with so many nodes of a level (10).",
        default="0",
        kind=KINDS["beam"],
    ),
    Option(
        "zero_based",
        ("--zero-based",),
        DATA,
        "Feature indices start at 0, as in training; for a model of LIBSVM, in the model file too.",
        default="off",
    ),
    input_option(
        "Format of EXAMPLE_FILE: svm, crfsuite, conll, or a table (csv, tsv, jsonl, parquet, "
        "arrow, text), as in training."
    ),
    Option(
        "scheduler",
        ("--scheduler",),
        RUNNING,
        "Score on the workers of this Dask scheduler; local:N starts N workers here. "
        "EXAMPLE_FILE may be a quoted pattern; then PREDICTIONS_FILE is a folder with one file "
        "for each.",
        default="none",
        kind=ADDRESS,
    ),
    Option(
        "scheduler_file",
        ("--scheduler-file",),
        RUNNING,
        "The same, with the file that the Dask scheduler wrote.",
        default="none",
        kind=PATH,
    ),
    THREADS,
    Option(
        "light_verbosity", ("-y",), COMPATIBILITY, "svm_light's verbosity.", kind=LEVEL, inert=True
    ),
    Option("dense", ("--d",), COMPATIBILITY, "Dense vectors.", kind=LEVEL, inert=True),
)


def train(options: LearnOptions) -> int:
    """Runs ``svmcut learn`` or ``svmcut rank``; returns the exit status."""
    if options.scheduled:
        from svmcut.cli.clusters import run_on

        return run_on(options)
    if options.added is not None or options.removed is not None:
        from svmcut.cli.updates import run_update

        return run_update(options)
    from svmcut.cli.linear_job import run

    return run(options)


def score(values: dict[str, Any]) -> None:
    """Runs ``svmcut classify`` with the files and options that were given."""
    from svmcut.base.resources import usable_cpus
    from svmcut.cli.guard import warn
    from svmcut.cli.linear_scores import score_linear
    from svmcut.cli.score_lines import Files, ScoringOptions

    files = Files(*(values[name] for name in ("example_file", "model_file", "predictions_file")))
    own = {row.field: values[row.field] for row in SCORING if row.field in values and not row.inert}
    address = [own.pop(name, None) for name in ("scheduler", "scheduler_file")]
    options = ScoringOptions(**{"threads": usable_cpus()} | own)
    if any(address):
        from svmcut.cli.scoring import score_on

        warnings = score_on(address, files, options)
    elif score_linear(files, options):
        warnings = []
    else:
        from svmcut.cli.scoring import run_scoring

        warnings = run_scoring(files, options)
    for warning in [*warn_of_inert(SCORING, values), *warnings]:
        warn("svmcut classify", warning)


def plain_run(words: Sequence[str]) -> Callable[[], int | None] | None:
    """The run that a command line asks for, as click would start it; None if click has to parse the
    line."""
    if not words or os.environ.get("_SVMCUT_COMPLETE"):
        return None
    command, *rest = words
    if command in TRAINING:
        from svmcut.cli.options import collected, named_task, rows

        values = read_words(
            rest, rows(named_task(command, rest)), ("example_file", "model_file"), 1
        )
        return None if values is None else partial(train, collected(command, rest, values))
    if command == "classify":
        values = read_words(rest, SCORING, ("example_file", "model_file", "predictions_file"), 2)
        return (
            None
            if values is None
            else partial(score, {"predictions_file": "svm_predictions"} | values)
        )
    return None


def read_words(
    words: Sequence[str], rows: Iterable[Option], files: Sequence[str], least: int
) -> dict[str, Any] | None:
    """Values of the options and files of a command line; None if click has to parse it."""
    known = {
        flag: (row, k == 0)
        for row in rows
        for spelt in row.flags
        for k, flag in enumerate(spelt.split("/"))
    }
    texts: dict[str, tuple[Option, Any]] = {}
    named, coming = [], iter(words)
    value: bool | str | None
    for word in coming:
        if not word.startswith("-") or word == "-":
            named.append(word)
            continue
        flag, given, text = word.partition("=") if word.startswith("--") else (word, "", "")
        if flag not in known:
            return None
        row, value = known[flag]
        if row.kind is not FLAG:
            value = text if given else next(coming, None)
        if value is None or (given and row.kind is FLAG):
            return None
        if row.kind.repeats and row.field in texts:
            value = f"{texts[row.field][1]},{value}"
        texts[row.field] = row, value
    if not least <= len(named) <= len(files):
        return None
    try:
        values = {
            name: value if row.kind is FLAG else row.kind.parse(value)
            for name, (row, value) in texts.items()
        }
    except ValueError:
        return None
    return values | dict(zip(files, named))
