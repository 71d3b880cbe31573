# SPDX-License-Identifier: BSD-3-Clause
"""Linear machines that rank the rows of queries."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from svmcut.base.errors import DataError, UsageError
from svmcut.base.typing import Any, Self
from svmcut.data.arrays import vector_examples
from svmcut.estimators.base import Trained, weights_of, whole
from svmcut.models import LinearModel
from svmcut.scoring.measures import ranking_measures


@dataclass(kw_only=True, repr=False, eq=False)
class RankSVM(Trained):
    """Linear ranking with a certificate: 1/2 w'w + C times the loss averaged over the queries.

    Parameters
    ----------
    C : float
        As svm_rank's -c.
    loss : str
        One of ``svmcut rank --loss``.
    tol, solver, max_iter, n_jobs, random_state, verbose
        As of LinearSVM.

    Attributes
    ----------
    coef_ : (d,) float64
    primal_, dual_, gap_, converged_, solver_, n_iter_
        As of LinearSVM.

    Notes
    -----
    In cross-validation queries reach fit and score by scikit-learn's metadata routing,
    set_fit_request(qid=True) and set_score_request(qid=True), with GroupKFold over the queries.
    Without, they raise.

    Examples
    --------
    >>> from svmcut import RankSVM
    >>> X, y, qid = [[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]], [1, 0, 1, 0], [1, 1, 2, 2]
    >>> RankSVM(C=10.0).fit(X, y, qid).score(X, y, qid)
    1.0
    """

    task = "rank"

    C: float = field(default=1.0, kw_only=False)
    loss: str = "swapped-pairs"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @whole
    def fit(self, X: Any, y: Any, qid: Any = None, group: Any = None) -> Self:
        """Trains on rows X (n, d), their grades y (n,) and their queries.

        Parameters
        ----------
        qid : (n,) array
            The query of every row, in any order.
        group : (queries,) int
            In its place how many rows each query has, one after the other, as LightGBM's rankers
            take them.

        Raises
        ------
        ValueError
            Without either, and wherever LinearSVM.fit does.
        """
        X, y = self._validate(X, y=y, y_numeric=True)
        queries = _queries(qid, group, len(y))
        order = np.argsort(queries, kind="stable")
        rows = self._training_rows(X).validate()
        if (np.diff(queries) < 0).any():
            rows = rows.take(order)
        settings = self._settings(cost=self.C, loss=self.loss)
        own, data = self._apply_weights(
            vector_examples(rows, y[order], queries[order]), settings, None
        )
        outcome = self._run(own, data, settings)
        self.coef_ = weights_of(outcome.model, self.n_features_in_)
        return self._certify([outcome])

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Scores (n,): within a query the larger ranks first."""
        check_is_fitted(self)
        return self._score_rows(X, self.coef_[None], np.zeros(1))[:, 0]

    decision_function = predict

    def score(self, X: Any, y: Any, qid: Any = None, group: Any = None) -> float:
        """1 - the fraction of swapped pairs, averaged over the queries; ties are swapped.

        Raises
        ------
        ValueError
            Without qid or group, as in fit.
        """
        scores = self.predict(X)
        return 1.0 - ranking_measures(np.asarray(y), scores, _queries(qid, group, len(scores))).loss

    def save(self, path: str | os.PathLike) -> None:
        """Writes the model file of the command line, whose numbers have eight digits."""
        self._write(path, LinearModel(self.coef_, 0.0))


def _queries(qid: Any, group: Any, n: int) -> NDArray[np.int64]:
    """The query (n,) of every row."""
    if qid is not None and group is not None:
        raise UsageError("qid and group say the same; leave one of them out")
    if group is not None:
        sizes = np.asarray(group)
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 0).any():
            raise DataError("group", "is no list of whole numbers, the rows of each query")
        if sizes.sum() != n:
            raise DataError("group", f"adds up to {sizes.sum()} rows; expected {n}, those of X")
        return np.repeat(np.arange(len(sizes)), sizes)
    if qid is None:
        raise DataError(
            "qid",
            "is missing; give the query of every row, or group, the rows of each (in "
            "cross-validation with metadata routing: "
            "set_fit_request(qid=True), set_score_request(qid=True))",
        )
    if np.shape(qid) != (n,):
        raise DataError("qid", f"has shape {np.shape(qid)}; expected ({n},), one query a row")
    return np.unique(qid, return_inverse=True)[1].astype(np.int64)
