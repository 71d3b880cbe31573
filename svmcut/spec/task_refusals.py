# SPDX-License-Identifier: BSD-3-Clause
"""Refusals of tasks and solvers: rows as features or kernel values, nu machines, classes, chains,
and parameters that no solver reads. Standard library only."""

from __future__ import annotations

from svmcut.base.errors import UsageError
from svmcut.base.messages import Message, Parameter, join_names
from svmcut.spec.catalog import (
    AUTO,
    CUTTING_PLANE,
    DUAL_CD,
    JOINT,
    KERNELS,
    MULTICLASS,
    NEWTON,
    OF_FEATURES,
    OF_VALUES,
    PRECOMPUTED,
    SMO,
    SOLVERS,
    SUBSPACE,
    TASKS,
    losses,
    solvers,
    takers,
)
from svmcut.spec.entries import GRADES, SETS, TAGS, TWO_CLASSES, Loss, Solver
from svmcut.spec.parameters import Settings
from svmcut.spec.trainers import candidates, chosen_solver, reads, serves, trainer, variant


def certifies_tags(settings: Settings) -> bool:
    """Tell whether parameter certify is for a chain on features, whose model keeps a certificate;
    raises UsageError where none can be had."""
    if settings.labels != TAGS or settings.has_kernel:
        return False
    if settings.certify and settings.beam:
        raise UsageError("{certify} needs all labellings of a sequence; leave out {beam}")
    if settings.certify and settings.quick:
        raise UsageError("{certify} needs a gap, which {quick} does not aim at; leave one out")
    return True


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
    if name == AUTO:
        return
    if task.name in usable[name].binary:
        _check_machines(settings, name)
    if name in serving:
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


def _check_machines(settings: Settings, name: str) -> None:
    """Refuses a solver of two classes where all are trained at once."""
    of_sets = "pairs" in TASKS[settings.task].takes
    alone = settings.pairs == "none" if of_sets else settings.multiclass in MULTICLASS[1:]
    if not alone:
        other = Message("{pairs=none}") if of_sets else Message("{multiclass=}", MULTICLASS[1])
        raise UsageError(
            "solver '{}' trains two classes; give {} or leave out {solver}", name, other
        )


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


def check_vectors(settings: Settings) -> None:
    """Refuses biases, starts and bases that rows or their kernel values have no room for."""
    name, basis = chosen_solver(settings), settings.chosen_basis
    if settings.labels == GRADES and settings.bias:
        raise UsageError(
            "a constant feature changes no order; leave out {bias} where rankings are trained"
        )
    if settings.initial is not None:
        _check_start(settings, name)
    if settings.has_kernel:
        _check_biases_of_values(settings, name)
        _check_basis(settings, name)
        check_stepping(settings, name)
    elif basis:
        raise UsageError("{} chooses a basis for a kernel; give {kernel}", Parameter(basis))


def _check_start(settings: Settings, name: str) -> None:
    if settings.is_given:
        raise UsageError(
            "{initial} names rows by their features; leave it out with {kernel=}", PRECOMPUTED
        )
    if name not in (AUTO, SMO) if settings.has_kernel else name == DUAL_CD:
        remedy = Message(
            "use {solver=} with a kernel, without one '{}' or '{}'", SMO, NEWTON, CUTTING_PLANE
        )
        raise UsageError("{initial} is no start of solver '{}'; {}", name, remedy)


def _check_biases_of_values(settings: Settings, name: str) -> None:
    free = [other for other, row in SOLVERS.items() if row.free_bias]
    if settings.bias:
        refusal = Message(
            "{} takes no constant feature, but {bias=} asks for one; give {bias=0}",
            trainer(settings),
            settings.bias,
        )
        raise UsageError(
            "{} (and {solver=} for an unregularised bias)", refusal, free, original=refusal
        )
    if settings.free_bias and (
        SOLVERS[name].free_bias is None if name != AUTO else not settings.is_usual
    ):
        subject = f"solver '{name}'" if name != AUTO else f"training for loss '{settings.loss}'"
        raise UsageError("{} has no unregularised bias; use {solver=}", subject, free)


def _check_basis(settings: Settings, name: str) -> None:
    basis = settings.chosen_basis
    if basis and name != SUBSPACE:
        raise UsageError(
            "{} is for a subspace, not for '{}'; use {solver=}", Parameter(basis), name, SUBSPACE
        )
    if settings.basis_kind == "fourier" and (settings.kernel != "rbf" or settings.basis_method):
        raise UsageError("{basis_kind=fourier} needs {kernel=rbf} and no {basis_method}")
    if settings.basis_file and not settings.basis_method:
        raise UsageError(
            "{{basis_file}} names the basis for {{{basis_method=1}|2}}; give both or leave it out"
        )


