# SPDX-License-Identifier: BSD-3-Clause
"""Sentences about the end of a run: why it stopped, and how to resume it after a signal or a
limit."""

from __future__ import annotations

import contextlib
import math
import os
import time

from svmcut.base.errors import ClusterError, UsageError
from svmcut.base.messages import escape
from svmcut.base.typing import TYPE_CHECKING
from svmcut.cli.termination import Terminated, pending_signal
from svmcut.spec.catalog import SOLVERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from svmcut.cli.checkpoints import Checkpoints
    from svmcut.cli.options import LearnOptions
    from svmcut.training.outcome import Outcome


def remedy(path: str | None, checkpoints: Checkpoints | None, larger: str = "") -> str:
    """Text on how to go on with a run, empty before the checkpoint was looked at; `larger` is what
    the next command needs besides --resume."""
    if path is None:
        return "a run with --checkpoint FILE can go on"
    if checkpoints is None:
        return ""
    if not checkpoints.has_state:
        return "no state was reached, the same command starts afresh"
    return f"the state is in {escape(path)}, the same command with --resume{larger} goes on"


@contextlib.contextmanager
def explain_ending(how: Callable[[], str]):
    """Adds ``how()`` to the message of a signal that leaves the context."""
    try:
        yield
    except BaseException as error:
        if (pending_signal() or isinstance(error, KeyboardInterrupt | Terminated)) and (
            text := how()
        ):
            error.add_note(text)
        elif isinstance(error, ClusterError) and (text := how()):
            error.add(text)
        raise


def ending(
    outcomes: list[Outcome], left: list[str], path: str | None, checkpoints: Checkpoints | None
) -> str | None:
    """End of the line on a run that stopped before all its models converged, None if none did;
    `left` are the values of C without a model."""
    limited = [outcome for outcome in outcomes if outcome.stopped_by == "limit"]
    interrupted = outcomes[-1].stopped_by == "interrupt"
    if not (limited or left or interrupted):
        return None
    missing = f"no model for C = {', '.join(left)}; " if left else ""
    if checkpoints is not None and not left and outcomes[-1].done:
        return "no state is kept, the last model is done"
    return missing + remedy(path, checkpoints, "" if interrupted else " and larger limits")


def stop_reason(outcome: Outcome) -> str:
    """Reason why training ended, with the gap that was reached."""
    gap = "no certified gap" if math.isnan(outcome.gap) else f"gap {outcome.gap:.6g}"
    gap += f" of primal {outcome.primal:.6g}"
    basis = outcome.details.get("basis")
    if basis is not None:
        gap += f" (in the span of {basis['vectors']} points: {basis['gap']:.6g})"
    bracket = outcome.details.get("fourier", {})
    if "kernel_dual" in bracket:
        gap += (
            f" (the kernel's minimum is from {bracket['kernel_dual']:.6g} to "
            f"{bracket['kernel_primal']:.6g})"
        )
    if "decided" in outcome.details:
        gap += f", {100 * outcome.details['decided_fraction']:.2f} % of the labels decided"
    if outcome.stopped_by == "file":
        gap += f", and the primal is {outcome.primal_of_file:.6g} with the digits of the model file"
    reasons = {
        None: "epochs done" if SOLVERS[outcome.solver].steps and basis is None else "converged",
        "epochs": "epochs done",
        "span": "trained in the span of the basis",
        "samples": "no sample violates the cuts",
        "held-out": "the error held out falls no more",
        "pruned": "pruned beyond the gap",
        "limit": "stopped by a limit",
        "interrupt": "interrupted",
        "stationary": "stationary",
        "bounded": "bounded by the earlier training",
        "cap": "stopped after all passes the solver makes; lower C, scale the features or name "
        "another --solver",
        "rounding": "stopped where rounding forbids progress",
        "float32": "stopped at the least gap that kernel values in single precision allow",
        "basis": "stopped at the least gap the span of the basis allows; raise --basis",
        "file": "stopped where the rounding of the model file forbids progress",
        "mistake": "stopped by an error of svmcut: no certificate",
    }
    return f"{reasons[outcome.stopped_by]}, {gap}"


def time_limit(options: LearnOptions, spent: float) -> float | None:
    """Seconds that training may take: --time-limit less what reading took, or the time until
    SVMCUT_DEADLINE (Unix time) if that is less. Raises UsageError if the variable is no number."""
    deadline = os.environ.get("SVMCUT_DEADLINE")
    limit = None if options.time_limit is None else max(0.0, options.time_limit - spent)
    if not deadline:
        return limit
    try:
        left = max(0.0, float(deadline) - time.time())
    except ValueError:
        raise UsageError(
            "SVMCUT_DEADLINE is {!r}; expected a Unix time in seconds", deadline
        ) from None
    return left if limit is None else min(left, limit)
