# SPDX-License-Identifier: BSD-3-Clause
"""Rows with one label each, bound to the risk they are trained for."""

from __future__ import annotations

import math

import numpy as np

from svmcut._native import sparse
from svmcut.base.errors import TrainingError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.typing import Any, Protocol
from svmcut.data.examples import Examples
from svmcut.risks import make_risk
from svmcut.risks.free_bias import FreeBias
from svmcut.risks.squared import SquaredRisk
from svmcut.risks.weights import total
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces.linear import LinearSpace
from svmcut.spaces.rows import linear_space
from svmcut.spec.catalog import TASKS, losses
from svmcut.spec.entries import GRADES, NUMBERS
from svmcut.spec.parameters import Settings
from svmcut.training.checks import check_memory, check_queries, rank_warnings
from svmcut.training.outcome import Units, units_of_examples


class BoundRows(Protocol):
    """Rows bound to a risk of weights of their features, wherever they lie, for a plan."""

    #: The rows, with the number of features of the data; see X.
    examples: Any
    #: On the columns that occur.
    X: Any
    #: (d,) int32 As Csr.compact gives them.
    columns: Any
    path: str
    #: Summed where the risk is a sum over rows of losses of one score each, or one a class.
    units: Units
    #: What a user should know of the data.
    warnings: list[str]

    def space(self, cuts: bool) -> Any:
        """Weights of the features; cuts: whether cutting planes alone work with them."""

    def problem(self, space: Any, C: float, stop: StoppingRule) -> Any:
        """The problem that solvers take."""

    def sensitivity(self, space: Any, w: Any) -> float:
        """A bound of the change of R by a relative change of w; see certificate.weights_reading."""

    def details(self) -> dict[str, Any]:
        """Details of training on these rows for the report."""


def weighted_sensitivity(space: Any, w: Any, weights: float, features: float) -> float:
    """A bound of how a weighed sum of losses rises with the relative change of w, from |w| and sums
    of squares."""
    with np.errstate(over="ignore"):
        return float(math.sqrt(max(0.0, space.dot(w, w))) * np.sqrt(weights * features))


def units_of_queries(s: Settings, weight: float, pairs: float, queries: int) -> Units:
    """The units of a mean over queries with this total weight and this total weight of pairs."""
    each = pairs / weight if losses(s.task)[s.loss or ""].in_pairs else 1.0
    return Units(s.loss or "", (s.epsilon or 0.0) * each, weight, structures=queries)


class Vectors:
    """Examples with one label each, in memory; see BoundRows. `weights` tells whether there will be
    vectors of weights.

    Raises DataError or TrainingError for labels or queries the loss cannot use, and
    MemoryLimitError.
    """

    def __init__(self, examples: Examples, settings: Settings, weights: bool = True):
        self.examples, self._settings = examples.validate(), settings
        s = settings
        self.path = examples.source.path
        # columns of kernel values are points, and stand where they stand
        given = s.is_given
        self.X, self.columns = (self.examples.X, None) if given else self.examples.X.compact()
        if weights:
            check_memory(self.path, self.X.n_features, s.max_memory)
        risk, ranks = make_risk(s), s.labels == GRADES
        if s.slack_norm == 2 and not ranks:  # a ranking risk squares the slack of every query
            risk = SquaredRisk(risk)
        if ranks:
            check_queries(examples)
        try:
            bound: Any = risk.bind(examples.y, examples.qid, examples.weights, s.threads)
        except TrainingError as error:
            raise TrainingError("{}: {}", self.path, error) from None
        self.free = bool(s.free_bias) and not s.has_kernel
        if self.free:
            bound = FreeBias(bound)
        self.risk, self.warnings = bound, list[str]()
        #: No change of all scores by at most d changes the risk by more than this times d; inf
        #: where that is not known.
        self.steepness = math.inf
        if ranks:
            v, queries = bound.weights, bound.n_queries
            pairs = bound.n_pairs if v is None else float(v @ bound.pairs_per_query)
            self.units = units_of_queries(s, total(v, queries), pairs, queries)
            self.warnings = rank_warnings(bound)
            if losses(s.task)[s.loss or ""].added:  # its least value may be that of w = 0
                remedy = Message("compare larger values of C, or give {loss=}", TASKS[s.task].loss)
                self.units = self.units._replace(at_zero=self._at_zero(), remedy=remedy)
        elif s.labels == NUMBERS and not (s.of_scores or s.is_nu):
            self.units = units_of_examples(s, total(bound.weights, len(examples)))
        elif s.of_scores or s.is_nu:
            self.units = units_of_examples(s, total(bound.weights, len(examples)))
            self.steepness = self.units.samples * bound.steepest
        else:
            self.units = Units(s.loss or "", s.epsilon or 0.0, at_zero=self._at_zero())

    def _at_zero(self) -> float:
        return float(self.risk.linearize(np.zeros(len(self.examples))).value) or math.inf

    def space(self, cuts: bool) -> Any:
        return linear_space(self.X, self._settings.bias or 0.0, self._settings.threads, cuts)

    def problem(self, space: Any, C: float, stop: StoppingRule) -> Problem:
        return Problem(self.risk, space, C, stop, self._settings.qp, *self._settings.l1_l2)

    def sensitivity(self, space: Any, w: Any) -> float:
        if self.steepness == math.inf:
            return math.inf
        v, n, norms = self.risk.weights, len(self.examples), np.empty(len(self.examples))
        squares = n if v is None else float(np.dot(v, v))
        sparse.row_norms(sparse.Rows(self.X), norms, self._settings.threads)
        return weighted_sensitivity(space, w, squares, float(np.sum(norms)) + n * space.bias**2)

    def row_sensitivity(self, space: Any, w: Any, part: float) -> float:
        """A bound of the change of a sum of losses of one score each, where every weight changes by
        at most the fraction `part` of it.

        Row i's score changes by at most d_i = part |x_i|.|w|, and a convex loss rises by at most
        d_i times its larger slope at both ends.
        """
        X = self.X
        sizes = LinearSpace(
            replace(X, data=np.abs(X.data)), abs(space.bias), self._settings.threads
        ).scores(np.abs(w))
        s, d = space.scores(w), part * sizes
        slopes = [np.abs(self.risk.linearize(end).coef) for end in (s - d, s + d)]
        return float(np.dot(np.maximum(*slopes), d))

    def details(self) -> dict[str, Any]:
        return {}
