# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut convert``."""

from __future__ import annotations

from typing import Any

import click

from svmcut.cli.option_entry import DATA, OUTPUT, Option
from svmcut.cli.panels import PanelCommand
from svmcut.cli.table_rows import ROWS as TABLE_ROWS
from svmcut.spec.catalog import TABLES
from svmcut.spec.kinds import PATH, one_of
from svmcut.tables.options import OF_TABLES

_EPILOG = """\b
Examples:
  svmcut convert iris.csv iris.svm --label species --names features.txt
  svmcut convert mail.csv mail.svm --label label --text body --ngrams 1,2
  svmcut convert clicks.parquet clicks.svm --label rank --group query
  svmcut convert lines.txt lines.svm --input text          LABEL, a tab, the text
"""

ROWS = (
    Option(
        "input",
        ("--input",),
        DATA,
        f"What TABLE is: {', '.join(TABLES)}.",
        default="by its ending",
        kind=one_of(TABLES),
    ),
    Option(
        "sets",
        ("--sets",),
        DATA,
        "Labels are sets, lists or names with | in between: a line for --task multilabel.",
        default="off",
    ),
    Option(
        "names",
        ("--names",),
        OUTPUT,
        "Write the names of the features, one a line, as inspect --names reads them.",
        default="none",
        kind=PATH,
    ),
    *(row for row in TABLE_ROWS if row.field in OF_TABLES),
)


@click.command(cls=PanelCommand, rows=ROWS, epilog=_EPILOG)
@click.argument("table", metavar="TABLE")
@click.argument("example_file", metavar="OUT")
def convert(table: str, example_file: str, **given: Any) -> None:
    """Write TABLE as examples in LIBSVM's text, OUT, for other programs.

    TABLE is a CSV, TSV, JSON lines, Parquet or Arrow file by its ending, which may be compressed.
    Numbers are standardised, names get a feature each, columns of texts become tf-idf of their
    words. Labels that are words are written as -1 and 1 where they are two, the last of them 1, and
    as 1, 2, ... where they are more. svmcut learn reads TABLE itself, and its model reads others.
    """
    from svmcut.cli.converting import run_conversion

    run_conversion(
        table, example_file, **{name: value for name, value in given.items() if value is not None}
    )
