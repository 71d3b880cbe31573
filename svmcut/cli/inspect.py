# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut inspect``."""

from __future__ import annotations

import click

from svmcut.cli.commands import format_of
from svmcut.cli.option_entry import DATA, OUTPUT, Option
from svmcut.cli.panels import PanelCommand
from svmcut.spec.kinds import PATH, integer

_EPILOG = """\b
Examples:
  svmcut inspect model --top 20 --names words.txt
  svmcut inspect model --report learn.json               with its certificate
  svmcut inspect model --data test.dat --json | jq .data.measures
  svmcut inspect model --data test.dat --trace trace --html model.html
"""

ROWS = (
    Option(
        "names",
        ("--names",),
        DATA,
        "Names of the features, one per line, from feature 1 on.",
        default="numbers",
        kind=PATH,
    ),
    Option(
        "report",
        ("--report",),
        DATA,
        "JSON report of the training run; adds its certificate.",
        default="none",
        kind=PATH,
    ),
    Option(
        "trace",
        ("--trace",),
        DATA,
        "Trace of the training run; adds its convergence.",
        default="none",
        kind=PATH,
    ),
    Option(
        "data",
        ("--data",),
        DATA,
        "Example file; adds measures and the scores of each class.",
        default="none",
        kind=PATH,
    ),
    format_of("Format of --data, as in classify."),
    Option(
        "zero_based",
        ("--zero-based",),
        DATA,
        "Feature indices start at 0 in --data and in a model of LIBSVM; the output counts from 1.",
        default="off",
    ),
    Option(
        "top",
        ("--top",),
        OUTPUT,
        "Number of highest and of lowest weights to show.",
        default="10",
        kind=integer(0),
    ),
    Option("json", ("--json",), OUTPUT, "Print one JSON document instead of text.", default="off"),
    Option(
        "html",
        ("--html",),
        OUTPUT,
        "Write one self-contained page with pictures.",
        default="none",
        kind=PATH,
    ),
)


@click.command(cls=PanelCommand, rows=ROWS, epilog=_EPILOG)
@click.argument("model_file")
def inspect(model_file, **given):
    """Show what the model of MODEL_FILE is and has learnt.

    It prints the kind of model, its loss, labels, features and sparsity; the highest and lowest
    weights of each class, label or tag; support vectors and their multipliers; transitions of
    sequences and pairs of label sets.
    """
    from svmcut.cli.examining import InspectionOptions, run_inspection
    from svmcut.cli.guard import warn

    options = InspectionOptions(
        **{name: value for name, value in given.items() if value is not None}
    )
    for warning in run_inspection(model_file, options):
        warn("svmcut inspect", warning)
