# SPDX-License-Identifier: BSD-3-Clause
"""What a penalty that makes weights 0, and a bias without penalty, do not go with."""

from __future__ import annotations

from svmcut.errors import UsageError
from svmcut.spec.catalog import AUTO, MULTICLASS, SOLVERS, losses, takers
from svmcut.spec.entries import CLASSES, DUAL_CD, ELASTIC_NET, L2, Solver
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
    square = settings.l1_l2[1] > 0
    sums = [
        name
        for name in losses(settings.task)
        if any(_knows(row, name, square) for row in known.values())
    ]
    if settings.loss not in sums:
        if any(_knows(row, settings.loss, True) for row in known.values()):
            raise _without_square(settings, sums)
        raise UsageError(
            "{penalty=} is not for loss '{}'; use {loss=}", penalty, settings.loss, sums
        )
    if named != AUTO and named not in known:
        raise UsageError("solver '{}' knows {penalty=} alone; use {solver=}", named, L2, [*known])


def _without_square(settings: Settings, sums: list[str]) -> UsageError:
    """That a loss needs a square in the penalty."""
    if settings.penalty == ELASTIC_NET:
        return UsageError(
            "{l1_ratio=} leaves no 1/2 w'w, which loss '{}' needs; give less, or use {loss=}",
            settings.l1_ratio,
            settings.loss,
            sums,
        )
    return UsageError(
        "{penalty=} is not for loss '{}'; use {loss=}, or {penalty=}",
        settings.penalty,
        settings.loss,
        sums,
        ELASTIC_NET,
    )


def _knows(row: Solver, loss: str | None, square: bool) -> bool:
    return (row.losses is None or loss in row.losses) and (square or loss not in row.with_square)


def check_free_bias(settings: Settings) -> None:
    """Refuses, on features, a free bias that no solver trains, or that changes nothing."""
    if not settings.free_bias or settings.has_kernel:
        return
    loss, sums = settings.loss, SOLVERS[DUAL_CD].losses or ()
    if not settings.of_scores:
        known = [name for name in losses(settings.task) if name in sums]
        raise UsageError(
            "{free_bias} is for {loss=} on features; leave it out with loss '{}'", known, loss
        )
    if settings.bias:
        raise UsageError(
            "{free_bias} takes the place of the constant feature of {bias=}; leave one of them out",
            settings.bias,
        )
    first = settings.multiclass in (None, MULTICLASS[0])
    if settings.labels == CLASSES and first:
        raise UsageError(
            "{free_bias} is for classes against the rest; give {multiclass=}, or leave it out",
            MULTICLASS[1],
        )
    readers = takers(settings.task, "free_bias")
    trained = [name for name in readers if SOLVERS[name].free_bias is None]
    if settings.solver not in (AUTO, *trained):
        raise UsageError(
            "solver '{}' trains no unregularised bias of features; use {solver=}",
            settings.solver,
            trained,
        )
