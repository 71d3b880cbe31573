# SPDX-License-Identifier: BSD-3-Clause
"""Refusals of parameters that need no data, and warnings of those without effect.

Messages are values of svmcut.base.messages: who prints them words their parameters. Standard
library only.
"""

from __future__ import annotations

import reprlib
from _weakref import ref

from svmcut.base.errors import UsageError
from svmcut.base.messages import Message, Parameter
from svmcut.base.records import replace
from svmcut.base.typing import Any
from svmcut.spec.catalog import (
    AUTO,
    DUAL_CD,
    KERNELS,
    MULTICLASS,
    SOLVERS,
    TASKS,
    losses,
    takers,
    task_inputs,
)
from svmcut.spec.entries import CLASSES, ELASTIC_NET, L2, SMO, TAGS, TWO_CLASSES, Loss, Solver
from svmcut.spec.kinds import ANY
from svmcut.spec.parameters import DEFAULTS, FACTORS, KINDS, Settings
from svmcut.spec.places import fraction_of_positives, place_of
from svmcut.spec.spellings import nearest, respelt
from svmcut.spec.task_refusals import (
    OF_TASKS,
    check_chain,
    check_classes,
    check_definite,
    check_effects,
    check_nu,
    check_solver,
    check_vectors,
)
from svmcut.spec.trainers import variant


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
        if any(_can_train(row, name, square) for row in known.values())
    ]
    if settings.loss not in sums:
        if any(_can_train(row, settings.loss, True) for row in known.values()):
            raise _without_square(settings, sums)
        raise UsageError(
            "{penalty=} is not for loss '{}'; use {loss=}", penalty, settings.loss, sums
        )
    if named != AUTO and named not in known:
        raise UsageError("solver '{}' knows {penalty=} alone; use {solver=}", named, L2, [*known])


def _without_square(settings: Settings, sums: list[str]) -> UsageError:
    """Return the refusal of a penalty without a square for a loss that needs one."""
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


def _can_train(row: Solver, loss: str | None, square: bool) -> bool:
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


def check_blocks(settings: Settings) -> None:
    """Refuses, with UsageError, what blocks of labels alone have, where labels are not learnt in
    blocks."""
    names = ("tree", "prune", "label_block", "model_format")
    asked = next((name for name in names if getattr(settings, name) not in (None, False)), None)
    if asked is None:
        return
    if settings.pairs != "none":
        raise UsageError(
            "{} is for labels without weights of pairs; add {pairs=none}", Parameter(asked)
        )
    if settings.solver not in (AUTO, DUAL_CD):
        raise UsageError("{} is for {solver=}; leave out {solver}", Parameter(asked), DUAL_CD)


def check(settings: Settings) -> list[str]:
    """Refuses what no data could make right, with a UsageError that names the parameters and the
    remedy; returns warnings of the originals' parameters that were given and have no effect."""
    global _last
    if _last is not None and _last[0]() is settings:
        return [*_last[1]]
    warnings = _check(plain(settings))
    _last = ref(settings), warnings
    return [*warnings]


#: The settings that passed last, which a small fit has checked more than once, and their warnings.
_last: tuple[ref[Settings], list[str]] | None = None


