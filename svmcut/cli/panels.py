# SPDX-License-Identifier: BSD-3-Clause
"""Click commands made of rows of options, with help in panels."""

from __future__ import annotations

import os

import click

from svmcut.base.typing import Any
from svmcut.spec.kinds import Kind
from svmcut.spec.options import PANELS, RUNNING, Option


class KindType(click.ParamType):
    """A click type that reads values as a kind says."""

    def __init__(self, kind: Kind):
        self.name, self._parse, self._words = kind.name, kind.parse, kind.words

    def convert(self, value, param, ctx):
        try:
            return self._parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx, param, incomplete):
        from click.shell_completion import CompletionItem

        if self.name == "FILE":
            return FILE.shell_complete(ctx, param, incomplete)
        return [CompletionItem(word) for word in self._words if word.startswith(incomplete)]


#: Whether all of the help is asked for, in the meta of a context.
WHOLE = "svmcut.whole"
FILE = click.Path(readable=False)
"""Any text; a shell completes it to names of files."""


class PanelOption(click.Option):
    """An option that knows its panel."""

    panel = RUNNING

    @classmethod
    def of(cls, row: Option) -> PanelOption:
        """The click option of a row; its value is None where it is not given."""
        how: dict[str, Any] = {"is_flag": True} if row.is_flag else {"type": KindType(row.kind)}
        if row.kind.repeats:
            how |= {"multiple": True, "callback": lambda ctx, param, given: sum(given, ()) or None}
        text = " ".join(filter(None, (row.help, row.more)))
        made = cls(
            [*row.flags, row.field],
            default=None,
            help=row._replace(help=text).help_with_default,
            **how,
        )
        made.panel = row.panel
        return made


class HelpFormatter(click.HelpFormatter):
    """Headings in bold and flags in colour, which click drops where no terminal shows them."""

    def write_heading(self, heading):
        self.write(f"{'':{self.current_indent}}{_style(heading + ':', bold=True)}\n")

    def write_dl(self, rows, col_max=30, col_spacing=2):
        super().write_dl(
            [(_style(flags, fg="cyan"), text) for flags, text in rows], col_max, col_spacing
        )


def _style(text: str, **style: Any) -> str:
    return text if "NO_COLOR" in os.environ else click.style(text, **style)


class HelpContext(click.Context):
    """A context whose help is in colour."""

    formatter_class = HelpFormatter


class PanelCommand(click.Command):
    """A command whose help shows its options in panels, and whose width is that of the text."""

    context_class = HelpContext

    def __init__(
        self, *args: Any, rows: tuple[Option, ...] = (), help_names: str = "-? --help", **named: Any
    ):
        named["context_settings"] = {
            "help_option_names": help_names.split(),
            "max_content_width": 110,
        }
        super().__init__(*args, **named)
        for param in self.params:
            if isinstance(param, click.Argument):
                param.type = FILE
        self.params = [*map(PanelOption.of, rows), *self.params]

    def parse_args(self, ctx, args):
        for place, word in enumerate(args[:-1]):
            if word in ctx.help_option_names and args[place + 1] == "all":
                ctx.meta[WHOLE] = True
                args = [*args[: place + 1], *args[place + 2 :]]
                break
        return super().parse_args(ctx, args)

    def format_options(self, ctx, formatter):
        records: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                records.setdefault(getattr(param, "panel", RUNNING), []).append(record)
        for panel in PANELS:
            if panel in records:
                with formatter.section(panel):
                    formatter.write_dl(records[panel])
