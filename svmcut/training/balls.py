# SPDX-License-Identifier: BSD-3-Clause
"""What a gap says of the exact optimum: a ball of weights around the model's.

    P is 1-strongly convex in w and D <= P(w*):    1/2 |w - w*|^2 <= P(w) - P(w*) <= P(w) - D = gap
    every score of the exact optimum:              |f(x) - f*(x)| <= |x| r,    r = sqrt(2 gap)

|x|^2 has the square of the constant feature, or is K(x, x). Of classes that are trained at once or
one by one w is that of all; scores of two of them differ from the optimum's difference by sqrt(2)
|x| r at most. Shibagaki et al., NIPS 2015, and Ndiaye et al., JMLR 2017.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from svmcut.spec.parameters import DEFAULTS
from svmcut.spec.records import replace

if TYPE_CHECKING:
    from svmcut.spec.parameters import Settings
    from svmcut.training.outcome import Outcome


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
    if not model.has_ball:
        return model
    if settings.certify is False or settings.original or not _has_ball(outcome, settings):
        return model
    gap = max(0.0, outcome.written + outcome.rounding - outcome.dual)
    if not math.isfinite(gap):
        return model
    return replace(model, certificate=(gap, math.sqrt(2.0 * gap), float(settings.bias or 0.0)))


def _has_ball(outcome: Outcome, settings: Settings) -> bool:
    """Whether the objective is 1/2 |w|^2 and a convex function of scores without a free constant,
    and its dual value one of the whole problem."""
    if settings.free_bias or settings.penalty != DEFAULTS["penalty"] or settings.nu is not None:
        return False
    return outcome.converged or not settings.has_kernel
