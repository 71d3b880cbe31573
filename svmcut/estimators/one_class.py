# SPDX-License-Identifier: BSD-3-Clause
"""One class: what is like the rows of training is inside."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from svmcut.base.records import replace
from svmcut.base.typing import Any, Self
from svmcut.data.examples import Csr, Examples, Source
from svmcut.data.labels import SIGNS
from svmcut.estimators.base import OutlierMixin, threads_of, whole
from svmcut.estimators.kernel import Expansions
from svmcut.spec.catalog import AUTO, ONE_CLASS_LOSS


@dataclass(kw_only=True, repr=False, eq=False)
class OneClassSVM(OutlierMixin, Expansions):
    """The one-class SVM with a certificate: 1/2 |f|^2 - nu n rho + sum_i v_i max(0, rho - f(x_i)).

    Parameters
    ----------
    nu : float
        At most this part of the rows is outside, and at least this part are support vectors.
    kernel, degree, gamma, coef0, cache_size, tol, max_iter, n_jobs, random_state, verbose
        As of KernelSVM.

    Attributes
    ----------
    offset_ : (1,) float64
        rho, which is subtracted: scores are at least 0 inside.
    support_vectors_, dual_coef_, intercept_, primal_, dual_, gap_, converged_, solver_, n_iter_
        As of KernelSVM.

    Examples
    --------
    >>> from svmcut import OneClassSVM
    >>> machine = OneClassSVM(nu=0.4, gamma=1.0).fit([[0.0], [0.1], [0.2], [0.3], [4.0]])
    >>> machine.predict([[0.15], [9.0]]).tolist(), machine.converged_
    ([1, -1], True)
    """

    task = "one-class"
    C = 1.0

    nu: float | None = 0.5
    budget: int = field(default=500, init=False)
    basis: int = field(default=500, init=False)
    epochs: float | None = field(default=None, init=False)
    fit_intercept: bool | None = field(default=None, init=False)
    solver: str = field(default=AUTO, init=False)

    @whole
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Trains on rows X (n, d) and what they weigh; y is not looked at.

        Raises
        ------
        ValueError, MemoryError
            That say what to do.
        """
        X = self._validate(X)
        rows = self._training_rows(X)
        settings = self._settings(**self._parameters(rows))
        data = Examples(rows, np.ones(rows.n_rows), None, None, Source("X")).validate()
        own, data = self._apply_weights(data, settings, sample_weight)
        outcome = self._run(own, data, settings)
        self._keep([outcome], settings)
        model: Any = outcome.model
        self.offset_ = np.array([model.b])
        return self._certify([outcome])

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        known = super()._parameters(rows)
        return {name: value for name, value in known.items() if name not in LACKS}

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores (n,), at least 0 inside."""
        rows = self._rows(X)
        return self._machines()[0].scores(rows, threads_of(self.n_jobs))

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Scores (n,) before offset_ is subtracted."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """1 (n,) for what is inside, else -1."""
        return np.where(self.decision_function(X) >= 0, *(int(sign) for sign in reversed(SIGNS)))

    def save(self, path: str | os.PathLike) -> None:
        """Writes the model file of the command line; pickle keeps all digits."""
        self._check_saved()
        self._write(path, replace(self._machines()[0], loss=ONE_CLASS_LOSS))


#: What KernelSVM gives and one class does not take.
LACKS = ("budget", "basis", "epochs", "free_bias")
