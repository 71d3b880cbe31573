# SPDX-License-Identifier: BSD-3-Clause
"""Runs of learn on a small file of two classes with no unusual option: the same model and lines as
of `svmcut.cli.training`, before NumPy could be imported.

Anything unusual, above all a fault, is left to that module before anything is written or printed;
so are long runs, whose lines have to appear as they go, and which Ctrl-C ends with a model.
"""

from __future__ import annotations

import math
import os
import stat
import sys
import time
from types import SimpleNamespace

from svmcut._native import job as native
from svmcut._native.interrupt import watched_signals
from svmcut._native.job import LinearJob, Unusual
from svmcut.base.errors import SvmcutError
from svmcut.base.records import fields
from svmcut.base.resources import planned_memory
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.cli import training_report
from svmcut.cli.endings import explain_ending, remedy, stop_reason
from svmcut.cli.guard import warn
from svmcut.cli.hints import MAX_SCALE_RATIO, MIN_COUNT, SAMPLED_ENTRIES, different_scales
from svmcut.files.output import KEPT, File, check_roles, write_atomically
from svmcut.files.text import block_size, feed_scanner, open_text
from svmcut.formats import marks
from svmcut.formats.grammar import head_of_vectors, write_header
from svmcut.formats.seals import ChecksumOutput
from svmcut.scoring.measures import (
    ROUNDING,
    MeasureTargets,
    find_negative_range,
    two_class_measures,
)
from svmcut.solvers import auto
from svmcut.spec import refusals
from svmcut.spec.catalog import AUTO, FORMATS, TASKS, measures
from svmcut.spec.entries import DUAL_CD, LOGISTIC, SQUARED_HINGE
from svmcut.spec.parameters import StoppingRule
from svmcut.spec.places import loss_marks
from svmcut.tasks.presentation import TASK, ClassificationLines
from svmcut.training.gate import Reading, ball_of, judge, sum_rounding
from svmcut.training.outcome import Outcome, units_of_examples
from svmcut.training.settings import kernel_of, resolve_settings

if TYPE_CHECKING:
    from svmcut.cli.options import LearnOptions

#: Bytes of examples, features, and work of the descent, in entries, up to which a run is done here;
#: by then NumPy would have been imported.
MAX_BYTES, MAX_FEATURES, MAX_WORK = 1 << 24, 100_000, 200_000_000
#: The size of values from which on svmcut.data.offset_features looks at them.
MIN_COARSE_VALUE = 2.0**13
#: The losses, and their numbers.
_LOSSES = {
    None: native.HINGE,
    TASKS[TASK].loss: native.HINGE,
    SQUARED_HINGE: native.SQUARED_HINGE,
    LOGISTIC: native.LOGISTIC,
}
#: Options that may have other values than their defaults.
_SUPPORTED_OPTIONS = frozenset(
    (
        *("example_file", "model_file", "command", "given", "original", "format", "verbosity"),
        *("cost", "example_cost", "epsilon", "gap", "bias", "seed", "threads"),
        *("task", "loss", "solver", "algorithm", "progress", "table"),
    )
)
_SIGNS = (-1.0, 1.0)


def run(options: LearnOptions, original: str = "") -> int:
    """Trains here if possible, else by svmcut.cli.training.run."""
    status = train_linear(options, original)
    if status is not None:
        return status
    from svmcut.cli import training

    return training.run(options, original)


def is_numpy_loaded() -> bool:
    """True if a run here would save no time."""
    return "numpy" in sys.modules


def train_linear(options: LearnOptions, original: str = "") -> int | None:
    """Does what `svmcut.cli.training.run` does, or returns None if nothing was done. Raises
    OutputError or OSError if the model cannot be written after all."""
    try:
        if not _is_usual(options):
            return None
        with explain_ending(lambda: "" if original else remedy(None, None)):
            job = _Run(options, original)
            job.train()
    except (ValueError, SvmcutError, OSError, MemoryError):
        return None
    job.print_and_write()
    return 0


def _is_usual(options: LearnOptions) -> bool:
    """True if the files are ordinary and no option asks for more."""
    if is_numpy_loaded() or sys.stdout is None or sys.stderr is None:
        return False
    if options.progress or (options.progress is None and sys.stderr.isatty()):
        return False
    if options.task != TASK or options.solver not in (AUTO, DUAL_CD) or options.loss not in _LOSSES:
        return False
    if options.algorithm not in (None, 9) or (options.original and options.verbosity > 1):
        return False
    if len(options.path) != 1 or os.environ.get("SVMCUT_DEADLINE"):
        return False
    changed = {item.name for item in fields(options) if getattr(options, item.name) != item.default}
    if not (changed | (options.given or frozenset())) <= _SUPPORTED_OPTIONS or options.reads_table:
        return False
    return _is_file(options.example_file, MAX_BYTES) and _is_file(options.model_file)


