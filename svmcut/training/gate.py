# SPDX-License-Identifier: BSD-3-Clause
"""The one gate of certificates: what training claims is true of the model as a reader of its file
gets it.

A plan hands over the model it is about to return, its primal and a dual bound of the full problem,
and how the primal of a model that was read back is computed. `judge` writes the model with the
writer of its format into memory and reads it with the reader:

    where digits may matter    the whole model; its primal, in float64, is `primal_of_file` and has
    to meet the rule too
    else                       a part of it, whose numbers have to be those of training; if not, the
                               whole model

A model that stays in memory, as an estimator's, has all its digits and is not written: `in_memory`.
What its predictions are worth is computed all the same where sums in float64 may be far from those
that training went by.

Digits may matter where they can change the primal by more than DIGITS_TOLERANCE of the gap asked
for, or of the gap reached, where that is wider. Nothing else sets `converged`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar

from svmcut.base.errors import ModelError
from svmcut.base.messages import Message
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple
from svmcut.files.output import KEPT
from svmcut.formats import written_and_read

if TYPE_CHECKING:
    from svmcut.solvers.protocol import StoppingRule

#: A dual value above the primal by more than this part of it is a mistake in the program, not
#: rounding.
DUAL_TOLERANCE = 1e-9
#: Rounding of a score in float64, as a part of |x| and of the sizes of what adds up to w: of rows
#: of a thousand features, or of many more whose errors are independent.
SCORED = 2.0**-43
#: The same of what is added up for a primal value that is nearly 0.
ROUNDING = 1e-14
#: What a run says whose gap any model would meet.
WEAK_CERTIFICATE = (
    "the gap asked for, {:.4g}, is above the primal {:.4g}: the bound 0 meets it, so that the "
    "certificate says little; lower {epsilon} or give {gap} 0.01"
)
#: The part of the gap asked for that the digits of a file may change without a second look.
DIGITS_TOLERANCE = 0.01
#: A dual value below this part of the primal tells little.
WEAK_DUAL = 0.5
#: The end of training with a kernel that need not be definite, of which no dual bound is known.
STATIONARY = "stationary"
#: The end of what an earlier training bounds, where nothing was trained.
BOUNDED = "bounded"
#: Ends of training that are its aim and claim no certificate.
ENDS = ("epochs", "span", "samples", "held-out", "pruned", STATIONARY, BOUNDED)


_STAYS = ContextVar("stays", default=False)


@contextlib.contextmanager
def in_memory() -> Iterator[None]:
    """Within it models are judged as they are, as no file of them need be; of this thread alone."""
    token = _STAYS.set(True)
    try:
        yield
    finally:
        _STAYS.reset(token)


def is_in_memory() -> bool:
    """Return whether models of this thread are judged as they are in memory."""
    return _STAYS.get()


class Part(NamedTuple):
    """A part of a model that is a model of its own, with a check that it is the same once read
    back."""

    model: Any
    #: Decides if a model read back has the numbers of this one, up to the digits of the file.
    holds: Callable[[Any], bool]


class Reading(NamedTuple):
    """The gate's knowledge of a model as its file has it."""

    #: P = 1/2 |w|^2 + C R of a model that was read back, in float64.
    value: Callable[[Any], float]
    #: Bound on the change of P by the digits of the file; inf if unknown.
    change: float = math.inf
    #: Gives a Part; None for a small model, which is read back as a whole or not at all.
    part: Callable[[], Part] | None = None
    #: True if the file is written as the original programs write it.
    original: bool = False
    #: True if the matrix of kernel values is known to be positive semidefinite; None to ask the
    #: kernel.
    definite: bool | None = None
    #: Gives P of w = 0 without bias, as large as the terms of a P near 0.
    size: Callable[[], float] | None = None
    #: Gives a smaller `change` for a pass over the rows; None if reading the model is faster, or no
    #: bound is known.
    tighter_change_bound: Callable[[], float] | None = None
    #: Gives the model as a reader gets it if the part holds, without writing all of it; None if
    #: only a reader knows.
    whole: Callable[[], Any] | None = None
    #: True if a reader's scores are so rounded that P of the file may fall below a dual value.
    coarse: bool = False
    #: Gives a bound on the rounding of P - D in float64; None if unknown.
    sums: Callable[[], float] | None = None


