# SPDX-License-Identifier: BSD-3-Clause
"""The protocol of structured models: joint features, loss and loss-augmented argmax, without
training.

    problem    min_w  P(w) = 1/2 |w|^2 + sum_n C_n H_n(w),   C_n = C v_n, C per sample without
               weights
               H_n(w) = max_y [w.Psi(x_n, y) + Delta(y_n, y)] - w.Psi(x_n, y_n)
               Delta = number of wrong parts (Hamming)
    cut        a labelling y of every sample, times v_n:
               H_n(w') >= Delta(y_n, y) - w'.(Psi(x_n, y_n) - Psi(x_n, y))
    dual       w = sum_n C_n sum_y q_n(y) (Psi(x_n, y_n) - Psi(x_n, y))
               l = sum_n C_n sum_y q_n(y) Delta(y_n, y),   D = l - 1/2 |w|^2
               D <= min P for every q_n >= 0 with sum q_n <= 1

w is one float64 vector of `dim` entries, laid out by the model. A labelling of sample i is an int32
array with one entry per part (chain: the tag of every token, from 0; multilabel: 0 or 1 for every
label). The labellings of all samples form one such array, sample n in labels[parts[n] : parts[n +
1]].

Trainers are solvers of a StructuredProblem (see solvers/protocol.py); they may ask a model for its
C++ side.
"""

from __future__ import annotations

from numpy.typing import NDArray

from svmcut.base.records import record
from svmcut.base.typing import Any, NamedTuple, Protocol


class Separation(NamedTuple):
    """The most violated labelling of every sample.

    Attributes
    ----------
    labels : (parts[-1],) int32
        All labellings, one behind the other.
    slacks : (n,) float64
        H_n(w), of at least 0.
    losses : (n,) float64
        Delta(y_n, y).
    """

    labels: NDArray
    slacks: NDArray
    losses: NDArray


class Samples:
    """Weights of samples.

    Attributes
    ----------
    n_samples : int
    weights : (n_samples,) float64 or None
        v; None for 1 each.
    """

    n_samples: int
    weights: NDArray | None

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return self.n_samples if self.weights is None else float(self.weights.sum())

    def weighted_sum(self, values: NDArray) -> float:
        """sum_n v_n values[n]"""
        return float((values if self.weights is None else self.weights * values).sum())


class StructuredModel(Protocol):
    """Samples with their right labellings, and every function of w that a trainer needs.

    Attributes
    ----------
    dim : int
        Length of w.
    n_samples : int
    parts : (n_samples + 1,) int64
        Bounds of the samples in an array of labels.
    gold : (parts[-1],) int32
        The right labellings.
    weights, total, weighted_sum
        See Samples.
    """

    dim: int
    n_samples: int
    parts: NDArray
    gold: NDArray
    weights: NDArray | None

    @property
    def total(self) -> float: ...

    def weighted_sum(self, values: NDArray) -> float: ...

    def separate(self, w: NDArray) -> Separation:
        """The most violated labellings. Ties go to the lowest last label, then to the lowest one
        before it, for any number of threads."""
        ...

    def joint(self, labels: NDArray, weights: NDArray | None = None) -> NDArray:
        """sum_n weights[n] (Psi(x_n, gold_n) - Psi(x_n, y_n)), (dim,) float64; None stands for
        weights of 1."""
        ...


@record
class StructuredProblem:
    """min over w of 1/2 |w|^2 + C sum_n v_n H_n(w), v the weights of the model."""

    model: Any
    #: Per sample.
    C: float
    #: A StoppingRule of svmcut.solvers.protocol, in units of P.
    stop: Any
    #: Name of the QP solver, see svmcut.solvers.protocol.
    qp: str | None = None
