# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut export``: writes a model in another format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from svmcut.base.errors import UsageError
from svmcut.base.messages import escape, join_names
from svmcut.base.typing import Any
from svmcut.cli.files import redirect_log
from svmcut.cli.panels import PanelCommand
from svmcut.files.output import File, check_roles, write_atomically
from svmcut.formats import read_model
from svmcut.formats.exported import can_express, not_expressible
from svmcut.scorers.literals import identifiers, is_identifier
from svmcut.spec.catalog import DIALECTS, EXPORTS, load
from svmcut.spec.kinds import Kind, one_of
from svmcut.spec.options import OUTPUT, Option

_EPILOG = """\b
Examples:
  svmcut export model model.liblinear --to liblinear
  svmcut export model model.libsvm --to libsvm          svm-predict reads it
  svmcut export model model.onnx                        by the ending; needs onnx
  svmcut export model churn.h --name churn              churn_score(&row) of a struct of columns
  svmcut export model churn.sql --dialect postgresql --table customers
"""

_ENDINGS = {row.ending: name for name, row in EXPORTS.items() if row.ending}


def _take_name(text: str) -> str:
    if not is_identifier(text):
        raise ValueError
    return text


def _take_table(text: str) -> str:
    if not all(text.split(".")):
        raise ValueError
    return text


TABLE = Kind("TABLE", "the name of a table", _take_table, _take_table)
NAME = Kind("NAME", "a letter, then letters, digits and underscores", _take_name, _take_name)
ROWS = (
    Option(
        "to",
        ("--to",),
        OUTPUT,
        f"The format: {', '.join(EXPORTS)}.",
        default=f"by the ending of OUT, {join_names([*_ENDINGS], 'or')}",
        kind=one_of(tuple(EXPORTS)),
    ),
    Option(
        "name",
        ("--name",),
        OUTPUT,
        "Prefix of the names in a C header.",
        default="the name of OUT without its ending",
        kind=NAME,
    ),
    Option(
        "dialect",
        ("--dialect",),
        OUTPUT,
        f"The database of a query: {', '.join(DIALECTS)}.",
        default=DIALECTS[0],
        kind=one_of(DIALECTS),
    ),
    Option(
        "table",
        ("--table",),
        OUTPUT,
        "The table that a query reads, or SCHEMA.TABLE.",
        default="input",
        kind=TABLE,
    ),
)


@click.command(cls=PanelCommand, rows=ROWS, epilog=_EPILOG)
@click.argument("model_file", metavar="MODEL")
@click.argument("output_file", metavar="OUT")
def export(model_file: str, output_file: str, to: str | None = None, **given: Any) -> None:
    """Write MODEL in another program's format, OUT.

    liblinear takes linear models; libsvm these and kernel models (classes by pairs); svm_light and
    svm_perf models with one score; onnx all of these, json every model. c, javascript and python
    write a program from raw columns to score, label and probability, sql a query of linear models
    of numbers and categories. A model that the format cannot express is refused. Details that it
    cannot hold are left out with a warning.
    """

    known = {name: value for name, value in given.items() if value is not None}
    run_export(model_file, output_file, to, **known)


def run_export(model_file: str, output_file: str, to: str | None = None, **given: Any) -> None:
    """Writes a model in another format and prints what the file leaves out. Raises UsageError
    without a format, if it cannot express the model or does not take what is given; nothing is
    written then."""
    outputs = [File("OUT", output_file)]
    check_roles([File("MODEL", model_file)], outputs)
    chosen = to or next((to for end, to in _ENDINGS.items() if output_file.endswith(end)), None)
    if chosen is None:
        raise UsageError(
            "{}: the name does not end as a format's; give --to {}",
            output_file,
            join_names(tuple(EXPORTS), "or"),
        )
    row = EXPORTS[chosen]
    if extra := [name for name in given if name not in row.takes]:
        takers = [name for name, other in EXPORTS.items() if extra[0] in other.takes]
        raise UsageError("--{} is of --to {}; leave it out", extra[0], join_names(takers, "or"))
    if "name" in row.takes:
        given.setdefault("name", identifiers([Path(output_file).stem])[0])
    model: Any = read_model(model_file)
    if getattr(model, "threshold", None) is not None and not row.whole:
        model = model.without_threshold()
    able = [name for name in EXPORTS if can_express(name, model)]
    if chosen not in able:
        raise not_expressible(model_file, model, chosen, able)
    write = load(f"{row.where}:write")
    with redirect_log(outputs):
        with write_atomically(output_file) as output:
            write(
                model_file, row.first, output, model, **given if row.whole else {"original": True}
            )
        for line in _left_out(model, chosen):
            print(escape(line))


def _left_out(model: Any, to: str) -> Iterator[str]:
    """Lines on what the file leaves out of the model."""
    if EXPORTS[to].whole or to == "onnx":
        if to != "json" and getattr(model, "sigmoids", None) is not None:
            yield "Left out: the probabilities of pairs of classes"
        table = getattr(model, "table", None)
        if to == "onnx" and table is not None and any(hasattr(c, "terms") for c in table.columns):
            yield "Left out: what columns become; svmcut convert writes such rows"
        return
    if getattr(model, "table", None) is not None:
        if model.table.columns:
            yield "Left out: what columns become; svmcut convert writes such rows"
        if model.words:
            labels = [1, -1] if len(model.words) == 2 else [*range(1, len(model.words) + 1)]
            words = model.words[::-1] if len(model.words) == 2 else model.words
            named = [f"{label} is {word}" for label, word in zip(labels, words, strict=True)]
            yield f"Labels: {join_names(named)}"
    fitted = getattr(model, "sigmoid", None) is not None and to != "libsvm"
    if fitted or getattr(model, "temperature", None) is not None:
        yield "Left out: the probabilities"
    if to in ("svm_light", "svm_perf") and getattr(model, "labels", None) is not None:
        yield "Left out: the labels; a score above 0 is for the positive one"
