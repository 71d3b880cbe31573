# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut inspect``: what a model has learnt, as text, JSON or a page."""

from __future__ import annotations

import json as jsons

import click
import numpy as np

from svmcut import __version__
from svmcut.base.errors import DataError, UsageError
from svmcut.base.messages import escape
from svmcut.base.records import record
from svmcut.base.resources import usable_cpus
from svmcut.base.typing import Any
from svmcut.cli.advice import in_options
from svmcut.cli.files import redirect_log, report_text, without_url_secrets
from svmcut.cli.panels import PanelCommand
from svmcut.cli.score_lines import input_option
from svmcut.data.labels import label_text
from svmcut.files.output import File, check_roles, write_atomically
from svmcut.files.text import BLOCK_BYTES, open_text
from svmcut.formats import read_file
from svmcut.inspection.text import curves, distribution, facts
from svmcut.scoring.probabilities import ProbabilityLosses, Reliability
from svmcut.spec.catalog import INPUTS, TASKS
from svmcut.spec.entries import GRADES, NUMBERS, TAGS, TWO_CLASSES
from svmcut.spec.kinds import PATH, integer
from svmcut.spec.options import DATA, OUTPUT, Option
from svmcut.spec.parameters import DEFAULTS
from svmcut.tasks.prediction import tally_blocks
from svmcut.tasks.protocol import input_for, make_task, names_for, tasks_of
from svmcut.tasks.vectors import Scores

