#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the pages of commands in docs/ and those of man/ from the help texts of the programs (make
docs)."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 100

EXIT_STATUS = (
    ("0", "Done."),
    (
        "1",
        "Bad data, a bad model, failed training, or a path that is missing or cannot be read or "
        "written.",
    ),
    ("2", "Wrong usage."),
    (
        "3",
        "Stopped by a limit or by rounding before the gap was reached; the best model is "
        "written, the gap stated.",
    ),
    (
        "75",
        "Stopped by SIGTERM or SIGHUP with --checkpoint; the same command with --resume goes on.",
    ),
    (
        "130",
        "Interrupted; the best model so far is written. Before the first iteration nothing is.",
    ),
    ("143", "Stopped by SIGTERM or SIGHUP; nothing is written."),
)

ENVIRONMENT = (
    ("SVMCUT_DEADLINE", "A Unix time at which training stops, as --time-limit would."),
    ("SVMCUT_DEBUG", "With 1, errors show their traceback."),
)


def subcommands():
    """Name, click command and context of svmcut and of each of its commands."""
    import click

    from svmcut.cli.commands import COMMANDS
    from svmcut.cli.learn import TASK
    from svmcut.cli.main import svmcut
    from svmcut.cli.options import LEARNT

    def context(command, name, parent=None):
        settings = command.context_settings | {"terminal_width": WIDTH, "max_content_width": WIDTH}
        return click.Context(command, info_name=name, parent=parent, **settings)

    def alone(command, name, task=None):
        """A context that shares nothing with the others: click's contexts of one parent have one
        `meta`."""
        own = context(command, name, context(svmcut, "svmcut"))
        if task:
            own.meta[TASK] = task
        return f"svmcut {name}", command, own

    top = context(svmcut, "svmcut")
    yield "svmcut", svmcut, top
    for name in COMMANDS:
        command = svmcut.get_command(top, name)
        yield alone(command, name)
        for task in LEARNT if name == "learn" else ():
            if task != LEARNT[0]:
                yield alone(command, f"{name} --task {task}", task)


#: A page is written by hand but for what stands between these two lines.
BEGIN, END = (
    "<!-- Written by `make docs` from the help texts. -->",
    "<!-- End of what `make docs` writes. -->",
)
DEFAULT = re.compile(r"\s*\[default: (.*)\]$", re.DOTALL)
FLAG = re.compile(r"(?<![\w`-])(--task [a-z-]+|--?[a-zA-Z#][\w-]*)(?![\w.]*`)")


def inline(text: str) -> str:
    """Plain text of a help in Markdown, the options it names as code."""
    text = " ".join(text.split()).replace("<", "&lt;").replace("*", "\\*").replace("|", "\\|")
    return FLAG.sub(r"`\1`", text)


class Entry(NamedTuple):
    """An option of a program as its page shows it."""

    name: str
    flags: str
    text: str

    def line(self, program: str) -> str:
        """A line of a list; the option is its own anchor, PROGRAM-NAME."""
        text, *default = DEFAULT.split(self.text)[:2]
        told = default and default[0] not in ("none", "off", "empty")
        end = f" *Default: {inline(default[0])}.*" if told else ""
        anchor, flags = f"{program}-{self.name}", self.flags.replace("<", "&lt;")
        return f'- <a id="{anchor}" href="#{anchor}"><code>{flags}</code></a> {inline(text)}{end}\n'


def entries(command, context) -> dict[str, list[Entry]]:
    """The options of a command by panel; those that every program has are left out."""
    import click

    from svmcut.spec.options import PANELS

    found: dict[str, list[Entry]] = {panel: [] for panel in PANELS}
    for option in command.get_params(context):
        record = option.get_help_record(context) if isinstance(option, click.Option) else None
        if record and "--help" not in option.opts:
            name = option.name.replace("_", "-")
            panel = getattr(option, "panel", "Options")
            found.setdefault(panel, []).append(Entry(name, *record))
    return found


class Common(NamedTuple):
    """A program whose options others share, and its page as they link it."""

    name: str
    program: str
    page: str
    entries: list[Entry]


