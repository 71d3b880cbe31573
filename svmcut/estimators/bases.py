# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's classes that estimators are made of.

mypy finds no types in scikit-learn; a class of unknown parents may take any parameter and have any
attribute to it. So it alone reads here what those parents offer, and finds slips in users' scripts.

What machines share that have scikit-learn's names.

Parameters that several estimators have, with their defaults: fields of dataclasses.

scikit-learn, editors and type checkers read them from the signature that dataclasses make. All go
by keyword but those with kw_only=False; what a class does not offer of its parents has init=False.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass

from svmcut.base.errors import UsageError
from svmcut.base.typing import Any
from svmcut.spec.catalog import AUTO
from svmcut.spec.entries import L2

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


#: C in the place of infinity.
HARD = 1e10


def finite_cost(C: Any) -> Any:
    """C, and a large one for infinity."""
    return HARD if isinstance(C, float) and math.isinf(C) and C > 0 else C


def given_tube(epsilon: Any) -> Any:
    """The tube that epsilon is; refused where it is none."""
    if not (isinstance(epsilon, numbers.Real) and 0 <= float(epsilon) < math.inf):
        raise UsageError("epsilon={!r} is not a finite number of at least 0", epsilon)
    return epsilon


@dataclass(kw_only=True, repr=False, eq=False)
class Running:
    """Parameters of training and its end."""

    tol: float = 1e-3
    solver: str = AUTO
    max_iter: int | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0


@dataclass(kw_only=True, repr=False, eq=False)
class Intercept:
    """The constant feature of linear machines."""

    fit_intercept: bool = True
    intercept_scaling: float = 1.0


@dataclass(kw_only=True, repr=False, eq=False)
class Penalised:
    """Parameters of the penalty of weights."""

    penalty: str = L2
    l1_ratio: float = 0.5
    free_intercept: bool = False


@dataclass(kw_only=True, repr=False, eq=False)
class OfKernels:
    """A kernel and the memory for its values."""

    kernel: Any = "rbf"
    degree: int = 3
    gamma: Any = "scale"
    coef0: float = 0.0
    cache_size: float = 200.0


@dataclass(kw_only=True, repr=False, eq=False)
class Expanded:
    """Kernel machines, exact, in a subspace and on a budget."""

    budget: int = 500
    basis: int = 500
    epochs: float | None = None
    fit_intercept: bool | None = None
    nu: float | None = None
