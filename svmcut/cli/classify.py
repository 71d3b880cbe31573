# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut classify``."""

from __future__ import annotations

import click

from svmcut.cli.commands import score
from svmcut.cli.panels import PanelCommand
from svmcut.cli.score_lines import SCORING

_EPILOG = """\b
Examples:
  svmcut classify test.dat model
  svmcut classify test.dat model scores.txt --report report.json
  svmcut classify test.hmm chain tags.txt         one tag a token
  svmcut classify test.ml sets labels.txt         labels with commas in between
  zcat test.gz | svmcut classify - model - >scores.txt
"""


@click.command(cls=PanelCommand, rows=SCORING, epilog=_EPILOG, help_names="-? -h --help")
@click.argument("example_file")
@click.argument("model_file")
@click.argument("predictions_file", default="svm_predictions")
def classify(example_file, model_file, predictions_file, **given):
    """Score the examples of EXAMPLE_FILE with MODEL_FILE.

    PREDICTIONS_FILE (default: svm_predictions) gets one line per example: its score, its predicted
    class and scores, its tag or its labels, as the model has it. If the examples have labels, the
    measures are printed: accuracy, precision, recall, F1, ROC area, average precision and a
    confusion table of classes; swapped pairs and NDCG of rankings (qid); wrong tags and chunks of
    sequences; Hamming loss, subset accuracy, F1 and precision at 1, 3 and 5 of label sets.
    EXAMPLE_FILE may be - for standard input, PREDICTIONS_FILE - for standard output.
    """
    files = {
        "example_file": example_file,
        "model_file": model_file,
        "predictions_file": predictions_file,
    }
    score(files | {name: value for name, value in given.items() if value is not None})
