# SPDX-License-Identifier: BSD-3-Clause
"""Options: what a field of a record declares of the option that fills it."""

from __future__ import annotations

from svmcut.base.records import MISSING, Field, fields
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple
from svmcut.spec.kinds import FLAG, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from svmcut.spec.entries import Task

#: The parts of a help text.
DATA, TABLE, OBJECTIVE, KERNEL, STOPPING, OUTPUT, RUNNING, COMPATIBILITY = PANELS = (
    "Data",
    "Tables and texts",
    "Objective",
    "Kernel",
    "Stopping",
    "Output",
    "Running",
    "Compatibility",
)
#: Flags that follow from the name of the field: --name, --name/--no-name of a flag that may be
#: None, and none but the letter among those for compatibility.
BY_NAME: tuple[str, ...] = ("--",)


class Option(NamedTuple):
    """One option of a command line."""

    #: The name of the field that it fills.
    field: str
    #: Its flags, except the letter.
    words: tuple[str, ...]
    panel: str
    #: Help for svmcut and the programs with the originals' names.
    help: str
    #: Help for svmcut alone.
    more: str = ""
    #: The default as help states it; None in a declaration for the value of the field, "" for no
    #: statement.
    default: str | None = None
    #: Taken for compatibility, without effect.
    inert: bool = False
    kind: Kind = FLAG
    #: The flag of one letter that the original has; "" for none. It stands before the words, unless
    #: it is one of them.
    letter: str = ""
    #: The one original that has it; "" for all.
    only: str = ""
    #: Tells the tasks that have it; None for all.
    where: Callable[[Task], bool] | None = None
    #: The field behind whose option it stands in lists; "" for its own place.
    after: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """All flags; messages name the first."""
        return self.words if self.letter in ("", *self.words) else (self.letter, *self.words)

    @property
    def is_flag(self) -> bool:
        """True for an option without a value."""
        return self.kind is FLAG

    @property
    def full(self) -> str:
        """The flag that says most, as it is switched on."""
        return (self.words or (self.letter,))[0].split("/")[0]

    @property
    def help_with_default(self) -> str:
        """The help, followed by the default."""
        return self.help + (f"  [default: {self.default}]" if self.default else "")


class Param(Field):
    """A field with an option."""

    __slots__ = ()

    def describe(self, help: str, more: str = "") -> Any:
        """Return it with a help text; `{}` in it is filled in for the task."""
        return self._replace(option=self.option._replace(help=help, more=more))


def param(
    default: Any,
    kind: Kind,
    panel: str,
    *,
    flags: tuple[str, ...] = BY_NAME,
    shown: str | None = None,
    **more: Any,
) -> Any:
    """Return a field of this default, or what a callable gives, and its option; `shown` is the
    default as help states it, `more` are values of Option."""
    option = Option("", flags, panel, "", "", shown, False, kind)._replace(**more)
    value, factory = (MISSING, default) if callable(default) else (default, None)
    return Param("", value, factory, option)


def replace_kind(record: Any, name: str, default: Any, kind: Kind) -> Any:
    """Return a field of another record with a default and a kind of its own."""
    item = record.__record__[name]
    return item._replace(default=default, option=item.option._replace(kind=kind))


def options_of(*records: Any) -> tuple[Option, ...]:
    """Return the options of the fields of some records in the order of lists."""
    known = {item.name: item for record in records for item in fields(record) if item.option}
    place = {name: k for k, name in enumerate(known)}
    rows = sorted(map(_named_option, known.values()), key=lambda row: place[row.after or row.field])
    return tuple(sorted(rows, key=lambda row: PANELS.index(row.panel)))


def _named_option(item: Field) -> Option:
    words, name = item.option.words, item.name.replace("_", "-")
    if words is BY_NAME:
        may_be_none = item.option.kind is FLAG and item.default is None
        words = (f"--{name}/--no-{name}" if may_be_none else f"--{name}",)
        words = () if item.option.panel == COMPATIBILITY else words
    shown = item.option.default
    stated = _stated_value(item.default) if shown is None else shown
    return item.option._replace(field=item.name, words=words, default=stated)


def _stated_value(value: Any) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ",".join(getattr(each, "text", str(each)) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def warn_of_inert(rows: Iterable[Option], given: Container[str]) -> list[str]:
    """Return warnings of options that are taken for compatibility alone."""
    return [
        f"{row.flags[0]} is taken for compatibility and has no effect"
        for row in rows
        if row.inert and row.field in given
    ]