def judge(
    outcome: Any,
    rule: StoppingRule,
    stopped_by: str | None,
    otherwise: str = "rounding",
    reading: Reading | None = None,
) -> Any:
    """Sets `converged`, `stopped_by` and `primal_of_file` of an Outcome with the model that will be
    written and its certificate, and returns it.

    `stopped_by` is what ended the solver before its own rule was met; `otherwise` says why training
    ended where the certificate misses the rule and nothing ended it before. `reading` is None where
    the file has every digit, or the caller has set `primal_of_file`.
    """
    if reading is not None:
        _read_back(outcome, rule, reading)
    outcome.converged, outcome.stopped_by = False, None
    primal, dual = outcome.primal, outcome.dual
    if not _is_definite(outcome.model, reading):
        outcome.certificate = primal, math.nan
        met = rule.met(primal, dual)
        outcome.stopped_by = stopped_by or (STATIONARY if met else otherwise)
        return outcome
    file, fault = _check_bounds(outcome, rule, reading)
    if fault:
        outcome.stopped_by = "mistake"
        outcome.warnings.append(fault)
        return outcome
    dual = outcome.dual
    if not rule.met(primal, dual):
        outcome.stopped_by = stopped_by or otherwise
    elif file is not None and not rule.met(file, dual):
        outcome.stopped_by = "rounding" if is_in_memory() else "file"
    else:
        outcome.converged = True
        if not (reading and reading.original) and _is_met_by_any_model(primal, dual, rule):
            outcome.warnings.append(Message(WEAK_CERTIFICATE, rule.absolute, primal))
    return outcome


def _is_definite(model: Any, reading: Reading | None) -> bool:
    if reading is not None and reading.definite is not None:
        return reading.definite
    kernel = getattr(model, "kernel", None)
    return kernel is None or kernel.is_definite


def _check_bounds(
    outcome: Any, rule: StoppingRule, reading: Reading | None
) -> tuple[float | None, str]:
    """Return the primal of the file and what is wrong with the dual value, "" for nothing; a dual
    value that rounding alone puts above a primal is lowered to it."""
    primal, file = outcome.primal, outcome.primal_of_file
    # that of the file was formed by itself, at large C with some rounding
    for value, slip in ((primal, 0.0), (file, DIGITS_TOLERANCE * abs(rule.target(primal)))):
        dual = outcome.dual
        if value is None or not dual > value + DUAL_TOLERANCE * abs(value) + slip:
            continue
        size = None if reading is None else reading.size
        if value is file and reading is not None and reading.coarse:
            file = 2 * dual - value  # as far off
        elif size is not None and dual - value <= ROUNDING * size():
            _lower_dual(outcome, value)
        else:
            return file, (
                f"the dual value {dual:.9g} is above the primal value {value:.9g}: an error of "
                "svmcut, and no certificate; please report it"
            )
    return file, ""


def _lower_dual(outcome: Any, value: float) -> None:
    """Lower the dual value to a primal that it is above by rounding alone."""
    primal, dual = outcome.primal, outcome.dual
    known = outcome.sums if math.isfinite(outcome.sums) else DUAL_TOLERANCE * abs(primal)
    outcome.sums = known + 2 * (dual - value)
    outcome.certificate = primal, min(primal, value)


def _is_met_by_any_model(primal: float, dual: float, rule: StoppingRule) -> bool:
    """Tell whether any model would have met the rule: the bound 0 does."""
    absolute = rule.relative is None and primal >= 0
    return absolute and dual < WEAK_DUAL * primal <= WEAK_DUAL * rule.absolute


