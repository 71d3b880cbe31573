# SPDX-License-Identifier: BSD-3-Clause
"""One training run from read to written models, whichever command asked for it."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Callable, Iterator

import numpy as np

from svmcut.base.errors import DataError
from svmcut.base.messages import escape
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.cli import advice, training_report
from svmcut.cli.advice import in_options
from svmcut.cli.endings import ending, explain_ending, remedy, stop_reason, time_limit
from svmcut.cli.files import (
    PathTrainer,
    check_training_files,
    model_files,
    reading_keywords,
    redirect_log,
    write_report,
)
from svmcut.cli.guard import warn
from svmcut.cli.hints import add_kind, hints
from svmcut.cli.option_checks import check, named_by_labels
from svmcut.cli.options import LearnOptions
from svmcut.cli.proving import deciding_driver
from svmcut.cli.termination import INTERRUPTED, check_signals
from svmcut.data.examples import Csr
from svmcut.data.labels import choose_task, distinct, named_labels, number_labels
from svmcut.files.output import write_atomically
from svmcut.files.weights import read_weights
from svmcut.formats import write_model
from svmcut.selection.grid import Search
from svmcut.spec.catalog import INPUTS, measures
from svmcut.spec.kinds import Typed
from svmcut.spec.parameters import Settings
from svmcut.tasks.prediction import measure
from svmcut.tasks.protocol import make_task, names_for_second_file, presentation, words_of
from svmcut.tasks.weights import apply_weights
from svmcut.training.certificate import finish_model
from svmcut.training.driver import Driver
from svmcut.training.outcome import Outcome
from svmcut.training.progress_bar import ProgressBar

if TYPE_CHECKING:
    from svmcut.cli.checkpoints import Checkpoints
    from svmcut.selection.interval import CertifiedChoice


def run(
    options: LearnOptions, original: str = "", make: Callable[..., Training] | None = None
) -> int:
    """Reads, trains, writes and reports; returns the exit status: 0 done, 3 stopped by a limit, 130
    interrupted. The best model is written in each case.

    Under the name of an `original`, only the reason for a status of 1 goes to stderr. `make` gives
    the Training if the examples are not read here. --max-iterations ends the training for one C; a
    time limit and an interrupt end the run.
    """
    idle = check(options)
    targets, outputs = model_files(options), check_training_files(options, bool(original))
    with contextlib.ExitStack() as stack:
        # what is not finite is found where it matters
        stack.enter_context(np.errstate(over="ignore", invalid="ignore", divide="ignore"))
        stack.enter_context(redirect_log(outputs))
        checkpoints = None
        stack.enter_context(
            explain_ending(lambda: "" if original else remedy(options.checkpoint, checkpoints))
        )
        check_signals()  # for a signal that was lost while modules were imported
        if options.checkpoint is not None:
            from svmcut.cli.checkpoints import Checkpoints

            checkpoints = Checkpoints(options.checkpoint, options)
            stack.enter_context(checkpoints.hold_file())
            stack.enter_context(checkpoints.handle_signals())
        training = (make or Training)(options, original, [] if original else idle, checkpoints)
        training.open(stack)
        if options.searches:
            training.choose()
        for cost, target in list(zip(training.options.path, targets, strict=True))[
            len(training.outcomes) :
        ]:
            training.fit(cost, target)
            if training.is_over():
                break
        with training.reading_state():
            training.finish()
    if training.outcomes[-1].stopped_by == "interrupt":
        return INTERRUPTED
    return 0 if training.is_complete() else 3


class Training:
    """The examples in memory, the models trained on them so far, and the lines about them."""

    def __init__(
        self,
        options: LearnOptions,
        original: str,
        idle: list[str],
        checkpoints: Checkpoints | None = None,
    ):
        self.options, self.original, self._checkpoints = options, original, checkpoints
        self._search: Search | CertifiedChoice | None = None
        self._path_trainer: PathTrainer | None = None
        self._grid: dict[str, Any] = {}
        self._last_lines, self._failures = list[str](), list[str]()
        #: Outcome of each finished model.
        self.outcomes: list[Outcome] = []
        #: Entries of the report's path, one per outcome.
        self.rows: list[dict[str, Any]] = []
        self._plain = not original and options.format == "plain"
        self._say = training_report.out if options.verbosity > 0 else _silence
        self._log = _silence if self._plain and options.verbosity < 2 else self._say
        self._began, self._cpu_began = time.perf_counter(), time.process_time()
        self._task = make_task(options.task, bool(original), options.input)
        self._shown = presentation(options.task, bool(original))
        given = reading_keywords(options, bool(original))
        weights = None if options.weights is None else read_weights(options.weights)
        settings = self._read(given, weights)
        options = self.options
        if options.select is not None:
            self._task.check_measure(options.select, self.examples)
        self._seconds = {"read": time.perf_counter() - self._began, "train": 0.0, "write": 0.0}
        self._plan_began = time.perf_counter()
        self._time_limit = time_limit(options, self._plan_began - self._began)
        self._examples_to_decide: Any = None
        if options.until_decided is not None:
            self._examples_to_decide = self._read_other(options.until_decided, given)
        self._driver, hinted = self._plan(settings)
        check_signals()
        self._warnings = [*idle, *self._driver.warnings, *hinted]
        if not original:
            self._warnings += advice.advise_on_checkpoint(options) + advice.advise_on_labels(
                words_of(self.examples)
            )
        self._validation = self._read_validation(given) if options.validate else None
        self._given_options, self._state, self._saved_search = options, None, None
        self._is_limit_raised = False
        #: Gives the context that names the checkpoint in failures to read a resumed state.
        self.reading_state: Callable[[], Any] = contextlib.nullcontext
        if checkpoints is not None:
            checkpoints.identify(self.examples, options)
            saved = checkpoints.resume() if options.resume else None
            if saved is not None:
                self.outcomes = list(saved["outcomes"])
                self.rows = list(saved["rows"])
                self._state, self._is_limit_raised = saved["driver"], saved["raised"]
                self._saved_search = saved.get("search")
                self.reading_state = checkpoints.unfit

    def _read(self, given: dict[str, Any], weights: Any) -> Settings:
        """Reads the examples; returns the settings, with the task that the labels decide."""
        options = self.options
        with training_report.step(self._log, "Reading training examples") as close:
            try:
                examples = self._examples(given)
            except DataError as error:
                if not self.original and options.input == INPUTS[0]:
                    add_kind(error, options.example_file, options.labels)
                raise
            close(self._shown.sizes(examples))
        if self.original and options.verbosity <= 0:
            training_report.out(self._shown.quiet(examples), end="")
        settings = number_labels(options.settings(), words_of(examples), options.example_file)
        self.examples, left_out = apply_weights(
            self._task, examples, settings, weights, options.weights or ""
        )
        if left_out:
            self._say(f"Left out: {left_out} of weight 0")
        if settings.is_open and not self.original:
            path, words = self.examples.source.path, words_of(self.examples)
            settings = choose_task(settings, self.examples.y, path, words)
        if settings.task != options.task:
            self.options = options = named_by_labels(options, self.examples)
            self._task, self._shown = make_task(options.task), presentation(options.task)
            self._say(f"{len(distinct(self.examples.y))} classes: {options.task}")
        if self._table is not None and self._table.encoding.columns:
            self._say(training_report.fact("Columns", self._table.encoding.describe()))
        self.options = self.options.with_gamma(self.examples.X)
        return replace(settings, gamma=self.options.gamma[0].value)

    def _examples(self, given: dict[str, Any]) -> Any:
        """Reads the training examples."""
        return self._task.read(self.options.example_file, **given, costs=self.options.reads_costs)

    def _read_validation(self, given: dict[str, Any]) -> Any:
        """Reads the examples of --validate."""
        path = self.options.validate or ""
        held = self._read_other(path, given)
        self._warnings += self._task.label_warnings(held, self._driver)
        if not self.original:
            self._warnings += advice.advise_on_validation(self.examples, held, path)
        return held

    def _read_other(self, path: str, given: dict[str, Any]) -> Any:
        """Reads the examples of another file."""
        reading = time.perf_counter()
        names = names_for_second_file(self.examples, self.options.task, self.options.input, path)
        examples = self._task.read(path, **(given | names), test=True)
        self._seconds["read"] += time.perf_counter() - reading
        return examples

    def _driver_of(self, settings: Settings, time_limit: float | None) -> Driver:
        driver = self._task.plan(self.examples, settings, time_limit)
        if self._examples_to_decide is None:
            return driver
        return deciding_driver(self.options, driver, self._examples_to_decide)

    def _plan(self, settings: Settings) -> tuple[Driver, list[str]]:
        """Plans the training; returns the driver and hints on the examples."""
        driver = self._driver_of(settings, self._time_limit)
        words = words_of(self.examples)
        if "labels" in driver.counts and words:
            driver.counts["labels"] = named_labels(driver.counts["labels"], words)
        return driver, [] if self.original else hints(
            self.options.task, self.examples, driver.settings
        )

    def _measure(self, model: Any, data: Any) -> dict[str, float]:
        """Every measure of a model on data."""
        return measure(
            self._task, model, data, threads=self.options.threads, beam=self.options.beam
        )

    def open(self, stack: contextlib.ExitStack) -> None:
        """Opens the trace, and prints facts about the examples."""
        options, self._stack = self.options, stack
        self._trace = (
            stack.enter_context(write_atomically(options.trace)) if options.trace else None
        )
        self._bar = ProgressBar(options.progress, self._driver.settings, self._driver.plan.stop)
        say = training_report.out if self.original and self._shown.always else self._log
        for line in self._shown.properties(self.examples, self._driver):
            say(line)
        for note in self._driver.notes if self._log is not self._say else ():
            self._say(f"NOTE: {note}")
        if self._plain:
            self._say(
                training_report.fact("Examples", self._shown.summary(self.examples, self._driver))
            )

    def choose(self) -> None:
        """Trains the cells of a grid, prints their table, and leaves the options and the driver of
        the best."""
        from svmcut.cli import choosing
        from svmcut.selection.grid import Terms

        options, began = self.options, time.perf_counter()
        with self.reading_state():
            choice = choosing.choice(
                options,
                self._task,
                (self.examples, self._validation),
                self._driver,
                Terms(
                    self._seconds_left(),
                    self._saved_search,
                    self._checkpoints is not None,
                    self._is_limit_raised,
                ),
                self._search_of_grid(),
            )
            self._warnings += choice.warnings
            self._search = search = choice.search
            self._say(choice.title())

            def keep() -> None:
                if self._checkpoints is not None:
                    self._checkpoints.take(lambda: self._snapshot(None))

            def tick() -> None:
                check_signals()
                keep()
                choice.log_progress(self._log)
                self._bar.tell(*choice.progress())

            if not search.complete:
                self._state = None
                with self._bar:
                    try:
                        search.run(tick)
                    finally:
                        keep()
        self._say(choice.table(), end="")
        self._warnings += choice.advice(self.examples)
        if not search.complete:
            self._failures.append(f"{escape(options.model_file)}: {choice.failure()}")
        self._grid = choice.report()
        self.options = choice.best_options()
        if choice.needs_new_driver:
            others = self._driver.warnings
            self._driver = self._driver_of(self.options.settings(), self._seconds_left())
            self._warnings = [
                text for text in self._warnings if text not in others
            ] + self._driver.warnings
        self._seconds["train"] += time.perf_counter() - began

    def _search_of_grid(self) -> type[Search]:
        """Class that trains the cells of a grid."""
        from svmcut.selection.grid import Search

        return Search

    def _seconds_left(self) -> float | None:
        """Seconds left of the limit."""
        return (
            None
            if self._time_limit is None
            else max(0.0, self._time_limit - (time.perf_counter() - self._plan_began))
        )

    def fit(self, cost: Typed, target: str) -> None:
        """Trains for one C, prints the originals' lines and writes the model."""
        options, path = self.options, len(self.options.path) > 1
        if path:
            self._log(f"C = {cost.text}")
        costs = self._costs(cost)
        if not self.original:
            for name, text in training_report.weight_facts(options, self._driver, *costs):
                self._log(f"{name}: {text}")
        state, self._state = self._state, None
        with self.reading_state(), self._bar:
            outcome, measured = self._train_next(costs, state)
        self._seconds["train"] += outcome.seconds
        cpu_seconds = time.process_time() - self._cpu_began
        for line in self._shown.final_lines(outcome, options, cpu_seconds, bool(self.original)):
            self._log(line)
        if options.algorithm == 4 and not self._plain:
            training_report.out(f"Final number of constraints in cache: {outcome.progress.cuts}")
        for line in self._shown.timing(outcome) if self.original else ():
            training_report.out(line)
        if not self.original:
            self._log(f"Solver: {outcome.solver}; {stop_reason(outcome)}")
        if "log_loss" in outcome.details:
            self._log(f"Probabilities: {training_report.calibration_text(outcome.details)}")
        writing = time.perf_counter()
        if not options.has_kernel or options.basis_method:
            self._log("Compacting linear model...done")
        outcome = self._with_threshold(outcome)
        with training_report.step(self._log, "Writing learned model"):
            write_model(target, self._completed_model(outcome), bool(self.original))
            if options.alphas:
                with write_atomically(options.alphas) as output:
                    output.write(
                        "".join(f"{value:.17g}\n" for value in outcome.multipliers).encode()
                    )
        self._seconds["write"] += time.perf_counter() - writing
        self.outcomes.append(outcome)
        self._warnings.extend(map(in_options, outcome.warnings))
        if not outcome.done:
            self._failures.append(f"{escape(target)}: {stop_reason(outcome)}")
        if path or options.validate:
            measured = measured or self._measure_all(outcome.model)
            self.rows.append(training_report.path_row(cost, target, outcome) | measured)
        if not self.original:
            self._summarise(cost, outcome, measured)

    def _with_threshold(self, outcome: Outcome) -> Outcome:
        """Outcome whose model has a threshold that keeps the promises asked for."""
        if self.options.at_least is None:
            return outcome
        from svmcut.cli.thresholding import choose_for_run

        model, keys, self._last_lines = choose_for_run(
            self._task, outcome.model, self.options, self._validation, self.examples
        )
        self._grid |= keys
        return replace(outcome, model=model)

    def _completed_model(self, outcome: Outcome) -> Any:
        """Model with its certificate and the encoding of its table."""
        model = outcome.model
        if not self.original:
            model = finish_model(outcome, self.examples, self._driver.settings)
        return model if self._table is None else replace(model, table=self._table.encoding)

    @property
    def _table(self) -> Any:
        """Table that the examples were made from, or None."""
        return getattr(self.examples, "table", None)

    def _summarise(
        self, cost: Typed, outcome: Outcome, measured: dict[str, dict[str, float]] | None
    ) -> None:
        """Prints the summary of a model, one line if it is one of several, and collects advice on
        it."""
        options, X = self.options, self.examples.X
        errors = measured["training"] if measured is not None else {}
        shown = self._plain and options.verbosity > 0
        small = (
            isinstance(X, Csr)
            and not options.has_kernel
            and training_report.is_quick(X, outcome.model)
        )
        if len(options.path) == 1:
            if shown and not errors and small:
                errors = self._measure(outcome.model, self.examples)
            if outcome.done:
                self._warnings += advice.advise_on_errors(options, errors)
                self._warnings += advice.advise_on_kernel(options, outcome.model, self.examples)
        if shown:
            for line in self._facts(cost, outcome, errors):
                self._say(line)

    def _facts(self, cost: Typed, outcome: Outcome, errors: dict[str, float]) -> Iterator[str]:
        options = self.options
        if len(options.path) > 1:
            yield training_report.path_line(cost.text, outcome)
            return
        yield from training_report.setup_lines(options, outcome, self.examples.X)
        for name, text in training_report.weight_facts(options, self._driver, *self._costs(cost)):
            yield training_report.fact(name, text)
        yield from training_report.certificate_lines(outcome)
        yield from training_report.error_lines(options.task, errors)

    def _costs(self, cost: Typed) -> tuple[float | None, float | None]:
        return (cost.value, None) if self.options.cost else (None, cost.value)

    def _train_next(
        self, costs: tuple[float | None, float | None], state: Any
    ) -> tuple[Outcome, dict[str, Any] | None]:
        """Outcome for the next C, and its measures if a thread ahead took them."""
        options, place, observe = self.options, len(self.outcomes), self._observe
        if len(options.path) > 1 and self._path_trainer is None:
            from svmcut.cli.files import PathTrainer

            ends = (
                self._checkpoints is not None or self._time_limit is not None or options.scheduled
            )
            plan = functools.partial(self._task.plan, self.examples)
            path = [self._costs(cost) for cost in options.path]
            ahead = PathTrainer(
                path,
                1 if ends else options.threads,
                options.settings(),
                plan,
                self._lines,
                self._measure_all,
            )
            self._path_trainer = self._stack.enter_context(ahead)
        if self._path_trainer is not None:
            if place in self._path_trainer.starts:
                self._driver.warm = None
            try:
                if (fitted := self._path_trainer.take(place, check_signals)) is not None:
                    for told in fitted.lines:
                        self._print(*told)
                    return fitted.outcome, fitted.measured
            except KeyboardInterrupt:
                observe = _interrupt  # after its first step
        return self._driver.fit(*costs, observe, state), None

    def is_over(self) -> bool:
        """True if the run ends here, whatever values of C are left."""
        return self.outcomes[-1].stopped_by == "interrupt" or self._driver.is_late()

    def is_complete(self) -> bool:
        """True if there is a model for every C, and all met their target."""
        whole = self._search is None or self._search.complete
        return (
            whole
            and len(self.outcomes) == len(self.options.path)
            and all(outcome.done for outcome in self.outcomes)
        )

    def finish(self) -> None:
        """Selects a model, prints the table of a path, writes the report and gives the warnings."""
        options = self.options
        chosen = len(self.outcomes) - 1
        if options.select:
            sign = 1 if measures(options.task)[options.select].rises else -1
            values = [sign * row["validation"][options.select] for row in self.rows]
            chosen = max(
                range(len(values)), key=lambda k: -math.inf if math.isnan(values[k]) else values[k]
            )
            if len(options.path) > 1:
                write_model(options.model_file, self._completed_model(self.outcomes[chosen]))
        if self.rows:
            self._say(
                training_report.path_table(
                    options.task, self.rows, chosen if options.select else None
                ),
                end="",
            )
        if self._validation is not None and len(options.path) > 1 and not self.original:
            from svmcut.cli import choosing

            known = options, self._driver, self._validation, self.outcomes
            lines, keys = choosing.proven_path(*known)
            self._last_lines, self._grid = self._last_lines + lines, self._grid | keys
        written = training_report.model_lines(options.model_file, self.outcomes[chosen].details)
        for line in [*self._last_lines, *written] if self._plain else ():
            self._say(line)
        if self._checkpoints is not None:
            self._checkpoints.finish(keep=self._is_unfinished())
        largest = max(
            self.outcomes, key=lambda outcome: outcome.objective.c
        )  # with the others it was compared
        self._warnings += map(in_options, self._driver.underfit_warnings(largest))
        self._explain_failures()
        self._warnings += training_report.log_warnings
        self._seconds["total"] = time.perf_counter() - self._began
        if options.report:
            warnings = self._warnings + (
                self._checkpoints.warnings if self._checkpoints is not None else []
            )
            X, counts = self.examples.X, self._task.counts(self.examples) | self._driver.counts
            document = training_report.learn_report(
                self._given_options, X, counts, self.outcomes[chosen], self._seconds, warnings
            )
            document |= self._grid
            if self._table is not None and self._table.encoding.columns:
                document["columns"] = self._table.encoding.document()
            if self.rows:
                document["path"] = self.rows
            write_report(options.report, document)
        program = self.original or f"svmcut {options.command}"
        for warning in self._failures if self.original else self._warnings:
            warn(program, warning)

    def _is_unfinished(self) -> bool:
        """True if a run with larger limits has something to do after the last state."""
        searching = self._search is not None and not self._search.complete
        return (
            searching or len(self.outcomes) < len(self.options.path) or not self.outcomes[-1].done
        )

    def _explain_failures(self) -> None:
        """Adds to the warnings which models did not converge, and what to do about it."""
        options = self.options
        left = [cost.text for cost in options.path[len(self.outcomes) :]]
        last = None
        if not self.original:
            last = ending(self.outcomes, left, options.checkpoint, self._checkpoints)
        if self._search is not None and not self._search.complete:
            last = remedy(options.checkpoint, self._checkpoints, " and larger limits")
        if last is not None and not self._failures:
            self._failures.append(f"{escape(options.model_file)}: stopped by a limit")
        if last is not None:
            self._failures[-1] += f"; {last}"
        self._warnings += self._failures

    def _snapshot(self, driver: Driver | None) -> dict[str, Any]:
        done = [outcome.portable() for outcome in self.outcomes]
        kept = {"outcomes": done, "rows": list(self.rows), "driver": driver and driver.state()}
        return kept if self._search is None else kept | {"search": self._search.state()}

    def _observe(self, progress, objective) -> None:
        check_signals()
        if self._checkpoints is not None:
            self._checkpoints.take(lambda: self._snapshot(self._driver))
        if not progress.report:
            return
        self._print(*self._lines(progress, objective))
        self._bar.show(progress, objective, self._driver.tell(progress))

    def _lines(self, progress, objective) -> tuple[str, str]:
        log = training_report.iteration_line(progress, objective, self.options.algorithm)
        return log, training_report.trace_line(progress, objective) if self.options.trace else ""

    def _print(self, line: str, trace: str) -> None:
        with self._bar.hide(self._log is not _silence):
            self._log(line)
        if self._trace is not None:
            self._trace.write((trace + "\n").encode())

    def _measure_all(self, model: Any) -> dict[str, dict[str, float]]:
        """Every measure of a model on the examples, and on those of --validate."""
        parts = (("training", self.examples), ("validation", self._validation))
        return {name: self._measure(model, data) for name, data in parts if data is not None}


def _silence(text: str = "", end: str = "\n") -> None:
    """Prints nothing."""


def _interrupt(progress, objective) -> None:
    raise KeyboardInterrupt
