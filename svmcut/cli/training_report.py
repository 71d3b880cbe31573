# SPDX-License-Identifier: BSD-3-Clause
"""What training prints: the lines svm_perf's users parse, the JSON report and the trace."""

from __future__ import annotations

import json
import resource
import sys
from typing import Any

import numpy as np

from svmcut import units
from svmcut._version import __version__


def out(text: str = "", end: str = "\n") -> None:
    sys.stdout.write(text + end)
    sys.stdout.flush()


def properties_line(examples, bias: float) -> str:
    positive = int(np.count_nonzero(examples.y > 0))
    return (
        f"Training set properties: {examples.X.n_features + (bias != 0)} features, {len(examples)} examples "
        f"({positive} pos / {len(examples) - positive} neg)"
    )


def iteration_line(progress, c: float, algorithm: int | None) -> str:
    """The original's line of one iteration; CEps is the violation the gap stands for."""
    counts = (
        f"(NumConst={progress.cuts}, SV={progress.support}, CEps={max(0.0, progress.gap / c):.4f}, QPEps=0.0000)"
    )
    if algorithm in (0, 1):
        return f"Iter {progress.iteration} (1 active): .*{counts}"
    return f"Iter {progress.iteration}: {':' if algorithm in (None, 9) else '.'}*{counts}"


def final_lines(outcome, n: int, algorithm: int | None, cpu_seconds: float) -> list[str]:
    """svm_perf's summary. The losses are in percent, |w| includes the weight of the constant feature."""
    progress = outcome.progress
    n_slack = algorithm in (0, 1)
    joint = algorithm in (2, 3, 4)
    violation = max(0.0, progress.gap / outcome.c)
    lines = [
        f"Final epsilon on KKT-Conditions: {violation:.5f}",
        f"Upper bound on duality gap: {max(0.0, progress.gap):.5f}",
        f"Dual objective value: dval={progress.dual:.5f}",
        None if n_slack else f"Primal objective value: pval={progress.primal:.5f}",
        f"Total number of constraints in final working set: {progress.cuts} (of {progress.iteration - 1})",
        f"Number of iterations: {progress.iteration}",
        f"Number of calls to 'find_most_violated_constraint': {progress.iteration}",
        f"Number of SV: {progress.support} ",
        f"Number of non-zero slack variables: {int(progress.risk > 0)} (out of 1)" if n_slack else None,
        f"Norm of weight vector: |w|={outcome.norm:.5f}",
        f"Norm. sum of slack variables (on working set): sum(xi_i)/n={units.percent_slack(progress.slack, n):.5f}"
        if n_slack
        else f"Value of slack variable (on working set): xi={units.percent_slack(progress.slack, n):.5f}",
        f"Value of slack variable (global): xi={units.percent_slack(progress.risk, n):.5f}" if joint else None,
        "Norm of longest difference vector: ||Psi(x,y)-Psi(x,ybar)||="
        f"{units.percent_slack(outcome.longest_cut, n):.5f}",
        f"Runtime in cpu-seconds: {cpu_seconds:.2f}",
    ]
    return [line for line in lines if line is not None]


def trace_line(progress) -> str:
    """One JSON line of the trace."""
    return json.dumps(
        {
            "iteration": progress.iteration, "passes": progress.passes, "primal": progress.primal,
            "dual": progress.dual, "gap": progress.gap, "cuts": progress.cuts, "support": progress.support,
            "seconds": round(progress.seconds, 6),
        }
    )  # fmt: skip


def peak_memory_mb() -> float:
    """Largest resident size of the process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def learn_report(options, examples, outcome, seconds: dict[str, float]) -> dict[str, Any]:
    """The JSON document of a training run; keys as docs/report.md lists them."""
    progress = outcome.progress
    return {
        "command": "learn",
        "version": __version__,
        "options": options.as_dict(),
        "solver": outcome.solver,
        "task": "classification",
        "loss": options.loss,
        "examples": len(examples),
        "features": examples.X.n_features,
        "nonzeros": examples.X.nnz,
        "primal": progress.primal,
        "dual": progress.dual,
        "gap": progress.gap,
        "relative_gap": progress.gap / progress.primal if progress.primal > 0 else 0.0,
        "converged": outcome.converged,
        "stopped_by": outcome.stopped_by,
        "iterations": progress.iteration,
        "cuts": progress.cuts,
        "support_vectors": None,
        "kernel_evaluations": None,
        "threads": options.threads,
        "seed": options.seed,
        "seconds": seconds,
        "peak_memory_mb": peak_memory_mb(),
        "warnings": outcome.warnings,
    }
