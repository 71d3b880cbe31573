# SPDX-License-Identifier: BSD-3-Clause
"""svmcut learn and svmcut rank: the click commands in front of a training run."""

from __future__ import annotations

from functools import cache
from inspect import cleandoc

import click

from svmcut.cli import first_screen
from svmcut.cli.commands import train
from svmcut.cli.options import LEARNT, LearnOptions, collected, named_task, options
from svmcut.cli.panels import WHOLE, PanelCommand, PanelOption
from svmcut.spec.catalog import TASKS

TASK, WORDS = "svmcut.task", "svmcut.words"


class TrainingCommand(PanelCommand):
    """A command whose options and examples are those of its task, or of the task that its command
    line names."""

    def parse_args(self, ctx, args):
        ctx.meta[TASK], ctx.meta[WORDS] = named_task(self.name, args), tuple(args)
        return super().parse_args(ctx, args)

    def get_params(self, ctx):
        return [*_made(self.task(ctx)), *super().get_params(ctx)]

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
        first_screen.write(formatter, ctx.command.name or "", self.task(ctx))

    def format_epilog(self, ctx, formatter):
        examples = TASKS[self.task(ctx)].examples.rstrip().replace("\n", "\n  ")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"\b\nExamples:\n  {examples}")

    def task(self, ctx) -> str:
        """The task of a context."""
        return ctx.meta.get(TASK) or named_task(self.name, ())


@cache
def _made(task: str) -> list[PanelOption]:
    """The click options of a task, which click asks for twice."""
    return [*map(PanelOption.of, options(task))]


def options_of(ctx: click.Context) -> LearnOptions:
    """The options of a context whose command line is read."""
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
