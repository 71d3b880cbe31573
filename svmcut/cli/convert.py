# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut convert``."""

from __future__ import annotations

import click

from svmcut.cli.option_entry import DATA, OUTPUT, Option
from svmcut.cli.panels import PanelCommand
from svmcut.cli.table_rows import ROWS as TABLE_ROWS
from svmcut.spec.catalog import TABLES
from svmcut.spec.kinds import PATH, one_of
from svmcut.tables.options import OF_TABLES
from svmcut.typing import Any

_EPILOG = """\b
Examples:
  svmcut convert iris.csv iris.svm --label species --names features.txt
  svmcut convert mail.csv mail.svm --label label --text body --ngrams 1,2
  svmcut convert clicks.parquet clicks.svm --label rank --group query
  svmcut convert lines.txt lines.svm --input text          LABEL, a tab, the text
  svmcut convert trn_X_Xf.txt train.ml --label-file trn_X_Y.txt
"""

ROWS = (
    Option(
        "input",
        ("--input",),
        DATA,
        f"Format of TABLE: {', '.join(TABLES)}.",
        default="by its ending",
        kind=one_of(TABLES),
    ),
    Option(
        "sets",
        ("--sets",),
        DATA,
        "Labels are sets: lists, or names separated by |; for --task multilabel.",
        default="off",
    ),
    Option(
        "names",
        ("--names",),
        OUTPUT,
        "Write the names of the features, one per line, for inspect --names.",
        default="none",
        kind=PATH,
    ),
    Option(
        "label_file",
        ("--label-file",),
        DATA,
        "TABLE is a sparse matrix of features, and this one of labels; both as the extreme "
        "classification repository's, ROWS COLUMNS and then INDEX:VALUE ..., from 0.",
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

    TABLE is a CSV, TSV, JSON lines, Parquet or Arrow file, recognised by its ending; it may be
    compressed. Numbers are standardised, categories get one feature per value, and texts become
    tf-idf weights of their words. Two text labels are written as -1 and 1 (the last in the alphabet
    is 1), more of them as 1, 2, ... For svmcut learn no conversion is needed: it reads TABLE.
    """
    from svmcut.cli.converting import run_conversion

    run_conversion(
        table, example_file, **{name: value for name, value in given.items() if value is not None}
    )