def check_nu(settings: Settings) -> None:
    """Refusals of what a nu machine has no room for."""
    wishes, nu = settings.wishes(), settings.nu
    if nu is not None and not 0 < nu <= 1:
        raise UsageError("{nu=} is out of range; expected a number above 0 and at most 1", nu)
    if not settings.has_cost:
        unasked = settings.given is None and settings.example_cost == settings.usual_cost
        for name in ("cost", "example_cost"):
            if name in wishes and not (unasked and name == "example_cost"):
                raise UsageError("{nu} stands in the place of C; leave out {}", Parameter(name))
    if "tube" in wishes:
        raise UsageError("{nu} chooses the tube; leave out {tube}")
    if settings.free_bias is False:
        raise UsageError("machines of {nu} have an unregularised bias; leave out {free_bias}")
    if settings.initial is not None:
        raise UsageError("machines of {nu} begin at no model; leave out {initial}")
    if not settings.is_usual:
        raise UsageError(
            "{nu} is for {loss=}; leave out one of them",
            TASKS[settings.task].loss,
        )


def check_classes(settings: Settings) -> None:
    """Refuses losses and solvers that the way of several classes does not know."""
    name, (usual, rest, paired) = chosen_solver(settings), MULTICLASS
    joint = losses(settings.task)[settings.loss or ""].joint
    first = settings.loss == TASKS[settings.task].loss
    if settings.is_joint:
        known = JOINT if settings.is_usual else (CUTTING_PLANE,)
        if name not in (AUTO, *known) or settings.free_bias or not (joint or first):
            what = f"solver '{name}'" if joint or first else variant(settings)
            what = "an unregularised bias" if settings.free_bias else what
            short = Message("{} does not go with {}", what, trainer(settings))
            remedy = Message(
                "use {solver=} without bias, or {multiclass=} or '{}'", known, paired, rest
            )
            raise UsageError(
                "{} and {multiclass=}; {}",
                short,
                usual,
                remedy,
                original=Message("{}; leave one of them out", short),
            )
        return
    if (settings.has_kernel or settings.multiclass == rest) and (joint or not settings.is_plain):
        raise UsageError(
            "{} is for {multiclass=}; give that, or leave it out", variant(settings), usual
        )
    if settings.multiclass == paired and not settings.has_kernel:
        raise UsageError(
            "{multiclass=} trains on kernel values; give {kernel} or use {multiclass=}",
            paired,
            rest,
        )
    if not (joint or first or settings.has_kernel or settings.multiclass == rest):
        raise UsageError(
            "loss '{}' trains each class against the rest; give {multiclass=} or leave out {loss}",
            settings.loss,
            rest,
        )


def check_chain(settings: Settings) -> None:
    """Refuses orders, biases and solvers that sequences do not know."""
    name, scaled, beam = chosen_solver(settings), variant(settings), settings.beam
    if settings.quick and {"gap", "epsilon"} & settings.wishes():
        raise UsageError("{quick} reaches for no gap; leave out {epsilon} and {gap}")
    if settings.bias:
        raise UsageError("chains have no constant feature; leave out {bias}")
    if settings.has_kernel and scaled:
        raise UsageError(
            "{} does not go with {} in this version; leave one of them out",
            scaled,
            trainer(settings),
        )
    if settings.emissions > settings.transitions:
        raise UsageError(
            "{emissions=} exceeds {transitions=}; emissions depend on no more tags than "
            "transitions do, so use "
            "{emissions=0}",
            settings.emissions,
            settings.transitions,
        )
    if settings.has_kernel and settings.emissions:
        raise UsageError(
            "{emissions=} does not go with {}; use {emissions=0}, or {kernel=linear}",
            settings.emissions,
            trainer(settings),
        )
    if (
        name != AUTO
        and SOLVERS[name].first_order
        and (settings.transitions, settings.emissions) != (1, 0)
    ):
        known = solvers(settings.task, False)
        others = [other for other, row in known.items() if not row.first_order]
        raise UsageError(
            "{} trains chains of {transitions=1} and {emissions=0}; leave those out or use "
            "{solver=}",
            name,
            others,
        )
    if beam and scaled:
        subject = Message("{beam=} keeps a part of the states, but {} needs them all", beam, scaled)
        raise UsageError("{}; leave out {beam} or {}", subject, scaled)
    if beam and name != CUTTING_PLANE:
        raise UsageError(
            "{beam=} trains with cutting planes alone; add {solver=}", beam, CUTTING_PLANE
        )
