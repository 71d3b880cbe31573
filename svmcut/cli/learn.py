# SPDX-License-Identifier: BSD-3-Clause
"""svmcut learn: the click command in front of a training run."""

from __future__ import annotations

import click

from svmcut.cli.options import LEARN, LearnOptions


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


def switches(command):
    """A decorator that adds the options that are on or off."""
    for names, text in (
        ("--progress/--no-progress", "Progress bar on stderr; by default on a terminal."),
        (
            "--polish/--no-polish",
            "Exact training in the span of the points that sampled cuts, bsca, bsgd, sbp, "
         "pegasos, "
            "sdca or perceptron chose. Default on, for the last four off.",
        ),
        ("--certify/--no-certify", "With a kernel, compute a dual bound and the gap; by default below 50,000 rows."),
    ):
        command = click.option(names, default=None, help=text)(command)
    resume = click.option("--resume", is_flag=True, default=None, help="Go on from --checkpoint where there is one.")
    return resume(command)


EPILOG = """\b
Examples:
  svmcut learn -c 20 train.dat model            svm_perf's unit of C
  svmcut learn --example-cost 1 train.dat model LIBLINEAR's unit of C
  svmcut learn -c 20 -l f1 train.dat model      best F1 instead of fewest errors
  svmcut learn -c 1 --gap 1e-4 --report run.json train.dat.gz model
  zcat train.gz | svmcut learn -c 1 - model     from a pipe
"""


@click.command(
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
    gzip-compressed, a pipe, or - for standard input. Labels above 0 are positive. Every option of svm_perf_learn is
    taken with the same meaning.
    """
    from svmcut.cli.training import run

    return run(LearnOptions(**{name: value for name, value in values.items() if value is not None}))
