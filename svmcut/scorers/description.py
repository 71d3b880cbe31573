# SPDX-License-Identifier: BSD-3-Clause
"""The description of a model that every target renders: columns become float32 features, these
scores in float64, and scores labels and probabilities, all in the order of the model's own sums.

    linear   s_k = sum over features j, rising, of x_j weights[j, k], plus constants[k]
    kernels  s_k = sum over entries e of machine k of alpha[e] K(z_places[e], x), plus constants[k]
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import ModelError, UsageError
from svmcut.base.records import record
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.examples import Csr
from svmcut.data.labels import SIGNS, label_texts
from svmcut.models.kernels import Kernel
from svmcut.scoring.probabilities import LOG_ODDS
from svmcut.spec.catalog import MARKED, ONE_CLASS_LOSS, losses
from svmcut.tables.encoding import MISSING, Fitted, Number, Text

#: What the scores of a row say.
NUMBER, SIGN, INSIDE, LARGEST, VOTES = "number", "sign", "inside", "largest", "votes"
#: Features that a program keeps for a row, at most.
MAX_FEATURES = 1 << 22
_ORDERS = frozenset(losses("rank"))


class Feature(NamedTuple):
    """A feature by the name of its column and, of a category or a word, its value."""

    column: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.column} = {self.value}" if self.value else self.column


@record(eq=False)
class Machines:
    """Sums of kernel values over support vectors."""

    kernel: Kernel
    #: (m, d) support vectors in the features of the rows.
    support: Csr
    #: First entry of each machine, and the end of the last.
    starts: list[int]
    places: list[int]
    alpha: list[float]

    def rows(self) -> list[tuple[list[int], list[float]]]:
        """Features, from 0, and values of each support vector."""
        Z = self.support
        ends, start = Z.indptr.tolist(), int(Z.indptr[0])
        indices, data = Z.indices[Z.stored].tolist(), Z.data[Z.stored].astype(float).tolist()
        return [
            (indices[a - start : b - start], data[a - start : b - start])
            for a, b in itertools.pairwise(ends)
        ]

    def norms(self) -> list[float]:
        """|z|^2 of each support vector, summed in the order of its features."""
        norms = []
        for _, values in self.rows():
            norm = 0.0  # the built-in sum compensates
            for value in values:
                norm += value * value
            norms.append(norm)
        return norms


@record(eq=False)
class Scorer:
    """A model as targets render it."""

    #: Columns of the table with the first feature of each; () for rows of an svm file.
    columns: tuple[tuple[Fitted, int], ...]
    n_features: int
    answer: str
    #: Labels as texts: the negative and the positive one, or those of the classes.
    labels: tuple[str, ...]
    #: True if labels are numbers.
    has_numbers: bool
    #: (d, K), for linear models.
    weights: NDArray[np.float64] | None
    machines: Machines | None
    #: (K,) added to the sums.
    constants: list[float]
    #: A and B of 1 / (1 + exp(A f + B)), of two classes; of one against the rest, -1 and 0.
    sigmoid: tuple[float, float] | None = None
    #: Subtracted from scores, but not for probabilities.
    threshold: float = 0.0
    #: Of softmax, of several classes.
    temperature: float | None = None

    @property
    def has_probabilities(self) -> bool:
        return self.sigmoid is not None or self.temperature is not None

    @property
    def n_sums(self) -> int:
        """Number of sums, K; of pairs of classes that of the pairs."""
        return len(self.constants)

    def features(self) -> list[Feature]:
        """Columns and values of all features of a table."""
        named = []
        for column, _ in self.columns:
            if isinstance(column, Text) and column.hash_bits is not None:
                named += [Feature(column.name, f"#{k}") for k in range(column.width)]
            elif isinstance(column, Number):
                named.append(Feature(column.name))
            else:
                values = column.terms if isinstance(column, Text) else column.values
                named += [Feature(column.name, value or "''") for value in values]
            if getattr(column, "missing", False):
                named.append(Feature(column.name, MISSING))
        return named


def describe(path: str, model: Any) -> Scorer:
    """The description of a model. Raises ModelError for a number that is not finite, and UsageError
    for more features than a program can hold."""
    columns, first = [], 0
    for column in () if model.table is None else model.table.columns:
        columns.append((column, first))
        first += column.width
    n_features = first or _width(model)
    if n_features > MAX_FEATURES:
        raise UsageError(
            "{}: {:,} features; a program holds {:,} at most; json takes more",
            path,
            n_features,
            MAX_FEATURES,
        )
    weights, machines, constants = _sums(model, n_features)
    numbers = [constants, *([] if weights is None else [weights])]
    numbers += [] if machines is None else [machines.alpha]
    if not all(np.isfinite(np.asarray(values)).all() for values in numbers):
        raise ModelError(path, "a number of the model is not finite; it is not exported")
    return Scorer(
        tuple(columns),
        n_features,
        labels=tuple(_labels(model)),
        has_numbers=not model.words,
        weights=weights,
        machines=machines,
        constants=constants,
        **_answer(model),
    )


def _width(model: Any) -> int:
    if model.columns is None:
        return model.n_features
    return int(model.columns.max(initial=-1)) + 1


def _labels(model: Any) -> list[str]:
    if hasattr(model, "names"):
        return model.label_texts()
    if model.loss == ONE_CLASS_LOSS:
        return label_texts(SIGNS)
    return [] if _has_numbers(model) else model.label_texts()


def _has_numbers(model: Any) -> bool:
    return model.loss in MARKED or model.loss in _ORDERS


def _answer(model: Any) -> dict[str, Any]:
    """Fields that say what scores mean."""
    if hasattr(model, "names"):
        if getattr(model, "paired", False):
            return {"answer": VOTES}
        odds = LOG_ODDS if model.has_probabilities and model.temperature is None else None
        return {"answer": LARGEST, "sigmoid": odds, "temperature": model.temperature}
    if model.loss == ONE_CLASS_LOSS:
        return {"answer": INSIDE}
    if _has_numbers(model):
        return {"answer": NUMBER}
    known = {"sigmoid": model.calibration, "threshold": model.threshold or 0.0}
    return {"answer": SIGN} | known


def _sums(
    model: Any, n_features: int
) -> tuple[NDArray[np.float64] | None, Machines | None, list[float]]:
    """Weights or machines, and the constants of their sums."""
    if hasattr(model, "W"):
        return _in_all(model, model.W, n_features), None, (model.bias * model.constant).tolist()
    if hasattr(model, "w"):
        return _in_all(model, model.w[:, None], n_features), None, [-float(model.offset)]
    several = hasattr(model, "starts")
    constants = (-model.b).tolist() if several else [-float(model.offset)]
    if model.kernel.is_linear:
        return _in_all(model, np.atleast_2d(model.weights()).T, n_features), None, constants
    Z, m = model.support, model.support.n_rows
    indices = Z.indices if model.columns is None else model.columns[Z.indices]
    support = Csr(Z.data, indices, Z.indptr, n_features)
    starts = model.starts.tolist() if several else [0, m]
    places = model.places.tolist() if several else [*range(m)]
    return None, Machines(model.kernel, support, starts, places, model.alpha.tolist()), constants


def _in_all(model: Any, weights: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Weights of all features of the rows."""
    out = np.zeros((n, weights.shape[1]))
    out[np.arange(len(weights)) if model.columns is None else model.columns] = weights
    return out
