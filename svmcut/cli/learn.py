# SPDX-License-Identifier: BSD-3-Clause
"""svmcut learn: the click command in front of a training run."""

from __future__ import annotations

import click

from svmcut.catalog import SOLVERS, listed, load
from svmcut.cli.options import LEARN, TASKS, LearnOptions, taking
from svmcut.parameters import task_defaults


class TableType(click.ParamType):
    """A click type that reads values as the table of options says."""

    def __init__(self, kind):
        self.name, self._parse = kind.name, kind.parse

    def convert(self, value, param, ctx):
        try:
            return self._parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


def table_options(table):
    """A decorator that adds every option of a table to a click command."""

    def decorate(command):
        for option in reversed(table):
            command = click.option(*option.flags, option.field, type=TableType(option.kind), help=option.help)(command)
        return command

    return decorate


def collected(values, command: str = "learn", task: str | None = None) -> LearnOptions:
    """The options of a run from what was given, None for what was not."""
    given = {name: value for name, value in values.items() if value is not None}
    own = task_defaults(task or given.get("task", "classification"))
    return LearnOptions(**{"command": command, **own, **given})


def switches(command):
    """A decorator that adds the options that are on or off."""
    for names, text in (
        ("--progress/--no-progress", "Progress bar on stderr; by default on a terminal."),
        (
            "--polish/--no-polish",
            f"Exact training in the span of the points that {taking('polish', 'or')} chose. Default on, for "
            f"{listed([name for name, row in SOLVERS.items() if row.polished is False])} off.",
        ),
        ("--certify/--no-certify", "With a kernel, compute a dual bound and the gap; by default below 50,000 rows."),
    ):
        command = click.option(names, default=None, help=text)(command)
    resume = click.option("--resume", is_flag=True, default=None, help="Go on from --checkpoint where there is one.")
    return resume(command)


class LearnCommand(click.Command):
    """A command whose options are those of the task that its command line names."""

    def parse_args(self, ctx, args):
        ctx.meta[TASK] = named_task(args)
        return super().parse_args(ctx, args)

    def get_params(self, ctx):
        task = ctx.meta.get(TASK, "classification")
        if task == "classification":
            return super().get_params(ctx)
        own = [
            click.Option([*option.flags, option.field], type=TableType(option.kind), help=option.help)
            for option in load(TASKS[task].options)
        ]
        fields = {option.field for option in LEARN}
        return own + [param for param in super().get_params(ctx) if param.name not in fields]

    def format_epilog(self, ctx, formatter):
        self.epilog = EPILOGS[ctx.meta.get(TASK, "classification")]
        super().format_epilog(ctx, formatter)


TASK = "svmcut.task"


def named_task(args: list[str]) -> str:
    """The task of a command line; where it is misspelt, the option itself says so later."""
    task = "classification"
    for k, text in enumerate(args):
        if text.startswith("--task="):
            task = text.removeprefix("--task=")
        elif text == "--task" and k + 1 < len(args):
            task = args[k + 1]
    return task if task in TASKS else "classification"


EPILOG = """\b
Examples:
  svmcut learn -c 20 train.dat model            svm_perf's unit of C
  svmcut learn --example-cost 1 train.dat model LIBLINEAR's unit of C
  svmcut learn -c 20 -l f1 train.dat model      best F1 instead of fewest errors
  svmcut learn -c 1 --gap 1e-4 --report run.json train.dat.gz model
  zcat train.gz | svmcut learn -c 1 - model     from a pipe
"""


SEQUENCE_EPILOG = """\b
Examples:
  svmcut learn --task sequence -c 1000 train.hmm model          svm_hmm's unit of C
  svmcut learn --task sequence --example-cost 0.1 train.hmm model
  svmcut learn --task sequence -c 1000 --t 2 --e 1 train.hmm model
  svmcut learn --task sequence --example-cost 1 --gap 0.01 -t 2 -g 0.05 train.hmm model
  svmcut classify test.hmm model tags.txt
"""

MULTILABEL_EPILOG = """\b
Examples:
  svmcut learn --task multilabel --example-cost 1 train.ml model       labels and their pairs
  svmcut learn --task multilabel --example-cost 1 --pairs none train.ml model
  svmcut learn --task multilabel -c 10,100,1000 --validate dev.ml --select micro_f1 train.ml model
  svmcut classify test.ml model labels.txt
"""

EPILOGS = {"classification": EPILOG, "sequence": SEQUENCE_EPILOG, "multilabel": MULTILABEL_EPILOG}


@click.command(
    cls=LearnCommand,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-?", "--help"], "max_content_width": 110},
)
@table_options(LEARN)
@switches
@click.option(
    "--free-bias/--no-free-bias",
    default=None,
    help="Unregularised bias of kernel trainers; on for --solver smo and sbp, off where auto chose.",
)
@click.argument("example_file", metavar="EXAMPLE_FILE")
@click.argument("model_file", metavar="[MODEL_FILE]", default="svm_struct_model")
def learn(**values):
    """Train a support vector machine on EXAMPLE_FILE and write it to MODEL_FILE.

    EXAMPLE_FILE holds one example a line, LABEL INDEX:VALUE INDEX:VALUE ... (LIBSVM and svm_light format); it may be
    gzip-compressed, a pipe, or - for standard input. MODEL_FILE may be - for standard output; what is printed goes to
    standard error then. Labels above 0 are positive. Every option of svm_perf_learn is taken with the same meaning.

    With --task sequence a line is a token, TAG qid:SEQUENCE INDEX:VALUE ..., tags are integers from 1, and the lines of
    a sequence stand together. Every option of svm_hmm_learn is taken with the same meaning.

    With --task multilabel a line is LABEL,LABEL,... INDEX:VALUE ..., labels are whole numbers from 0, and a line that
    starts with a blank has none; a first line EXAMPLES FEATURES LABELS says that features are counted from 0.
    """
    from svmcut.cli.training import run

    return run(collected(values))
