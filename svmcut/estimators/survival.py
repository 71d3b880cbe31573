# SPDX-License-Identifier: BSD-3-Clause
"""Linear machines of times until an event."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from svmcut.base.errors import DataError
from svmcut.base.records import replace
from svmcut.base.typing import Any, Self
from svmcut.data.examples import Examples, Source
from svmcut.estimators.base import Trained, threads_of, weights_of, whole
from svmcut.models import LinearModel
from svmcut.scoring.survival import check_times, survival_measures
from svmcut.spec.catalog import TASKS


@dataclass(kw_only=True, repr=False, eq=False)
class SurvivalSVM(Trained):
    """Risks in the order of times until an event, some of them censored, with a certificate.

    Minimises 1/2 w'w + C n times the mean over comparable pairs of the hinge loss of their margin,
    or of its square.

    Parameters
    ----------
    C : float
        With the squared hinge the problem is that of scikit-survival's FastSurvivalSVM with
        rank_ratio=1 and alpha = 2 C n / pairs, n examples and so many comparable pairs.
    loss : {"squared-hinge", "hinge"}
    tol, solver, max_iter, n_jobs, random_state, verbose
        As of LinearSVM.

    Attributes
    ----------
    coef_ : (d,) float64
        A higher score is a higher risk, an earlier event.
    primal_, dual_, gap_, converged_, solver_, n_iter_
        As of LinearSVM.

    Examples
    --------
    >>> import numpy as np
    >>> from svmcut import SurvivalSVM
    >>> y = np.array([(True, 2.0), (True, 5.0), (False, 4.0)], [("event", bool), ("time", float)])
    >>> SurvivalSVM(random_state=0).fit([[3.0], [1.0], [2.0]], y).score([[3.0], [1.0], [2.0]], y)
    1.0
    """

    task = "survival"

    C: float = field(default=1.0, kw_only=False)
    loss: str = "squared-hinge"

    @whole
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Trains on rows X (n, d), their times y, and what they weigh.

        Parameters
        ----------
        y : (n,)
            A structured array of an event, bool, and a time, as scikit-survival has it, or times
            that are negative where censored.

        Raises
        ------
        ValueError, MemoryError
            That say what to do.
        """
        X, times = self._validate(X), times_of(y)
        check_consistent_length(X, times)
        rows = self._training_rows(X)
        settings = self._settings(example_cost=self.C, loss=self.loss)
        data = Examples(rows, times, None, None, Source("X")).validate()
        check_times(times, "y")
        own, data = self._apply_weights(data, settings, sample_weight)
        outcome = self._run(own, data, settings)
        self.coef_ = weights_of(outcome.model, self.n_features_in_)
        return self._certify([outcome])

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Risks (n,): the higher, the earlier the event."""
        rows = self._rows(X)
        return self._model().scores(rows, threads_of(self.n_jobs))

    def score(self, X: Any, y: Any) -> float:
        """Harrell's c of the risks of rows X and their times y, as `fit` takes them."""
        return 1.0 - survival_measures(times_of(y), self.predict(X)).loss

    def save(self, path: str | os.PathLike) -> None:
        """Writes the model file of the command line, whose numbers have eight digits."""
        check_is_fitted(self)
        self._write(path, self._model())

    def _model(self) -> LinearModel:
        known = [row.name for row in TASKS[self.task].losses]
        name = next(name for name in known if name.endswith(f"-{self.loss.replace('_', '-')}"))
        return replace(LinearModel(self.coef_, 0.0), loss=name)


def times_of(y: Any) -> NDArray[np.float64]:
    """(n,) times, negative where censored, of those or of a structured array of event and time.

    Raises
    ------
    DataError
        For an array of other fields, or a time that is not above 0.
    """
    y = np.asarray(y)
    if y.dtype.names is None:
        if y.ndim != 1 or y.dtype.kind not in "fiu":
            raise DataError("y", "is no array of times; give times, negative where censored")
        return np.ascontiguousarray(y, np.float64)
    kinds = {y.dtype[name].kind: name for name in y.dtype.names}
    if len(y.dtype.names) != 2 or "b" not in kinds or len(kinds) != 2:
        raise DataError("y", "has other fields; expected an event, bool, and a time")
    (kind,) = set(kinds) - {"b"}
    times = np.asarray(y[kinds[kind]], np.float64)
    if not (np.isfinite(times) & (times > 0)).all():
        raise DataError("y", "has a time that is not above 0; give times above 0")
    return np.where(y[kinds["b"]], times, -times)
