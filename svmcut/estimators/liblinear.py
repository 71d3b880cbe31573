# SPDX-License-Identifier: BSD-3-Clause
"""LinearSVM and LinearSVMRegressor as sklearn.svm.LinearSVC and LinearSVR."""

from __future__ import annotations

from dataclasses import dataclass, field

from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted

from svmcut.base.errors import UsageError
from svmcut.base.typing import Any, Self
from svmcut.data.examples import Csr
from svmcut.estimators.base import Trained, finite_cost, given_tube
from svmcut.estimators.linear import LinearSVM
from svmcut.estimators.regression import LinearSVMRegressor
from svmcut.spec.catalog import AUTO
from svmcut.spec.entries import L2

#: Losses that LIBLINEAR has a primal solver for.
PRIMAL = ("squared-hinge", "squared-epsilon-insensitive")


@dataclass(kw_only=True, repr=False, eq=False)
class _Liblinear(Trained):
    """Common parts of LinearSVC and LinearSVR: `dual` chooses the solver, coefficients may be
    sparse."""

    C: float = 1.0
    loss: str = field(init=False)
    penalty: str = field(default=L2, init=False)
    dual: Any = AUTO
    coef_: Any = field(init=False)
    tol: float = 1e-4
    max_iter: int | None = 1000
    l1_ratio: float = field(default=0.5, init=False)
    free_intercept: bool = field(default=False, init=False)
    warm_start: bool = field(default=False, init=False)
    solver: str = field(default=AUTO, init=False)
    n_jobs: int | None = field(default=None, init=False)

    def _chosen_settings(self) -> dict[str, Any]:
        """Return the solver that `dual` asks for, and C; raise UsageError for a combination that
        LIBLINEAR does not have either."""
        loss = self.loss.replace("_", "-")
        if self.dual not in (True, False, AUTO):
            raise UsageError("dual={!r} is unknown; expected True, False or 'auto'", self.dual)
        if self.penalty == "l1" and (self.dual is True or loss not in PRIMAL):
            raise UsageError(
                "penalty='l1', loss={!r} and dual={!r} do not go together; "
                "expected loss='squared_hinge' and dual=False",
                self.loss,
                self.dual,
            )
        if self.dual is False and loss not in PRIMAL:
            raise UsageError("loss={!r} needs dual=True or 'auto', not dual=False", self.loss)
        names = {True: "dual-cd", False: "newton", AUTO: AUTO}
        solver = AUTO if self.penalty == "l1" else names[self.dual]
        return {"solver": solver, "example_cost": finite_cost(self.C), "gap": self.tol / 10}

    def sparsify(self) -> Self:
        """coef_ as a csr_matrix."""
        check_is_fitted(self)
        self.coef_ = csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """coef_ as an array."""
        check_is_fitted(self)
        self.coef_ = self.coef_.toarray() if hasattr(self.coef_, "toarray") else self.coef_
        return self


@dataclass(kw_only=True, repr=False, eq=False)
class LinearSVC(_Liblinear, LinearSVM):
    """LinearSVM with the signature of sklearn.svm.LinearSVC.

    Parameters
    ----------
    penalty : {"l2", "l1"}
    loss : {"squared_hinge", "hinge"}
    dual : bool or "auto"
        True for dual coordinate descent, False for Newton's method or, with l1, that on columns;
        "auto" for the fastest.
    tol : float
        Training ends where the gap is at most a tenth of this part of the primal value: a promise
        about the objective, which LIBLINEAR's own tol is not.
    C, multi_class, fit_intercept, intercept_scaling, class_weight, verbose, random_state
        As of LinearSVM.
    max_iter : int
        Steps of the solver.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, primal_, dual_, gap_, converged_, solver_
        As of LinearSVM; of more than two, classes whose rows weigh nothing stay, as in
        scikit-learn, and score below 0.

    Examples
    --------
    >>> from svmcut.compat import LinearSVC
    >>> machine = LinearSVC(C=1.0).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]], ["no", "yes", "yes"])
    >>> machine.predict([[3.0, 0.0]]).tolist(), machine.converged_
    (['yes'], True)
    """

    keeps_classes = True

    penalty: str = field(default="l2", kw_only=False)
    loss: str = field(default="squared_hinge", kw_only=False)
    probability: bool = field(default=False, init=False)

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        values = super()._parameters(rows)
        if "multiclass" in values:  # LIBLINEAR's loss of all classes at once is the hinge
            return values | self._chosen_settings() | {"loss": "error-rate", "solver": AUTO}
        return values | self._chosen_settings()


@dataclass(kw_only=True, repr=False, eq=False)
class LinearSVR(_Liblinear, LinearSVMRegressor):
    """LinearSVMRegressor with the signature of sklearn.svm.LinearSVR.

    Parameters
    ----------
    epsilon : float
        Errors up to this cost nothing.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
    tol, dual, max_iter
        As of LinearSVC.
    C, fit_intercept, intercept_scaling, verbose, random_state
        As of LinearSVM.

    Attributes
    ----------
    coef_, intercept_, n_iter_, primal_, dual_, gap_, converged_, solver_
        As of LinearSVMRegressor.

    Examples
    --------
    >>> from svmcut.compat import LinearSVR
    >>> machine = LinearSVR(C=10.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> machine.predict([[3.0]]).round(1).tolist()
    [7.0]
    """

    loss: str = "epsilon_insensitive"
    epsilon: float = 0.0
    tube: float = field(default=0.0, init=False)

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        return (
            super()._parameters(rows) | self._chosen_settings() | {"tube": given_tube(self.epsilon)}
        )
