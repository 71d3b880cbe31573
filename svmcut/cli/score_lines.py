# SPDX-License-Identifier: BSD-3-Clause
"""The files and options of a run of classify, and the lines it prints."""

from __future__ import annotations

from svmcut.base.messages import escape
from svmcut.base.records import record
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple
from svmcut.files.output import File, check_roles
from svmcut.spec.catalog import INPUTS, SCHEMES
from svmcut.spec.kinds import (
    ADDRESS,
    FLAG,
    LEVEL,
    PATH,
    PRINTED,
    THREAD_COUNT,
    integer,
    one_of,
    two_numbers,
)
from svmcut.spec.options import COMPATIBILITY, DATA, OUTPUT, RUNNING, Option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svmcut.scoring.measures import Measures
    from svmcut.tasks.presentation import Presentation


THREADS = Option(
    "threads",
    ("--threads",),
    RUNNING,
    "Number of threads; it does not change the results.",
    default="all",
    kind=THREAD_COUNT,
)


def input_option(help: str) -> Option:
    """Option for the format of a test file."""
    default = "by the file's ending, else svm"
    return Option("input", ("--input",), DATA, help, default=default, kind=one_of(INPUTS))


def dev_options(report: str, *own: Option) -> tuple[Option, ...]:
    """Options of a command on DEV, with its own between; `report` is the help of --report."""
    zero_based = "Feature indices start at 0, as in training."
    return (
        input_option("Format of DEV, as in classify."),
        Option("zero_based", ("--zero-based",), DATA, zero_based, default="off", kind=FLAG),
        *own,
        Option("report", ("--report",), OUTPUT, report, default="none", kind=PATH),
        THREADS,
    )


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
        "intervals",
        ("--intervals",),
        OUTPUT,
        "Write LOW HIGH per row, between which svmcut conformal promised that the number lies.",
        default="none",
        kind=PATH,
    ),
    Option(
        "label_sets",
        ("--label-sets",),
        OUTPUT,
        "Write the labels of each row's set, which svmcut conformal promised to hold the right "
        "one, with blanks in between; - for none.",
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
        kind=integer(0),
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


class Files(NamedTuple):
    """Files of a run."""

    examples: str
    model: str
    predictions: str


#: How a command line names them.
NAMES = Files("EXAMPLE_FILE", "MODEL_FILE", "PREDICTIONS_FILE")


@record
class ScoringOptions:
    """Options of a run; those without a comment are as of classify."""

    #: Task whose measures are printed; None leaves it to the model and the file: ranking if the
    #: file has queries.
    task: str | None = None
    #: 0 prints only the measures, 2 adds the contingency table.
    verbosity: int = 1
    threads: int = 1
    labels: bool = False
    probability: bool = False
    unlabelled: bool = False
    scheme: str | None = None
    n_best: int = 0
    top: int = 0
    propensity: tuple[float, float] | None = None
    label_names: str | None = None
    confidence: bool = False
    partial: bool = False
    #: "plain", "original", or None: the original's lines if a task is given, else plain words.
    format: str | None = None
    report: str | None = None
    beam: int = 0
    #: From 1 on the lines of svm_light's readers are printed too, if the task has them.
    light_verbosity: int = 0
    zero_based: bool = False
    input: str | None = None
    progress: bool | None = None
    certify: bool = False
    bounds: str | None = None
    intervals: str | None = None
    label_sets: str | None = None
    #: Names of the three files in messages.
    names: Files = NAMES

    def say(self, text: str = "", end: str = "\n") -> None:
        """Prints what is more than measures; under svmcut's own name from verbosity 2 on."""
        if self.verbosity >= (2 if self.is_own else 1):
            print(text, end=end, flush=True)

    @property
    def is_own(self) -> bool:
        """True unless the lines of an original are asked for."""
        return self.task is None and self.format != "original"

    def say_as_svm_light(self, text: str) -> None:
        """Prints what svm_light's readers print."""
        from svmcut.tasks.protocol import presentation

        if self.light_verbosity >= 1 and self.task and presentation(self.task).of_light:
            print(text, flush=True)

    def present(self, task: str) -> Presentation:
        """Lines of a task: the original's if one was given."""
        from svmcut.tasks.protocol import presentation

        return presentation(task, self.task is not None)

    def is_plain(self, shown: Presentation) -> bool:
        """True if measures are printed in plain words."""
        return (
            shown.has_plain and (self.format or ("original" if self.task else "plain")) == "plain"
        )


def check_files(
    files: Files, options: ScoringOptions, spread: Sequence[Sequence[str]] = ()
) -> list[File]:
    """Files that are written, none of which is read; raises UsageError if one is. `spread` are
    files and targets of workers, in place of the examples and predictions."""
    *inputs, output = map(File, options.names, files)
    outputs = [output]
    if options.label_names is not None:
        inputs.append(File("--label-names", options.label_names))
    if spread:
        inputs += [File(options.names.examples, path) for path in spread[0]]
        outputs = [File(options.names.predictions, path) for path in spread[1]]
    outputs += [] if options.report is None else [File("--report", options.report)]
    outputs += [] if options.bounds is None else [File("--bounds", options.bounds)]
    outputs += [] if options.intervals is None else [File("--intervals", options.intervals)]
    outputs += [] if options.label_sets is None else [File("--label-sets", options.label_sets)]
    check_roles(inputs, outputs)
    return outputs


def print_lines(
    shown: Presentation,
    predicted: Any,
    measured: Measures | None,
    scorer: Any,
    options: ScoringOptions,
) -> None:
    """Prints what follows the predictions: seconds and measures."""
    tally = predicted.tally
    plain = options.is_plain(shown)
    details = ""
    if options.verbosity > 1 and measured and not plain:
        details = shown.details(tally, measured)
    options.say(f"Classifying test examples...{details}done")
    options.say(f"Runtime (without IO) in cpu-seconds: {predicted.cpu_seconds:.2f}")
    if options.verbosity >= 1 and (noise := shown.noise(scorer)):
        print(noise, end="", flush=True)
    if options.certify and predicted.certifier is not None:
        print(predicted.certifier.summary(), end="", flush=True)
    if options.verbosity >= 1 and (covered := getattr(predicted, "covered", None)):
        print(covered.summary(), end="", flush=True)
    if not measured:
        if options.is_own and options.verbosity >= 1:
            print(f"{tally.counts()['examples']} predictions written", flush=True)
        return
    if not plain and options.verbosity >= 1:
        print(shown.losses(measured), end="", flush=True)
    text = shown.plain(tally, measured, scorer) if plain else shown.measures(measured)
    print(escape(text + shown.table(tally), lines=True), end="", flush=True)
