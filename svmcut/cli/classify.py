# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut classify``."""

from __future__ import annotations

import click

_EPILOG = """\b
Examples:
  svmcut classify test.dat model
  svmcut classify test.dat model scores.txt --report report.json
  svmcut classify test.hmm chain tags.txt         one tag a token
  svmcut classify test.ml sets labels.txt         labels with commas in between
  zcat test.gz | svmcut classify - model - >scores.txt
"""


@click.command(epilog=_EPILOG, context_settings={"help_option_names": ["-?", "-h", "--help"], "max_content_width": 110})
@click.argument("example_file")
@click.argument("model_file")
@click.argument("predictions_file", default="svm_predictions")
@click.option("-v", "verbosity", type=int, default=1, show_default=True, help="Verbosity; 0 prints the measures alone.")
@click.option("--labels", is_flag=True, help="Write the predicted label instead of the score.")
@click.option(
    "--beam",
    "--b",
    "beam",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Sequences: states kept a token while the best tags are sought; 0 keeps all.",
)
@click.option("--report", metavar="FILE", help="Write all measures as one JSON document.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads; results do not depend on them.  [default: all]")
@click.option("-y", "_light", type=int, help="Taken for compatibility; no effect.")
@click.option("--d", "_dense", type=int, help="Taken for compatibility; no effect.")
def classify(example_file, model_file, predictions_file, verbosity, labels, beam, report, threads, _light, _dense):
    """Score the examples of EXAMPLE_FILE with MODEL_FILE.

    PREDICTIONS_FILE gets one line per example (default: svm_predictions): its score, or its tag where the model is one
    of sequences. Accuracy, precision, recall, F1, PRBEP, ROC
    area and average precision are printed, swapped pairs where the examples have a qid, wrong tags for sequences; for
    label sets Hamming loss, subset accuracy, micro and macro F1 and precision at 1, 3 and 5.
    EXAMPLE_FILE may be - for standard input, PREDICTIONS_FILE - for standard output.
    """
    from svmcut.cli.guard import warn
    from svmcut.cli.scoring import run_scoring
    from svmcut.machine import usable_cpus

    files, threads = (example_file, model_file, predictions_file), threads or usable_cpus()
    for warning in run_scoring(
        *files, verbosity=verbosity, threads=threads, labels=labels, beam=beam, report=report
    ):
        warn("svmcut classify", warning)
