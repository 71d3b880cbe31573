# SPDX-License-Identifier: BSD-3-Clause
"""Parameters that several estimators have, with their defaults: fields of dataclasses.

scikit-learn, editors and type checkers read them from the signature that dataclasses make. All go
by keyword but those with kw_only=False; what a class does not offer of its parents has init=False.
"""

from __future__ import annotations

from dataclasses import dataclass

from svmcut.spec.catalog import AUTO
from svmcut.spec.entries import L2
from svmcut.typing import Any


@dataclass(kw_only=True, repr=False, eq=False)
class Running:
    """How training goes and ends."""

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
    """What weights cost."""

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
