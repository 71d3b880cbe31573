# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut threshold``: chooses a threshold that promises precision or recall."""

from __future__ import annotations

import click

from svmcut.base.typing import Any
from svmcut.cli.options import ROWS as TRAINING
from svmcut.cli.panels import PanelCommand
from svmcut.cli.score_lines import dev_options

_EPILOG = """\b
Examples:
  svmcut threshold dev.dat model careful --at-least precision=0.95
  svmcut threshold dev.dat model screen --at-least recall=0.9 --confidence 0.99
  svmcut threshold dev.dat model both --at-least precision=0.8 --at-least recall=0.5
"""

#: Options of learn, too.
PROMISES = ("at_least", "maximise", "confidence")
ROWS = dev_options(
    "Write the threshold and its promises as one JSON document.",
    *(row for row in TRAINING if row.field in PROMISES),
)


@click.command(cls=PanelCommand, rows=ROWS, epilog=_EPILOG)
@click.argument("dev", metavar="DEV")
@click.argument("model_file", metavar="MODEL")
@click.argument("output_file", metavar="OUT")
def threshold(dev: str, model_file: str, output_file: str, **given: Any) -> None:
    """Choose a threshold on the rows of DEV that promises precision or recall, and write MODEL with
    it to OUT.

    DEV holds rows of two classes that were used neither to train nor to choose the model. With the
    given confidence, new rows like these reach the promised precision, recall or specificity. If no
    threshold can promise it, nothing is written and the exit status is 1. classify, inspect and
    Python apply the threshold; probabilities do not change.
    """
    from svmcut.cli.thresholding import ThresholdOptions, run_threshold

    asked = {name: value for name, value in given.items() if value is not None}
    run_threshold(dev, model_file, output_file, ThresholdOptions(**asked))
