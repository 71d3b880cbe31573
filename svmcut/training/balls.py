# SPDX-License-Identifier: BSD-3-Clause
"""What a gap says of the exact optimum: a ball of weights around the model's.

    P is 1-strongly convex in w and D <= P(w*):    1/2 |w - w*|^2 <= P(w) - P(w*) <= P(w) - D = gap
    every score of the exact optimum:              |f(x) - f*(x)| <= |x| r,    r = sqrt(2 gap)

|x|^2 has the square of the constant feature, or is K(x, x). Of classes that are trained at once or
one by one w is that of all; scores of two of them differ from the optimum's difference by sqrt(2)
|x| r at most. Shibagaki et al., NIPS 2015, and Ndiaye et al., JMLR 2017.

With the v that D is the dual value of, 1/2 |w - w*|^2 + 1/2 |v - w*|^2 <= P(w) - D. So w* is in the
ball about (w + v)/2 of radius q, q^2 = P(w) - D - |w - v|^2/4, and r = q + |w - v|/2 will do, which
is sqrt(gap) where w is v.

The file has w with fewer digits, at some w~, whose primal may be much higher: r is the least one of
sqrt(2 (P(w~) - D)), and of the others with |w~ - w| added.

Every P - D here has `Outcome.slip` more than float64 made of it, and r the rounding of a score: no
bound is closer than what its sums are known to.
"""

from __future__ import annotations

import numpy as np

from svmcut.errors import UsageError
from svmcut.files.output import KEPT
from svmcut.messages import Parameter
from svmcut.models.bounds import lengths
from svmcut.spec.catalog import KERNELS, PAIRS, SOLVERS
from svmcut.spec.entries import CLASSES, L2, SETS, TWO_CLASSES
from svmcut.spec.records import replace
from svmcut.training.gate import BOUNDED, SCORED, ball_of
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmcut.spec.parameters import Settings
    from svmcut.training.outcome import Outcome


def completed(outcome: Outcome, examples: Any, settings: Settings) -> Any:
    """The model of a run with its certificate, and where they were to be kept with the multipliers
    of the rows it was trained on."""
    model = with_certificate(outcome.model, outcome, settings)
    if outcome.fractions is None:
        return model
    from svmcut.data.changes import row_keys

    used = np.flatnonzero(outcome.fractions)
    keys = row_keys(examples.X, examples.y)[used]
    return replace(model, multipliers=(outcome.objective.C, keys, outcome.fractions[used]))


def with_certificate(model: Any, outcome: Outcome, settings: Settings) -> Any:
    """The model with the gap of its file, the radius and the constant feature, where its training
    has such a ball.

    Parameters
    ----------
    model : Model
        Of the outcome.
    settings : Settings
        Of the run, resolved.
    """
    if not model.has_ball or (model.of_sequences and "certify" not in settings.wishes()):
        return model
    if settings.certify is False or settings.original or not _has_ball(outcome, settings):
        return model
    bias = float(settings.bias or 0.0)

    def size(gap: float) -> float:
        return _size(replace(model, certificate=(gap, 0.0, bias)), outcome)

    ball = ball_of(outcome, size)
    if ball is None:
        return model
    gap, radius, known = ball
    return replace(model, certificate=(gap, radius, bias, *_radii(model, outcome, known, radius)))


def _radii(model: Any, outcome: Outcome, size: float, radius: float) -> list[float]:
    """That of every machine, where each has been trained by itself: rounded up."""
    if outcome.radii is None:
        return []
    radii = np.array(outcome.radii)
    squares = radii * radii + 2.0 * outcome.slip
    near = outcome.scale * (np.sqrt(squares) + (KEPT + SCORED) * size)
    return [float(f"{1.00001 * min(r, radius):.6g}") for r in near.tolist()]


def _size(model: Any, outcome: Outcome) -> float:
    """A model whose numbers change by at most a part of themselves has weights within so much of
    what they were times this."""
    if not hasattr(model, "support"):
        return outcome.norm
    length = lengths(model, model.support)
    places = getattr(model, "places", slice(None))  # of the vectors that machines share
    return float(np.abs(model.alpha) @ length[places])


def _has_ball(outcome: Outcome, settings: Settings) -> bool:
    """Whether the objective is 1/2 |w|^2 and a convex function of scores without a free constant,
    and its dual value one of the whole problem."""
    if settings.free_bias or settings.penalty != L2 or settings.nu is not None:
        return False
    if settings.labels == SETS and settings.pairs != PAIRS[-1]:
        return False
    if settings.beam:  # labellings that it misses may lie above the bound
        return False
    return outcome.converged or outcome.stopped_by == BOUNDED or not settings.has_kernel


def check_decidable(settings: Settings, asking: str) -> None:
    """Refuses, as a UsageError, training whose gap proves no label.

    Parameters
    ----------
    settings : Settings
        As they were given, or resolved, which may say more.
    asking : str
        The parameter that asks for labels that are proven.
    """
    s, what = settings, Parameter(asking)
    if s.labels not in (TWO_CLASSES, CLASSES) or (s.labels == CLASSES and s.has_kernel):
        raise UsageError(
            "{} is for two classes, and for more on features, whose labels a gap can prove; leave "
            "it out",
            what,
        )
    if s.certify is False:
        raise UsageError("{} asks for what {certify=False} leaves out; leave one of them out", what)
    for name in ("epsilon", "gap", "quick", "probability", "nu"):
        if name in s.wishes() and getattr(s, name) is not None:
            raise UsageError("{} does not go with {}; leave one of them out", what, Parameter(name))
    if s.penalty != L2:
        raise UsageError("{} needs {penalty=}: no other gap bounds the weights", what, L2)
    if s.free_bias:
        raise UsageError("{} needs {free_bias=False}: no gap bounds a free bias", what)
    if not s.is_definite or KERNELS[s.kernel].given:
        raise UsageError("{} needs a kernel that is known to be positive definite", what)
    row = SOLVERS.get(s.solver)
    if row is not None and row.steps:
        raise UsageError("{} lowers the gap, which solver '{}' does not aim at", what, s.solver)
