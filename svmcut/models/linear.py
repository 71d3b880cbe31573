# SPDX-License-Identifier: BSD-3-Clause
"""Linear functions of a row."""

from __future__ import annotations

import numpy as np

from svmcut._native import sparse
from svmcut.base.records import field, record
from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar
from svmcut.data.examples import Csr
from svmcut.models import facts
from svmcut.models.columns import renumber
from svmcut.models.kernels import Kernel
from svmcut.models.two_classes import TwoClasses
from svmcut.spec import schemas

if TYPE_CHECKING:
    from numpy.typing import NDArray


@record(eq=False)
class LinearModel(TwoClasses):
    """f(x) = w.x - b.

    Attributes
    ----------
    w : (d,) float64
        Weights. Features at or above d, or not in ``columns``, weigh nothing.
    b : float
        Threshold, subtracted.
    columns : (d,) int32 or None
        Increasing columns of the data the weights belong to; None for 0 to d - 1.
    kernel : Kernel
        The linear kernel with the parameters a model file states beside it.
    highest_index : int or None
        The highest feature index (1-based) a model file states; None for the largest there is.
    n_documents : int
        What a model file states as its number of training documents (svm_perf: constraints of the
        last working set).
    labels, loss, sigmoid, table, parameter, threshold, sigma, certificate
        As of svmcut.models.two_classes.Marks.
    """

    has_ball: ClassVar[bool] = True

    w: NDArray[np.float64]
    b: float
    columns: NDArray[np.int32] | None = None
    kernel: Kernel = field(default_factory=Kernel)
    highest_index: int | None = None
    n_documents: int = 0

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n,) float64 w.x - b of every row; float64 products and sums, in the order of the
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
