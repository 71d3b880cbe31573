# SPDX-License-Identifier: BSD-3-Clause
"""What a penalty that makes weights 0 does not go with."""

from __future__ import annotations

from svmcut.errors import UsageError
from svmcut.spec.catalog import AUTO, SOLVERS, losses
from svmcut.spec.entries import ELASTIC_NET, L2, Solver
from svmcut.spec.parameters import Settings


def check_penalty(settings: Settings) -> None:
    """Refuses what no solver trains under a penalty that makes weights 0."""
    penalty, named = settings.penalty, settings.solver
    if "l1_ratio" in settings.wishes() and penalty != ELASTIC_NET:
        raise UsageError("{l1_ratio} is for {penalty=}; give that, or leave it out", ELASTIC_NET)
    if penalty == L2:
        return
    if settings.has_kernel:
        raise UsageError(
            "{penalty=} is of weights of features, not for {kernel=}; leave one of them out",
            penalty,
            settings.kernel,
        )
    known = {name: row for name, row in SOLVERS.items() if penalty in row.penalties}
    sums = [
        name for name in losses(settings.task) if any(_knows(row, name) for row in known.values())
    ]
    if settings.loss not in sums:
        raise UsageError(
            "{penalty=} is not for loss '{}'; use {loss=}", penalty, settings.loss, sums
        )
    if named != AUTO and named not in known:
        raise UsageError("solver '{}' knows {penalty=} alone; use {solver=}", named, L2, [*known])


def _knows(row: Solver, loss: str) -> bool:
    return row.losses is None or loss in row.losses
