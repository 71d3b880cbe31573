# SPDX-License-Identifier: BSD-3-Clause
"""A linear machine of two classes, trained on the workers of Dask."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut.data.labels import SIGNS
from svmcut.distributed.engine import DaskRows, here
from svmcut.distributed.parts import Reading
from svmcut.distributed.plan import Files, make_driver
from svmcut.errors import UsageError
from svmcut.estimators import linear
from svmcut.estimators.base import whole
from svmcut.files.patterns import files_of

if TYPE_CHECKING:
    from typing import Self


class LinearSVM(linear.LinearSVM):
    """svmcut.LinearSVM on rows that lie with the workers of Dask: files that they read, or blocks
    of a dask.array.

    Parameters
    ----------
    C, tol, fit_intercept, intercept_scaling, class_weight, loss, max_iter, verbose
        As of svmcut.LinearSVM.
    client : dask.distributed.Client or None
        None for the one there is.

    Attributes
    ----------
    coef_, intercept_, classes_
    primal_, dual_, gap_, converged_, solver_, n_iter_
        As of svmcut.LinearSVM.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        tol: float = 1e-3,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        loss: str = linear.HINGE,
        max_iter: int | None = None,
        verbose: int = 0,
        client: Any = None,
    ):
        super().__init__(
            C,
            tol=tol,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            class_weight=class_weight,
            loss=loss,
            max_iter=max_iter,
            verbose=verbose,
        )
        self.client = client

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "client": None}

    @whole
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Trains on files, or on a dask.array X (n, d) in blocks of rows and y (n,), labels of two
        classes as numbers.

        Parameters
        ----------
        X : str, path, sequence of them, or dask.array
        y : dask.array or None
            None with files, whose lines begin with their labels.

        Raises
        ------
        ValueError, MemoryError
        ClusterError
            Where the scheduler or its workers are lost.
        """
        if sample_weight is not None:
            raise UsageError(
                "weights of rows in blocks are not taken; give class_weight, or cost: in the files"
            )
        client, parts, name = here(self.client), X, "X"
        if hasattr(X, "to_delayed"):
            X = X.rechunk({1: -1})
            blocks = [
                client.compute(X.to_delayed().ravel().tolist()),
                client.compute(y.rechunk((X.chunks[0],)).to_delayed().ravel().tolist()),
            ]
            parts = list(zip(*blocks, strict=True))
        elif y is not None:
            raise UsageError("y is for a dask.array X; the lines of files begin with their labels")
        else:
            name, parts = files_of(X if isinstance(X, str | os.PathLike) else [*X])
        settings = self._settings(
            loss=linear.SUMS.get(self.loss, self.loss),
            example_cost=self.C,
            bias=self._bias(),
            class_weight=self.class_weight,
            threads=1,
            given=frozenset({"task"}),
        )
        rows = DaskRows(client)
        try:
            parted, driver = make_driver(rows, Files(parts, Reading(False), name), settings)
            outcome = self._drive(driver, settings)
        finally:
            rows.close()
        negative, positive = driver.marks["labels"] or SIGNS
        self.classes_ = np.array([positive] if negative is None else [negative, positive])
        self.n_features_in_ = parted.X.n_features
        self._keep([outcome], driver.settings)
        return self._certify([outcome])

    def decision_function(self, X: Any) -> Any:
        """(n,) scores: of a dask.array a dask.array, block by block."""
        if hasattr(X, "to_delayed"):
            return self._mapped(X, self.decision_function, np.float64)
        return super().decision_function(X)

    def predict(self, X: Any) -> Any:
        """(n,) classes: of a dask.array a dask.array, block by block."""
        if hasattr(X, "to_delayed"):
            return self._mapped(X, self.predict, self.classes_.dtype)
        return super().predict(X)

    def _mapped(self, X: Any, function: Any, dtype: Any) -> Any:
        return X.rechunk({1: -1}).map_blocks(
            function, drop_axis=1, dtype=dtype, meta=np.empty(0, dtype)
        )