def _is_file(path: str, most: int | None = None) -> bool:
    """True for a regular file of at most so many bytes; without a limit, also for one that may be
    created."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return most is None and path != "-"
    return stat.S_ISREG(status.st_mode) and (most is None or status.st_size <= most)


class _Run:
    """One run, from its files to its lines."""

    def __init__(self, options: LearnOptions, original: str):
        self._options, self._original = options, original
        self._began = time.process_time()
        settings = options.settings()
        if refusals.check(settings) and not original:
            raise Unusual
        check_roles(*([File("", path)] for path in (options.example_file, options.model_file)))
        self._job = job = LinearJob(options.example_file, options.threads)
        with open_text(options.example_file) as text:
            text.check_kind()
            for _ in feed_scanner(job, text, block_size(options.threads)):
                pass
        job.take()
        if job.is_weighed or job.n_features > MAX_FEATURES or not (original or job.has_two):
            raise Unusual
        self._settings = resolve_settings(settings, job.n_rows)
        if self._settings.free_bias:
            raise Unusual
        self._units = units_of_examples(self._settings, job.n_rows)
        cost = options.path[0].value
        self._costs = (cost, None) if options.cost else (None, cost)
        self._objective = self._units.objective(*self._costs)
        labels = job.low + 0.0, job.high + 0.0
        self._labels = None if original or labels == _SIGNS else labels
        self._warnings = [] if original else self._hints()

    def _hints(self) -> list[str]:
        """Hints as of svmcut.cli.hints."""
        low, least, high, largest, far = self._job.scales(SAMPLED_ENTRIES, MIN_COUNT)
        if far >= MIN_COARSE_VALUE:
            raise Unusual
        apart = low >= 0 and largest > MAX_SCALE_RATIO * least
        return [different_scales((low, least), (high, largest))] if apart else []

    def train(self) -> None:
        """Trains and judges."""
        job, s, objective, began = self._job, self._settings, self._objective, time.perf_counter()
        rule = StoppingRule(objective.c * objective.epsilon, s.gap)
        bias = s.bias or 0.0
        with watched_signals():
            trained, self._steps = job.train(
                self._labels is None,
                _LOSSES[s.loss],
                objective.C,
                bias,
                rule.absolute if rule.relative is None else rule.relative,
                rule.relative is not None,
                **self._limits(),
            )
        self._b = 0.0 - job.constant
        kept = (0.0 - float(f"{self._b:.8g}")) / bias if bias else 0.0
        self._pairs, self._highest = job.pairs()
        cuts, support, primal, dual = self._steps[-1]
        last: Any = SimpleNamespace(
            iteration=trained["steps"],
            primal=primal,
            dual=dual,
            cuts=cuts,
            support=support,
            slack=trained["slack"],
            risk=trained["risk"],
        )
        model: Any = SimpleNamespace(kernel=kernel_of(s))
        self._outcome = outcome = Outcome(
            model,
            objective,
            last,
            DUAL_CD,
            norm=trained["norm"],
            longest_cut=trained["longest_cut"],
            multipliers=(),
            apart=None if s.original else (trained["cut_gap"], trained["cut_distance"]),
        )
        terms = objective.C * trained["rise"] + outcome.norm**2
        reading = Reading(
            lambda _: job.primal_of_file(kept),
            math.inf if s.loss == SQUARED_HINGE else KEPT * terms,
            original=s.original,
            whole=lambda: None,
            sums=lambda: sum_rounding(terms + abs(outcome.primal), job.n_features + (bias != 0)),
        )
        judge(outcome, rule, None, reading=reading)
        if not outcome.converged:
            raise Unusual
        outcome.seconds = time.perf_counter() - began
        self._ball = None
        if s.certify is not False and not s.original:
            self._ball = ball_of(outcome, lambda _: outcome.norm)

    def _limits(self) -> dict[str, Any]:
        """Limits beyond which the run is not done here."""
        job, s = self._job, self._settings
        n, nnz, dim = job.n_rows, job.nnz, job.n_features + (s.bias != 0)
        room = 0.0
        if s.solver == AUTO:
            room = planned_memory(s.max_memory)
            if auto.choose(n, dim, nnz, self._objective.C * (self._units.samples / n)) != DUAL_CD:
                raise Unusual
        known: dict[str, Any] = dict.fromkeys(("most_epochs", "most_seconds"), math.inf)
        known |= {"one_look": False, "foreseen": math.inf}
        if _LOSSES[s.loss] != native.HINGE and dim <= auto.DENSE_DIM:
            known |= {"most_epochs": auto.EPOCHS, "one_look": True}
        elif _LOSSES[s.loss] != native.HINGE:
            each = auto.LOGISTIC_EPOCH if s.loss == LOGISTIC else 1.0
            known |= {"most_epochs": auto.MAX_PASSES / each, "foreseen": 0.0}
        elif auto.can_newton_follow(n, dim):
            step = auto.newton_step(n, dim, nnz)
            known["most_epochs"] = auto.EPOCHS * max(1.0, step)
        else:
            known["most_seconds"] = auto.gram_seconds(n, nnz, room)
        return known | {
            "seed": s.seed,
            "block": auto.epochs_between_looks(n, nnz),
            "epoch_seconds": auto.epoch_seconds(n, nnz),
            "most_entries": int(MAX_WORK * (nnz / (nnz + 10 * n))),
        }

    def print_and_write(self) -> None:
        """Prints the lines of the run and writes the model."""
        options, job, outcome = self._options, self._job, self._outcome
        plain = not self._original and options.format == "plain"
        say = training_report.out if options.verbosity > 0 else _silence
        log = _silence if plain and options.verbosity < 2 else say
        shown = ClassificationLines(TASK)
        data = _Rows(job.n_rows, job.n_features)
        counts = [job.n_rows - job.positives, job.positives]
        driver = SimpleNamespace(
            settings=self._settings,
            plan=SimpleNamespace(units=self._units),
            counts={"class_counts": counts},
        )
        log("Reading training examples...done")
        for line in shown.properties(data, driver):
            log(line)
        if plain:
            say(training_report.fact("Examples", shown.summary(data, driver)))
        weights = [*training_report.weight_facts(options, driver, *self._costs)]
        for name, text in [] if self._original else weights:
            log(f"{name}: {text}")
        for line in self._step_lines():
            log(line)
        seconds = time.process_time() - self._began
        for line in shown.final_lines(outcome, options, seconds, bool(self._original)):
            log(line)
        if not self._original:
            log(f"Solver: {outcome.solver}; {stop_reason(outcome)}")
        log("Compacting linear model...done")
        with training_report.step(log, "Writing learned model"):
            self._write_model()
        self._warnings += outcome.warnings
        if plain and options.verbosity > 0:
            self._summarise(say, weights)
        for warning in [] if self._original else [*self._warnings, *training_report.log_warnings]:
            warn(f"svmcut {options.command}", warning)

    def _step_lines(self) -> list[str]:
        """Lines of the steps."""
        lines = []
        for k, (cuts, support, primal, dual) in enumerate(self._steps, 1):
            step = SimpleNamespace(iteration=k, cuts=cuts, support=support, extra=None)
            step.gap = primal - dual
            lines.append(
                training_report.iteration_line(step, self._objective, self._options.algorithm)
            )
        return lines

    def _write_model(self) -> None:
        """Writes the model file, as svmcut.formats.svm_light does."""
        job, path, s = self._job, self._options.model_file, self._settings
        bias = s.bias or 0.0
        known: dict[str, Any] = dict.fromkeys(("threshold", "sigma", "multipliers", "sigmoid"))
        known |= dict.fromkeys(("loss", "parameter")) if s.original else loss_marks(s)
        ball = None if self._ball is None else (*self._ball[:2], bias)
        marked: Any = SimpleNamespace(**known, labels=self._labels)
        highest = max(self._highest, job.n_features + (bias != 0) + 1)
        cuts = self._outcome.progress.cuts
        with write_atomically(path) as output:
            summed: Any = ChecksumOutput(output)
            head = head_of_vectors(path, self._b, highest, cuts, 1)
            write_header(summed, FORMATS[0].first, kernel_of(s), head, True)
            summed.write(b"1 " + self._pairs + b"#\n" + marks.text_of(marked))
            if not self._original:
                summed.seal(ball, self._objective.example_cost)

    def _summarise(self, say: Any, weights: list[tuple[str, str]]) -> None:
        """Prints facts about the model, and adds advice to the warnings."""
        options, job, outcome, values = self._options, self._job, self._outcome, {}
        if job.nnz <= training_report.MAX_MEASURED_VALUES:
            aims, negatives = MeasureTargets(), job.n_rows - job.positives
            floors = (floor * (1 - ROUNDING) for floor in (aims.precision, aims.recall))
            worth = job.worth(self._b, *floors, *find_negative_range(aims.rates, negatives))
            values = two_class_measures(worth, job.n_rows, aims).values
        if any(values.get(one.name) == 0 for one in measures(TASK).values() if one.none):
            from svmcut.cli.advice import advise_on_errors

            self._warnings += advise_on_errors(options, values)
        lines = training_report.setup_lines(options, outcome) + [
            training_report.fact(*each) for each in weights
        ]
        lines += training_report.certificate_lines(outcome) + training_report.error_lines(
            TASK, values
        )
        for line in lines + training_report.model_lines(options.model_file, outcome.details):
            say(line)


class _Rows:
    """Numbers of rows and features, under the names that training data have."""

    def __init__(self, n_rows: int, n_features: int):
        self._n_rows, self.X = n_rows, SimpleNamespace(n_features=n_features)

    def __len__(self) -> int:
        return self._n_rows


def _silence(text: str = "", end: str = "\n") -> None:
    """Prints nothing."""
