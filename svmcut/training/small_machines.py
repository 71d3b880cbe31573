# SPDX-License-Identifier: BSD-3-Clause
"""Classes against the rest on few rows of few features: all machines in one compiled loop
(csrc/linear/small_machines.cc), whose looks at the gap cost no Python.

On some thousand rows a step of Newton's method takes less time than what Python does between two
of them. Every machine ends at its own certificate, formed afresh from the rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import newton, sparse
from svmcut._native.interrupt import watched_signals
from svmcut.base.resources import QP, timed_part
from svmcut.data.examples import Csr
from svmcut.models import LinearModel
from svmcut.solvers.protocol import Progress, StoppingRule, constant
from svmcut.spec.catalog import AUTO, NEWTON, TASKS
from svmcut.spec.entries import L2, SQUARED_HINGE
from svmcut.spec.parameters import Settings
from svmcut.training.outcome import Objective, Outcome

#: Most features, and most numbers of the rows with all their zeros.
MAX_FEATURES, MAX_NUMBERS = 200, 1 << 20
#: Steps after which a machine is left to the solvers that look at it.
MAX_STEPS = 400


def is_small(rows: Csr, settings: Settings) -> bool:
    """Decide if the compiled loop trains machines of these settings on these rows."""
    s, most = settings, settings.max_iterations
    dim = rows.n_features + bool(s.bias)
    return (
        s.solver in (AUTO, NEWTON)
        and s.loss in (TASKS["classification"].loss, SQUARED_HINGE)
        and s.task == "classification"
        and s.penalty in (None, L2)
        and not (s.has_kernel or s.free_bias or s.probability)
        and s.gap is not None
        and s.example_cost is not None
        and (most is None or most >= MAX_STEPS)
        and 0 < dim <= MAX_FEATURES
        and rows.n_rows * dim <= MAX_NUMBERS
    )


@timed_part(QP)
def train_small(
    rows: Csr,
    codes: NDArray[np.intp],
    machines: range,
    weights: NDArray[np.float64] | None,
    settings: Settings,
    start: NDArray[np.float64] | None = None,
) -> tuple[list[Outcome | None], NDArray[np.float64]]:
    """The machines of these codes, each against the rest, None for those that are not certified
    after MAX_STEPS; and the weights of all, that of the constant feature last.

    `codes` (n,) are the classes of the rows, `weights` (n,) theirs; `start` (machines, weights) is
    where they begin. Raises KeyboardInterrupt and MemoryError.
    """
    C, gap, bias = settings.example_cost or 0.0, settings.gap or 0.0, settings.bias or 0.0
    shape = len(machines), rows.n_features + bool(bias)
    W = np.empty(shape) if start is None else start.copy()
    facts = np.empty((len(machines), 4))
    with watched_signals():
        newton.small_machines(
            sparse.Rows(rows),
            bias,
            codes.astype(np.int32),
            machines.start,
            C,
            settings.loss == SQUARED_HINGE,
            gap,
            MAX_STEPS,
            start is not None,
            W,
            facts,
            settings.threads,
            weights,
        )
    told = zip(W, facts.tolist(), strict=True)
    return [_outcome(w, row, rows, settings) for w, row in told], W


def _outcome(
    w: NDArray[np.float64], facts: list[float], rows: Csr, settings: Settings
) -> Outcome | None:
    """The judged outcome of a machine."""
    (primal, dual, steps, met), d = facts, rows.n_features
    if not met:
        return None
    C, bias = settings.example_cost or 0.0, settings.bias or 0.0
    squared = float(w @ w)
    risk = (primal - squared / 2) / C
    progress = Progress(
        int(steps), 2.0 * steps, primal, dual, primal - dual, 0.0, constant(w), risk=risk
    )
    threshold = 0.0 - bias * float(w[d]) if bias else 0.0
    outcome = Outcome(
        LinearModel(w[:d], threshold, highest_index=d + bool(bias) + 1),
        Objective(C, C, 1.0, settings.epsilon or 0.0),
        progress,
        NEWTON,
        squared**0.5,
    )
    return outcome.judge(StoppingRule(0.0, settings.gap), None)
