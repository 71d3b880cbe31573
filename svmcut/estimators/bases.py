# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's classes that estimators are made of.

mypy finds no types in scikit-learn; a class of unknown parents may take any parameter and have any
attribute to it. So it alone reads here what those parents offer, and finds slips in users' scripts.
"""

from __future__ import annotations

from svmcut.typing import Any

MYPY = False  # but to mypy
if MYPY:
    from typing import Self

    from numpy.typing import NDArray

    class BaseEstimator:
        n_features_in_: int
        feature_names_in_: NDArray

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def set_fit_request(self, **routed: Any) -> Self: ...
        def set_score_request(self, **routed: Any) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...
        def __getstate__(self) -> Any: ...

    class ClassifierMixin:
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class RegressorMixin(ClassifierMixin): ...

    class OutlierMixin:
        def fit_predict(self, X: Any, y: Any = None, **routed: Any) -> NDArray: ...

else:
    from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin

__all__ = ["BaseEstimator", "ClassifierMixin", "OutlierMixin", "RegressorMixin"]
