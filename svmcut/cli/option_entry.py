# SPDX-License-Identifier: BSD-3-Clause
"""What a row of a table of options says, and the panels of the help."""

from __future__ import annotations

from svmcut.base.typing import TYPE_CHECKING, NamedTuple
from svmcut.spec.kinds import FLAG, Kind, one_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

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
#: Of --format, of learn and of classify.
PRINTED = one_of(("plain", "original"), {"json": "is what --report FILE writes"})


class Option(NamedTuple):
    """One option.

    Attributes
    ----------
    field : str
        Of LearnOptions, or of what else the command fills.
    words : tuple of str
        Its flags, but for the letter.
    panel : str
    help : str
        For svmcut and the originals.
    more : str
        For svmcut alone.
    default : str or None
        What help says of it; None for the value of the field, "" for nothing.
    inert : bool
        Whether it is taken for compatibility and never has an effect.
    kind : Kind
    letter : str
        The flag that the original has, of one letter; "" for none. It stands before the words,
        unless it is one of them.
    only : str
        The one original that has it; "" for all.
    """

    field: str
    words: tuple[str, ...]
    panel: str
    help: str
    more: str = ""
    default: str | None = None
    inert: bool = False
    kind: Kind = FLAG
    letter: str = ""
    only: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """All flags; messages name the first."""
        return self.words if self.letter in ("", *self.words) else (self.letter, *self.words)

    @property
    def full(self) -> str:
        """The flag that says most, as it is switched on."""
        return (self.words or (self.letter,))[0].split("/")[0]

    @property
    def stated(self) -> str:
        """The help with the default."""
        return self.help + (f"  [default: {self.default}]" if self.default else "")


def inert(rows: Iterable[Option], given: Container[str]) -> list[str]:
    """Warnings of options that are taken for compatibility alone."""
    return [
        f"{row.flags[0]} is taken for compatibility and has no effect"
        for row in rows
        if row.inert and row.field in given
    ]


def idle(field: str, letter: str, help: str, only: str = "") -> Option:
    """An option that is taken for compatibility and never has an effect."""
    return Option(field, (), COMPATIBILITY, help, inert=True, letter=letter, only=only)
