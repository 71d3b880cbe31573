# SPDX-License-Identifier: BSD-3-Clause
"""The choice of C and kernel parameters by a grid: its cells, the table of their measures, and the
options of the best one."""

from __future__ import annotations

from collections.abc import Callable

from svmcut.base.records import replace
from svmcut.base.typing import Any
from svmcut.cli import advice
from svmcut.cli.options import LearnOptions
from svmcut.selection.grid import Part, Search, Terms, cells_of, held_out, parts_of
from svmcut.selection.interval import CertifiedChoice, GridProof, Interval
from svmcut.spec.catalog import TASKS, measures
from svmcut.spec.parameters import Settings
from svmcut.tasks.protocol import Task
from svmcut.training.driver import Driver
from svmcut.training.outcome import Outcome


def choice(
    options: LearnOptions,
    task: Task,
    data: tuple[Any, Any],
    driver: Driver,
    terms: Terms,
    search_of: Callable[..., Search],
) -> Any:
    """The choice that the options ask for: from a grid, or of C from an interval. `data` holds the
    training and the validation examples, `driver` is that of all examples, `search_of` makes the
    Search of a grid."""
    examples, validation = data
    known = parts(options, examples, validation, driver.settings)
    if options.span is None:
        return GridChoice(options, task, known, driver, terms, search_of)
    from svmcut.cli.proving import ProvenChoice

    assert options.certify_choice is not None
    folds, settings, warnings = known
    interval = Interval(*options.span, options.certify_choice)
    search = CertifiedChoice(task, settings, interval, folds, driver, terms.time_limit)
    if terms.state is not None:
        search.restore(terms.state)
    return ProvenChoice(options, warnings, search)


def parts(
    options: LearnOptions, examples: Any, validation: Any, settings: Settings
) -> tuple[list[Part], Settings, list[str]]:
    """The folds, or the training and validation rows as one part; with the settings to train on
    them, and warnings."""
    if options.cv is not None:
        return parts_of(examples, settings, options.cv)
    return *held_out(examples, validation, settings), []


#: Said of a grid whose models were not all trained here.
PROOF_NEEDS_ONE_MACHINE = (
    "What a grid proves of the values of C between is known where one machine trains it in one "
    "run; --certify-choice E on one machine proves it, in resumed runs too"
)