def _read_back(outcome: Any, rule: StoppingRule, reading: Reading) -> None:
    """Sets what a reader of the model may find: its primal, or by how much that may differ."""
    primal, gap = outcome.primal, outcome.gap
    room = DIGITS_TOLERANCE * abs(rule.target(primal))
    if room < DIGITS_TOLERANCE * gap < math.inf:  # a gap that was not reached has more room
        room = DIGITS_TOLERANCE * gap
    slip = 0.0 if reading.sums is None else reading.sums()
    outcome.primal_of_file = primal_of_file(outcome.model, reading, room, slip)
    outcome.rounding = room if outcome.primal_of_file is None else 0.0
    outcome.sums = math.inf if reading.sums is None or reading.original else slip
    if _STAYS.get():  # no file, and no certificate of one
        outcome.rounding = math.inf


def judge_by_proof(outcome: Any, reached: bool, otherwise: str | None = None) -> Any:
    """Replace the verdict of a judged outcome that aims at what its certificate proves, not at a
    gap: `reached` says if it proves that, and `otherwise` why training ended if not, though its gap
    was met."""
    if reached:
        outcome.converged, outcome.stopped_by = True, None
    elif outcome.converged:
        outcome.converged, outcome.stopped_by = False, otherwise
    return outcome


def judge_composite(
    outcome: Any, parts: Sequence[Any], missing: str | None, part: Part, original: bool = False
) -> Any:
    """Judge an outcome of machines, each judged before, that are written as one model; `missing` is
    what ended training before the last machine, and `part` is a part of the whole model."""
    ends = [missing] if missing else []
    ends += [part.stopped_by for part in parts if part.stopped_by]
    outcome.converged = not missing and all(part.converged for part in parts)
    outcome.stopped_by = next((end for end in ends if end not in ENDS), ends[0] if ends else None)
    if not (_STAYS.get() or _is_same_in_file(part, original)):
        outcome.converged, outcome.stopped_by = False, outcome.stopped_by or "file"
    return outcome


def _is_same_in_file(part: Part, original: bool) -> bool:
    try:
        return part.holds(written_and_read(part.model, original))
    except (ModelError, MemoryError):
        return False


def sum_rounding(terms: float, count: int) -> float:
    """Bound on the rounding error of a float64 sum of `count` numbers whose sizes add up to
    `terms`: errors are taken as independent, eight standard deviations of their sum, or all of them
    if they are few (N. J. Higham and T. Mary, SIAM J. Sci. Comput. 2019)."""
    return 2.0**-53 * (8.0 + min(count, 8.0 * math.sqrt(count))) * terms


def ball_of(outcome: Any, size: Callable[[float], float]) -> tuple[float, float, float] | None:
    """The gap of the file, the radius around its weights that it proves (see training.certificate),
    and the size; None if the gap is not finite. `size(gap)` bounds the change of weights per
    relative change of their numbers."""
    slip = outcome.gap_rounding
    gap = max(0.0, outcome.written + outcome.rounding - outcome.dual) + slip
    if not math.isfinite(gap):
        return None
    radius = math.sqrt(2.0 * (max(0.0, outcome.gap) + slip))
    if outcome.apart is not None:
        gap_of_v, apart = outcome.apart
        near = math.sqrt(max(0.0, gap_of_v - 0.25 * apart * apart) + slip) + 0.5 * apart
        radius = min(radius, near) if math.isfinite(near) else radius
    known = size(gap)
    radius = min(math.sqrt(2.0 * gap), radius + KEPT * known) + SCORED * known
    return gap, outcome.scale * radius, known


def primal_of_file(
    model: Any, reading: Reading, room: float = -math.inf, slip: float = 0.0
) -> float | None:
    """The primal of the model as its file has it; None where its digits cannot change it by a
    `room` that is given.

    inf where the file cannot have the model, or memory does not allow to read it back.
    """
    if _STAYS.get():
        return None if slip <= room else float(reading.value(model))
    try:
        change = reading.change + slip
        if change > room > 0 and reading.tighter_change_bound is not None:
            change = reading.tighter_change_bound()
        whole = None if change <= room else reading.whole
        if change <= room or whole is not None:
            part = None if reading.part is None else reading.part()
            if part is None or _is_same_in_file(part, reading.original):
                return None if whole is None else float(reading.value(whole()))
        return float(reading.value(written_and_read(model, reading.original)))
    except (
        ModelError,
        MemoryError,
    ):  # a number that float32 does not hold: who writes the model is told so
        return math.inf
