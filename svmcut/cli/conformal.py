# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut conformal``: calibrates a model to promise a coverage."""

from __future__ import annotations

import click

from svmcut.base.typing import Any
from svmcut.cli.panels import PanelCommand
from svmcut.cli.score_lines import dev_options
from svmcut.spec.kinds import FLAG
from svmcut.spec.options import OBJECTIVE, Option
from svmcut.spec.places import COVERAGE

_EPILOG = """\b
Examples:
  svmcut conformal dev.dat model careful --coverage 0.9
  svmcut conformal dev.dat model fair --coverage 0.95 --by-class
  svmcut classify new.dat careful scores --label-sets sets
  svmcut classify new.csv prices numbers --intervals intervals
"""

ROWS = dev_options(
    "Write the coverage and its limits as one JSON document.",
    Option(
        "coverage",
        ("--coverage",),
        OBJECTIVE,
        "Share of new rows whose number or label the interval or set must hold; below 1.",
        default="0.9",
        kind=COVERAGE,
    ),
    Option(
        "by_class",
        ("--by-class",),
        OBJECTIVE,
        "Hold that share of the rows of every class. A class with too few rows is in every set.",
        default="off",
        kind=FLAG,
    ),
)


@click.command(cls=PanelCommand, rows=ROWS, epilog=_EPILOG)
@click.argument("dev", metavar="DEV")
@click.argument("model_file", metavar="MODEL")
@click.argument("output_file", metavar="OUT")
def conformal(dev: str, model_file: str, output_file: str, **given: Any) -> None:
    """Promise by the rows of DEV that intervals or sets of labels hold the truth of new rows, and
    write MODEL with that to OUT.

    DEV holds rows that were used neither to train nor to choose the model, drawn like those to
    come; each counts once. Numbers get intervals, classes get sets of labels, by their
    probabilities where the model has them, else by margins. Nothing else is assumed, and the
    promise holds on average over the draw of DEV. If DEV has too few rows, nothing is written and
    the exit status is 1. classify writes the intervals (--intervals) and sets (--label-sets), and
    measures them on rows with labels.
    """
    from svmcut.cli.conforming import ConformalOptions, run_conformal

    asked = {name: value for name, value in given.items() if value is not None}
    run_conformal(dev, model_file, output_file, ConformalOptions(**asked))
