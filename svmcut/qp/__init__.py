# SPDX-License-Identifier: BSD-3-Clause
"""Solvers of the small QP of the cutting planes, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svmcut.catalog import AUTO, QPS
from svmcut.errors import UsageError

if TYPE_CHECKING:
    from svmcut.qp.checked import CheckedSimplexQp

DEFAULT = AUTO


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
