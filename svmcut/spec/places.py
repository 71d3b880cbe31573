# SPDX-License-Identifier: BSD-3-Clause
"""The parameters that place a loss: p and at."""

from __future__ import annotations

import math

from svmcut.base.errors import UsageError
from svmcut.base.typing import Any
from svmcut.spec.catalog import TASKS, losses
from svmcut.spec.entries import FLOOR, PLACES, RANGE, Loss
from svmcut.spec.kinds import Kind, floors, integer, number, one_of, shares

#: What parameter at may be by what it is, its default, and how help states that.
PLACE_KINDS: dict[str, tuple[Kind, Any, str]] = {
    PLACES: (integer(1), 10, "10"),
    FLOOR: (number(0, 1, above=True), 0.9, "0.9"),
    RANGE: (shares(), (0.0, 0.1), "0,0.1"),
}


#: What a threshold may promise, and what it may be chosen for.
PRECISION, RECALL, SPECIFICITY = PROMISED = ("precision", "recall", "specificity")
FLOORS, MAXIMISED = floors(PROMISED), one_of((PRECISION, RECALL))
CONFIDENCE = number(0.5, 0.999999)
#: What share of new rows a set or interval must hold, 1 excluded; the share where none is given.
COVERAGE, USUAL_COVERAGE = number(0, 1, above=True), 0.9
#: Of a threshold where none is given.
USUAL_CONFIDENCE = 0.95


def fraction_of_positives(loss: Loss, p: float) -> float:
    """Parameter p as the loss understands it: 0 is the default of a loss at k. Raises UsageError
    when p is negative or no number, or out of the range of a loss at k."""
    if not (p >= 0 and math.isfinite(p)):
        raise UsageError("{p=} is out of range; expected a number of at least 0", p)
    if loss.at is None:
        return p
    least, most, default = loss.at
    if p and not least <= p <= most:
        bound = f"at most {most:g}" if p > most else f"at least {least:g}"
        raise UsageError(
            "{p=} is out of range for loss '{}'; expected {} (0 stands for {:g})",
            p,
            loss.name,
            bound,
            default,
        )
    return p or default


def place_of(loss: Loss, at: Any) -> Any:
    """Parameter at as the loss understands it; None is its default. Raises UsageError when it is
    nothing the loss knows."""
    kind, default, _ = PLACE_KINDS[loss.place or ""]
    try:
        return default if at is None else kind.take(at)
    except ValueError:
        raise UsageError(
            "{at=} is out of range for loss '{}'; expected {}", at, loss.name, kind.expected
        ) from None


def loss_marks(settings: Any) -> dict[str, Any]:
    """Return what a model of classes keeps of the loss: ``loss``, None for the task's first,
    and ``parameter``, a beta, a floor, or the two ends of a range, None where it has none."""
    row = losses(settings.task)[settings.loss]
    parameter: tuple[float, ...] | None = None
    if "beta" in row.takes:
        parameter = (float(settings.beta),)
    elif "at" in row.takes:
        place = place_of(row, settings.at)
        parameter = place if isinstance(place, tuple) else (float(place),)
    return {
        "loss": None if row.name == TASKS[settings.task].loss else row.name,
        "parameter": parameter,
    }