NOTHING = Common("", "", "", [])


def listed(program: str, panels: dict[str, list[Entry]], common: Common = NOTHING) -> str:
    """The options of a program by panel; of those it shares with another program, links alone."""
    parts, shared = [], []
    for panel, group in panels.items():
        shared += [entry for entry in group if entry in common.entries]
        if own := [entry.line(program) for entry in group if entry not in common.entries]:
            parts += [f"\n**{panel}**\n\n", *own]
    if shared:
        to = f"{common.page}#{common.program}"
        links = ", ".join(f"[`{longest(entry.flags)}`]({to}-{entry.name})" for entry in shared)
        there = f"{common.page}#{common.name.replace(' ', '-')}"
        parts.append(f"\n**As for [{common.name}]({there}):** {links}.\n")
    return "".join(parts)


def longest(flags: str) -> str:
    """The longest name of an option, that which turns a switch on."""
    return max(re.findall(r"(?<![\w-])--?[\w#*-]+", flags.partition(" / ")[0]), key=len)


def command_section(name: str, program: str, common: Common = NOTHING) -> str:
    """A command: its usage, what it does, its options and examples."""
    (command, context) = next(found[1:] for found in subcommands() if found[0] == name)
    usage = command.get_usage(context).removeprefix("Usage: ")
    parts = [f"\n## {name}\n\n```text\n{' '.join(usage.split())}\n```\n"]
    if " --task " not in name and name != "svmcut rank":
        parts += [f"\n{inline(part)}\n" for part in command.help.split("\n\n")]
    parts.append(listed(program, entries(command, context), common))
    if command.epilog:
        lines = command.epilog.replace("\b", "").strip().splitlines()
        examples = "\n".join(line.strip() for line in lines if line.strip() != "Examples:")
        parts.append(f"\n```text\n{examples.strip()}\n```\n")
    return "".join(parts)


def of_learn(page: str = "") -> Common:
    """The options of learn with two classes, which other tasks and rank share for the most part."""
    command, context = next(found[1:] for found in subcommands() if found[0] == "svmcut learn")
    found = [entry for panel in entries(command, context).values() for entry in panel]
    return Common("svmcut learn", "learn", page, found)


def table(head: tuple[str, str], rows) -> str:
    lines = "".join(f"| {name} | {inline(meaning)} |\n" for name, meaning in rows)
    return f"\n| {head[0]} | {head[1]} |\n|---|---|\n{lines}"


def commands_body() -> str:
    """learn and rank, exit statuses, and what the environment says."""
    return "".join(
        [
            command_section("svmcut learn", "learn"),
            command_section("svmcut rank", "rank", of_learn()),
            "\n## Exit statuses of svmcut\n",
            table(("status", "meaning"), EXIT_STATUS),
            "\n[Programs with the originals' names](originals.md) end with 0 or 1 only.\n",
            "\n## Environment\n",
            table(("variable", "meaning"), ((f"`{name}`", text) for name, text in ENVIRONMENT)),
        ]
    )


def tasks_body(*tasks: str) -> str:
    """What learn takes for these tasks, beside the options of two classes."""
    return "".join(
        command_section(f"svmcut learn --task {task}", task, of_learn("commands.md"))
        for task in tasks
    )


def models_body() -> str:
    """classify, inspect and scale."""
    return "".join(
        command_section(f"svmcut {name}", name, of_learn("commands.md"))
        for name in (
            "classify",
            "threshold",
            "conformal",
            "inspect",
            "scale",
            "convert",
            "export",
            "names",
        )
    )


def originals() -> Iterator[tuple[str, str]]:
    """Name and help text of each program that bears an original's name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name, target in project["scripts"].items():
        if name == "svmcut":
            continue
        module, function = target.split(":")
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            getattr(importlib.import_module(module), function)(["-?"])
        yield name, text.getvalue()


def original_entries(help_text: str) -> list[Entry]:
    """The options of an original's help: a flag, the name of its kind, what it means."""
    found = []
    for line in help_text.split("options:\n")[1].splitlines():
        if given := re.match(r"  (--?[^ ,]+) +(\w+)? +(.*)", line):
            flags, kind, text = given.groups(default="")
            found.append(Entry(flags.removeprefix("-").strip("*"), f"{flags} {kind}".strip(), text))
    return [entry for entry in found if entry.flags.partition(" ")[0] != "--version"]


