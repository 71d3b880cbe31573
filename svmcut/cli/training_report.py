# SPDX-License-Identifier: BSD-3-Clause
"""Output of training: the lines that svm_perf's users parse, facts in plain words with the name in
front, the JSON report and the trace."""

from __future__ import annotations

import contextlib
import math
import resource
import sys

from svmcut._version import __version__
from svmcut.base.messages import escape, hide_secrets, quote_word
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.cli.endings import stop_reason
from svmcut.cli.guard import drop_stdout
from svmcut.spec.catalog import AUTO, KERNELS, TASKS, measures
from svmcut.spec.kinds import GAMMAS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svmcut.cli.options import LearnOptions
    from svmcut.data.examples import Csr
    from svmcut.spec.kinds import Typed
    from svmcut.training.outcome import Outcome


#: Details of a model that its entry in a path has too.
_PATH_DETAILS = ("features_used",)


def out(text: str = "", end: str = "\n") -> None:
    """Prints at once; nothing if standard output is closed, and no more after it failed: training
    goes on without its log."""
    try:
        print(escape(hide_secrets(text), lines=True), end=end, flush=True)
    except OSError as error:
        drop_stdout()
        if not isinstance(error, BrokenPipeError):
            log_warnings.append(
                "the log is cut short: standard output cannot be written: "
                f"{error.strerror or error}"
            )


#: What became of the log, for the warnings of the run.
log_warnings: list[str] = []


@contextlib.contextmanager
def step(say, text: str):
    """Prints the originals' ``text...done`` around a piece of work; a failure ends the line before
    its message comes. Yields a function that replaces ``done``."""
    say(f"{text}...", end="")
    ending = ["done"]
    try:
        yield lambda other: ending.__setitem__(0, other)
    except BaseException:
        with contextlib.suppress(OSError):
            say()
        raise
    say(ending[0])


def cost_text(options, driver, cost: float | None, example_cost: float | None) -> str:
    """Text of C in both units."""
    row, units = TASKS[options.task], driver.plan.units
    objective = units.objective(cost, example_cost)
    weight, unit = units.example_cost(objective.c), f"{row.original or row.like}'s unit"
    each = (
        "for all examples together"
        if weight is None
        else f"{weight:.6g} per {row.unit} (--example-cost)"
    )
    return f"{objective.c:.6g} in {unit} (-c), {each}"


def weight_facts(
    options, driver, cost: float | None, example_cost: float | None
) -> Iterator[tuple[str, str]]:
    """Names and texts of what weighs the losses: C, or nu in its place."""
    s = driver.settings
    if s.is_nu:
        yield "nu", f"{s.nu:g}"
    if s.has_cost:
        yield "C", cost_text(options, driver, cost, example_cost)


def iteration_line(progress, objective, algorithm: int | None) -> str:
    """The original's line of one iteration; CEps is the violation that the gap stands for."""
    if progress.extra is not None:
        from svmcut.solvers.protocol import count_finished

        if (machines := count_finished(progress)) is not None:
            unit, done, number = machines
            values = f"primal {progress.primal:.6g}, gap {progress.gap:.4g}"
            return f"Iter {progress.iteration}: {done} of {number} {unit} over, {values}"
        values = ", ".join(
            f"{name.replace('_', ' ')} {value:.6g}" for name, value in progress.extra.items()
        )
        return (
            f"Epoch {progress.passes:.2f}: best primal {progress.primal:.6g}, SV "
            f"{progress.support}, {values}"
        )
    violation = max(0.0, progress.gap / objective.c)
    counts = (
        f"(NumConst={progress.cuts}, SV={progress.support}, CEps={violation:.4f}, QPEps=0.0000)"
    )
    if algorithm in (0, 1):
        return f"Iter {progress.iteration} ({objective.structures} active): .*{counts}"
    return f"Iter {progress.iteration}: {':' if algorithm in (None, 9) else '.'}*{counts}"


def trace_line(progress, objective) -> str:
    """One JSON line of the trace."""
    import json

    return json.dumps(
        {
            "C": objective.C,
            "iteration": progress.iteration,
            "passes": progress.passes,
            "primal": progress.primal,
            "dual": progress.dual,
            "gap": progress.gap,
            "cuts": progress.cuts,
            "support": progress.support,
            "seconds": round(progress.seconds, 6),
            **(progress.extra or {}),
        }
    )


