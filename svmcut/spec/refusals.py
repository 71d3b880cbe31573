# SPDX-License-Identifier: BSD-3-Clause
"""What no run can honour: every refusal that needs no data.

Messages are values of svmcut.messages, warnings too: who prints them words their parameters.
"""

from __future__ import annotations

import reprlib
from typing import Any

from svmcut.errors import UsageError
from svmcut.messages import Message, Parameter, join_names
from svmcut.spec.catalog import (
    AUTO,
    CUTTING_PLANE,
    DUAL_CD,
    JOINT,
    KERNELS,
    MULTICLASS,
    NEWTON,
    OF_FEATURES,
    OF_TAGS,
    OF_VALUES,
    PRECOMPUTED,
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
    task_inputs,
)
from svmcut.spec.certified import certifies_tags
from svmcut.spec.entries import CDN, CLASSES, GRADES, L2, SETS, TAGS, TWO_CLASSES, Loss, Solver
from svmcut.spec.kinds import ANY
from svmcut.spec.many_labels import check_blocks
from svmcut.spec.parameters import DEFAULTS, EXAMPLE_COST, FACTORS, KINDS, Settings
from svmcut.spec.penalties import check_free_bias, check_penalty
from svmcut.spec.places import fraction_of_positives, place_of
from svmcut.spec.records import replace
from svmcut.spec.spellings import nearest, respelt

#: Parameters that some solvers take, and some tasks; they are refused where they have no effect.
STEERING = {name for row in SOLVERS.values() for name in row.takes} - {"gap"}
OF_TASKS = {name for row in TASKS.values() for name in row.takes} - {"bias"}


def check(settings: Settings) -> list[str]:
    """Refuses what no data could make right.

    Returns
    -------
    list of str
        Warnings of the originals' parameters that were given and have no effect.

    Raises
    ------
    UsageError
        Names the parameters and the remedy.
    """
    settings = plain(settings)
    if settings.cost is not None and settings.example_cost is not None:
        raise UsageError("{cost} and {example_cost} exclude each other; leave one of them out")
    loss, task = _loss(settings), TASKS[settings.task]
    if "penalty" in task.takes:
        check_penalty(settings)
        check_free_bias(settings)
    _check_solver(settings, loss)
    own = {*task.takes} | ({"multiclass"} if settings.is_open else set())
    for name in sorted(settings.wishes() & OF_TASKS - own):
        having = [row.name for row in TASKS.values() if name in row.takes]
        raise UsageError("{} is for {task=}; leave it out", Parameter(name), having)
    check_blocks(settings)
    if settings.input not in (inputs := task_inputs(settings.task)):
        raise UsageError(
            "{input=} is no text of {}; use {input=}", settings.input, task.objects, inputs
        )
    if settings.input != DEFAULTS["input"] and settings.zero_based:
        raise UsageError("{zero_based} counts features, which {input} names; leave one of them out")
    if settings.class_weight is not None:
        check_weights(settings, "class_weight")
    if task.labels == TAGS:
        _check_chain(settings)
    if task.labels == CLASSES:
        _check_classes(settings)
    if settings.is_nu:
        _check_nu(settings)
    if task.of_rows:
        _check_vectors(settings)
    _check_definite(settings)
    _check_effects(settings)
    return _warnings(settings, loss)


def plain(settings: Settings) -> Settings:
    """These settings with plain Python values and the task's loss and C; a UsageError for values
    out of range."""
    values: dict[str, Any] = {}
    for name, kind in KINDS.items():
        value = getattr(settings, name)
        if value is DEFAULTS[name]:
            continue
        if name == "loss" and isinstance(value, str):  # other tasks may have one of that spelling
            value = respelt(value, losses(values.get("task", settings.task)))
        try:
            values[name] = (ANY if settings.original and name in FACTORS else kind).take(value)
        except ValueError:
            raise UsageError(
                "{} is {}; expected {}", Parameter(name), reprlib.repr(value), kind.expected
            ) from None
    values.setdefault("loss", TASKS[values.get("task", settings.task)].loss)
    found = replace(settings, **values)
    unset = found.cost is None and found.example_cost is None and found.is_sum
    return replace(found, example_cost=EXAMPLE_COST) if unset else found


def check_names(names) -> None:
    """Refuses parameters that do not exist, as a UsageError."""
    for name in names:
        if name not in KINDS:
            near = nearest(name, KINDS, 0.6)
            remedy = f"did you mean '{near}'?" if near else f"expected one of {', '.join(KINDS)}"
            raise UsageError("parameter {!r} is unknown; {}", name, remedy)