def originals_body() -> str:
    """Every program with an original's name; what it shares with svm_perf_learn is linked."""
    parts, common = [], NOTHING
    for name, text in originals():
        usage, about = (part.strip() for part in text.split("options:\n")[0].strip().split("\n", 1))
        own = original_entries(text)
        learner = name.endswith("_learn")
        parts.append(
            f"\n## {name}\n\n```text\n{usage.removeprefix('usage: ')}\n```\n\n{inline(about)}\n"
        )
        parts.append(listed(name, {"Options": own}, common if learner else NOTHING))
        common = common if common.entries else Common(name, name, "", own)
    return "".join(parts)


def page(path: str, body: Callable[[], str]) -> str:
    """A page whose made part is renewed."""
    text = (ROOT / path).read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN + "\n")
    return f"{head}{BEGIN}\n{body()}\n{END}{rest.partition(END)[2]}"


def roff(text: str) -> str:
    """Plain text in roff; a line may not begin with a dot or a quote."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


#: The pages of the manual: name, what it is about, its commands, examples.
MANUAL = (
    (
        "svmcut",
        "support vector machines with certificates",
        (),
        (
            ("svmcut learn --cv 5 train.dat model", "choose C, train and write a model"),
            ("svmcut classify --labels test.dat model labels", "predict and measure"),
            ("svmcut inspect model", "see what the model has learnt"),
        ),
    ),
    (
        "svmcut-learn",
        "train support vector machines and rankings",
        ("learn", "rank"),
        (
            ("svmcut learn mail.csv filter --label label --text text", "a table with texts"),
            ("svmcut learn -l f1 -c 10 train.dat model", "for the best F1"),
            ("svmcut learn -t rbf -g scale --cv 5 train.dat model", "choose C for a kernel"),
            ("svmcut rank -c 20 train.dat model", "the order of rows within queries"),
        ),
    ),
    (
        "svmcut-classify",
        "use, look into, convert and write models of svmcut",
        ("classify", "inspect", "convert", "export", "threshold", "conformal", "scale", "names"),
        (
            ("svmcut classify test.dat model scores --report report.json", "scores and measures"),
            ("svmcut inspect model --html page.html", "weights, certificate and pictures"),
            ("svmcut export model out --to libsvm", "for another program"),
        ),
    ),
)
FILES = (
    ("EXAMPLE_FILE", "LABEL INDEX:VALUE ... a line, as for LIBSVM; or a table, with --label."),
    ("MODEL_FILE", "Text, in svm_perf's format where it can be; comments begin with #@."),
    ("PREDICTIONS_FILE", "One line an example: its score, or its label with --labels."),
)


def described(rows) -> list[str]:
    """Paragraphs with a heading each."""
    return [line for name, text in rows for line in (".TP", f".B {roff(name)}", roff(text))]


def man_page(name: str) -> str:
    """A page of the manual; what tasks share with svmcut learn is named and told once."""
    from svmcut._version import __version__
    from svmcut.cli.commands import COMMANDS

    about, commands, examples = next(row[1:] for row in MANUAL if row[0] == name)
    lines = [f'.TH {name.upper()} 1 "" "svmcut {__version__}" "User Commands"', ".SH NAME"]
    lines += [rf"{roff(name)} \- {about}", ".SH SYNOPSIS"]
    found = [
        each for each in list(subcommands())[1:] if not commands or each[0].split()[1] in commands
    ]
    for _, command, context in found:
        usage = command.get_usage(context).removeprefix("Usage: ")
        lines += [".B " + roff(" ".join(usage.split())), ".br"]
    if not commands:
        lines += [".SH COMMANDS", *described((name, row[2]) for name, row in COMMANDS.items())]
        lines += [".SH FILES", *described(FILES)]
        lines += [".SH EXIT STATUS", *described(EXIT_STATUS)]
        lines += [".SH ENVIRONMENT", *described(ENVIRONMENT)]
    common = NOTHING
    for title, command, context in found if commands else ():
        lines += man_section(title, command, context, common)
        common = common if common.entries or title != "svmcut learn" else of_learn()
    lines.append(".SH EXAMPLES")
    for command, text in examples:
        lines += [".TP", f".B {roff(command)}", roff(text)]
    others = [row[0] for row in MANUAL if row[0] != name]
    lines += [".SH SEE ALSO", ", ".join(rf"\fB{roff(other)}\fR(1)" for other in others)]
    return "\n".join(lines) + "\n"


def man_section(title: str, command, context, common: Common) -> list[str]:
    """A command: what it does and its options, by name those that it shares with another."""
    lines = [f".SH {roff(title.upper())}"]
    parts = [] if " --task " in title else command.help.split("\n\n")
    lines += [f"{roff(' '.join(part.split()))}\n.PP" for part in parts]
    groups = entries(command, context)
    rows = [entry for group in groups.values() for entry in group]
    own = [entry for entry in rows if entry not in common.entries]
    lines += described((entry.flags, " ".join(entry.text.split())) for entry in own)
    if shared := [entry for entry in rows if entry in common.entries]:
        flags = ", ".join(longest(entry.flags) for entry in shared)
        lines += [".PP", roff(f"As for {common.name}: {flags}.")]
    return lines


TYPED = """\
# SPDX-License-Identifier: BSD-3-Clause
\"""The parameters of svmcut.train with their types, for editors and type checkers; nothing imports
it at run time.

Written by `make docs` from svmcut.spec.parameters and svmcut.tables.options, which have their
meaning.
\"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypedDict

from svmcut.base.typing import Any, Literal

Path = str | os.PathLike[str]


class _Single(TypedDict, total=False):
    \"""Parameters of one value always.\"""

{single}


class Parameters(_Single, total=False):
    \"""Parameters of one training run.\"""

{one}


class Training(Parameters, total=False):
    \"""Parameters of svmcut.train, which may end where labels are decided.\"""

    until_decided: Any
    fraction: float


class Lists(_Single, total=False):
    \"""Parameters of svmcut.cross_validate, which chooses among several values.\"""

{several}
"""