def path_row(cost: Typed, target: str, outcome: Outcome) -> dict[str, Any]:
    """Facts of one model of a path, for the table and the report."""
    return {
        "C": cost.value,
        "model": target,
        "solver": outcome.solver,
        "primal": outcome.primal,
        "dual": outcome.dual,
        "gap": outcome.gap,
        "converged": outcome.converged,
        "iterations": outcome.progress.iteration,
        **{key: outcome.details[key] for key in _PATH_DETAILS if key in outcome.details},
        "seconds": outcome.seconds,
    }


def path_table(task: str, rows: list[dict[str, Any]], chosen: int | None) -> str:
    """Table of a path, one line per model: objective, training error, and measures on the
    validation file."""
    known = [measure for measure in measures(task).values() if measure.heading is not None]
    error = next(measure for measure in known if not measure.rises)
    shown = [measure for measure in known if measure.name in rows[0].get("validation", ())]
    table = [
        [
            "C",
            "objective",
            "gap",
            f"train {error.heading}",
            *(str(measure.heading) for measure in shown),
        ]
    ]
    for row in rows:
        wrong = row["training"].get(error.name, math.nan)
        cells = [f"{row['C']:g}", f"{row['primal']:.6g}", f"{row['gap']:.3g}", f"{wrong:.2f}"]
        table.append(
            cells + [f"{row['validation'][measure.name]:.{measure.digits}f}" for measure in shown]
        )
    widths = [max(len(line[k]) for line in table) for k in range(len(table[0]))]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in table
    ]
    if chosen is not None:
        lines[1 + chosen] += "  <- selected"
    return "\n".join(lines) + "\n"


def peak_memory_mb() -> float:
    """Largest resident size of this process so far, in 10^6 bytes."""
    try:
        with open(
            "/proc/self/status", encoding="ascii"
        ) as lines:  # ru_maxrss may be the parent's, kept across exec
            return next(
                int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM")
            )
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def learn_report(
    options, X: Csr, counts: dict[str, int], outcome, seconds: dict[str, float], warnings: list[str]
) -> dict[str, Any]:
    """The JSON document of a training run; keys as docs/report.md lists them."""
    from svmcut.cli.advice import in_options

    progress = outcome.progress
    return {
        "command": options.command,
        "version": __version__,
        "options": options.as_dict()
        | ({} if options.epsilon else {"epsilon": outcome.objective.epsilon}),
        "solver": outcome.solver,
        "task": options.task,
        "loss": options.loss,
        **counts,
        "features": X.n_features,
        "nonzeros": X.nnz,
        "primal": outcome.primal,
        "dual": outcome.dual,
        "gap": outcome.gap,
        **({} if outcome.primal_of_file is None else {"primal_of_file": outcome.primal_of_file}),
        "relative_gap": outcome.gap / abs(outcome.primal) if outcome.primal else 0.0,
        "converged": outcome.converged,
        "stopped_by": outcome.stopped_by,
        "iterations": progress.iteration,
        "cuts": progress.cuts,
        "support_vectors": outcome.model.support.n_rows
        if hasattr(outcome.model, "support")
        else None,
        "kernel_evaluations": outcome.kernel_evaluations,
        **outcome.details,
        "threads": options.threads,
        "seed": options.seed,
        "seconds": seconds,
        "peak_memory_mb": peak_memory_mb(),
        "warnings": [*map(in_options, warnings)],
    }


_NAME_WIDTH = 15
#: Values of the examples up to which their error is measured: a pass over them is nothing then.
MAX_MEASURED_VALUES = 2_000_000
#: Scores of label sets, likewise: there are as many of a row as labels.
MAX_MEASURED_SCORES = 20_000_000


def is_quick(X: Csr, model: Any) -> bool:
    """True if the training error can be measured at no cost."""
    scores = X.n_rows * len(model.names) if model.of_sets else 0
    return X.nnz <= MAX_MEASURED_VALUES and scores <= MAX_MEASURED_SCORES


def fact(name: str, text: str) -> str:
    """Line of a fact."""
    return f"{name:<{_NAME_WIDTH}}{text}"