def check_risk(loss: Loss, p: float, rescaling: str, slack_norm: int) -> None:
    """Refuses what is not implemented for the loss, and p out of its range, as a UsageError."""
    if rescaling not in loss.rescalings:
        raise UsageError(
            "{} rescaling is not implemented for loss '{}'; use {rescaling=margin}",
            rescaling,
            loss.name,
        )
    if slack_norm not in loss.norms:
        raise UsageError(
            "slack norm {} is not implemented for loss '{}'; use {slack_norm=1}",
            slack_norm,
            loss.name,
        )
    fraction_of_positives(loss, p)


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


def refuse_example_cost(loss: str) -> UsageError:
    """The refusal of an example's cost for a loss that is no sum."""
    return UsageError("{example_cost} {}; give C with {cost}", no_sum(loss))


def check_weights(settings: Settings, name: str) -> None:
    """Refuses weights, given by the parameter of that name, for a loss that is no sum, as a
    UsageError."""
    if not settings.is_sum:
        raise UsageError("{} {}; leave it out", Parameter(name), no_sum(settings.loss))


def no_sum(loss: str | None) -> str:
    """What is wrong with what weighs an example, for a loss that is no sum."""
    return (
        f"weighs one example's loss, but loss '{loss}' with these options is no sum over examples"
    )


def _loss(settings: Settings) -> Loss:
    known, name = losses(settings.task), settings.loss or ""
    if name not in known:
        objects = TASKS[settings.task].objects
        raise UsageError(
            "loss '{}' is not for {}; expected one of {}", name, objects, ", ".join(known)
        )
    loss = known[name]
    check_risk(loss, settings.p, settings.rescaling, settings.slack_norm)
    if loss.place is not None:
        place_of(loss, settings.at)
    for parameter in sorted(settings.wishes()):
        having = [other for other, row in known.items() if parameter in row.takes]
        if having and parameter not in loss.takes:
            raise UsageError(
                "{} is for {loss=}; leave it out with loss '{}'",
                Parameter(parameter),
                having,
                name,
            )
    if settings.cost is None and settings.example_cost is None:
        raise UsageError(
            "C is missing, and {} has none by default, for it is no sum over examples; give "
            "several values, {cost} 1,10,100,1000, and compare the models by cross-validation or "
            "on examples kept aside",
            variant(settings) or Parameter("loss", name),
        )
    if settings.example_cost is not None and not settings.is_sum:
        raise refuse_example_cost(name)
    return loss


def variant(settings: Settings) -> str | None:
    """What makes another risk of the plain one of the task's first loss: "slack_norm=2"; None where
    nothing does."""
    row = losses(settings.task).get(settings.loss or "")
    if row is not None and not row.drawn and row.name != TASKS[settings.task].loss:
        return Message("{loss=}", settings.loss)
    if settings.rescaling == "slack":
        return Message("{rescaling=slack}")
    return Message("{slack_norm=2}") if settings.slack_norm == 2 else None


def _what(settings: Settings) -> str:
    return (
        f"the {settings.kernel} kernel"
        if settings.kernel != "linear"
        else f"solver '{settings.solver}'"
    )


def _serves(row: Solver, settings: Settings, loss: Loss) -> bool:
    """Whether a solver trains for this loss, rescaling and norm."""
    known = (row.losses is None or loss.name in row.losses) and (loss.drawn or not row.drawn)
    return known and (settings.is_plain or not row.plain)


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
        what = _what(settings)
        raise UsageError(
            "{} are trained on features, not with {}; use {}", task.objects, what, other
        )
    return usable


def _check_solver(settings: Settings, loss: Loss) -> None:
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
    serving = [other for other, row in usable.items() if _serves(row, settings, loss)]
    if not serving:
        raise UsageError(
            "{} does not go with {} in this version; leave one of them out",
            other_risk,
            _what(settings),
        )
    remedy = [other for other in serving if not usable[other].plain] or serving
    if name != AUTO and name not in usable:
        subject = f"solver '{name}' trains on features and knows no kernel"
        if settings.is_given and name in solvers(task.name, True):
            subject = f"solver '{name}' computes kernel values"
        raise UsageError("{}; with {} use {solver=}", subject, _what(settings), remedy)
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
                if _serves(usable[name], settings, row)
            ]
        )
        raise UsageError("solver '{}' trains for {} only; use {solver=}", name, known, remedy)
    subject = Message("solver '{}' does not train with {}", name, other_risk)
    raise UsageError("{}; leave out {solver} or give {solver=}", subject, remedy)


def _check_vectors(settings: Settings) -> None:
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
            _what(settings),
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
    _check_stepping(settings, name)


