# SPDX-License-Identifier: BSD-3-Clause
"""svm-predict.

Kernel values and sums of them in double precision, rows of a file against support vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import Any
from svmcut.data.precomputed import last_columns
from svmcut.formats.library_text import (
    C_SVC,
    EPSILON_SVR,
    LINEAR,
    NU_SVC,
    NU_SVR,
    ONE_CLASS_SVM,
    POLYNOMIAL,
    PRECOMPUTED,
    RBF,
    KernelText,
    read_kernel,
)
from svmcut.models import pairs_of
from svmcut.models.linear_sums import column_sums
from svmcut.originals.libs import predicting
from svmcut.originals.libs.predicting import Predicting, head_of, predict_file
from svmcut.originals.libs.rows import Rows
from svmcut.originals.libs.words import Refused, bad_usage, integer_of, leading_options

#: Numbers of a block.
_BLOCK = 4_000_000
#: Numbers of the vectors as a dense array up to which they are one, whatever their zeros; beyond,
#: so many times their entries.
_DENSE, _FILL = 5_000_000, 8


class Expansion:
    """Sums over the support vectors of a model."""

    def __init__(self, model: KernelText):
        self._model = model
        indptr, indices, values = model.rows
        self._count = len(indptr) - 1
        if model.kernel == PRECOMPUTED:
            firsts = indptr[:-1]
            serial = np.zeros(self._count, np.int64)
            there = indptr[1:] > firsts
            serial[there] = values[firsts[there]].astype(np.int64)
            self._serial = serial
            return
        self._columns, places = np.unique(indices, return_inverse=True)
        self._places = places
        self._squares = np.bincount(
            np.repeat(np.arange(self._count), np.diff(indptr)), values * values, self._count
        )
        size = self._count * len(self._columns)
        self._sparse = size > _DENSE and size > _FILL * len(values)
        if self._sparse:
            from scipy.sparse import csr_matrix

            shape = self._count, len(self._columns)
            self._vectors: Any = csr_matrix((values, places, indptr), shape)
        else:
            dense = np.zeros((self._count, len(self._columns)))
            dense[np.repeat(np.arange(self._count), np.diff(indptr)), places] = values
            self._vectors = dense

    @np.errstate(all="ignore")  # rows may have infinite values
    def sums(self, rows: Rows, coefs: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, k) sums of coefs (m, k) times the kernel values of rows and vectors; of the linear
        kernel by their weights, as the coefficients of a large column may cancel."""
        out = np.empty((len(rows), coefs.shape[1]))
        if self._model.kernel == LINEAR:
            W = self._weights(coefs)
            for start, stop in self._blocks(rows):
                out[start:stop] = self._matrix(rows.part(start, stop)) @ W
            return out
        for start, K in self.values(rows):
            out[start : start + len(K)] = K @ coefs
        return out

    def _weights(self, coefs: NDArray[np.float64]) -> NDArray[np.float64]:
        """(columns, k) of the columns that vectors have."""
        indptr, _, values = self._model.rows
        factors = np.repeat(coefs, np.diff(indptr), axis=0)
        width = len(self._columns)
        W = np.empty((width, coefs.shape[1]))
        for k, own in enumerate(factors.T):
            W[:, k] = column_sums(self._places, own, values, width)
        return W

    def _blocks(self, rows: Rows) -> Iterator[tuple[int, int]]:
        """Yields the ends of blocks of rows."""
        width = max(1, self._count if self._model.kernel == PRECOMPUTED else len(self._columns))
        step = max(1, _BLOCK // max(width, self._count, 1))
        for start in range(0, len(rows), step):
            yield start, min(start + step, len(rows))

    def values(self, rows: Rows) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """The first row of each block, and its (block, m) kernel values."""
        for start, stop in self._blocks(rows):
            yield start, self._block(rows.part(start, stop))

    @np.errstate(all="ignore")
    def _block(self, rows: Rows) -> NDArray[np.float64]:
        model = self._model
        if model.kernel == PRECOMPUTED:
            return self._sum_given(rows)
        dot = self._matrix(rows) @ self._vectors.T
        dot = dot.toarray() if self._sparse else dot
        if model.kernel == LINEAR:
            return dot
        if model.kernel == RBF:
            of = rows.row_of_entries()
            own = np.bincount(of, rows.values * rows.values, len(rows))
            dot *= -2.0
            dot += own[:, None]
            dot += self._squares
            np.maximum(dot, 0.0, out=dot)
            dot *= -model.gamma
            return np.exp(dot, out=dot)
        dot *= model.gamma
        dot += model.coef0
        return dot**model.degree if model.kernel == POLYNOMIAL else np.tanh(dot, out=dot)

    def _matrix(self, rows: Rows) -> Any:
        """(n, columns) of the columns that vectors have, sparse where these are."""
        of = rows.row_of_entries()
        places = np.searchsorted(self._columns, rows.indices)
        known = places < len(self._columns)
        known[known] = self._columns[places[known]] == rows.indices[known]
        shape = len(rows), len(self._columns)
        if self._sparse:
            from scipy.sparse import csr_matrix

            return csr_matrix((rows.values[known], (of[known], places[known])), shape)
        dense = np.zeros(shape)
        dense[of[known], places[known]] = rows.values[known]
        return dense

    def _sum_given(self, rows: Rows) -> NDArray[np.float64]:
        """Kernel values of the file: that with a vector stands at its serial number."""
        needed = int(self._serial.max(initial=0))
        last = np.maximum(0, last_columns(rows.indptr, rows.indices))
        if (last < needed).any():
            row = int(np.argmax(last < needed))
            raise Refused(
                f"line {rows.start + row + 1}: kernel values end at {last[row]}, but the model "
                f"needs those up to {needed}; write zeros too"
            )
        width = max(rows.highest, needed) + 1
        dense = np.zeros((len(rows), width))
        dense[rows.row_of_entries(), rows.indices] = rows.values
        return dense[:, self._serial]


def pair_coefficients(model: KernelText) -> NDArray[np.float64]:
    """(m, pairs) coefficients of all vectors in the machine of every pair."""
    if model.svm not in (C_SVC, NU_SVC):
        return model.coefs
    assert model.counts is not None
    K = len(model.counts)
    own = np.repeat(np.arange(K), model.counts)
    pairs = pairs_of(K)
    out = np.zeros((len(own), len(pairs)))
    for k, (i, j) in enumerate(pairs):
        out[own == i, k] = model.coefs[own == i, j - 1]
        out[own == j, k] = model.coefs[own == j, i]
    return out


def run(words: list[str]) -> None:
    """Predicts the rows of a file with a model, and measures the predictions."""
    options, names = leading_options(words, "q", "b", "Unknown option")
    probability, quiet = 0, False
    for word, value in options:
        if word[1] == "q":
            quiet = True
        else:
            probability = integer_of(value)
    if len(names) < 3:
        raise bad_usage()

    def begin(model: KernelText) -> bytes:
        said = _probabilities(model, bool(probability))
        if not quiet:
            print("".join(f"{line}\n" for line in said), end="")
        if probability and model.labels is not None:
            return head_of(model.labels)
        return b"label normal outlier\n" * (probability and model.svm == ONE_CLASS_SVM)

    def predictor(model: KernelText) -> Callable[[Rows], tuple[NDArray, NDArray | None]]:
        own = Predictor(model)
        return lambda part: own.predict(part, bool(probability))

    predictions = predict_file(names[:3], Predicting(0, read_kernel, begin, predictor))
    if not quiet:
        model, predicted, targets = predictions
        numbers = model.svm in (EPSILON_SVR, NU_SVR)
        print("\n".join(predicting.report(numbers, predicted, targets, " (classification)")))


def _probabilities(model: KernelText, wanted: bool) -> list[str]:
    """Lines about probabilities that are printed before the first row."""
    there = model.sigmoids is not None or model.marks is not None
    if wanted and not there:
        raise Refused("Model does not support probabiliy estimates; train it with svm-train -b 1")
    if wanted and model.svm in (EPSILON_SVR, NU_SVR):
        assert model.sigmoids is not None
        sigma = model.sigmoids[0][0]
        return [
            "Prob. model for test data: target value = predicted value + z,",
            f"z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma={sigma:g}",
        ]
    if there and not wanted:
        return ["Model supports probability estimates, but disabled in prediction."]
    return []


class Predictor:
    """Labels and probabilities of rows by a model."""

    def __init__(self, model: KernelText):
        self.model = model
        self._coefs = pair_coefficients(model)
        self._expansion = Expansion(model)

    def decisions(self, rows: Rows) -> NDArray[np.float64]:
        """(n, pairs) values, above 0 for the first of a pair."""
        return self._expansion.sums(rows, self._coefs) - np.array(self.model.rho)

    def predict(self, rows: Rows, probability: bool) -> tuple[NDArray, NDArray | None]:
        """(n,) labels or numbers, and (n, K) probabilities, where they are wanted and there are
        any."""
        model, f = self.model, self.decisions(rows)
        if model.svm in (EPSILON_SVR, NU_SVR):
            return f[:, 0], None
        if model.svm == ONE_CLASS_SVM:
            labels = np.where(f[:, 0] > 0, 1.0, -1.0)
            return labels, one_class_probabilities(f[:, 0], model.marks) if probability else None
        assert model.labels is not None
        names, K = np.array(model.labels, np.float64), len(model.labels)
        if not probability or K == 1:
            return names[winners(f, K)], np.ones((len(rows), 1)) if probability else None
        P = class_probabilities(f, model)
        return names[np.argmax(P, axis=1)], P


def winners(f: NDArray, K: int) -> NDArray[np.int64]:
    """(n,) the class with the most pairs, the first of equal ones; a tie goes to the second of its
    pair."""
    votes = np.zeros((len(f), K), np.int64)
    for k, (i, j) in enumerate(pairs_of(K)):
        first = f[:, k] > 0
        votes[:, i] += first
        votes[:, j] += ~first
    return np.argmax(votes, axis=1)


def class_probabilities(f: NDArray, model: KernelText) -> NDArray[np.float64]:
    """(n, K) probabilities by the sigmoids of the pairs."""
    from svmcut.scoring.probabilities import MIN_PAIR_PROBABILITY, couple_pairs_as_libsvm, sigmoid

    assert model.labels is not None and model.sigmoids is not None
    (A, B), K = model.sigmoids, len(model.labels)
    assert B is not None
    if K > 2:
        return couple_pairs_as_libsvm(f, list(zip(A, B)), K)
    p = np.fmin(
        np.fmax(sigmoid(f[:, 0], (A[0], B[0])), MIN_PAIR_PROBABILITY), 1 - MIN_PAIR_PROBABILITY
    )  # nan is SURE
    return np.column_stack([p, 1 - p])


def one_class_probabilities(f: NDArray, marks: list[float] | None) -> NDArray[np.float64]:
    """(n, 2) of being like the rows that were learnt, and of not, by marks on the scores."""
    assert marks is not None
    place = np.searchsorted(marks, f, side="right")
    inside = np.where(place == 0, 0.001, np.where(place == len(marks), 0.999, place / len(marks)))
    inside[np.isnan(f)] = 0.0  # as the label, which is that of outliers
    return np.column_stack([inside, 1 - inside])
