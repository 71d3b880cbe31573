# SPDX-License-Identifier: BSD-3-Clause
"""The short help of learn and rank: the options that most runs need, one line each."""

from __future__ import annotations

from svmcut.cli.options import LEARNT, offered, options
from svmcut.spec.catalog import KERNELS, TASKS, losses
from svmcut.typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

    from svmcut.cli.option_entry import Option

#: What the short help says of options, in its order; what stands in braces is filled in.
TEXTS = {
    "task": "{tasks}",
    "label": "column of a table (CSV, Parquet, ...) with the labels",
    "loss": "what to minimise: {losses}",
    "cost": "C in the unit of {original}; several: C,C,...",
    "example_cost": "C as LIBLINEAR and LIBSVM have it",
    "class_weight": "'balanced', or weights such as 1=5,-1=0.5",
    "kernel": "{kernels}",
    "gamma": "gamma of the rbf kernel",
    "cv": "choose C on K folds; lists of C and gamma are compared",
    "probability": "fit probabilities too, for classify",
    "gap": "stop within this share of the optimum",
    "time_limit": "stop after so long, with the best model",
    "checkpoint": "save the run there; --resume continues it",
    "threads": "threads that compute",
    "report": "write all facts of the run as JSON",
}
#: What a value is called here, where its kind has a longer name.
VALUES = {"cost": "C", "example_cost": "C", "class_weight": "WEIGHTS", "gamma": "G", "cv": "K"}
#: Losses that are named; help has all.
_LOSSES = 6
_EXAMPLES = 3


def write(formatter: click.HelpFormatter, command: str, task: str) -> None:
    """Writes the options, three examples, and where the rest stands."""
    known, row = offered(task), TASKS[task]
    words = {
        "tasks": ", ".join(LEARNT),
        "losses": _named_losses(task),
        "original": row.original or row.like,
        "kernels": ", ".join(KERNELS),
    }
    rows = {option.field: option for option in options(task)}
    shown = [
        (_flags(rows[field]), text.format(**words))
        for field, text in TEXTS.items()
        if field in known and field in rows and (field != "task" or command == "learn")
    ]
    with formatter.section("Options"):
        formatter.write_dl(shown, col_max=26)
    with formatter.section("Examples"):
        for line in row.examples.splitlines()[:_EXAMPLES]:
            text = line if len(line) < formatter.width else line.partition("  ")[0]
            formatter.write(f"{'':{formatter.current_indent}}{text}\n")
    formatter.write_paragraph()
    formatter.write_text(f"All options: svmcut {command} --help all, or man svmcut.")
    if command == "learn":
        formatter.write_text("Those of another task: svmcut learn --task NAME --help.")


def _named_losses(task: str) -> str:
    rows = losses(task).values()
    names = [loss.name for loss in sorted(rows, key=lambda loss: not loss.is_sum)]
    return ", ".join(names[:_LOSSES] + ["..."] * (len(names) > _LOSSES))


def _flags(option: Option) -> str:
    spelt = ", ".join(dict.fromkeys(filter(None, (option.letter, option.full))))
    return f"{spelt} {VALUES.get(option.field, option.kind.name)}".rstrip()
