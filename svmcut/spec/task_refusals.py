# SPDX-License-Identifier: BSD-3-Clause
"""What tasks cannot honour: rows as features or kernel values, nu machines, classes and chains."""

from __future__ import annotations

from svmcut.errors import UsageError
from svmcut.messages import Message, Parameter
from svmcut.spec.catalog import (
    AUTO,
    CUTTING_PLANE,
    DUAL_CD,
    JOINT,
    MULTICLASS,
    NEWTON,
    PRECOMPUTED,
    SMO,
    SOLVERS,
    SUBSPACE,
    TASKS,
    losses,
    solvers,
)
from svmcut.spec.entries import GRADES
from svmcut.spec.parameters import Settings
from svmcut.spec.solver_refusals import check_stepping
from svmcut.spec.trainers import chosen_solver, trainer, variant


def check_vectors(settings: Settings) -> None:
    """Refuses biases, starts and bases that rows or their kernel values have no room for."""
    name, free = chosen_solver(settings), [other for other, row in SOLVERS.items() if row.free_bias]
    if settings.labels == GRADES and settings.bias:
        raise UsageError(
            "a constant feature changes no order; leave out {bias} where rankings are trained"
        )
    if settings.initial is not None and settings.is_given:
        raise UsageError(
            "{initial} names rows by their features; leave it out with {kernel=}", PRECOMPUTED
        )
    if settings.initial is not None and (
        name not in (AUTO, SMO) if settings.has_kernel else name == DUAL_CD
    ):
        remedy = Message(
            "use {solver=} with a kernel, without one '{}' or '{}'", SMO, NEWTON, CUTTING_PLANE
        )
        raise UsageError("{initial} is no start of solver '{}'; {}", name, remedy)
    if not settings.has_kernel:
        if basis := settings.chosen_basis:
            raise UsageError("{} chooses a basis for a kernel; give {kernel}", Parameter(basis))
        return
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
    if (basis := settings.chosen_basis) and name != SUBSPACE:
        raise UsageError(
            "{} is for a subspace, not for '{}'; use {solver=}", Parameter(basis), name, SUBSPACE
        )
    if settings.basis_kind == "fourier" and (settings.kernel != "rbf" or settings.basis_method):
        raise UsageError("{basis_kind=fourier} needs {kernel=rbf} and no {basis_method}")
    if settings.basis_file and not settings.basis_method:
        raise UsageError(
            "{{basis_file}} names the basis for {{{basis_method=1}|2}}; give both or leave it out"
        )
    check_stepping(settings, name)


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
