# SPDX-License-Identifier: BSD-3-Clause
"""Linear functions of a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import sparse
from svmcut.base.records import field, record
from svmcut.base.typing import Any, ClassVar
from svmcut.data.examples import Csr
from svmcut.models import facts
from svmcut.models.columns import renumber
from svmcut.models.kernels import Kernel
from svmcut.models.two_classes import TwoClasses
from svmcut.spec import schemas


@record(eq=False)
class LinearModel(TwoClasses):
    """f(x) = w.x - b; the other fields as in svmcut.models.two_classes.Marks."""

    has_ball: ClassVar[bool] = True

    #: (d,) weights; features at or above d, or not in ``columns``, have none.
    w: NDArray[np.float64]
    #: Threshold, subtracted.
    b: float
    #: (d,) increasing columns of the data; None for 0 to d - 1.
    columns: NDArray[np.int32] | None = None
    #: Linear kernel with the parameters in a model file.
    kernel: Kernel = field(default_factory=Kernel)
    #: Highest feature index (1-based) in a model file; None for the largest there is.
    highest_index: int | None = None
    #: Number of training documents in a model file (svm_perf: constraints of the last working set).
    n_documents: int = 0

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n,) float64 w.x - b of every row; products and sums in float64, in the order of the
        features."""
        rows, scores = sparse.Rows(renumber(X, self.columns)), np.empty(X.n_rows)
        sparse.predict(rows, np.asarray(self.w, np.float64), -self.offset, scores, threads)
        return scores

    @property
    def n_features(self) -> int:
        return len(self.w)

    def form(self) -> dict[str, schemas.Check]:
        return {"w": schemas.reals(None), **super().form()}

    def facts(self, ends: facts.Ends) -> dict[str, Any]:
        of = self.label_texts()[1]
        return self._head("linear") | {
            "features": facts.features(self.columns, self.w != 0),
            "threshold": float(self.b),
            "weights": [{"of": of, **ends.of_features(self.w, self.columns)}],
        }
