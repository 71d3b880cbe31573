# SPDX-License-Identifier: BSD-3-Clause
"""The grid of a command line: its cells, the table of what they are worth, and the options of the
one that is best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svmcut.selection import Part, Search, cells_of, held_out, parts_of
from svmcut.spec.catalog import TASKS, measures
from svmcut.spec.records import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from svmcut.cli.options import LearnOptions
    from svmcut.spec.parameters import Settings


def parts(
    options: LearnOptions, examples: Any, validation: Any, settings: Settings
) -> tuple[list[Part], Settings, list[str]]:
    """The folds, or all examples beside those of --validate; the settings that train on them, and
    warnings."""
    if options.cv is not None:
        return parts_of(examples, settings, options.cv)
    return *held_out(examples, validation, settings), []


def cells(options: LearnOptions) -> list[dict[str, float]]:
    """The values of C with those of the kernel's parameters."""
    return cells_of(
        *(
            [typed.value for typed in options.path],
            {name: [typed.value for typed in values] for name, values in options.grid.items()},
        )
    )


def choose_cell(options: LearnOptions, place: int) -> LearnOptions:
    """The options with the values of one cell, of which nothing is chosen any more."""
    cell = cells(options)[place]
    unit = "cost" if options.cost else "example_cost"
    values: dict[str, Any] = {
        name: tuple(typed for typed in given if typed.value == cell[name])
        for name, given in options.grid.items()
    }
    values[unit] = tuple(typed for typed in options.path if typed.value == cell["C"])[:1]
    return replace(options, cv=None, select=None, **values)


def measure_of(options: LearnOptions) -> str:
    """What cells are compared by."""
    return options.select or TASKS[options.task].measure


def head(options: LearnOptions, search: Search) -> str:
    """What is going to be done."""
    count, name = len(search.cells), measure_of(options).replace("_", "-")
    where = f"{options.cv} folds" if options.cv else options.validate
    return f"Choosing by {name} on {where} from {count} cell{'s' * (count > 1)}"


class Told:
    """Lines of the cells that are done, each told once."""

    def __init__(self, options: LearnOptions, search: Search):
        self._search, self._name = search, measure_of(options)
        self._digits = max(measures(options.task)[self._name].digits, 3)
        self._open = set(range(len(search.cells)))

    def say(self, log: Callable[[str], None]) -> None:
        """Tells the cells that were measured on all parts since the last call."""
        results = self._search.results
        found = [k for k in sorted(self._open) if all(row[k] is not None for row in results)]
        self._open.difference_update(found)
        values = self._search.values(self._name) if found else []
        for k in found:
            log(self._line(k, values[k]))

    def _line(self, place: int, values: list[float]) -> str:
        cell = " ".join(f"{name}={value:g}" for name, value in self._search.cells[place].items())
        mean = f"{sum(values) / len(values):.{self._digits}f}"
        return f"{cell}: {self._name.replace('_', '-')} {mean}"


def table(options: LearnOptions, search: Search) -> str:
    """One line a cell: its parameters, the mean of the measure, and its standard deviation over the
    folds."""
    name = measure_of(options)
    digits = max(measures(options.task)[name].digits, 3)
    shown = {"C": options.path} if options.has_cost else {}
    shown |= {name: values for name, values in options.grid.items() if len(values) > 1}
    texts = {(name, typed.value): typed.text for name, values in shown.items() for typed in values}
    lines = [[*shown, name.replace("_", "-"), *(["std"] if options.cv else [])]]
    rows = search.rows(name)
    for row in rows:
        numbers = [row["mean"], row["std"]][: 2 if options.cv else 1]
        lines.append(
            [texts[key, row[key]] for key in shown]
            + ["-" if value != value else f"{value:.{digits}f}" for value in numbers]
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    ]
    for k, row in enumerate(rows, 1):
        text[k] += "  <- selected" * row["selected"]
    return "\n".join(text) + "\n"


def warnings(search: Search) -> list[str]:
    """What a user should know of the models of a grid."""
    unfinished = sum(
        not result["done"] for results in search.results for result in results if result is not None
    )
    if not unfinished:
        return []
    return [
        f"{unfinished} of the {search.size} models of the grid stopped before their training was "
        "done"
    ]
