# SPDX-License-Identifier: BSD-3-Clause
"""Machines of nu as sklearn.svm.NuSVC, NuSVR and OneClassSVM."""

from __future__ import annotations

from dataclasses import dataclass, field

from svmcut.estimators import one_class
from svmcut.estimators.libsvm import SVC, SVR, Attributes
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data.examples import Csr


@dataclass(kw_only=True, repr=False, eq=False)
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

    nu: float | None = 0.5
    C: float = field(default=1.0, init=False)


@dataclass(kw_only=True, repr=False, eq=False)
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

    nu: float | None = 0.5
    epsilon: float = field(default=0.0, init=False)


@dataclass(kw_only=True, repr=False, eq=False)
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

    def _attribute(self, beta: NDArray) -> None:
        self._attribute_one(beta)

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        values = super()._parameters(rows)
        return {name: value for name, value in values.items() if name not in one_class.LACKS}

    def decision_function(self, X: Any) -> NDArray:
        """Scores (n,), at least 0 inside."""
        if getattr(self, "_linear", False):
            return self._linear_scores(X)[:, 0]
        return super().decision_function(X)
