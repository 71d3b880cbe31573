# SPDX-License-Identifier: BSD-3-Clause
"""Kernel machines of classes and of numbers: exact, in a subspace, on a budget."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from svmcut.base.errors import DataError, UsageError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.typing import Any, Self
from svmcut.data.arrays import as_rows
from svmcut.data.examples import Csr, find_distinct_rows
from svmcut.data.offset_features import MAX_ROUNDING, find_offset_features
from svmcut.estimators.base import (
    MULTI_CLASS,
    Expanded,
    OfKernels,
    Trained,
    own_words,
    threads_of,
    whole,
)
from svmcut.estimators.classes import Machines, has_probability
from svmcut.estimators.regression import Regressor
from svmcut.models import KernelMulticlassModel, ScoringModel
from svmcut.models.kernels import resolve_gamma
from svmcut.scoring.probabilities import couple_pairs
from svmcut.spec import catalog
from svmcut.spec.catalog import AUTO, BASIS_KINDS, PRECOMPUTED, SMO, SOLVERS
from svmcut.spec.parameters import Settings
from svmcut.training.outcome import Outcome
from svmcut.training.settings import choose_kernel_solver

#: Of Regressor.
TASK_OF_NUMBERS = Regressor.task
#: Kernels and their names in svmcut.spec.catalog.KERNELS.
KERNELS = {{"polynomial": "poly"}.get(name, name): name for name in catalog.KERNELS}


class Expansions(OfKernels, Trained):
    """Common parts of machines of kernels: parameters, and sums over support vectors.

    Attributes
    ----------
    support_vectors_ : csr_matrix
    dual_coef_ : (machines, support vectors) float64
    intercept_ : (machines,) float64
    """

    C: float
    nu: float | None = None
    budget: int
    basis: int
    basis_kind: str = BASIS_KINDS[0]
    epochs: float | None
    fit_intercept: bool | None
    n_features_in_: int
    _kernel_machines: list[Any]
    _gamma: Any
    _rows_fit: Any = None
    _shift: NDArray[np.float64] | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == PRECOMPUTED
        return tags

    def _training_rows(self, X: Any) -> Csr:
        if callable(self.kernel):
            self._rows_fit, self._shift, self._column_means = X, None, None
            return as_rows(self._values(X))
        self._shift = self._far(X)
        rows = super()._training_rows(X if self._shift is None else X - self._shift)
        if self.kernel == PRECOMPUTED:  # whose columns are rows of training
            self._column_means = None
        self._gamma = _gamma(self.gamma, X, rows)
        return rows

    def _far(self, X: Any) -> NDArray[np.float64] | None:
        """The (d,) that is subtracted from every row, which changes no value of a kernel of
        distances: the mean of columns that 32 bits would round by much of their spread."""
        row = catalog.KERNELS.get(KERNELS.get(self.kernel, ""))
        if row is None or not row.of_distances or hasattr(X, "tocsr") or X.dtype != np.float64:
            return None
        columns = [
            feature.column for feature in find_offset_features(X) if feature.part > MAX_ROUNDING
        ]
        if not columns:
            return None
        shift = np.zeros(X.shape[1])
        shift[columns] = X[:, columns].mean(axis=0)
        return shift

    def _validate(self, X: Any, **options: Any) -> Any:
        """Validates rows as scikit-learn does; a callable kernel may take other things than
        numbers."""
        if not callable(self.kernel) or hasattr(X, "tocsr"):
            return super()._validate(X, **options)
        given = np.asarray(X)
        if given.dtype.kind not in "OUS":
            return super()._validate(X, **options)
        if "y" not in options:
            return given
        check_consistent_length(given, options["y"])
        return given, column_or_1d(options["y"], warn=True)

    def _values(self, X: Any) -> NDArray:
        """(n, m) of the callable kernel, of rows with those of training."""
        given, m = self.kernel(X, self._rows_fit), self._rows_fit.shape[0]
        values = np.asarray(given.toarray() if hasattr(given, "toarray") else given)
        if values.shape != (X.shape[0], m):
            raise DataError(
                "kernel",
                f"gave an array of shape {values.shape} for {X.shape[0]} rows; expected a value "
                f"of each with each of the {m} of training",
            )
        return values

    def _rows(self, X: Any) -> Csr:
        if not callable(self.kernel) and self._shift is None:
            return super()._rows(X)
        check_is_fitted(self)
        with own_words():
            X = self._validate(X, reset=False)
            if callable(self.kernel):
                return as_rows(self._values(X)).validate()
            return as_rows((X.toarray() if hasattr(X, "tocsr") else X) - self._shift).validate()

    def _check_saved(self) -> None:
        super()._check_saved()
        if self._shift is not None:
            raise DataError(
                "X",
                f"column {int(np.flatnonzero(self._shift)[0])} was centred, as its values are far "
                "from 0, and a model file has no place for that; scale the columns before fit, as "
                "StandardScaler does, or keep the estimator with pickle",
            )

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        if not callable(self.kernel) and self.kernel not in KERNELS:
            raise UsageError(
                "kernel {!r} is unknown; expected one of {}, or a callable",
                self.kernel,
                ", ".join(KERNELS),
            )
        kernel = PRECOMPUTED if callable(self.kernel) else KERNELS[self.kernel]
        values: dict[str, Any] = {
            "example_cost": self.C,
            "kernel": kernel,
            "cache_size": self.cache_size,
            "budget": self.budget,
            "basis": self.basis,
            "epochs": self.epochs,
        } | ({"probability": True} if getattr(self, "probability", False) else {})
        if self.basis_kind != BASIS_KINDS[0]:
            values["basis_kind"] = self.basis_kind
        own = {"gamma": "_gamma", "scale_kernel": "_gamma"}
        values |= {
            name: getattr(self, own.get(name, name)) for name in catalog.KERNELS[kernel].takes
        }
        solver = self.solver
        if self.nu is not None:
            values["nu"] = self.nu
            if self.task != TASK_OF_NUMBERS:  # nu stands in the place of C
                del values["example_cost"]
        if solver == AUTO and (self.nu is not None or kernel == PRECOMPUTED):
            values["solver"] = solver = SMO
        if kernel == "linear" or (self.solver == AUTO and self.basis_kind == BASIS_KINDS[0]):
            values["solver"] = solver = choose_kernel_solver(self.solver, rows.n_rows, True)
        row, free = SOLVERS.get(solver), self.fit_intercept
        if row is not None and row.steps and "gap" not in row.takes and self.tol == 1e-3:
            values["gap"] = None
        if free is not None or (row is not None and row.free_bias):
            values["free_bias"] = bool(row and row.free_bias) if free is None else free
        return values

    def _keep(self, outcomes: list[Outcome], settings: Settings) -> None:
        super()._keep(outcomes, settings)
        self._kernel_machines = [outcome.model for outcome in outcomes]
        self.intercept_ = np.concatenate(
            [0.0 - np.atleast_1d(machine.b) for machine in self._kernel_machines]
        )

    def _machines(self) -> list[ScoringModel]:
        return self._kernel_machines

    @property
    def support_vectors_(self) -> csr_matrix:
        """The support vectors of all machines, each once."""
        vectors = self._expansion()[0]
        return vectors if self._shift is None else type(vectors)(vectors.toarray() + self._shift)

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """Coefficients of the support vectors in each machine, labels included."""
        return self._expansion()[1]

    def _expansion(self) -> tuple[csr_matrix, NDArray[np.float64]]:
        parts, machine_of, alphas = [], [], []
        first = self._kernel_machines[0]
        if isinstance(first, KernelMulticlassModel):
            coef = np.zeros((len(first.b), first.support.n_rows))
            coef[np.repeat(np.arange(len(first.b)), np.diff(first.starts)), first.places] = (
                first.alpha
            )
            return self._widen(first), coef
        for k, machine in enumerate(self._kernel_machines):
            parts.append(self._widen(machine))
            machine_of.append(np.full(len(machine.alpha), k))
            alphas.append(machine.alpha)
        rows = vstack(parts, "csr")
        places, firsts = find_distinct_rows(rows.indptr, rows.indices, rows.data)
        coef = np.zeros((len(parts), len(firsts)))
        np.add.at(coef, (np.concatenate(machine_of), places), np.concatenate(alphas))
        return rows[firsts], coef

    def _widen(self, machine: Any) -> csr_matrix:
        """Support vectors in the columns of X."""
        part = machine.support.to_scipy()
        columns = part.indices if machine.columns is None else machine.columns[part.indices]
        width = part.shape[1] if callable(self.kernel) else self.n_features_in_
        return csr_matrix((part.data, columns, part.indptr), (part.shape[0], width))


@dataclass(kw_only=True, repr=False, eq=False)
class KernelSVM(Expanded, Expansions, Machines):
    """Support vector machines with a kernel and a certificate: 1/2 |f|^2 + C sum_i v_i max(0, 1 -
    y_i f(x_i)).

    Parameters
    ----------
    C : float
        Weighs the loss of one example, as in SVC.
    kernel : {"rbf", "poly", "sigmoid", "linear", "precomputed"} or callable
        precomputed: X is a matrix of kernel values, in fit of every row with every row, else with
        every row of training. A callable gives such a matrix of two sets of rows.
    nu : float or None
        The nu of nu-SVC, in the place of C: at most this part of the rows is on the wrong side of
        the margin; the gap is that of LIBSVM's problem.
    degree : int
    gamma : float, "scale" or "auto"
        As in SVC: 1 / (d variance of X), 1 / d.
    coef0 : float
    solver : str
        One of ``svmcut learn --solver`` for kernels: smo and cutting-plane are exact, subspace,
        sampled-cuts, bsca, bsgd and others choose some rows; "auto" is smo, and subspace from
        50,000 rows on.
    budget, basis : int
        Most support vectors of bsca and bsgd; most basis vectors of a subspace.
    basis_kind : {"pivoted", "even", "fourier"}
        What spans a subspace: rows, or of the rbf kernel random Fourier features, which leave no
        support vectors.
    epochs : float or None
        Passes of solvers that go step by step, which end after them and not by tol.
    cache_size : float
        Megabytes of kernel values kept.
    tol : float
        Training ends where the gap is at most this part of the primal value.
    fit_intercept : bool or None
        A bias that is not regularised, as in SVC; None where the solver has one: smo and sbp.
    multi_class : {"ovr", "ovo"}
        Of more than two classes a machine for each, against the rest, whose scores decide; or one
        for every pair, whose votes do, as in SVC.
    max_iter : int or None
        Of more than two classes so many for every machine on the average.
    class_weight, probability, n_jobs, random_state, verbose
        As of LinearSVM.

    Attributes
    ----------
    support_vectors_ : csr_matrix
    dual_coef_ : (machines, support vectors) float64
        Of pairs (0, 1), (0, 2), .., (1, 2), .. of classes_; above 0 is for the first.
    intercept_ : (machines,) float64
    classes_, primal_, dual_, gap_, converged_, solver_, n_iter_
        As of LinearSVM. What no bound is known of has a dual_ of nan.

    Examples
    --------
    >>> from svmcut import KernelSVM
    >>> machine = KernelSVM(C=10.0).fit([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    >>> machine.predict([[0, 0], [0, 1]]).tolist(), machine.solver_
    ([0, 1], 'smo')
    """

    C: float = field(default=1.0, kw_only=False)
    basis_kind: str = BASIS_KINDS[0]
    class_weight: Any = None
    multi_class: str = "ovr"
    probability: bool = False

    @whole
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fits the model; see LinearSVM.fit."""
        return self._fit(X, y, sample_weight, self.class_weight)

    def _of_several(self, settings: Settings, n_classes: int) -> Settings:
        """Machines share what they can but where each has probabilities of its own."""
        if self.multi_class not in (known := list(MULTI_CLASS)[1:]):
            raise UsageError(
                "multi_class {!r} is unknown; expected one of {}",
                self.multi_class,
                ", ".join(known),
            )
        paired = self.multi_class == known[1]
        if n_classes == 2 or (self.probability and not paired):
            return settings
        machines = n_classes * (n_classes - 1) // 2 if paired else n_classes
        most = None if settings.max_iterations is None else settings.max_iterations * machines
        return replace(
            settings,
            task="multiclass",
            multiclass=MULTI_CLASS[self.multi_class],
            max_iterations=most,
        )

    def predict(self, X: Any) -> NDArray:
        """The class (n,) of every row."""
        rows = self._rows(X)
        if len(self._kernel_machines) > 1:
            return super().predict(X)
        model: Any = self._kernel_machines[0]
        scores = model.label_scores(rows, threads_of(self.n_jobs))
        largest = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[largest.astype(np.intp)]

    @available_if(has_probability)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities (n, K) of the classes, in the order of classes_; with probability=True.

        Of pairs those of their sigmoids, coupled.
        """
        model: Any = getattr(self, "_kernel_machines", [None])[0]
        if not getattr(model, "paired", False):
            return super().predict_proba(X)
        rows = self._rows(X)
        self._check_calibrated()
        decisions = model.decisions(rows, threads_of(self.n_jobs))
        return couple_pairs(decisions, model.sigmoids, len(self.classes_))

    def _of_classes(self, names: NDArray[np.float64]) -> KernelMulticlassModel:
        model = self._kernel_machines[0]
        if len(self._kernel_machines) > 1:
            raise ValueError(
                Message(
                    "a model file of kernels has no probabilities of more than two classes; fit "
                    "with "
                    "{probability=False}, or keep the estimator with pickle"
                )
            )
        return replace(model, names=names)


@dataclass(kw_only=True, repr=False, eq=False)
class KernelSVMRegressor(Expanded, Expansions, Regressor):
    """Regression with a kernel and a certificate: 1/2 |f|^2 + C sum_i v_i max(0, |y_i - f(x_i)| -
    tube).

    Parameters
    ----------
    C : float
        Weighs the loss of one example, as in SVR.
    kernel, degree, gamma, coef0, budget, basis, epochs, cache_size, tol, max_iter, n_jobs,
    random_state, verbose
        As of KernelSVM.
    tube : float
        Errors up to this cost nothing: SVR's epsilon.
    nu : float or None
        The nu of nu-SVR, in the place of the tube: at most this part of the rows is outside of it.
    solver : str
        One of ``svmcut learn --task regression --solver`` for kernels; "auto" is smo, and subspace
        from 50,000 rows on.
    fit_intercept : bool or None
        A bias that is not regularised, as in SVR; None where the solver has one: smo.

    Attributes
    ----------
    support_vectors_ : csr_matrix
    dual_coef_ : (1, support vectors) float64
    intercept_, primal_, dual_, gap_ : (1,) float64
    converged_, solver_, n_iter_
        As of LinearSVM. What no bound is known of has a dual_ of nan.

    Examples
    --------
    >>> from svmcut import KernelSVMRegressor
    >>> machine = KernelSVMRegressor(C=100.0, gamma=1.0)
    >>> _ = machine.fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 0.0, -1.0])
    >>> machine.predict([[1.0], [3.0]]).round(1).tolist(), machine.solver_
    ([0.9, -0.9], 'smo')
    """

    C: float = field(default=1.0, kw_only=False)
    tube: float = 0.1

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        values = super()._parameters(rows)
        return values if self.nu is not None else values | {"tube": self.tube}


def _gamma(gamma: Any, X: Any, rows: Csr) -> Any:
    """SVC's gamma for X, whose numbers the rows have in 32 bits."""
    values = None
    if X.dtype == np.float64 and not hasattr(X, "tocsr"):
        values = X.ravel()
    elif X.dtype == np.float64 and X.nnz == rows.nnz:
        values = X.tocsr().data
    return resolve_gamma(gamma, rows, values)
