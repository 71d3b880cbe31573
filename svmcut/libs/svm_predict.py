# SPDX-License-Identifier: BSD-3-Clause
"""svm-predict."""

from __future__ import annotations

import numpy as np

from svmcut.files.models.library_text import (
    EPSILON_SVR,
    NU_SVR,
    ONE_CLASS_SVM,
    KernelText,
    read_kernel,
)
from svmcut.libs import measures
from svmcut.libs.kernel_values import Expansion, pair_coefficients
from svmcut.libs.predicting import Predicting, head_of, predict_file
from svmcut.libs.rows import Rows
from svmcut.libs.words import Refused, bad_usage, integer_of, leading_options
from svmcut.models import pairs_of
from svmcut.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


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
        print("\n".join(measures.report(numbers, predicted, targets, " (classification)")))


def _probabilities(model: KernelText, wanted: bool) -> list[str]:
    """What is to be said of them before the first row."""
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
    """What a model says of rows.

    Parameters
    ----------
    model : KernelText
    """

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
    from svmcut.scoring.probabilities import SURE, couple, sigmoid

    assert model.labels is not None and model.sigmoids is not None
    (A, B), K = model.sigmoids, len(model.labels)
    assert B is not None
    if K > 2:
        return couple(f, list(zip(A, B)), K)
    p = np.fmin(np.fmax(sigmoid(f[:, 0], (A[0], B[0])), SURE), 1 - SURE)  # nan is SURE
    return np.column_stack([p, 1 - p])


def one_class_probabilities(f: NDArray, marks: list[float] | None) -> NDArray[np.float64]:
    """(n, 2) of being like the rows that were learnt, and of not, by marks on the scores."""
    assert marks is not None
    place = np.searchsorted(marks, f, side="right")
    inside = np.where(place == 0, 0.001, np.where(place == len(marks), 0.999, place / len(marks)))
    inside[np.isnan(f)] = 0.0  # as the label, which is that of outliers
    return np.column_stack([inside, 1 - inside])