_EPILOG = """\b
Examples:
  svmcut inspect model --top 20 --names words.txt
  svmcut inspect model --report learn.json               with its certificate
  svmcut inspect model --data test.dat --json | jq .data.measures
  svmcut inspect model --data test.dat --trace trace --html model.html
  svmcut inspect model --data test.csv --report learn.json --card README.md
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
    input_option("Format of --data, as in classify."),
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
    Option(
        "card",
        ("--card",),
        OUTPUT,
        "Write a model card in Markdown; --data adds measures, --report the command line.",
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
    from svmcut.cli.guard import warn

    options = InspectionOptions(
        **{name: value for name, value in given.items() if value is not None}
    )
    for warning in run_inspection(model_file, options):
        warn("svmcut inspect", warning)


#: Labels that rows are grouped by; where there are more, all rows are one group.
_MAX_GROUPS = 8
#: Points of a trace that are kept.
_MAX_POINTS = 300


@record
class InspectionOptions:
    """Files that are read with a model, and what is printed."""

    names: str | None = None
    report: str | None = None
    trace: str | None = None
    data: str | None = None
    input: str | None = None
    zero_based: bool = DEFAULTS["zero_based"]
    top: int = 10
    json: bool = False
    html: str | None = None
    card: str | None = None


# a model may have scores beyond float64
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def run_inspection(model: str, options: InspectionOptions) -> list[str]:
    """Prints what a model and the files given with it hold, writes the page, and returns warnings.
    Raises SvmcutError before anything is printed or written."""
    outputs = check_files(model, options)
    document, warnings = examine(model, options)
    document = without_url_secrets(document | {"warnings": [*map(in_options, warnings)]})
    with redirect_log(outputs):
        if options.json:
            print(report_text(document), flush=True)
        else:
            from svmcut.inspection.text import text_of

            print(escape(text_of(document), lines=True), end="", flush=True)
        if options.html is not None:
            from svmcut.inspection.page import page

            with write_atomically(options.html) as output:
                output.write(page(document).encode())
        if options.card is not None:
            from svmcut.inspection.card import card

            with write_atomically(options.card) as output:
                output.write(card(document | _origin(model, options)).encode())
    return warnings


def _origin(model: str, options: InspectionOptions) -> dict[str, Any]:
    """Entries of a card: the columns of the model, and the command line in a report of learn."""
    scorer = read_file(model, zero_based=options.zero_based).model
    entries: dict[str, Any] = {}
    if scorer.table is not None and scorer.table.columns:
        entries["columns"] = scorer.table.document()
    if options.report is not None:
        from svmcut.cli.options import command_line

        entries["command_line"] = command_line(jsons.loads(_read_bytes(options.report).decode()))
    return entries


def check_files(model: str, options: InspectionOptions) -> list[File]:
    """Files that are written, none of which is read. Raises UsageError, also if an option has no
    effect."""
    paths = {"MODEL_FILE": model} | {
        f"--{name}": getattr(options, name) for name in ("names", "report", "trace", "data")
    }
    inputs = [File(name, path) for name, path in paths.items() if path is not None]
    written = {"--html": options.html, "--card": options.card}
    outputs = [File(name, path) for name, path in written.items() if path is not None]
    check_roles(inputs, outputs)
    if options.input is not None and options.data is None:
        raise UsageError("--input is the text of --data; leave it out")
    if options.zero_based and options.input not in (None, INPUTS[0]):
        raise UsageError("{zero_based} has no effect on attributes by name; leave it out")
    if options.names == options.data == "-":
        raise UsageError("--names and --data cannot both be standard input; name one of them")
    return outputs


def examine(model: str, options: InspectionOptions) -> tuple[dict[str, Any], list[str]]:
    """Document of a model and the files given with it, and warnings."""
    first, scorer, caution = read_file(model, zero_based=options.zero_based)
    words = None if options.names is None else _read_names(options.names)
    if words is None and scorer.table is not None and scorer.table.columns:
        words = scorer.table.features()
    document = {
        "command": "inspect",
        "version": __version__,
        "model": model,
        "format": first,
        "tasks": tasks_of(scorer),
    } | facts(scorer, options.top, words)
    warnings = [caution] if caution else []
    highest = document["features"]["highest"]
    if words is not None and len(words) < highest:
        warnings.append(
            f"{escape(options.names)} names {len(words)} features, the model has {highest}"
        )
    if options.report is not None:
        certificate = _certificate(options.report, model, document)
        if "choice" in certificate:
            document["choice"] = certificate.pop("choice")
        document |= {
            "certificate": certificate,
            "loss": certificate["loss"],
            "tasks": [certificate["task"]],
        }
    if TASKS[document["tasks"][0]].labels in (GRADES, NUMBERS):
        del document["labels"]
    if options.trace is not None:
        document["trace"] = _convergence(options.trace)
    if options.data is not None:
        input = input_for(scorer, options.data, options.input)
        how = {"zero_based": options.zero_based} | names_for(scorer, model, input)
        document["data"], cautions = _measure_file(scorer, options.data, input, how)
        warnings += cautions
    return document, warnings


def _read_bytes(path: str) -> bytes:
    pieces, buffer = [], bytearray(BLOCK_BYTES)
    with open_text(path) as text, memoryview(buffer) as view:
        while count := text.readinto(view):
            pieces.append(bytes(view[:count]))
    return b"".join(pieces)


def _read_names(path: str) -> list[str]:
    lines = _read_bytes(path).decode("utf-8-sig", "replace").split("\n")
    return [line.strip() for line in (lines if lines[-1] else lines[:-1])]


_RUN_KEYS = (
    "solver",
    "task",
    "loss",
    "examples",
    "primal",
    "dual",
    "gap",
    "relative_gap",
    "primal_of_file",
    "converged",
    "stopped_by",
    "iterations",
)


def _certificate(path: str, model: str, document: dict[str, Any]) -> dict[str, Any]:
    """Certificate in a report of learn: for a path of C the entry of this model, else the chosen
    one. Raises DataError if it is no such report, or of another kind of model."""
    text = _read_bytes(path)
    try:
        report = jsons.loads(text.decode())
        run = {"file": path} | {
            key: report[key] for key in _RUN_KEYS if key != "primal_of_file" or key in report
        }
        options = report["options"]
        cost = "cost" if options["cost"] is not None else "example_cost"
        entries = report.get("path", ())
        C = options[cost]
        entry = next((row for row in entries if row["model"] == model), None)
        if entry is not None:  # an entry has no more than these
            gap, primal = entry["gap"], entry["primal"]
            relative = gap / abs(primal) if gap is not None and primal else None
            run |= {
                key: entry[key]
                for key in ("solver", "primal", "dual", "gap", "converged", "iterations")
            }
            run |= {"relative_gap": relative, "stopped_by": None, "primal_of_file": None}
        elif entries:
            entry = next(row for row in entries if row["primal"] == report["primal"])
        C, features = entry["C"] if entry else _selected_cost(report, C), report["features"]
        run |= {"choice": report["choice"]} if "choice" in report else {}
    except (ValueError, KeyError, TypeError, StopIteration):
        raise DataError(
            path, "no report of svmcut learn or svmcut rank; expected what their --report wrote"
        ) from None
    loss = document["loss"]
    if (
        run["task"] not in document["tasks"]
        or loss not in (None, run["loss"])
        or features < document["features"]["highest"]
    ):
        what = f"{run['task']} with the loss {run['loss']} on {features} features"
        raise DataError(path, f"is the report of another model: {what}")
    return run | {cost: C}


def _selected_cost(report: dict[str, Any], C: Any) -> Any:
    """C of the run, or the one chosen from several."""
    if not isinstance(C, list):
        return C
    if "choice" in report:
        return report["choice"]["C"]
    return next(row["C"] for row in report.get("cv") or report["grid"] if row["selected"])


def _convergence(path: str) -> dict[str, Any]:
    """Points of a trace, of its last C only. Raises DataError for a line that is none of a
    trace."""
    lines: list[dict[str, Any]] = []
    number, text = 0, _read_bytes(path)
    try:
        for line in text.decode().splitlines():
            number += 1
            row = jsons.loads(line)
            point = {
                key: row[key] for key in ("C", "iteration", "seconds", "primal", "dual", "gap")
            }
            if lines and lines[-1]["C"] != point["C"]:
                lines.clear()
            lines.append(point)
    except (ValueError, KeyError, TypeError):
        raise DataError(
            path, "no line of a trace; expected what --trace of svmcut learn wrote", number
        ) from None
    if not lines:
        raise DataError(path, "the trace is empty")
    places = np.unique(np.linspace(0, len(lines) - 1, _MAX_POINTS).round().astype(int)).tolist()
    return {"file": path, "lines": len(lines), "points": [lines[k] for k in places]}


def _measure_file(
    scorer: Any, path: str, input: str, how: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Measures of a model on a file, the distribution of its scores, and warnings."""
    tasks, threads = tasks_of(scorer), usable_cpus()
    reader = make_task(tasks[-1], input=input)
    skill, reliability = ProbabilityLosses(), Reliability()
    judges = (skill, reliability) if getattr(scorer, "has_probabilities", False) else ()
    blocks = reader.stream(path, threads=threads, **how)
    tally: Any = tally_blocks(reader, scorer, blocks, threads, judges=judges)
    table = how.get("table")
    if table is not None and not table.labelled:
        raise DataError(path, "has no labels, and nothing can be measured; leave out --data")
    name = tasks[-1 if tally.queries else 0]
    judge = make_task(name, input=input)
    entry = {
        "file": path,
        "task": name,
        **judge.counts_of(tally),
        "measures": judge.measure(tally).values,
    }
    if judges and (TASKS[name].labels == TAGS or not tally.queries):
        entry |= skill.values() | {"reliability": reliability.points()}
    if isinstance(tally, Scores):
        scores = tally.scores
        if TASKS[name].labels == TWO_CLASSES:
            names = scorer.label_texts()
            groups = tally.groups(names)
            entry["curves"] = curves(tally.of_classes()[0], scores)
            entry |= {"labels": names, "confusion": tally.confusion()[:2]}
        else:
            grades = np.unique(tally.y)
            few = TASKS[name].labels == GRADES and len(grades) <= _MAX_GROUPS
            groups = (
                {label_text(grade): tally.y == grade for grade in grades}
                if few
                else {"all": tally.y == tally.y}
            )
        entry["scores"] = distribution(scores, groups)
    return entry, judge.warnings(tally, path)
