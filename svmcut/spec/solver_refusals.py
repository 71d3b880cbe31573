# SPDX-License-Identifier: BSD-3-Clause
"""What solvers cannot honour: another task, loss or kernel, and parameters they do not read."""

from __future__ import annotations

from svmcut.errors import UsageError
from svmcut.messages import Message, Parameter, join_names
from svmcut.spec.catalog import (
    AUTO,
    KERNELS,
    MULTICLASS,
    OF_FEATURES,
    OF_VALUES,
    SOLVERS,
    TASKS,
    losses,
    solvers,
    takers,
)
from svmcut.spec.certified import certifies_tags
from svmcut.spec.entries import SETS, TAGS, TWO_CLASSES, Loss, Solver
from svmcut.spec.parameters import Settings
from svmcut.spec.trainers import candidates, chosen_solver, reads, serves, trainer, variant

#: Parameters that some solvers take, and some tasks; they are refused where they have no effect.
STEERING = {name for row in SOLVERS.values() for name in row.takes} - {"gap"}
OF_TASKS = {name for row in TASKS.values() for name in row.takes} - {"bias"}


def _usable(settings: Settings) -> dict[str, Solver]:
    """The solvers of the task on such kernel values or on features; a UsageError where there is
    none."""
    task = TASKS[settings.task]
    usable = {
        other: row
        for other, row in solvers(task.name, settings.has_kernel).items()
        if (not settings.has_kernel or settings.is_joint or task.name not in row.joint)
        and (row.given or not settings.is_given)
    }
    if not usable:
        other = Message("{kernel=}", "linear" if task.labels == SETS else "rbf")
        what = trainer(settings)
        raise UsageError(
            "{} are trained on features, not with {}; use {}", task.objects, what, other
        )
    return usable


def check_solver(settings: Settings, loss: Loss) -> None:
    """Refuses a solver that does not train this task, loss or kernel, as a UsageError."""
    name, task = chosen_solver(settings), TASKS[settings.task]
    every, other_risk = solvers(task.name), variant(settings) or Message("{loss=}", loss.name)
    if name != AUTO and name not in every:
        raise UsageError(
            "solver '{}' does not train {}; expected one of auto, {}",
            name,
            task.objects,
            ", ".join(every),
        )
    usable = _usable(settings)
    serving = [other for other, row in usable.items() if serves(row, settings, loss)]
    if not serving:
        raise UsageError(
            "{} does not go with {} in this version; leave one of them out",
            other_risk,
            trainer(settings),
        )
    remedy = [other for other in serving if not usable[other].plain] or serving
    if name != AUTO and name not in usable:
        subject = f"solver '{name}' trains on features and knows no kernel"
        if settings.is_given and name in solvers(task.name, True):
            subject = f"solver '{name}' computes kernel values"
        raise UsageError("{}; with {} use {solver=}", subject, trainer(settings), remedy)
    joint = (
        settings.pairs != "none"
        if "pairs" in task.takes
        else settings.multiclass in (None, MULTICLASS[0])
    )
    if name != AUTO and joint and task.name in usable[name].binary:
        other = (
            Message("{pairs=none}")
            if "pairs" in task.takes
            else Message("{multiclass=}", MULTICLASS[1])
        )
        raise UsageError(
            "solver '{}' trains two classes; give {} or leave out {solver}", name, other
        )
    if name == AUTO or name in serving:
        return
    if task.labels == TWO_CLASSES and settings.is_plain:
        known = join_names(
            [
                other
                for other, row in losses(task.name).items()
                if serves(usable[name], settings, row)
            ]
        )
        raise UsageError("solver '{}' trains for {} only; use {solver=}", name, known, remedy)
    subject = Message("solver '{}' does not train with {}", name, other_risk)
    raise UsageError("{}; leave out {solver} or give {solver=}", subject, remedy)


def check_definite(settings: Settings) -> None:
    """Refuses solvers that mean nothing with a kernel that need not be definite; the originals'
    programs run all."""
    if not settings.has_kernel or settings.original or settings.is_definite or settings.is_given:
        return
    row = KERNELS[settings.kernel]
    shifted = row.definite and "coef0" in row.takes
    offset = Message(" with {coef0=}", settings.coef0) if shifted else ""
    short = Message("{}{} need not be positive definite", trainer(settings), offset)
    if settings.labels == TAGS or settings.is_joint:
        other = Message(", or give {multiclass=}", MULTICLASS[2]) if settings.is_joint else ""
        raise UsageError("{}, which training asks for; use {kernel=rbf}{}", short, other)
    if (name := chosen_solver(settings)) != AUTO and SOLVERS[name].definite:
        loss, usable = losses(settings.task)[settings.loss or ""], solvers(settings.task, True)
        known = [
            other
            for other, row in usable.items()
            if serves(row, settings, loss) and not row.definite
        ]
        raise UsageError("{}, which solver '{}' asks for; use {solver=}", short, name, known)


def check_stepping(settings: Settings, name: str) -> None:
    """Refusals of what solvers that go step by step cannot honour."""
    kinds = KERNELS[settings.kernel].maintenance
    if settings.maintenance == "merge" and "merge" not in kinds:
        remedy = Message("with {} use {maintenance=}", trainer(settings), tuple(kinds))
        raise UsageError("{maintenance=merge} is for the rbf kernel; {}", remedy)
    if settings.maintenance == "project" and "project" not in kinds:
        subject = Message("{maintenance=project} needs a positive definite kernel")
        raise UsageError("{}; with {} use {maintenance=remove}", subject, trainer(settings))
    if settings.sampling == "adaptive" and (name == AUTO or not SOLVERS[name].adaptive):
        known = [other for other, row in SOLVERS.items() if row.adaptive]
        raise UsageError(
            "{sampling=adaptive} follows the rises of the dual in budgeted ascent; use {solver=}",
            known,
        )
    if name == AUTO or not SOLVERS[name].steps:
        return
    if settings.epsilon is not None or (
        settings.gap is not None and "gap" not in SOLVERS[name].takes
    ):
        ending = join_names(
            [other for other, row in SOLVERS.items() if row.steps and "gap" in row.takes]
        )
        raise UsageError(
            "solver '{}' ends after {epochs}, or by {hold_out}; leave out {epsilon} and {gap} "
            "({} takes {gap})",
            name,
            ending,
        )
    if settings.polish and SOLVERS[name].free_bias and settings.free_bias is not False:
        raise UsageError("{{polish}} trains without the free bias; add {{{free_bias=False}}}")


def check_effects(settings: Settings) -> None:
    """Refuses parameters that no solver reads which may run."""
    task, name, may_run = TASKS[settings.task], chosen_solver(settings), candidates(settings)
    for option in sorted(settings.wishes() & STEERING):
        if any(option in reads(settings, solver) for solver in may_run):
            continue
        if option in OF_VALUES and (task.of_rows or certifies_tags(settings)):
            continue
        taking = takers(task.name, option)
        if not taking:
            raise UsageError(
                "{} has no effect on {}; leave it out", Parameter(option), task.objects
            )
        if option in (OF_FEATURES if settings.has_kernel else OF_VALUES):
            where = "features" if settings.has_kernel else "kernel values"
            raise UsageError("{} is for training on {}; leave it out", Parameter(option), where)
        if settings.quick and name in taking:
            raise UsageError("{} has no effect beside {quick}; leave it out", Parameter(option))
        if name in taking:
            raise UsageError(
                "{} is for the polish; leave it out or give {polish=True}", Parameter(option)
            )
        raise UsageError(
            "{} is for {solver=}; leave it out with solver '{}'",
            Parameter(option),
            tuple(taking),
            name,
        )
