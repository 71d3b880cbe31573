# SPDX-License-Identifier: BSD-3-Clause
"""Whether the multipliers of a run's rows can be kept, and the optimum of other rows bounded by
them. Standard library only."""

from __future__ import annotations

from svmcut.errors import UsageError
from svmcut.messages import Message, Parameter
from svmcut.spec.catalog import AUTO, SOLVERS, losses
from svmcut.spec.entries import DUAL_CD, L2, SMO, TWO_CLASSES
from svmcut.spec.parameters import DEFAULTS, Settings


def check_kept(settings: Settings, asking: str) -> None:
    """Refuses, as a UsageError, training whose rows have no multipliers that bound an optimum.

    Parameters
    ----------
    settings : Settings
        Checked.
    asking : str
        The parameter that asks for them.
    """
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
