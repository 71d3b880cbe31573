# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut export``."""

from __future__ import annotations

import click

from svmcut.cli.option_entry import OUTPUT, Option
from svmcut.cli.panels import PanelCommand
from svmcut.spec.catalog import EXPORTS
from svmcut.spec.kinds import one_of

_EPILOG = """\b
Examples:
  svmcut export model model.liblinear --to liblinear
  svmcut export model model.libsvm --to libsvm          svm-predict reads it
  svmcut export model model.onnx                        by the ending; needs onnx
"""

ROWS = (
    Option(
        "to",
        ("--to",),
        OUTPUT,
        f"The format: {', '.join(EXPORTS)}.",
        default="by the ending of OUT, .json or .onnx",
        kind=one_of(tuple(EXPORTS)),
    ),
)


@click.command(cls=PanelCommand, rows=ROWS, epilog=_EPILOG)
@click.argument("model_file", metavar="MODEL")
@click.argument("output_file", metavar="OUT")
def export(model_file: str, output_file: str, to: str | None = None) -> None:
    """Write MODEL in another program's format, OUT.

    liblinear takes linear models; libsvm takes these and kernel models (classes by pairs);
    svm_light and svm_perf take models with one score; onnx takes all of these, json every model. A
    model that the format cannot express is refused. Details that it cannot hold, such as names of
    columns and probabilities, are left out with a warning.
    """
    from svmcut.cli.exporting import run_export

    run_export(model_file, output_file, to)
