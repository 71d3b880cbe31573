# SPDX-License-Identifier: BSD-3-Clause
"""Solvers of the small QP of the cutting planes, by name."""

from __future__ import annotations

from svmcut.base.typing import TYPE_CHECKING
from svmcut.spec.catalog import AUTO, QPS

if TYPE_CHECKING:
    from svmcut.qp.checked import CheckedSimplexQp

DEFAULT = AUTO


def make_qp(name: str | None = None) -> CheckedSimplexQp:
    """The SimplexQp of a name in `QPS`, None for the default."""
    from svmcut.qp.checked import CheckedSimplexQp

    return CheckedSimplexQp(QPS[name or DEFAULT].osqp_from)
