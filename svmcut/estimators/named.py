# SPDX-License-Identifier: BSD-3-Clause
"""What machines share that have scikit-learn's names."""

from __future__ import annotations

import math
import numbers

from svmcut.errors import UsageError
from svmcut.typing import Any

#: C in the place of infinity.
HARD = 1e10


def finite_cost(C: Any) -> Any:
    """C, and a large one for infinity."""
    return HARD if isinstance(C, float) and math.isinf(C) and C > 0 else C


def given_tube(epsilon: Any) -> Any:
    """The tube that epsilon is; refused where it is none."""
    if not (isinstance(epsilon, numbers.Real) and 0 <= float(epsilon) < math.inf):
        raise UsageError("epsilon={!r} is not a finite number of at least 0", epsilon)
    return epsilon