def typed_parameters() -> str:
    """The parameters with their types as a module."""
    from svmcut.base.records import fields
    from svmcut.spec.catalog import KERNEL_PARAMETERS
    from svmcut.spec.parameters import Settings
    from svmcut.tables.options import TableOptions

    declared = [*fields(Settings), *fields(TableOptions)]
    known = {item.name: item for item in declared if item.option and item.name != "task"}
    lists = ("cost", "example_cost", *KERNEL_PARAMETERS)

    def lines(names, several=False):
        for name in names:
            text = known[name].option.kind.type
            if several:
                text = re.sub(r"Literal\[.*?\]", "str", text)
                text = f"{text} | Sequence[{text}]"
            yield f"    {name}: {text}{' | None' * (known[name].default is None)}"

    single = [*lines(name for name in known if name not in lists), "    original: bool"]
    return TYPED.format(
        single="\n".join(single),
        one="\n".join(lines(lists)).replace("'", '"'),
        several="\n".join(lines(lists, several=True)),
    )


BODIES: dict[str, Callable[[], str]] = {
    "docs/commands.md": commands_body,
    "docs/classes.md": partial(tasks_body, "multiclass", "regression"),
    "docs/models.md": models_body,
    "docs/tasks.md": partial(tasks_body, "sequence", "multilabel"),
    "docs/originals.md": originals_body,
}
PAGES = {path: partial(page, path, body) for path, body in BODIES.items()}
PAGES |= {f"man/{row[0]}.1": partial(man_page, row[0]) for row in MANUAL}
PAGES["svmcut/spec/typed.py"] = typed_parameters

if __name__ == "__main__":
    os.chdir(ROOT)
    for name, make in PAGES.items():
        Path(name).write_text(make(), encoding="utf-8", newline="\n")
        print(name)