class GridChoice:
    """Choice of the best cell of a grid; `known` is what `parts` returns."""

    def __init__(
        self,
        options: LearnOptions,
        task: Task,
        known: tuple[list[Part], Settings, list[str]],
        driver: Driver,
        terms: Terms,
        search_of: Callable[..., Search],
    ):
        self._options, (parts, settings, self.warnings) = options, known
        self._cells = cells_of(
            [typed.value for typed in options.path],
            {name: [typed.value for typed in values] for name, values in options.grid.items()},
        )
        self._measure = options.select or TASKS[options.task].measure
        self._values = [typed.value for typed in options.path]
        self._proof: GridProof | None = None
        self._proven: dict[str, Any] | None = None
        proves = GridProof.can_prove(settings, self._values, self._measure)
        local = search_of is Search and terms.state is None
        self._is_proof_apart = proves and not local
        if proves and local:
            self._proof = GridProof(len(parts))
            terms = terms._replace(taken=self._proof.take)
        #: The trainings of the grid, and what they measured.
        self.search = search_of(task, settings, self._cells, parts, driver, terms)
        self._unlogged = {*range(len(self._cells))}

    def title(self) -> str:
        """Title of the choice."""
        options, count = self._options, len(self._cells)
        where = f"{options.cv} folds" if options.cv else options.validate
        name = self._measure.replace("_", "-")
        return f"Choosing by {name} on {where} from {count} cell{'s' * (count > 1)}"

    def progress(self) -> tuple[float, str]:
        """Share that is done, and the text of the progress bar."""
        done, size = self.search.done, self.search.size
        return done / size, f"{done} of {size} models of the grid"

    def table(self) -> str:
        """Table of the cells: parameters, mean of the measure, and standard deviation over the
        folds."""
        options, name = self._options, self._measure
        digits = max(measures(options.task)[name].digits, 3)
        shown = {"C": options.path} if options.has_cost else {}
        shown |= {name: values for name, values in options.grid.items() if len(values) > 1}
        texts = {
            (name, typed.value): typed.text for name, values in shown.items() for typed in values
        }
        lines = [[*shown, name.replace("_", "-"), *(["std"] if options.cv else [])]]
        rows = self.search.rows(name)
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
        return "\n".join([*text, *self._proven_lines()]) + "\n"

    def _proven_lines(self) -> list[str]:
        """Lines on what the grid proves of the values of C between its own."""
        if self._proof is not None and self.search.complete:
            self._proven, self._proof = self._proof.finish(self._values), None
        if self._is_proof_apart and self.search.complete:
            return [PROOF_NEEDS_ONE_MACHINE]
        return _lines_of_proof(self._options, self._proven)

    def log_progress(self, log: Callable[[str], None]) -> None:
        """Logs the cells that were measured on all parts since the last call."""
        results = self.search.results
        measured = [k for k in sorted(self._unlogged) if all(row[k] is not None for row in results)]
        self._unlogged.difference_update(measured)
        values = self.search.values(self._measure) if measured else []
        for k in measured:
            log(self._line(k, values[k]))

    def _line(self, place: int, values: list[float]) -> str:
        cell = " ".join(f"{name}={value:g}" for name, value in self._cells[place].items())
        digits = max(measures(self._options.task)[self._measure].digits, 3)
        mean = f"{sum(values) / len(values):.{digits}f}"
        return f"{cell}: {self._measure.replace('_', '-')} {mean}"

    def advice(self, examples: Any) -> list[str]:
        """Warnings about the models of the grid."""
        search = self.search
        unfinished = sum(
            not result["done"]
            for results in search.results
            for result in results
            if result is not None
        )
        warning = (
            f"{unfinished} of the {search.size} models of the grid stopped before their training "
            "was done"
        )
        return [warning] * bool(unfinished) + advice.advise_on_grid(self._options, search, examples)

    def failure(self) -> str:
        """Reason why the grid is not complete."""
        return f"{self.search.done} of {self.search.size} models of the grid were measured"

    def report(self) -> dict[str, Any]:
        """Entries of the report."""
        rows = {"cv" if self._options.cv else "grid": self.search.rows(self._measure)}
        return rows if self._proven is None else rows | {"choice": self._proven}

    def best_options(self) -> LearnOptions:
        """Options with the values of the best cell and nothing left to choose."""
        return self._with(self.search.best(self._measure))

    @property
    def needs_new_driver(self) -> bool:
        """True if the best cell has another kernel than the driver of all examples."""
        return self.best_options().grid != self._with(0).grid

    def _with(self, place: int) -> LearnOptions:
        options, cell = self._options, self._cells[place]
        unit = "cost" if options.cost else "example_cost"
        values: dict[str, Any] = {
            name: tuple(typed for typed in given if typed.value == cell[name])
            for name, given in options.grid.items()
        }
        values[unit] = tuple(typed for typed in options.path if typed.value == cell["C"])[:1]
        return replace(options, cv=None, select=None, **values)


def _lines_of_proof(options: LearnOptions, proven: dict[str, Any] | None) -> list[str]:
    """Lines on what is proven of the values of C between those that were trained."""
    if proven is None or proven["errors"] - proven["within"] < 1e-9:
        return []
    low, high = (f(options.path, key=lambda typed: typed.value).text for f in (min, max))
    least, most = 100 * (proven["errors"] - proven["within"]), 100 * proven["within"]
    return [
        f"No C from {low} to {high} has fewer than {least:.2f} % errors: none is better by more "
        f"than {most:.2f} %"
    ]


def proven_path(
    options: LearnOptions, driver: Driver, held: Any, outcomes: list[Outcome]
) -> tuple[list[str], dict[str, Any]]:
    """Lines and entries of the report on what a path of C proves of the validation errors between
    its values."""
    values, name = [typed.value for typed in options.path], TASKS[options.task].measure
    suits = GridProof.can_prove(driver.settings, values, options.select or name)
    if held is None or not suits or len(outcomes) < len(values) or options.scheduled:
        return [], {}
    proof = GridProof(1)
    proof.recall(driver, held, [*zip(values, outcomes, strict=True)])
    proven = proof.finish(values)
    return _lines_of_proof(options, proven), {} if proven is None else {"choice": proven}
