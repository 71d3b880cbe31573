# SPDX-License-Identifier: BSD-3-Clause
"""LinearSVM and LinearSVMRegressor as sklearn.svm.LinearSVC and LinearSVR."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from svmcut.errors import UsageError
from svmcut.estimators.base import Trained
from svmcut.estimators.linear import LinearSVM
from svmcut.estimators.named import finite_cost, given_tube
from svmcut.estimators.regression import LinearSVMRegressor
from svmcut.spec.catalog import AUTO

if TYPE_CHECKING:
    from typing import Self

    from svmcut.data.examples import Csr

#: Losses that LIBLINEAR has a primal solver for.
PRIMAL = ("squared-hinge", "squared-epsilon-insensitive")


class _Liblinear(Trained):
    """What LinearSVC and LinearSVR share: `dual` chooses the solver, coefficients may be sparse."""

    C: float
    dual: Any
    loss: str
    penalty: str = "l2"
    l1_ratio: float = 0.5
    coef_: Any
    n_jobs = None
    solver = AUTO
    probability = False

    def _chosen(self) -> dict[str, Any]:
        """The solver that `dual` asks for, and C.

        Raises
        ------
        UsageError
            For a combination that LIBLINEAR does not have either.
        """
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
        from scipy.sparse import csr_matrix

        check_is_fitted(self)
        self.coef_ = csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """coef_ as an array."""
        check_is_fitted(self)
        self.coef_ = self.coef_.toarray() if hasattr(self.coef_, "toarray") else self.coef_
        return self


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
        As of LinearSVM.

    Examples
    --------
    >>> from svmcut.compat import LinearSVC
    >>> machine = LinearSVC(C=1.0).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]], ["no", "yes", "yes"])
    >>> machine.predict([[3.0, 0.0]]).tolist(), machine.converged_
    (['yes'], True)
    """

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = AUTO,
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
    ):
        self.penalty, self.loss, self.dual, self.tol, self.C = penalty, loss, dual, tol, C
        self.multi_class, self.fit_intercept = multi_class, fit_intercept
        self.intercept_scaling, self.class_weight = intercept_scaling, class_weight
        self.verbose, self.random_state, self.max_iter = verbose, random_state, max_iter

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        found = super()._parameters(rows)
        if "multiclass" in found:  # LIBLINEAR's loss of all classes at once is the hinge
            return found | self._chosen() | {"loss": "error-rate", "solver": AUTO}
        return found | self._chosen()


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

    tube = 0.0

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: Any = AUTO,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
    ):
        self.epsilon, self.tol, self.C, self.loss = epsilon, tol, C, loss
        self.fit_intercept, self.intercept_scaling = fit_intercept, intercept_scaling
        self.dual, self.verbose = dual, verbose
        self.random_state, self.max_iter = random_state, max_iter

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        return super()._parameters(rows) | self._chosen() | {"tube": given_tube(self.epsilon)}
