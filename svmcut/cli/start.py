# SPDX-License-Identifier: BSD-3-Clause
"""Entry point of ``svmcut``, where signals are handled before anything slow is imported."""

from __future__ import annotations

import sys
from itertools import takewhile

from svmcut.base.errors import UsageError
from svmcut.base.typing import Any
from svmcut.cli.guard import CtrlC, guard


def main(args: list[str] | None = None) -> int:
    """Runs ``svmcut``; returns the exit status."""
    words = sys.argv[1:] if args is None else args
    if words[:1] == ["help"]:
        words = args = [*words[1:2], "--help"]

    def program() -> str:
        from svmcut.cli.commands import COMMANDS

        return " ".join(["svmcut", *[word for word in words[:1] if word in COMMANDS]])

    def work() -> int | None:
        from svmcut.cli.commands import plain_run

        if (run := plain_run(words)) is not None:
            return run()
        import click

        from svmcut.cli.main import svmcut

        try:
            return svmcut.main(args=args, prog_name="svmcut", standalone_mode=False)
        except getattr(
            click.exceptions, "NoArgsIsHelpError", ()
        ) as error:  # not in the oldest click
            error.show()
            return error.exit_code
        except click.ClickException as error:
            raise UsageError("{}", refusal(error, program(), words)) from None
        except click.Abort:
            raise KeyboardInterrupt from None
        except CtrlC as error:
            raise error.interrupt from None

    return guard(work, program, resumable=_has_checkpoint_option(words), final=args is None)


def refusal(error: Any, program: str, words: list[str]) -> str:
    """Sentence for a refusal of click in the words of all others: what is wrong, and what to do."""
    import click

    from svmcut.cli.main import UnknownCommand

    see = f"{program} --help lists the options"
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return (
            f"{error.param.human_readable_name} is missing; {program} --help shows what goes where"
        )
    if isinstance(error, click.BadParameter) and error.param is not None:
        return f"option {error.param.opts[-1]}: {error.message}"
    if isinstance(error, click.BadOptionUsage) and error.option_name == "-h":
        return f"option -h takes a number, as svm_perf's; {program} --help shows the help"
    if isinstance(error, click.NoSuchOption):
        from svmcut.cli.guesses import option_meant

        meant = option_meant(error.option_name, words) or see
        return f"option {error.option_name} is unknown; {meant}"
    message = error.format_message()
    if isinstance(error, UnknownCommand):
        return message
    return f"{message[:1].lower()}{message[1:].rstrip('.')}; {see}"


def _has_checkpoint_option(words: list[str]) -> bool:
    """True if a command line asks for checkpoints; known before it is parsed, as SIGTERM may come
    earlier."""
    return any(word.partition("=")[0] == "--checkpoint" for word in takewhile("--".__ne__, words))


if __name__ == "__main__":
    sys.exit(main())
