# SPDX-License-Identifier: BSD-3-Clause
"""Solvers of the small QP of the cutting planes, by name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from svmcut.errors import UsageError

if TYPE_CHECKING:
    from svmcut.qp.checked import CheckedSimplexQp


class QpRow(NamedTuple):
    """Number of cuts from which OSQP is asked first, and what the help says."""

    osqp_from: float
    help: str


QPS = {
    "auto": QpRow(500, "the exact solver, and OSQP before it from 500 cuts on"),
    "osqp": QpRow(2, "OSQP, whose answers the exact solver checks and mends"),
    "exact": QpRow(math.inf, "an active-set method alone"),
}
DEFAULT = "auto"


def make_qp(name: str | None = None) -> CheckedSimplexQp:
    """The SimplexQp of a name in `QPS`, None for the default.

    Raises
    ------
    UsageError
    """
    from svmcut.qp.checked import CheckedSimplexQp

    name = DEFAULT if name is None else name
    if name not in QPS:
        raise UsageError(f"qp '{name}' is unknown; expected one of {', '.join(QPS)}")
    return CheckedSimplexQp(QPS[name].osqp_from)
