# SPDX-License-Identifier: BSD-3-Clause
"""Models of two classes as sums of kernel values over support vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.records import record
from svmcut.base.typing import Any, ClassVar
from svmcut.data.examples import Csr
from svmcut.models import facts
from svmcut.models.columns import renumber
from svmcut.models.kernels import Kernel
from svmcut.models.linear_sums import linear_scores, linear_weights
from svmcut.models.two_classes import TwoClasses
from svmcut.spec import schemas


@record(eq=False)
class KernelModel(TwoClasses):
    """f(x) = sum_k alpha_k K(z_k, x) - b; the other fields as in LinearModel."""

    has_ball: ClassVar[bool] = True

    kernel: Kernel
    #: (m, d) support vectors z, one row each.
    support: Csr
    #: (m,) their weights, labels included.
    alpha: NDArray[np.float64]
    #: Threshold, subtracted.
    b: float
    columns: NDArray[np.int32] | None = None
    highest_index: int | None = None
    n_documents: int = 0

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n,) float64 f(x) of every row; the same bytes for any number of threads. See
        Kernel.expansion; the linear kernel uses its weights."""
        rows = renumber(X, self.columns)
        if self.kernel.is_linear:
            return linear_scores(rows, self.weights(), self.offset, threads)
        return self.kernel.expansion(rows, self.support, self.alpha, self.offset, threads)

    def weights(self) -> NDArray[np.float64]:
        """(d,) weights of the features, for the linear kernel."""
        return linear_weights(self.support, self.alpha)

    @property
    def n_features(self) -> int:
        return self.support.n_features

    def form(self) -> dict[str, schemas.Check]:
        return {"alpha": schemas.reals(self.support.n_rows), **super().form()}

    def facts(self, ends: facts.Ends) -> dict[str, Any]:
        known = facts.support(self.support, self.alpha, self.columns)
        own = {"kernel": facts.kernel(self.kernel), "threshold": float(self.b)}
        return self._head("kernel") | own | known
