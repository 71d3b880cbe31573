# SPDX-License-Identifier: BSD-3-Clause
"""The trainer of given settings: the solver that is chosen, and the parameters it reads."""

from __future__ import annotations

from svmcut.base.messages import Message
from svmcut.spec.catalog import (
    AUTO,
    CUTTING_PLANE,
    JOINT,
    NEWTON,
    OF_TAGS,
    QUICK,
    SMO,
    SOLVERS,
    SUBSPACE,
    TASKS,
    choices,
    losses,
    solvers,
    takers,
    takes,
)
from svmcut.spec.entries import CDN, L2, TAGS, Loss, Solver
from svmcut.spec.parameters import Settings


def chosen_solver(settings: Settings) -> str:
    """The solver that is named, by itself or by what is for one alone; "auto" where n or the
    machine decides."""
    if settings.solver != AUTO:
        return settings.solver
    if settings.is_nu or (settings.is_given and SMO in solvers(settings.task)):
        return SMO
    if settings.has_kernel:
        return SUBSPACE if settings.chosen_basis else AUTO
    if settings.penalty != L2:
        return CDN
    if settings.free_bias and settings.of_scores:
        return NEWTON
    if settings.parts is not None and (searching := takers(settings.task, "parts")):
        return searching[0]
    quick = settings.quick and QUICK in takers(settings.task, "quick")
    return QUICK if quick and settings.is_usual else AUTO


def variant(settings: Settings) -> str | None:
    """Say what makes another risk of the plain one of the task's first loss: "slack_norm=2";
    None where nothing does."""
    row = losses(settings.task).get(settings.loss or "")
    if row is not None and not row.drawn and row.name != TASKS[settings.task].loss:
        return Message("{loss=}", settings.loss)
    if settings.rescaling == "slack":
        return Message("{rescaling=slack}")
    return Message("{slack_norm=2}") if settings.slack_norm == 2 else None


def trainer(settings: Settings) -> str:
    """Name the trainer for messages: its kernel, or its solver where there is none."""
    return (
        f"the {settings.kernel} kernel"
        if settings.kernel != "linear"
        else f"solver '{settings.solver}'"
    )


def serves(row: Solver, settings: Settings, loss: Loss) -> bool:
    """Tell whether a solver trains for this loss, rescaling and norm."""
    known = (row.losses is None or loss.name in row.losses) and (loss.drawn or not row.drawn)
    return known and (settings.is_plain or not row.plain)


def candidates(settings: Settings) -> tuple[str, ...]:
    """The solvers of which one will run."""
    name = chosen_solver(settings)
    usual = settings.is_usual or (settings.of_scores and not settings.has_kernel)
    if settings.is_joint and name == AUTO:
        return JOINT if usual else (CUTTING_PLANE,)
    return choices(settings.task, settings.has_kernel, usual) if name == AUTO else (name,)


def reads(settings: Settings, solver: str) -> set[str]:
    """The parameters, of those not every solver has, that one reads in this run."""
    as_chains = settings.is_joint and solver != JOINT[0]
    row = SOLVERS[solver]
    names = takes(OF_TAGS if as_chains else settings.task, solver, settings.has_kernel)
    if settings.labels == TAGS:  # anything but ssg trains without it as asked
        names = names - {"qp"} if settings.quick else names | {"quick"}
    polished = row.polished if settings.polish is None else settings.polish
    return names if polished or "polish" not in names else names - {*row.after}
