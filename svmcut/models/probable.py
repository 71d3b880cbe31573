# SPDX-License-Identifier: BSD-3-Clause
"""Models of LIBSVM as its programs use them for probabilities: the label is the most probable
class.

Without probabilities the label is that of the score, or the class with most votes of pairs, which
may be another one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.records import fields, record
from svmcut.base.typing import Any
from svmcut.data.examples import Csr
from svmcut.models.kernel import KernelModel
from svmcut.models.kernel_classes import KernelMulticlassModel
from svmcut.models.linear import LinearModel
from svmcut.scoring.probabilities import LOG_ODDS, Sigmoid, couple_pairs_as_libsvm


def most_probable(model: Any) -> Any:
    """Copy of a model of LIBSVM, of two classes or of pairs, whose scores are log odds or
    probabilities of classes."""
    given = {one.name: getattr(model, one.name) for one in fields(model)}
    if isinstance(model, KernelMulticlassModel):
        assert model.paired
        return CoupledClasses(**given | {"paired": False})
    return (OddsOfLinear if isinstance(model, LinearModel) else OddsOfKernel)(**given)


@record(eq=False)
class CoupledClasses(KernelMulticlassModel):
    """Machines of pairs whose probabilities are coupled as LIBSVM does, to its tolerance; without
    votes."""

    @property
    def has_probabilities(self) -> bool:
        return True

    def probabilities(self, decisions: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores."""
        return decisions

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) probabilities; nan if a decision is nan."""
        assert self.sigmoids is not None
        return couple_pairs_as_libsvm(self.decisions(X, threads), self.sigmoids, len(self.names))


class _Odds:
    """Scores -A f - B, which are above 0 if the positive class has more than half."""

    __slots__ = ()

    sigmoid: Sigmoid | None

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n,) log odds; a half counts for the positive class, the first of the file."""
        assert self.sigmoid is not None
        A, B = self.sigmoid
        odds = -A * super().scores(X, threads) - B  # type: ignore[misc]
        return np.where(odds == 0, np.finfo(np.float64).tiny, odds)

    @property
    def calibration(self) -> Sigmoid:
        return LOG_ODDS


@record(eq=False)
class OddsOfLinear(_Odds, LinearModel):
    """Log odds of a linear model."""


@record(eq=False)
class OddsOfKernel(_Odds, KernelModel):
    """Log odds of a kernel model."""
