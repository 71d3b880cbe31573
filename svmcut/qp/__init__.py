# SPDX-License-Identifier: BSD-3-Clause
"""Solvers of the small QP of cutting planes, by name."""

from __future__ import annotations

from svmcut.qp.simplex import CheckedSimplexQp
from svmcut.spec.catalog import AUTO, QPS

DEFAULT = AUTO


def make_qp(name: str | None = None) -> CheckedSimplexQp:
    """The SimplexQp of a name in `QPS`; None is the default."""
    return CheckedSimplexQp(QPS[name or DEFAULT].osqp_from)
