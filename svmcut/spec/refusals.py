# SPDX-License-Identifier: BSD-3-Clause
"""What no run can honour: every refusal that needs no data.

Messages are values of svmcut.messages, warnings too: who prints them words their parameters.
"""

from __future__ import annotations

import reprlib

from svmcut.errors import UsageError
from svmcut.messages import Message, Parameter
from svmcut.spec.catalog import KERNELS, TASKS, losses, task_inputs
from svmcut.spec.entries import CLASSES, TAGS, Loss
from svmcut.spec.kinds import ANY
from svmcut.spec.many_labels import check_blocks
from svmcut.spec.parameters import DEFAULTS, FACTORS, KINDS, Settings
from svmcut.spec.penalties import check_free_bias, check_penalty
from svmcut.spec.places import fraction_of_positives, place_of
from svmcut.spec.records import replace
from svmcut.spec.solver_refusals import OF_TASKS, check_definite, check_effects, check_solver
from svmcut.spec.spellings import nearest, respelt
from svmcut.spec.task_refusals import check_chain, check_classes, check_nu, check_vectors
from svmcut.spec.trainers import variant
from svmcut.typing import Any


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
        raise UsageError("{zero_based} counts features, which {input} names; leave one of them out")
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
        from svmcut.spec.kept import check_kept

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
