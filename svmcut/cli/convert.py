# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut convert``: writes a table as examples."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import click
import numpy as np

from svmcut._native.text import format_pairs
from svmcut.base.errors import UsageError
from svmcut.base.messages import Parameter, escape, join_names
from svmcut.base.typing import Any
from svmcut.cli.files import redirect_log
from svmcut.cli.panels import PanelCommand
from svmcut.data.examples import MultilabelExamples
from svmcut.data.labels import SIGNS, label_text
from svmcut.files.multilabel import join_lines
from svmcut.files.names import input_by_ending
from svmcut.files.output import File, check_roles, write_atomically
from svmcut.spec.catalog import TABLES
from svmcut.spec.entries import CLASSES, SETS
from svmcut.spec.kinds import PATH, one_of
from svmcut.spec.options import DATA, OUTPUT, Option
from svmcut.tables.encoded import read_encoded
from svmcut.tables.options import COLUMN_OPTIONS, TableOptions
from svmcut.tables.options import ROWS as TABLE_ROWS

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
    *(row for row in TABLE_ROWS if row.field in COLUMN_OPTIONS),
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

    run_conversion(
        table, example_file, **{name: value for name, value in given.items() if value is not None}
    )


_BLOCK_ROWS = 4096


def run_conversion(
    table: str,
    target: str,
    *,
    input: str | None = None,
    sets: bool = False,
    names: str | None = None,
    label_file: str | None = None,
    **options: Any,
) -> None:
    """Writes the examples of a table and the names of its features, and prints what each column
    became. Raises SvmcutError before anything is written."""
    if label_file is not None:
        if given := [*options, *(["names"] if names else []), *(["sets"] if sets else [])]:
            raise UsageError("{} is for tables; leave out {}", Parameter(given[0]), "--label-file")
        _join(table, label_file, target)
        return
    outputs = [File("OUT", target), *([] if names is None else [File("--names", names)])]
    check_roles([File("TABLE", table)], outputs)
    kind = input or input_by_ending(table)
    if kind is None:
        raise UsageError(
            "{}: the name does not end as a table's; say what it is by {input=}",
            table,
            ("csv", "text"),
        )
    encoded = read_encoded(table, kind, TableOptions(**options), SETS if sets else CLASSES)
    encoding = encoded.table.encoding
    with redirect_log(outputs):
        with write_atomically(target) as output:
            for lines in _example_lines(encoded):
                output.write(lines)
        if names is not None:
            with write_atomically(names) as output:
                output.write(
                    "".join(f"{_name_on_one_line(name)}\n" for name in encoding.features()).encode()
                )
        print(escape(f"Columns: {encoding.describe()}"))
        if encoding.words:
            labels = _label_numbers(encoding.words)
            print(
                escape(f"Labels: {join_names([*map('{} is {}'.format, labels, encoding.words)])}")
            )


def _join(features: str, labels: str, target: str) -> None:
    """Writes the rows of two sparse matrices, features and labels, as one file."""
    outputs = [File("OUT", target)]
    check_roles([File("TABLE", features), File("--label-file", labels)], outputs)
    with redirect_log(outputs), write_atomically(target) as output:
        lines = join_lines(features, labels)
        while piece := b"".join(itertools.islice(lines, _BLOCK_ROWS)):
            output.write(piece)


def _name_on_one_line(name: str) -> str:
    return escape(" ".join(name.split()))


def _label_numbers(words: tuple[str, ...]) -> list[str]:
    """Numbers that stand for the labels in the file."""
    if len(words) == 2:
        return [*map(label_text, SIGNS)]
    return [str(k) for k in range(1, len(words) + 1)]


def _example_lines(encoded: Any) -> Iterator[bytes]:
    X, words = encoded.X, encoded.table.encoding.words
    if isinstance(encoded, MultilabelExamples):
        texts = encoded.names.astype("U")
        bounds = encoded.indptr.tolist()
        heads = [",".join(texts[encoded.labels[a:b]]) for a, b in itertools.pairwise(bounds)]
    elif words:
        labels = ["", *_label_numbers(words)]
        heads = [labels[int(label)] for label in encoded.y]
    else:
        heads = [*map(label_text, encoded.y)]
    if getattr(encoded, "qid", None) is not None:
        heads = [f"{head} qid:{qid}" for head, qid in zip(heads, encoded.qid.tolist())]
    if encoded.weights is not None:
        heads = [f"{head} cost:{weight!r}" for head, weight in zip(heads, encoded.weights.tolist())]
    bounds = (X.indptr - X.indptr[0]).tolist()
    indices, data = X.indices[X.stored], np.ascontiguousarray(X.data[X.stored])
    for start in range(0, X.n_rows, _BLOCK_ROWS):
        rows = range(start, min(X.n_rows, start + _BLOCK_ROWS))
        yield b"".join(
            heads[k].encode()
            + b" "
            + format_pairs(
                indices[bounds[k] : bounds[k + 1]], data[bounds[k] : bounds[k + 1]], True
            ).rstrip()
            + b"\n"
            for k in rows
        )
