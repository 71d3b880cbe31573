# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut learn`` and ``svmcut rank`` as click commands, with their short help."""

from __future__ import annotations

from functools import cache
from inspect import cleandoc

import click

from svmcut.cli.commands import train
from svmcut.cli.option_texts import options
from svmcut.cli.options import LEARNT, LearnOptions, collected, named_task, offered
from svmcut.cli.panels import WHOLE, PanelCommand, PanelOption
from svmcut.spec.catalog import KERNELS, TASKS, losses
from svmcut.spec.options import Option

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
_MAX_LOSSES = 6
_MAX_EXAMPLES = 3


def write_short_help(formatter: click.HelpFormatter, command: str, task: str) -> None:
    """Writes the short help: the usual options, three examples, and where to find the rest."""
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
        for line in row.examples.splitlines()[:_MAX_EXAMPLES]:
            text = line if len(line) < formatter.width else line.partition("  ")[0]
            formatter.write(f"{'':{formatter.current_indent}}{text}\n")
    formatter.write_paragraph()
    formatter.write_text(f"All options: svmcut {command} --help all, or man svmcut.")
    if command == "learn":
        formatter.write_text("Those of another task: svmcut learn --task NAME --help.")


def _named_losses(task: str) -> str:
    rows = losses(task).values()
    names = [loss.name for loss in sorted(rows, key=lambda loss: not loss.is_sum)]
    return ", ".join(names[:_MAX_LOSSES] + ["..."] * (len(names) > _MAX_LOSSES))


def _flags(option: Option) -> str:
    spelt = ", ".join(dict.fromkeys(filter(None, (option.letter, option.full))))
    return f"{spelt} {VALUES.get(option.field, option.kind.name)}".rstrip()


TASK, WORDS = "svmcut.task", "svmcut.words"


class TrainingCommand(PanelCommand):
    """A command with the options and examples of the task that its command line names."""

    def parse_args(self, ctx, args):
        ctx.meta[TASK], ctx.meta[WORDS] = named_task(self.name, args), tuple(args)
        return super().parse_args(ctx, args)

    def get_params(self, ctx):
        return [*_click_options(self.task(ctx)), *super().get_params(ctx)]

    def invoke(self, ctx) -> int:
        return train(options_of(ctx))

    def format_help(self, ctx, formatter):
        if ctx.meta.get(WHOLE):
            super().format_help(ctx, formatter)
            return
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            summary, reading, *_ = (self.help or "").split("\n\n")
            task = TASKS[self.task(ctx)]
            formatter.write_text(summary)
            formatter.write_paragraph()
            if self.name == "learn" and task.reading:
                reading = f"With --task {task.name} {task.reading}"
            formatter.write_text(f"{' '.join(reading.partition(';')[0].split()).rstrip('.')}.")
        write_short_help(formatter, ctx.command.name or "", self.task(ctx))

    def format_epilog(self, ctx, formatter):
        examples = TASKS[self.task(ctx)].examples.rstrip().replace("\n", "\n  ")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"\b\nExamples:\n  {examples}")

    def task(self, ctx) -> str:
        """The task of a context."""
        return ctx.meta.get(TASK) or named_task(self.name, ())


@cache
def _click_options(task: str) -> list[PanelOption]:
    """Click options of a task, which click asks for twice."""
    return [*map(PanelOption.of, options(task))]


def options_of(ctx: click.Context) -> LearnOptions:
    """Options of a parsed context."""
    assert isinstance(ctx.command, TrainingCommand)
    given = {name: value for name, value in ctx.params.items() if value is not None}
    return collected(ctx.command.name, ctx.meta[WORDS], given)


@click.command(cls=TrainingCommand)
@click.argument("example_file", metavar="EXAMPLE_FILE")
@click.argument("model_file", metavar="[MODEL_FILE]", required=False)
def learn(**values):
    """Train a support vector machine on EXAMPLE_FILE and write it to MODEL_FILE.

    EXAMPLE_FILE holds one example per line, LABEL INDEX:VALUE INDEX:VALUE ... (LIBSVM and svm_light
    format), or a table (--label); it may be compressed (gzip, bzip2, xz, zstd), a pipe, or - for
    standard input. MODEL_FILE may be - for standard output; messages then go to standard error. Two
    labels mean two classes, of which the larger is positive (--positive names another); three or
    more whole numbers mean as many classes. The model keeps the labels. Every option of
    svm_perf_learn works, with the same meaning.
    """


learn.help = "\n\n".join(
    [
        cleandoc(learn.help or ""),
        *(f"With --task {name} {TASKS[name].reading}" for name in LEARNT if TASKS[name].reading),
    ]
)


@click.command(cls=TrainingCommand)
@click.argument("example_file", metavar="EXAMPLE_FILE")
@click.argument("model_file", metavar="[MODEL_FILE]", required=False)
def rank(**values):
    """Learn to rank from EXAMPLE_FILE and write the model to MODEL_FILE.

    EXAMPLE_FILE holds one row per line, LABEL qid:QUERY INDEX:VALUE INDEX:VALUE ... Rows of a query
    stand together, and query numbers do not decrease; within a query, larger labels rank higher.
    Without qid all rows are one query (ordinal regression). Every option of svm_rank_learn works,
    with the same meaning.
    """
