# SPDX-License-Identifier: BSD-3-Clause
"""Where ``svmcut`` starts: signals are answered before anything that takes time is imported."""

from __future__ import annotations

import sys
from itertools import takewhile

from svmcut.cli.guard import guard


class CtrlC(BaseException):
    """Takes a KeyboardInterrupt past click, which would print an empty line and forget its message."""

    def __init__(self, interrupt: KeyboardInterrupt):
        self.interrupt = interrupt


def main(args: list[str] | None = None) -> int:
    """Entry point of ``svmcut``; returns the exit status."""
    words = sys.argv[1:] if args is None else args

    def work() -> int | None:
        import click

        from svmcut.cli.main import svmcut

        try:
            return svmcut.main(args=args, prog_name="svmcut", standalone_mode=False)
        except click.ClickException as error:
            error.show()
            return error.exit_code
        except click.Abort:
            raise KeyboardInterrupt from None
        except CtrlC as error:
            raise error.interrupt from None

    return guard(work, _program, resumable=_names_checkpoint(words), final=args is None)


def _program() -> str:
    """The command that runs, as messages name it."""
    commands = sys.modules.get("svmcut.cli.main")
    running = commands and commands.svmcut.running
    return f"svmcut {running}" if running else "svmcut"


def _names_checkpoint(words: list[str]) -> bool:
    """Whether a command line asks for checkpoints; what SIGTERM ends with does not wait for its being parsed."""
    return any(word.partition("=")[0] == "--checkpoint" for word in takewhile("--".__ne__, words))
