# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut classify``."""

from __future__ import annotations

import click

from svmcut.cli.option_rows import COMPATIBILITY, DATA, OUTPUT, RUNNING, Option
from svmcut.cli.panels import PanelCommand
from svmcut.kinds import ADDRESS, LEVEL, PATH, one_of
from svmcut.parameters import KINDS

_EPILOG = """\b
Examples:
  svmcut classify test.dat model
  svmcut classify test.dat model scores.txt --report report.json
  svmcut classify test.hmm chain tags.txt         one tag a token
  svmcut classify test.ml sets labels.txt         labels with commas in between
  zcat test.gz | svmcut classify - model - >scores.txt
"""


ROWS = (
    Option("labels", ("--labels",), OUTPUT, "Write the predicted label, as the model has it, instead of the score.",
           default="off"),
    Option("probability", ("--probability",), OUTPUT,
           "Write and measure the probabilities of the classes, in the order of the model's labels, with --labels "
           "behind the label; of a model trained with --probability or -l logistic.", default="off"),
    Option("unlabelled", ("--unlabelled",), DATA,
           "The first word of a line may be anything but INDEX:VALUE; nothing is measured.", default="off"),
    Option("format", ("--format",), OUTPUT,
           "Measures of two classes in plain words with a table of the classes, or in svm_perf's lines.",
           default="plain", kind=one_of(("plain", "svm_perf"))),
    Option("report", ("--report",), OUTPUT, "Write all measures as one JSON document.", default="none", kind=PATH),
    Option("verbosity", ("-v",), OUTPUT, "Verbosity; 0 prints the measures alone.", default="1", kind=LEVEL),
    Option("beam", ("--beam", "--b"), RUNNING,
           "Sequences: states kept a token while the best tags are sought; 0 keeps all.", default="0",
           kind=KINDS["beam"]),
    Option("zero_based", ("--zero-based",), DATA, "Feature indices start at 0, as where the model was trained.",
           default="off"),
    Option("input", ("--input",), DATA,
           "Text of EXAMPLE_FILE: svm, or crfsuite where the model was trained on that: tags and attributes by name.",
           default="svm", kind=KINDS["input"]),
    Option("scheduler", ("--scheduler",), RUNNING,
           "Score on the workers of this Dask scheduler, or with local:N on N that are started here. EXAMPLE_FILE may "
           "be a quoted pattern, PREDICTIONS_FILE is a folder that gets one file each.", default="none", kind=ADDRESS),
    Option("scheduler_file", ("--scheduler-file",), RUNNING, "The same, of the scheduler that wrote this file.",
           default="none", kind=PATH),
    Option("threads", ("--threads",), RUNNING, "Threads; results do not depend on them.", default="all",
           kind=KINDS["threads"]),
    Option("light_verbosity", ("-y",), COMPATIBILITY, "svm_light's verbosity.", kind=LEVEL, inert=True),
    Option("dense", ("--d",), COMPATIBILITY, "Dense vectors.", kind=LEVEL, inert=True),
)  # fmt: skip


@click.command(cls=PanelCommand, rows=ROWS, epilog=_EPILOG, help_names="-? -h --help")
@click.argument("example_file")
@click.argument("model_file")
@click.argument("predictions_file", default="svm_predictions")
def classify(example_file, model_file, predictions_file, **given):
    """Score the examples of EXAMPLE_FILE with MODEL_FILE.

    PREDICTIONS_FILE gets one line per example (default: svm_predictions): its score, or its tag where the model is one
    of sequences. Accuracy, precision, recall, F1, ROC area, average precision and a table of the classes are printed,
    swapped pairs where the examples have a qid, wrong tags for sequences; for label sets Hamming loss, subset accuracy,
    micro and macro F1 and precision at 1, 3 and 5. Labels are compared with those of the model.
    EXAMPLE_FILE may be - for standard input, PREDICTIONS_FILE - for standard output.
    """
    from svmcut.cli.guard import warn
    from svmcut.cli.option_checks import inert
    from svmcut.cli.scoring import run_scoring
    from svmcut.machine import usable_cpus

    values = {name: value for name, value in given.items() if value is not None}
    read = {row.field: values[row.field] for row in ROWS if row.field in values and not row.inert}
    read = {"threads": usable_cpus()} | read
    address = [read.pop(name, None) for name in ("scheduler", "scheduler_file")]
    if any(address):
        from svmcut.cli.spreading import score_on

        found = score_on(address, example_file, model_file, predictions_file, read)
    else:
        found = run_scoring(example_file, model_file, predictions_file, **read)
    for warning in [*inert(ROWS, values), *found]:
        warn("svmcut classify", warning)
