# SPDX-License-Identifier: BSD-3-Clause
"""Probabilities of classes from scores: their fit, their values and their losses.

    two classes      p = 1 / (1 + exp(A f + B)): Platt's sigmoid in the stable form of Lin, Lin and
    Weng
    several          p = softmax(t f), one t >= 0 for all classes
    pairs of classes p with p_j r_ij = p_i r_ji as nearly as there is, r_ij the sigmoid of the pair
    (Wu, Lin and Weng)

Both fits use scores of rows that were not trained on. They fit Platt's targets: a row of a class of
n rows belongs to it with (n + 1) / (n + 2), so that p is no step if the scores separate the
classes. A row of weight v counts as v rows.

References
----------
Lin, Lin and Weng, A note on Platt's probabilistic outputs for support vector machines, Machine
Learning 2007. Guo, Pleiss, Sun and Weinberger, On calibration of modern neural networks, ICML 2017
(temperature). Wu, Lin and Weng, Probability estimates for multi-class classification by pairwise
coupling, JMLR 2004, section 4.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import TypeAlias

#: The parameters A and B.
Sigmoid: TypeAlias = "tuple[float, float]"
#: The sigmoid of the logistic loss, whose scores are log odds.
LOG_ODDS: Sigmoid = (-1.0, 0.0)
#: Largest final gradient per example; the error of A and B is of this size.
_TOLERANCE = 1e-10
_MAX_STEPS = 100
#: Probabilities of pairs are clipped to this and 1 minus this, as in LIBSVM.
MIN_PAIR_PROBABILITY = 1e-7
#: Probabilities below are raised to this in the log loss, as in scikit-learn: the spacing of
#: float64 at 1.
_MIN_LOG_ARGUMENT = 2.0**-52
#: Numbers in the matrices that are solved at once.
_BLOCK_NUMBERS = 1 << 20


def fit_sigmoid(
    scores: NDArray, positive: NDArray[np.bool_], weights: NDArray | None = None
) -> Sigmoid:
    """Fit A and B to finite scores (n,) by Newton's method with halved steps; some ten steps of
    O(n)."""
    v = np.ones(len(scores)) if weights is None else weights
    ups, downs, total = float(v[positive].sum()), float(v[~positive].sum()), float(v.sum())
    target, v = np.where(positive, (ups + 1) / (ups + 2), 1 / (downs + 2)), v / total
    scale = float(np.abs(scores).max(initial=0.0)) or 1.0
    f, x = scores / scale, np.array([0.0, math.log((downs + 1) / (ups + 1))])

    def loss(x: NDArray) -> float:
        z = x[0] * f + x[1]
        return float(v @ ((target - (z < 0)) * z + np.log1p(np.exp(-np.abs(z)))))

    value = loss(x)
    for _ in range(_MAX_STEPS):
        p = sigmoid(f, (x[0], x[1]))
        slopes, bends = v * (target - p), v * p * (1 - p)
        gradient = np.array([slopes @ f, slopes.sum()])
        if np.abs(gradient).max() < _TOLERANCE:
            break
        cross = float(bends @ f)
        hessian = np.array([[bends @ (f * f), cross], [cross, bends.sum()]]) + 1e-12 * np.eye(2)
        step, t = np.linalg.solve(hessian, -gradient), 1.0
        slope = float(gradient @ step)
        while (reached := loss(x + t * step)) >= value + 1e-4 * t * slope and t > 1e-10:
            t /= 2
        if not reached < value:  # rounding forbids more
            break
        x, value = x + t * step, reached
    return float(x[0]) / scale, float(x[1])


def fit_temperature(scores: NDArray, places: NDArray, weights: NDArray | None = None) -> float:
    """Fit t of softmax(t f) to finite scores (n, K) and the classes of the rows (n,), by Newton's
    method within a bracket; some ten steps of O(n K)."""
    n, K = scores.shape
    v = np.ones(n) if weights is None else weights
    counts = np.bincount(places, v, K)
    right = ((counts + 1) / (counts + 2))[places]
    f = scores - scores.max(axis=1, keepdims=True)
    scale = float(-f.min(initial=0.0)) or 1.0
    f, v = f / scale, v / v.sum()
    of_right = f[np.arange(n), places]
    others = (f.sum(axis=1) - of_right) / max(1, K - 1)
    aim, squares = float(v @ (right * of_right + (1 - right) * others)), f * f
    low, high, t = 0.0, math.inf, 1.0
    for _ in range(_MAX_STEPS):
        p = _softmax(t * f)
        means = np.einsum("ij,ij->i", p, f)
        slope = float(v @ means) - aim
        bend = float(v @ (np.einsum("ij,ij->i", p, squares) - means * means))
        low, high = (t, high) if slope < 0 else (low, t)
        if abs(slope) < _TOLERANCE or (high < math.inf and high - low <= _TOLERANCE * high):
            break
        t = t - slope / bend if bend > 0 else math.inf
        if not low < t < high:
            t = (low + high) / 2 if high < math.inf else 4 * low
    return t / scale if high > _TOLERANCE else 0.0


def fit_laplace(residuals: NDArray, weights: NDArray | None = None) -> float:
    """Return the mean size of residuals (n,) within five standard deviations: sigma of exp(-|z| /
    sigma) / (2 sigma) (Lin and Weng, Simple probabilistic predictions for support vector
    regression, 2004)."""
    v, size = np.ones(len(residuals)) if weights is None else weights, np.abs(residuals)
    near = size <= 5 * math.sqrt(2.0) * float(v @ size / v.sum())
    return float(v[near] @ size[near] / v[near].sum())


def sigmoid(scores: NDArray, fitted: Sigmoid) -> NDArray[np.float64]:
    """Return the probabilities of the positive class, (n,)."""
    z = fitted[0] * scores + fitted[1]
    least = np.exp(-np.abs(z))
    return np.where(z >= 0, least, 1.0) / (1.0 + least)


def two_class_probabilities(scores: NDArray, fitted: Sigmoid) -> NDArray[np.float64]:
    """Return the probabilities of the negative and of the positive class, (n, 2), each with all its
    digits."""
    return np.column_stack([sigmoid(scores, (-fitted[0], -fitted[1])), sigmoid(scores, fitted)])


def multiclass_probabilities(scores: NDArray, temperature: float | None) -> NDArray[np.float64]:
    """Return the probabilities of classes, (n, K); without a temperature those of one-vs-rest
    machines of the logistic loss."""
    if temperature is not None:
        return _softmax(temperature * (scores - scores.max(axis=1, keepdims=True)))
    p = sigmoid(scores, LOG_ODDS)
    return p / p.sum(axis=1, keepdims=True)


def _softmax(f: NDArray) -> NDArray[np.float64]:
    """Return the softmax of rows whose largest value is 0."""
    p = np.exp(f)
    p /= p.sum(axis=1, keepdims=True)
    return p


def couple_pairs(scores: NDArray, fitted: Sequence[Sigmoid], K: int) -> NDArray[np.float64]:
    """Return probabilities (n, K) by pairwise coupling: the least of sum_ij (r_ji p_i - r_ij p_j)^2
    with sum p = 1.

    `scores` (n, K (K - 1) / 2) and `fitted` belong to the pairs (0, 1), (0, 2), .., (1, 2), ..; a
    score above 0 is for the first class.
    """
    P = np.empty((len(scores), K))
    for rows, Q in _coupling_forms(scores, fitted, K):
        p = np.linalg.solve(Q + 1e-12 * np.eye(K), np.ones((len(Q), K, 1)))[:, :, 0]
        p = np.maximum(p, 0.0)
        P[rows] = p / p.sum(axis=1, keepdims=True)
    return P


def couple_pairs_as_libsvm(
    scores: NDArray, fitted: Sequence[Sigmoid], K: int
) -> NDArray[np.float64]:
    """Return the probabilities of `couple_pairs` as LIBSVM finds them: the iteration of Algorithm 2
    of Wu, Lin and Weng 2004, with the products that its Appendix D keeps, ended at an error of
    0.005 / K; nan for scores of nan."""
    P = np.empty((len(scores), K))
    for rows, Q in _coupling_forms(scores, fitted, K):
        p = np.full((len(Q), K), 1 / K)
        for _ in range(max(100, K)):
            Qp = np.einsum("nij,nj->ni", Q, p)
            pQp = np.einsum("ni,ni->n", p, Qp)
            on = np.abs(Qp - pQp[:, None]).max(axis=1) >= 0.005 / K
            if not on.any():
                break
            for t in range(K):
                own = Q[:, t, t]
                d = np.where(on, (pQp - Qp[:, t]) / own, 0.0)
                p[:, t] += d
                pQp = (pQp + d * (d * own + 2 * Qp[:, t])) / (1 + d) ** 2
                Qp = (Qp + d[:, None] * Q[:, t]) / (1 + d)[:, None]
                p /= (1 + d)[:, None]
        P[rows] = np.where(np.isfinite(scores[rows]).all(axis=1, keepdims=True), p, np.nan)
    return P


def _coupling_forms(
    scores: NDArray, fitted: Sequence[Sigmoid], K: int
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield blocks of rows with their quadratic forms (n, K, K), whose minima at sum p = 1 couple
    the pairs."""
    n, (first, second) = len(scores), np.triu_indices(K, 1)
    diagonal, step = np.arange(K), max(1, _BLOCK_NUMBERS // (K * K))
    for start in range(0, n, step):
        part = scores[start : start + step]
        r = np.zeros((len(part), K, K))
        for k, (i, j) in enumerate(zip(first, second, strict=True)):
            r[:, i, j] = np.clip(
                sigmoid(part[:, k], fitted[k]), MIN_PAIR_PROBABILITY, 1 - MIN_PAIR_PROBABILITY
            )
            r[:, j, i] = 1 - r[:, i, j]
        Q = -np.swapaxes(r, 1, 2) * r
        Q[:, diagonal, diagonal] = (r * r).sum(axis=1)
        yield slice(start, start + step), Q


class ProbabilityLosses:
    """Log loss and Brier score of probabilities, accumulated over blocks of rows."""

    def __init__(self) -> None:
        self._total, self._loss, self._squares = 0.0, 0.0, 0.0

    def add(
        self, probabilities: NDArray, places: NDArray, weights: NDArray | None = None
    ) -> ProbabilityLosses:
        """Add rows (n, K) and their classes (n,); -1 is a class without a column, whose probability
        was 0."""
        n, K = probabilities.shape
        v = np.ones(n) if weights is None else weights
        of_right = np.where(places < 0, 0.0, probabilities[np.arange(n), places])
        squares = (probabilities * probabilities).sum(axis=1) - 2 * of_right + 1
        self._total += float(v.sum())
        self._loss -= float(v @ np.log(np.maximum(of_right, _MIN_LOG_ARGUMENT)))
        self._squares += float(v @ squares) / (2 if K == 2 else 1)
        return self

    def values(self) -> dict[str, float]:
        """Return ``log_loss``, with natural logarithms, and ``brier``: for two classes that of the
        positive one, from 0 to 1, for more the sum over classes, from 0 to 2."""
        total = self._total or math.nan
        return {"log_loss": self._loss / total, "brier": self._squares / total}


class Reliability:
    """Observed frequencies of predicted probabilities, in bins of equal width, accumulated over
    blocks of rows.

    For two classes the positive one counts, for more each of them.
    """

    def __init__(self, bins: int = 10) -> None:
        self._sums = np.zeros((3, bins))

    def add(self, probabilities: NDArray, places: NDArray) -> Reliability:
        """Add rows as ProbabilityLosses.add does."""
        K, bins = probabilities.shape[1], self._sums.shape[1]
        columns = np.arange(K if K > 2 else 1) + (K == 2)
        p, right = probabilities[:, columns].ravel(), (places[:, None] == columns).ravel()
        of = np.minimum((p * bins).astype(np.int64), bins - 1)
        self._sums += [np.bincount(of, weights, bins) for weights in (p, right, None)]
        return self

    def points(self) -> list[list[float]]:
        """Return for every bin with rows the mean probability and the observed frequency, in
        percent, and the number of rows."""
        sums, right, counts = self._sums[:, self._sums[2] > 0]
        return np.column_stack([100 * sums / counts, 100 * right / counts, counts]).tolist()
