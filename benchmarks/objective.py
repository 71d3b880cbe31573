# SPDX-License-Identifier: BSD-3-Clause
"""1/2 |w|^2 + C sum of losses, of anybody's linear model, by one evaluator in double precision.

The bias is the weight of a constant feature of value 1 and counts in |w|^2.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

#: Of margins.
LOSSES = {
    "hinge": lambda margins: np.maximum(0.0, 1.0 - margins),
    "squared-hinge": lambda margins: np.maximum(0.0, 1.0 - margins) ** 2,
    "logistic": lambda margins: np.logaddexp(0.0, -margins),
}


class Evaluator:
    """The objective on one example file, whose values are read in double precision; weights are of
    + and of -."""

    def __init__(self, path: Path, weights: tuple[float, float] = (1.0, 1.0)):
        from sklearn.datasets import load_svmlight_file

        self.X, y = load_svmlight_file(str(path), dtype=np.float64)
        self.signs, self.weights = np.where(y > 0, 1.0, -1.0), np.where(y > 0, *weights)

    def __call__(self, weights: np.ndarray, bias: float, C: float, loss: str = "hinge") -> float:
        """Weights may be shorter or longer than the file's features."""
        w = np.zeros(self.X.shape[1])
        count = min(len(w), len(weights))
        w[:count] = weights[:count]
        losses = LOSSES[loss](self.signs * (self.X @ w + bias))
        return 0.5 * (float(weights @ weights) + bias * bias) + C * float(
            (self.weights * losses).sum()
        )


def label_objective(sets, W: np.ndarray, constant: np.ndarray, C: float) -> float:
    """1/2 (|W|^2 + |constant|^2) + C sum of the hinge losses of every label against the rest.

    W has a row for every feature and a column for every label of the sets, in their order.
    """
    X = csr_matrix((sets.X.data.astype(float), sets.X.indices, sets.X.indptr), (len(sets), len(W)))
    gold, losses = sets.gold(), 0.0
    for first in range(0, len(sets), 500):
        s = X[first : first + 500] @ W + constant
        signs = np.where(gold[first : first + 500], 1.0, -1.0)
        losses += float(np.maximum(0.0, 1.0 - signs * s).sum())
    return 0.5 * float((W**2).sum() + (constant**2).sum()) + C * losses


def read_svm_light(path: Path) -> tuple[np.ndarray, float]:
    """Weights and bias of a linear model in the layout of SVM-light V6.20: one support vector,
    threshold subtracted."""
    lines = [
        line for line in path.read_text(encoding="ascii").splitlines() if not line.startswith("#@")
    ]
    if int(lines[1].split()[0]) != 0 or len(lines) != 12:
        raise ValueError(f"{path}: not one linear support vector")
    factor, *pairs = lines[11].split("#")[0].split()
    found = [(int(index), float(value)) for index, value in (pair.split(":") for pair in pairs)]
    weights = np.zeros(max((index for index, _ in found), default=0))
    for index, value in found:
        weights[index - 1] = float(factor) * value
    return weights, -float(lines[10].split()[0])


def read_liblinear(path: Path) -> tuple[np.ndarray, float]:
    """Weights and bias of a two-class LIBLINEAR model; the sign is that of the label above 0."""
    lines = path.read_text(encoding="ascii").splitlines()
    start = lines.index("w")
    header = dict(line.split(" ", 1) for line in lines[:start])
    values = np.array([float(line) for line in lines[start + 1 :]])
    if float(header["label"].split()[0]) <= 0:
        values = -values
    return (values[:-1], float(values[-1])) if float(header["bias"]) > 0 else (values, 0.0)


def read_numpy(path: Path) -> tuple[np.ndarray, float]:
    """Weights with the bias last, from a .npy file."""
    values = np.load(path)
    return values[:-1], float(values[-1])
