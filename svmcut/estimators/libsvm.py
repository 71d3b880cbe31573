# SPDX-License-Identifier: BSD-3-Clause
"""KernelSVM and KernelSVMRegressor as sklearn.svm.SVC and SVR.

Machines of nu as sklearn.svm.NuSVC, NuSVR and OneClassSVM.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from svmcut.base.errors import UsageError
from svmcut.base.typing import Any, Self
from svmcut.data.arrays import to_weights
from svmcut.data.examples import Csr
from svmcut.estimators import one_class
from svmcut.estimators.base import columns_of, finite_cost, given_tube, machines_of, warn
from svmcut.estimators.classes import class_weights, has_probability
from svmcut.estimators.kernel import Expansions, KernelSVM, KernelSVMRegressor
from svmcut.models import pairs_of
from svmcut.scoring.probabilities import couple_pairs, two_class_probabilities
from svmcut.spec.catalog import AUTO, BASIS_KINDS
from svmcut.spec.kinds import BALANCED
from svmcut.spec.parameters import Settings
from svmcut.tasks.protocol import Task
from svmcut.tasks.weights import balanced_weights
from svmcut.training.compiled_machines import rows_of_machines
from svmcut.training.gate import WEAK_CERTIFICATE
from svmcut.training.outcome import Outcome


@dataclass(kw_only=True, repr=False, eq=False)
class Attributes(Expansions):
    """Common parts of SVC and SVR: attributes by row, and the KKT conditions to tol as the rule
    that ends training."""

    unsaid = (WEAK_CERTIFICATE,)  # the rule is the conditions, not that gap
    shrinking: bool = True
    converged_: bool = field(init=False)
    n_support_: NDArray[np.int32] = field(init=False)
    n_iter_: Any = field(init=False)
    _given: Any = field(init=False)
    _codes: NDArray = field(init=False)
    _rowed: tuple[NDArray, Any] = field(init=False)
    _coef: Any = field(init=False)
    verbose: int = False
    max_iter: int | None = -1
    solver: str = field(default=AUTO, init=False)
    budget: int = field(default=500, init=False)
    basis: int = field(default=500, init=False)
    epochs: float | None = field(default=None, init=False)
    fit_intercept: bool | None = field(default=None, init=False)
    n_jobs: int | None = field(default=None, init=False)
    random_state: Any = field(default=None, init=False)

    def _training_rows(self, X: Any) -> Csr:
        self._given = X
        return super()._training_rows(X)

    def _apply_weights(self, data: Any, settings: Settings, weights: Any) -> tuple[Task, Any]:
        weights = None if weights is None else np.maximum(weights, 0)
        own, left = super()._apply_weights(data, settings, weights)
        all_there = weights is None or len(left.y) == len(data.y)  # those of weight 0 may stay
        kept = np.ones(len(data.y), bool) if all_there else weights > 0
        self._kept, self._codes = np.flatnonzero(kept), left.y
        return own, left

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        if not isinstance(self.shrinking, bool | np.bool_):
            raise UsageError("shrinking={!r} is not True or False", self.shrinking)
        if not self.shrinking:
            warn("shrinking=False has no effect: it would change the time, not the machine")
        values = super()._parameters(rows)
        values |= {"solver": "smo", "free_bias": True, "gap": None, "epsilon": self.tol}
        if "example_cost" in values:
            values["example_cost"] = finite_cost(self.C)
        return values

    def _certify(self, outcomes: list[Outcome]) -> Self:
        super()._certify(outcomes)
        self.fit_status_ = int(not self.converged_)
        self.shape_fit_ = self._given.shape
        self._linear = self.kernel == "linear"
        self._attribute(outcomes[0].multipliers)
        del self._given, self._codes, self._kept
        return self

    def _attribute(self, beta: NDArray[np.float64]) -> None:
        """Sets what is known by row of the multipliers of all machines."""
        raise NotImplementedError

    def _attribute_one(self, beta: NDArray[np.float64]) -> None:
        """The same of one machine without classes."""
        support = np.flatnonzero(beta)
        self.n_support_ = np.array([len(support)], np.int32)
        self._set_support(support, beta[None, support])
        self._set_coef()

    def _set_support(self, rows: NDArray, coef: NDArray[np.float64]) -> None:
        """Sets the attributes of support vectors, rows of what was trained on, with coefficients
        (k, m)."""
        self.support_ = self._kept[rows].astype(np.int32)
        vectors: Any = self._given[self.support_]
        if hasattr(self._given, "tocsr"):
            vectors, coef = csr_matrix(vectors), csr_matrix(coef)
        self._rowed = vectors, coef

    def _set_coef(self) -> None:
        """Sets coef_ of the linear kernel, the weights that were certified."""
        if not self._linear:
            return
        model = self._kernel_machines[0]
        weights = np.atleast_2d(model.weights())
        self._coef = coef = np.zeros((len(weights), self.n_features_in_))
        coef[:, columns_of(model, weights.shape[1])] = weights
        if hasattr(self._given, "tocsr"):
            self._coef = csr_matrix(coef)
            coef = self._coef.data
        coef.flags.writeable = False

    @property
    def support_vectors_(self) -> Any:
        """The rows of X with a multiplier above 0, as support_ has them."""
        return self._rowed[0]

    @property
    def dual_coef_(self) -> Any:
        """Their multipliers, labels included."""
        return self._rowed[1]

    @property
    def coef_(self) -> Any:
        """(machines, d) weights of features, of the linear kernel; they cannot be set."""
        if not getattr(self, "_linear", self.kernel == "linear"):
            raise AttributeError("coef_ is of kernel='linear' alone")
        return self._coef

    def _linear_scores(self, X: Any) -> NDArray[np.float64]:
        """(n, machines) of the linear kernel."""
        check_is_fitted(self)
        coef = self._coef.toarray() if hasattr(self._coef, "tocsr") else self._coef
        return self._score_rows(X, coef, self.intercept_)


@functools.cache
def sides(K: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(pairs, K) whether a pair's first of K classes is this one, and its second."""
    pairs = np.array(pairs_of(K))
    parts = np.eye(K)[pairs[:, 0]], np.eye(K)[pairs[:, 1]]
    for part in parts:
        part.flags.writeable = False
    return parts