def _check(settings: Settings) -> list[str]:
    """Return the warnings of plain settings; see check."""
    if settings.cost is not None and settings.example_cost is not None:
        raise UsageError("{cost} and {example_cost} exclude each other; leave one of them out")
    loss, task = _loss(settings), TASKS[settings.task]
    if "penalty" in task.takes:
        check_penalty(settings)
        check_free_bias(settings)
    check_solver(settings, loss)
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
        raise UsageError(
            "{zero_based} counts features, which {input} names; leave out {zero_based}"
        )
    if settings.class_weight is not None:
        check_weights(settings, "class_weight")
    if task.labels == TAGS:
        check_chain(settings)
    if task.labels == CLASSES:
        check_classes(settings)
    if settings.is_nu:
        check_nu(settings)
    if task.of_rows:
        check_vectors(settings)
    check_definite(settings)
    if settings.keep_multipliers:
        check_kept(settings, "keep_multipliers")
    check_effects(settings)
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
            shown, near = reprlib.repr(value), None
            if isinstance(value, str):
                of_task = name == "loss"
                known = losses(values.get("task", settings.task)) if of_task else kind.words
                near = nearest(value, known or ())
            if near:
                raise UsageError(
                    "{} is {}; did you mean {!r}?", Parameter(name), shown, near
                ) from None
            raise UsageError(
                "{} is {}; expected {}", Parameter(name), shown, kind.expected
            ) from None
    values.setdefault("loss", TASKS[values.get("task", settings.task)].loss)
    checked = replace(settings, **values)
    unset = checked.cost is None and checked.example_cost is None and checked.is_sum
    return replace(checked, example_cost=checked.usual_cost) if unset else checked


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


def refuse_example_cost(loss: str) -> UsageError:
    """The refusal of an example's cost for a loss that is no sum."""
    return UsageError("{example_cost} {}; give C with {cost}", no_sum(loss))


def check_weights(settings: Settings, name: str) -> None:
    """Refuses weights, given by the parameter of that name, for a loss that is no sum, as a
    UsageError."""
    if not settings.is_sum:
        raise UsageError("{} {}; leave it out", Parameter(name), no_sum(settings.loss))


def no_sum(loss: str | None) -> str:
    """Say why examples have no weights with a loss that is no sum."""
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


def _reader(parameter: str) -> str:
    """The kernel that most people mean by a parameter."""
    return next(name for name in ("rbf", *KERNELS) if parameter in KERNELS[name].takes)


def _warnings(settings: Settings, loss: Loss) -> list[str]:
    wishes, warnings = settings.wishes(), list[str]()
    if "p" in wishes and loss.at is None:
        warnings.append(Message("{p} has no effect with loss '{}'", loss.name))
    known = {name for row in KERNELS.values() for name in row.takes}
    known -= {*KERNELS[settings.kernel].takes}
    warnings += [
        Message(
            "{} has no effect with the {} kernel; add {kernel=}",
            Parameter(name),
            settings.kernel,
            _reader(name),
        )
        for name in sorted(wishes & known)
    ]
    if {"epsilon", "gap"} <= wishes:
        warnings.append(Message("{epsilon} has no effect beside {gap}"))
    return warnings


def check_kept(settings: Settings, asking: str) -> None:
    """Refuses, as a UsageError, training whose rows have no multipliers that bound an optimum. The
    settings are checked; `asking` is the parameter that asks for the multipliers."""
    s, what = settings, Parameter(asking)
    if s.labels != TWO_CLASSES or not (s.is_usual if s.has_kernel else s.of_scores):
        sums = (SOLVERS[SMO] if s.has_kernel else SOLVERS[DUAL_CD]).losses or ()
        known = tuple(name for name in losses(DEFAULTS["task"]) if name in sums)
        raise UsageError(
            "{} is for two classes and {loss=}, whose rows have multipliers; leave it out",
            what,
            known,
        )
    if s.nu is not None:
        raise UsageError("{} does not go with {nu}; leave one of them out", what)
    if s.penalty != L2:
        raise UsageError("{} needs {penalty=}: no other gap bounds the weights", what, L2)
    if s.free_bias or (s.has_kernel and s.free_bias is None and s.solver == SMO):
        raise UsageError("{} needs {free_bias=False}: no gap bounds a free bias", what)
    if s.has_kernel and (not s.is_definite or s.is_given):
        raise UsageError("{} needs a kernel of features that is positive definite", what)
    known = (AUTO, SMO) if s.kernel != "linear" else (AUTO, DUAL_CD)
    if s.solver not in known:
        remedy = Message("give {solver=} or leave it out", known[1])
        raise UsageError("solver '{}' keeps no multipliers of rows; {}", s.solver, remedy)
