# SPDX-License-Identifier: BSD-3-Clause
"""Machines of nu as sklearn.svm.NuSVC, NuSVR and OneClassSVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svmcut.estimators import one_class
from svmcut.estimators.libsvm import SVC, SVR, Attributes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data.examples import Csr


class NuSVC(SVC):
    """SVC with nu in the place of C: at most this part of the rows is on the wrong side of the
    margin, and at least this part are support vectors.

    Parameters
    ----------
    nu : float
        Above 0 and at most 1; one that the sizes of the classes do not allow is refused.
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, class_weight, verbose,
    max_iter, decision_function_shape, break_ties, random_state
        As of SVC.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, probA_, probB_, n_iter_,
    class_weight_, fit_status_, classes_, shape_fit_, primal_, dual_, gap_, converged_, solver_
        As of SVC.

    Examples
    --------
    >>> from svmcut.compat import NuSVC
    >>> machine = NuSVC(nu=0.5).fit([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    >>> machine.predict([[0, 0], [0, 1]]).tolist()
    [0, 1]
    """

    C = 1.0

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200.0,
        class_weight: Any = None,
        verbose: int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
    ):
        self.nu, self.kernel, self.degree, self.gamma, self.coef0 = nu, kernel, degree, gamma, coef0
        self.shrinking, self.probability, self.tol = shrinking, probability, tol
        self.cache_size, self.class_weight = cache_size, class_weight
        self.verbose, self.max_iter, self.random_state = verbose, max_iter, random_state
        self.decision_function_shape, self.break_ties = decision_function_shape, break_ties


class NuSVR(SVR):
    """SVR with nu in the place of epsilon: at most this part of the rows is outside of the tube.

    Parameters
    ----------
    nu : float
    C, kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter
        As of SVR.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, n_iter_, fit_status_,
    shape_fit_, primal_, dual_, gap_, converged_, solver_
        As of SVR.

    Examples
    --------
    >>> from svmcut.compat import NuSVR
    >>> machine = NuSVR(C=100.0, gamma=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 0.0, -1.0])
    >>> machine.predict([[1.0], [3.0]]).round(1).tolist()
    [1.0, -1.0]
    """

    epsilon = 0.0

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200.0,
        verbose: int = False,
        max_iter: int = -1,
    ):
        self.nu, self.C, self.kernel, self.degree, self.gamma = nu, C, kernel, degree, gamma
        self.coef0, self.shrinking, self.tol = coef0, shrinking, tol
        self.cache_size, self.verbose, self.max_iter = cache_size, verbose, max_iter


class OneClassSVM(Attributes, one_class.OneClassSVM):
    """svmcut.OneClassSVM with the signature and the attributes of sklearn.svm.OneClassSVM.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter
        As of SVC.
    nu : float

    Attributes
    ----------
    offset_ : (1,) float64
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, n_iter_, fit_status_,
    shape_fit_, primal_, dual_, gap_, converged_, solver_
        As of SVR.

    Examples
    --------
    >>> from svmcut.compat import OneClassSVM
    >>> machine = OneClassSVM(nu=0.4, gamma=1.0).fit([[0.0], [0.1], [0.2], [0.3], [4.0]])
    >>> machine.predict([[0.15], [9.0]]).tolist()
    [1, -1]
    """

    random_state = None

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200.0,
        verbose: int = False,
        max_iter: int = -1,
    ):
        self.kernel, self.degree, self.gamma, self.coef0 = kernel, degree, gamma, coef0
        self.tol, self.nu, self.shrinking = tol, nu, shrinking
        self.cache_size, self.verbose, self.max_iter = cache_size, verbose, max_iter

    def _attribute(self, beta: NDArray) -> None:
        self._attribute_one(beta)

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        found = super()._parameters(rows)
        return {name: value for name, value in found.items() if name not in one_class.LACKS}

    def decision_function(self, X: Any) -> NDArray:
        """Scores (n,), at least 0 inside."""
        if getattr(self, "_linear", False):
            return self._linear_scores(X)[:, 0]
        return super().decision_function(X)
