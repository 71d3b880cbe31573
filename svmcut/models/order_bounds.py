# SPDX-License-Identifier: BSD-3-Clause
"""Which pairs of rows are proven to be in the order of the exact optimum; see
svmcut.training.balls.

The optimum's score of x_i less that of x_j differs from w.(x_i - x_j) by r |x_i - x_j| at most, in
a kernel's space where there is one. The constant feature is the same in both rows.
"""

from __future__ import annotations

import numpy as np

from svmcut.errors import UsageError
from svmcut.models.bounds import ROUNDING
from svmcut.models.kernels import Kernel
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data.examples import Csr

#: Rows of a query whose pairs are compared, and how many of them at once.
MOST, BLOCK = 20_000, 512


def proven_pairs(
    model: Any, X: Csr, scores: NDArray[np.float64], threads: int = 1
) -> tuple[int, int]:
    """How many pairs of the rows of a query are proven to be in the order of their scores, and how
    many there are; O(n^2).

    Parameters
    ----------
    model : LinearModel or KernelModel
        With a certificate.
    scores : (n,) float64
        The model's.

    Raises
    ------
    UsageError
        For more than MOST rows.
    """
    from svmcut._native.kernels import KernelRows

    n, radius = X.n_rows, model.certificate[1]
    if n > MOST:
        raise UsageError(
            "{certify} compares all pairs of a query, and one has {:,} rows; leave it out of more "
            "than {:,}",
            n,
            MOST,
        )
    kernel = getattr(model, "kernel", Kernel())
    rows = KernelRows(X, kernel if hasattr(model, "support") else Kernel(), threads)
    own, proven = rows.diagonal, 0
    for start in range(0, n, BLOCK):
        some = np.arange(start, min(start + BLOCK, n))
        sizes = own[some][:, None] + own
        squared = np.maximum(sizes - 2 * rows.block_double(some), 0.0) + 8 * ROUNDING * sizes
        apart = np.abs(scores[some][:, None] - scores)
        sure = apart > radius * np.sqrt(squared) + ROUNDING * np.abs(scores).max(initial=0.0)
        proven += int(np.count_nonzero(sure & (np.arange(n) > some[:, None])))
    return proven, n * (n - 1) // 2
