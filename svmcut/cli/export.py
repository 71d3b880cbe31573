# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut export``: writes a model in another format."""

from __future__ import annotations

from collections.abc import Iterator

import click

from svmcut.base.errors import UsageError
from svmcut.base.messages import escape, join_names
from svmcut.base.typing import Any
from svmcut.cli.files import redirect_log
from svmcut.cli.panels import PanelCommand
from svmcut.files.output import write_atomically
from svmcut.files.roles import File, check_roles
from svmcut.formats import read_model
from svmcut.formats.exported import not_expressible
from svmcut.spec.catalog import EXPORTS, load
from svmcut.spec.kinds import one_of
from svmcut.spec.options import OUTPUT, Option

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

    run_export(model_file, output_file, to)


_ENDINGS = {".json": "json", ".onnx": "onnx"}


def run_export(model_file: str, output_file: str, to: str | None = None) -> None:
    """Writes a model in another format and prints what the file leaves out. Raises UsageError
    without a format or if it cannot express the model; nothing is written then."""
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
    model: Any = read_model(model_file)
    if getattr(model, "threshold", None) is not None and chosen != "json":
        model = model.without_threshold()
    able = [name for name in EXPORTS if _can_express(name, model)]
    if chosen not in able:
        raise not_expressible(model_file, model, chosen, able)
    write = load(f"{row.where}:write")
    with redirect_log(outputs):
        with write_atomically(output_file) as output:
            write(model_file, row.first, output, model, True)
        for line in _left_out(model, chosen):
            print(escape(line))


def _can_express(to: str, model: Any) -> bool:
    """True if a format has this kind of model and its kernel."""
    models, kernel = EXPORTS[to].models, getattr(model, "kernel", None)
    known = kernel is None or to in kernel.row.formats
    return not models or (type(model).__name__ in models and known)


def _left_out(model: Any, to: str) -> Iterator[str]:
    """Lines on what the file leaves out of the model."""
    if to == "json":
        return
    if getattr(model, "table", None) is not None:
        if model.table.columns:
            yield "Left out: what columns become; svmcut convert writes such rows"
        if model.words and to != "onnx":  # which answers with the words
            labels = [1, -1] if len(model.words) == 2 else [*range(1, len(model.words) + 1)]
            words = model.words[::-1] if len(model.words) == 2 else model.words
            named = [f"{label} is {word}" for label, word in zip(labels, words, strict=True)]
            yield f"Labels: {join_names(named)}"
    fitted = getattr(model, "sigmoid", None) is not None and to != "libsvm"
    if fitted or getattr(model, "temperature", None) is not None:
        yield "Left out: the probabilities"
    if to in ("svm_light", "svm_perf") and getattr(model, "labels", None) is not None:
        yield "Left out: the labels; a score above 0 is for the positive one"