def setup_lines(options: LearnOptions, outcome: Outcome, X: Csr | None = None) -> list[str]:
    """Lines on loss, kernel and solver."""
    kernel = KERNELS[options.kernel]
    values = ", ".join(f"{name} {getattr(options, name)[0].text}" for name in kernel.takes)
    why = ""
    if options.solver == AUTO:
        why = f", chosen by {AUTO}"
    lines = [fact("Loss", str(options.loss)), fact("Solver", f"{outcome.solver}{why}")]
    if options.has_kernel:
        left = "gamma" not in (options.given or ()) and "(" not in options.gamma[0].text
        if X is not None and left and "gamma" in kernel.takes:
            from svmcut.models.kernels import resolve_gamma

            values += f" by default; -g {GAMMAS[0]} is {resolve_gamma(GAMMAS[0], X):.4g}"
        lines.insert(1, fact("Kernel", f"{options.kernel}{values and ', '}{values}"))
    return lines


def certificate_lines(outcome: Outcome) -> list[str]:
    """Lines on how training ended, and what the gap tells of the model."""
    primal, dual = outcome.primal, outcome.dual
    if dual is None or math.isnan(dual):
        bound = "none: no lower bound of the objective is known"
    elif primal == 0:
        bound = "the objective is 0, and none is lower"
    else:
        above = 100 * max(0.0, outcome.gap) / abs(primal)
        shown = f"{above:.0f}" if above > 10 else f"{above:.2g}"
        bound = (
            f"no model has an objective lower by more than {shown} % "
            f"(primal {primal:.6g}, dual {dual:.6g})"
        )
    lines = [
        fact("Training", f"{stop_reason(outcome)}; {steps_text(outcome)}"),
        fact("Certificate", bound),
    ]
    details = outcome.details
    if "rows_removed" in details:
        from svmcut.cli.updating import changed_rows_text

        lines.insert(0, fact("Rows", changed_rows_text(details)))
    if "decided" in details:
        from svmcut.cli.proving import decision_text

        lines.append(fact("Decided", decision_text(details)))
    if "unchanged" in details:
        from svmcut.cli.updating import kept_labels_text

        lines.append(fact("Unchanged", kept_labels_text(details)))
    return lines


def steps_text(outcome: Outcome) -> str:
    """Iterations and seconds."""
    count = outcome.progress.iteration
    return f"{count:,} iteration{'s' * (count != 1)} in {outcome.seconds:.2f} s"


def error_lines(task: str, values: dict[str, float]) -> list[str]:
    """Line on the training error, by the first measure of the task that falls."""
    for measure in measures(task).values():
        if measure.heading is not None and not measure.rises and measure.name in values:
            value = f"{values[measure.name]:.{measure.digits}f}"
            unit = "%" if measure.digits == 2 else ""
            if measure.heading != "error":
                unit = f"{unit} ({measure.heading})".strip()
            return [fact("Training error", f"{value} {unit}")]
    return []


def path_line(text: str, outcome: Outcome) -> str:
    """Line of a model of a path of C."""
    count, used = outcome.progress.iteration, outcome.details.get("features_used")
    more = "" if used is None else f", {used:,} features used"
    return f"C = {text}: {outcome.solver}, {stop_reason(outcome)}; {count:,} iterations{more}"


def calibration_text(details: dict[str, Any]) -> str:
    """Text on the quality of a model's probabilities."""
    loss, brier = details["log_loss"], details["brier"]
    return f"log loss {loss:.4f}, Brier score {brier:.4f} on rows held out"


def model_lines(target: str, details: dict[str, Any]) -> list[str]:
    """Lines on the model's file, and what to do with it."""
    lines = []
    if "features_used" in details:
        lines.append(fact("Features used", f"{details['features_used']:,}"))
    if "sigma" in details:
        text = f"Laplace noise of sigma {details['sigma']:.6g} around predictions"
        lines.append(fact("Noise", f"{text}, of rows held out"))
    if "log_loss" in details:
        lines.append(fact("Probabilities", calibration_text(details)))
    if target == "-":
        return lines
    scoring = f"svmcut classify TEST_FILE {escape(quote_word(target))} PREDICTIONS"
    return [*lines, fact("Model", escape(target)), fact("Next", scoring)]
