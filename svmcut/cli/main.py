# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut``: a group of commands, each imported when it is called."""

from __future__ import annotations

import importlib

import click

from svmcut._version import __version__
from svmcut.cli.commands import COMMANDS
from svmcut.cli.guard import CtrlC


class UnknownCommand(click.UsageError):
    """An unknown command; the message says which one was meant."""


class LazyGroup(click.Group):
    """A group whose help imports no command's module."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def resolve_command(self, ctx: click.Context, args: list[str]):
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from svmcut.cli.guesses import command_meant

            near = command_meant(args[0])
            remedy = f"did you mean svmcut {near}?" if near else "svmcut --help lists the commands"
            raise UnknownCommand(f"no such command '{args[0]}'; {remedy}", ctx)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, function, _ = COMMANDS[cmd_name]
        return getattr(importlib.import_module(module), function)

    def invoke(self, ctx: click.Context):
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise CtrlC(error) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])


_EPILOG = """\
\b
Examples:
  svmcut learn people.csv model --label income    train on a table
  svmcut classify new.csv model predictions       predict its rows
  svmcut inspect model                            see what it has learned
"""


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-?", "--help"]}, epilog=_EPILOG
)
@click.version_option(__version__, prog_name="svmcut")
def svmcut() -> None:
    """Support vector machines with proven answers.

    Learns from tables (CSV, Parquet, JSON lines), texts and LIBSVM files. Each run reports how far
    its objective can be from the optimum.
    """
