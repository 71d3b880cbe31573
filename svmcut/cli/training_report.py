# SPDX-License-Identifier: BSD-3-Clause
"""What training prints: the lines svm_perf's users parse, the JSON report and the trace."""

from __future__ import annotations

import contextlib
import math
import resource
import sys

from svmcut._version import __version__
from svmcut.cli.guard import drop_stdout
from svmcut.messages import printable, without_secrets
from svmcut.spec.catalog import TASKS, measures
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svmcut.data.examples import Csr
    from svmcut.spec.kinds import Typed
    from svmcut.training.outcome import Outcome

#: Details of a model that its entry in a path has too.
_COUNTED = ("features_used",)


def out(text: str = "", end: str = "\n") -> None:
    """Prints at once; nothing where standard output is closed, and nothing more once it cannot be
    written.

    A log decides nothing: training goes on without it.
    """
    try:
        print(printable(without_secrets(text), lines=True), end=end, flush=True)
    except OSError as error:
        drop_stdout()
        if not isinstance(error, BrokenPipeError):
            lost.append(
                "the log is cut short: standard output cannot be written: "
                f"{error.strerror or error}"
            )


#: What became of the log, for the warnings of the run.
lost: list[str] = []


@contextlib.contextmanager
def step(say, text: str):
    """The originals' ``text...done`` around a piece of work; a failure ends the line before its
    message comes.

    Gives a function that takes another text for ``done``.
    """
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
    """What C is in both units."""
    row, units = TASKS[options.task], driver.plan.units
    objective = units.objective(cost, example_cost)
    weight, unit = units.example_cost(objective.c), f"{row.original or row.like}'s unit"
    each = (
        "for all examples together"
        if weight is None
        else f"{weight:.6g} per {row.unit} (--example-cost)"
    )
    return f"{objective.c:.6g} in {unit} (-c), {each}"


def weights(
    options, driver, cost: float | None, example_cost: float | None
) -> Iterator[tuple[str, str]]:
    """What weighs the losses, by name: C, or nu in its place."""
    s = driver.settings
    if s.is_nu:
        yield "nu", f"{s.nu:g}"
    if s.has_cost:
        yield "C", cost_text(options, driver, cost, example_cost)


def iteration_line(progress, objective, algorithm: int | None) -> str:
    """The original's line of one iteration; CEps is the violation the gap stands for."""
    if progress.extra is not None:
        from svmcut.solvers.protocol import over

        if (machines := over(progress)) is not None:
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
    """What the table and the report say of one model of a path beside its measures."""
    return {
        "C": cost.value,
        "model": target,
        "solver": outcome.solver,
        "primal": outcome.primal,
        "dual": outcome.dual,
        "gap": outcome.gap,
        "converged": outcome.converged,
        "iterations": outcome.progress.iteration,
        **{key: outcome.details[key] for key in _COUNTED if key in outcome.details},
        "seconds": outcome.seconds,
    }


def path_table(task: str, rows: list[dict[str, Any]], chosen: int | None) -> str:
    """One line a model of a path: objective, training error, and the measures on a validation file
    if there is one."""
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
    from svmcut.cli.words import in_options

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