@dataclass(kw_only=True, repr=False, eq=False)
class SVC(Attributes, KernelSVM):
    """KernelSVM with the signature and the attributes of sklearn.svm.SVC: a machine for every pair
    of classes, whose votes decide.

    Parameters
    ----------
    C, kernel, degree, gamma, coef0, cache_size, class_weight, verbose, random_state
        As of KernelSVM; C=inf is C=1e10.
    shrinking : bool
        Changes nothing: smo shrinks as it likes.
    probability : bool
        A sigmoid for every pair, fitted to scores of five folds, coupled.
    tol : float
        Training ends where the KKT conditions hold to this, as in LIBSVM; gap_ says what that is
        worth.
    max_iter : int
        Steps of every machine on the average; -1 for no limit.
    decision_function_shape : {"ovr", "ovo"}
        Of more than two classes a score each, the votes and at most a third for how clear they
        were; or the scores of the pairs (0, 1), (0, 2), .., (1, 2), ..
    break_ties : bool
        Whether the class of the largest of these scores is predicted, in the place of the first
        with the most votes; with decision_function_shape="ovr".

    Attributes
    ----------
    support_ : (m,) int32
        Rows that are support vectors, those of the first class first.
    support_vectors_ : (m, d)
        Sparse where X was, as dual_coef_ and coef_ are.
    n_support_ : (K,) int32
    dual_coef_ : (K - 1, m)
        In row j - 1 of a vector of class i, and in row i of one of class j, that of the pair i < j.
    coef_ : (pairs, d)
        Of kernel="linear"; read-only.
    intercept_ : (pairs,) float64
    probA_, probB_ : (pairs,) float64
        Of the sigmoids 1 / (1 + exp(A f + B)) of the first class of a pair, for which f is above
        0; none without probability=True.
    n_iter_ : (pairs,) int32
    class_weight_ : (K,) float64
    fit_status_ : int
        0 where training converged.
    classes_, shape_fit_, primal_, dual_, gap_, converged_, solver_
        As of KernelSVM.

    Examples
    --------
    >>> from svmcut.compat import SVC
    >>> machine = SVC(C=10.0).fit([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    >>> machine.predict([[0, 0], [0, 1]]).tolist(), machine.support_.tolist()
    ([0, 1], [0, 1, 2, 3])
    """

    C: float = 1.0
    probability: bool = False
    class_weight: Any = None
    _factors: NDArray[np.float64] = field(init=False)
    _every_class: NDArray = field(init=False)
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    random_state: Any = None
    nu: float | None = field(default=None, init=False)
    basis_kind: str = field(default=BASIS_KINDS[0], init=False)
    multi_class: str = field(default="ovo", init=False)

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        if self.decision_function_shape not in ("ovr", "ovo"):
            shape = self.decision_function_shape
            raise UsageError("decision_function_shape={!r} is neither 'ovr' nor 'ovo'", shape)
        return super()._parameters(rows)

    def _fit(self, X: Any, y: Any, weights: Any = None, class_weight: Any = None) -> Self:
        weights = None if weights is None else np.maximum(weights, 0)
        return super()._fit(X, y, weights, class_weight)

    def _class_weights(self, codes: NDArray, classes: NDArray, class_weight: Any, own: Any) -> Any:
        """Weights of the classes as in scikit-learn's SVC: "balanced" counts rows, whatever they
        weigh."""
        if isinstance(class_weight, str) and class_weight == BALANCED:
            factors = balanced_weights(codes, np.ones(len(codes)))
            weights = factors if own is None else factors * to_weights(own)
        else:
            factors = class_weights(codes, classes, class_weight, None)
            weights = class_weights(codes, classes, class_weight, own)
        firsts = np.unique(codes, return_index=True)[1]
        self._factors = np.ones(len(classes)) if factors is None else factors[firsts]
        self._every_class = classes
        return weights

    def _certify(self, outcomes: list[Outcome]) -> Self:
        iterations = np.array([part[2] for part in machines_of(outcomes[0])], np.int32)
        super()._certify(outcomes)
        self.n_iter_ = iterations
        return self

    def _attribute(self, beta: NDArray[np.float64]) -> None:
        codes, K = np.unique(self._codes, return_inverse=True)[1], len(self.classes_)
        # of the classes whose rows weigh anything
        self.class_weight_ = self._factors[np.isin(self._every_class, self.classes_)]
        del self._factors, self._every_class
        pairs = np.array(pairs_of(K))
        first, second = pairs[:, 0], pairs[:, 1]
        rows, machines = np.arange(len(codes)), np.zeros(len(codes), np.intp)
        if K > 2:
            starts, rows, _ = rows_of_machines(codes, pairs_of(K), True)
            machines = np.repeat(np.arange(len(pairs)), np.diff(starts))
        used = np.flatnonzero(beta)  # of fewer rows where training was stopped
        machines, rows, beta = machines[used], rows[used], beta[used]
        support = np.unique(rows)
        support = support[np.argsort(codes[support], kind="stable")]
        places = np.zeros(len(codes), np.intp)
        places[support] = np.arange(len(support))
        coef = np.zeros((K - 1, len(support)))
        is_first = codes[rows] == first[machines]
        coef[np.where(is_first, second[machines] - 1, first[machines]), places[rows]] = beta
        self.n_support_ = np.bincount(codes[support], minlength=K).astype(np.int32)
        self._set_support(support, coef)
        self._set_coef()

    def _decisions(self, X: Any) -> NDArray[np.float64]:
        """(n, pairs) scores of the machines; of two classes above 0 for the second, else for the
        first."""
        check_is_fitted(self)
        if self._linear:
            return self._linear_scores(X)
        model, rows = self._kernel_machines[0], self._rows(X)
        scores = getattr(model, "decisions", model.scores)(rows)
        return scores if scores.ndim == 2 else scores[:, None]

    def _signs(self, X: Any) -> NDArray[np.float64]:
        """(n, pairs) numbers with the signs of `_decisions`."""
        check_is_fitted(self)
        if self._linear:
            return self._linear_scores(X)
        model, rows = self._kernel_machines[0], self._rows(X)
        scores = getattr(model, "label_decisions", model.label_scores)(rows)
        return scores if scores.ndim == 2 else scores[:, None]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores (n,) of the second class; of more (n, K), or (n, pairs) with
        decision_function_shape="ovo"."""
        return self._shape(self._decisions(X))

    def _shape(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        if len(self.classes_) == 2:
            return scores[:, 0]
        if self.decision_function_shape == "ovo":
            return scores
        firsts, seconds = sides(len(self.classes_))
        # scores of 0 are for the second in predict, and here for the first, as in scikit-learn
        votes, sums = (scores >= 0) @ firsts + (scores < 0) @ seconds, scores @ (firsts - seconds)
        return votes + sums / (3 * (np.abs(sums) + 1))

    def _votes(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, K) how many machines are for each class."""
        firsts, seconds = sides(len(self.classes_))
        return (scores > 0) @ firsts + ~(scores > 0) @ seconds

    def predict(self, X: Any) -> NDArray:
        """The class (n,) of every row."""
        if self.break_ties and self.decision_function_shape == "ovo":
            raise UsageError("break_ties must be False with decision_function_shape='ovo'")
        decisions = self._decisions(X) if self.break_ties else self._signs(X)
        if len(self.classes_) == 2:
            return self.classes_[(decisions[:, 0] > 0).astype(np.intp)]
        scores = self._shape(decisions) if self.break_ties else self._votes(decisions)
        return self.classes_[scores.argmax(axis=1)]

    @available_if(has_probability)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities (n, K) of the classes, in the order of classes_; with probability=True."""
        decisions = self._decisions(X)
        self._check_calibrated()
        if len(self.classes_) == 2:
            return two_class_probabilities(decisions[:, 0], self._calibration)
        return couple_pairs(decisions, self._kernel_machines[0].sigmoids, len(self.classes_))

    def _sigmoids(self) -> NDArray[np.float64]:
        """(pairs, 2) A and B."""
        check_is_fitted(self)
        if not self._calibrated:
            return np.zeros((0, 2))
        if len(self.classes_) == 2:  # of the first class, as of every pair
            A, B = self._calibration
            return np.array([(A, -B)])
        return np.array(self._kernel_machines[0].sigmoids)

    @property
    def probA_(self) -> NDArray[np.float64]:
        """(pairs,) A of the sigmoids."""
        return self._sigmoids()[:, 0]

    @property
    def probB_(self) -> NDArray[np.float64]:
        """(pairs,) B of the sigmoids."""
        return self._sigmoids()[:, 1]


@dataclass(kw_only=True, repr=False, eq=False)
class SVR(Attributes, KernelSVMRegressor):
    """KernelSVMRegressor with the signature and the attributes of sklearn.svm.SVR.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, C, shrinking, cache_size, verbose, max_iter
        As of SVC.
    epsilon : float
        Errors up to this cost nothing.

    Attributes
    ----------
    support_, support_vectors_, coef_, fit_status_, shape_fit_
        As of SVC.
    n_support_ : (1,) int32
    dual_coef_ : (1, m)
    intercept_ : (1,) float64
    n_iter_ : int
    primal_, dual_, gap_, converged_, solver_
        As of KernelSVM.

    Examples
    --------
    >>> from svmcut.compat import SVR
    >>> machine = SVR(C=100.0, gamma=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 0.0, -1.0])
    >>> machine.predict([[1.0], [3.0]]).round(1).tolist()
    [0.9, -0.9]
    """

    C: float = 1.0
    epsilon: float = 0.1
    nu: float | None = field(default=None, init=False)
    tube: float = field(default=0.1, init=False)

    def _parameters(self, rows: Csr) -> dict[str, Any]:
        values = super()._parameters(rows)
        return values if self.nu is not None else values | {"tube": given_tube(self.epsilon)}

    def _attribute(self, beta: NDArray[np.float64]) -> None:
        self._attribute_one(beta)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The number (n,) of every row."""
        if getattr(self, "_linear", False):
            return self._linear_scores(X)[:, 0]
        return super().predict(X)


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
