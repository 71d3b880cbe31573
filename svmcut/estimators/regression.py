# SPDX-License-Identifier: BSD-3-Clause
"""Regression: what its machines share, and the linear one."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from svmcut.base.errors import UsageError
from svmcut.base.records import replace
from svmcut.base.typing import Any, Self
from svmcut.data.examples import Csr, Examples, Source
from svmcut.estimators.base import (
    Intercept,
    Penalised,
    RegressorMixin,
    Trained,
    check_features_solver,
    intercept,
    penalties,
    threads_of,
    weights_of,
    whole,
)
from svmcut.models import LinearModel, ScoringModel
from svmcut.spec.catalog import TASKS, losses
from svmcut.spec.parameters import Settings
from svmcut.spec.spellings import respelt
from svmcut.training.outcome import Outcome


class Regressor(RegressorMixin, Trained):
    """A machine of numbers."""

    task = "regression"
    loss: str = TASKS[task].loss

    @whole
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Trains on rows X (n, d), their targets y (n,), and what they weigh.

        Raises
        ------
        ValueError, MemoryError
            That say what to do.
        """
        X, y = self._validate(X, y=y, y_numeric=True)
        rows = self._training_rows(X)
        settings = self._settings(**self._parameters(rows))
        data = Examples(
            rows, np.ascontiguousarray(y, np.float64), None, None, Source("X")
        ).validate()
        own, data = self._apply_weights(data, settings, sample_weight)
        starts = self._last(data, data.y, settings) if self.warm_start else {}
        driver = own.plan(data, settings)
        driver.warm = starts.get(None)
        outcome = self._drive(driver, settings)
        starts[None] = driver.warm
        self._keep([outcome], settings)
        return self._certify([outcome])

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        """Parameters of Settings for these rows."""
        raise NotImplementedError

    def _machines(self) -> list[ScoringModel]:
        """The one there is."""
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The number (n,) of every row."""
        rows = self._rows(X)
        return self._machines()[0].scores(rows, threads_of(self.n_jobs))

    def save(self, path: str | os.PathLike) -> None:
        """Writes the model file of the command line, whose numbers have eight digits; pickle keeps
        them all."""
        self._check_saved()
        self._write(path, replace(self._machines()[0], loss=self.loss))


@dataclass(kw_only=True, repr=False, eq=False)
class LinearSVMRegressor(Intercept, Penalised, Regressor):
    """Linear regression with a certificate: 1/2 w'w + C sum_i v_i max(0, |y_i - f(x_i)| - tube).

    Parameters
    ----------
    C : float
        Weighs the loss of one example, as in LinearSVR.
    tube : float
        Errors up to this cost nothing: LinearSVR's epsilon.
    loss : {"epsilon-insensitive", "squared-epsilon-insensitive"}
        What is beyond the tube, or its square.
    penalty, l1_ratio
        As of LinearSVM, for the squared loss; with a tube of 0 the lasso and the elastic net.
    tol, fit_intercept, intercept_scaling, solver, max_iter, warm_start, n_jobs, random_state,
    verbose
        As of LinearSVM; a bias that is regularised wants targets that are centred.
    free_intercept
        As of LinearSVM.

    Attributes
    ----------
    coef_ : (d,) float64
    intercept_, primal_, dual_, gap_ : (1,) float64
    converged_, solver_, n_iter_
        As of LinearSVM.

    Examples
    --------
    >>> from svmcut import LinearSVMRegressor
    >>> machine = LinearSVMRegressor(C=10.0, random_state=0)
    >>> _ = machine.fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> machine.predict([[3.0]]).round(1).tolist(), machine.converged_
    ([6.9], True)
    """

    C: float = field(default=1.0, kw_only=False)
    tube: float = 0.1
    loss: str = TASKS["regression"].loss
    warm_start: bool = False

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        check_features_solver(self)
        loss = respelt(self.loss, losses(self.task))
        if loss not in losses(self.task):
            known = ", ".join(losses(self.task))
            raise UsageError("loss {!r} is unknown; expected one of {}", self.loss, known)
        own = {"loss": loss, "tube": self.tube, **intercept(self, self._bias())}
        return {"example_cost": self.C, **own, **penalties(self)}

    def _keep(self, outcomes: list[Outcome], settings: Settings) -> None:
        model: Any = outcomes[0].model
        self.coef_ = weights_of(model, self.n_features_in_)
        self.intercept_ = np.array([0.0 - model.b])

    def _weights(self) -> NDArray[np.float64]:
        coef: Any = self.coef_
        return coef.toarray().ravel() if hasattr(coef, "toarray") else np.asarray(coef, np.float64)

    def _machines(self) -> list[ScoringModel]:
        return [LinearModel(self._weights(), -self.intercept_.item())]

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The number (n,) of every row."""
        check_is_fitted(self)
        constants = np.asarray(self.intercept_, np.float64).reshape(1)
        return self._score_rows(X, self._weights()[None], constants)[:, 0]