def _check_nu(settings: Settings) -> None:
    """Refusals of what a nu machine has no room for."""
    wishes, nu = settings.wishes(), settings.nu
    if nu is not None and not 0 < nu <= 1:
        raise UsageError("{nu=} is out of range; expected a number above 0 and at most 1", nu)
    if not settings.has_cost:
        unasked = settings.given is None and settings.example_cost == EXAMPLE_COST
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


def _check_stepping(settings: Settings, name: str) -> None:
    """Refusals of what solvers that go step by step cannot honour."""
    kinds = KERNELS[settings.kernel].maintenance
    if settings.maintenance == "merge" and "merge" not in kinds:
        remedy = Message("with {} use {maintenance=}", _what(settings), tuple(kinds))
        raise UsageError("{maintenance=merge} is for the rbf kernel; {}", remedy)
    if settings.maintenance == "project" and "project" not in kinds:
        subject = Message("{maintenance=project} needs a positive definite kernel")
        raise UsageError("{}; with {} use {maintenance=remove}", subject, _what(settings))
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


def _check_classes(settings: Settings) -> None:
    name, (usual, rest, paired) = chosen_solver(settings), MULTICLASS
    joint = losses(settings.task)[settings.loss or ""].joint
    first = settings.loss == TASKS[settings.task].loss
    if settings.is_joint:
        known = JOINT if settings.is_usual else (CUTTING_PLANE,)
        if name not in (AUTO, *known) or settings.free_bias or not (joint or first):
            what = f"solver '{name}'" if joint or first else variant(settings)
            what = "an unregularised bias" if settings.free_bias else what
            short = Message("{} does not go with {}", what, _what(settings))
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


def _check_chain(settings: Settings) -> None:
    name, scaled, beam = chosen_solver(settings), variant(settings), settings.beam
    if settings.quick and (settings.gap is not None or settings.epsilon is not None):
        raise UsageError("{quick} reaches for no gap; leave out {epsilon} and {gap}")
    if settings.bias:
        raise UsageError("chains have no constant feature; leave out {bias}")
    if settings.has_kernel and scaled:
        raise UsageError(
            "{} does not go with {} in this version; leave one of them out", scaled, _what(settings)
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
            _what(settings),
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
    found = takes(OF_TAGS if as_chains else settings.task, solver, settings.has_kernel)
    if settings.labels == TAGS:  # anything but ssg trains without it as asked
        found = found - {"qp"} if settings.quick else found | {"quick"}
    polished = row.polished if settings.polish is None else settings.polish
    return found if polished or "polish" not in found else found - {*row.after}


def _check_definite(settings: Settings) -> None:
    """Refuses solvers that mean nothing with a kernel that need not be definite; the originals'
    programs run all."""
    if not settings.has_kernel or settings.original or settings.is_definite or settings.is_given:
        return
    row = KERNELS[settings.kernel]
    shifted = row.definite and "coef0" in row.takes
    offset = Message(" with {coef0=}", settings.coef0) if shifted else ""
    short = Message("{}{} need not be positive definite", _what(settings), offset)
    if settings.labels == TAGS or settings.is_joint:
        other = Message(", or give {multiclass=}", MULTICLASS[2]) if settings.is_joint else ""
        raise UsageError("{}, which training asks for; use {kernel=rbf}{}", short, other)
    if (name := chosen_solver(settings)) != AUTO and SOLVERS[name].definite:
        loss, usable = losses(settings.task)[settings.loss or ""], solvers(settings.task, True)
        known = [
            other
            for other, row in usable.items()
            if _serves(row, settings, loss) and not row.definite
        ]
        raise UsageError("{}, which solver '{}' asks for; use {solver=}", short, name, known)


def _check_effects(settings: Settings) -> None:
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


def _reader(parameter: str) -> str:
    """The kernel that most people mean by a parameter."""
    return next(name for name in ("rbf", *KERNELS) if parameter in KERNELS[name].takes)


def _warnings(settings: Settings, loss: Loss) -> list[str]:
    wishes = settings.wishes()
    found: list[str] = []
    if "p" in wishes and loss.at is None:
        found.append(Message("{p} has no effect with loss '{}'", loss.name))
    known = {name for row in KERNELS.values() for name in row.takes} - {
        *KERNELS[settings.kernel].takes
    }
    found += [
        Message(
            "{} has no effect with the {} kernel; add {kernel=}",
            Parameter(name),
            settings.kernel,
            _reader(name),
        )
        for name in sorted(wishes & known)
    ]
    if {"epsilon", "gap"} <= wishes:
        found.append(Message("{epsilon} has no effect beside {gap}"))
    return found
