# SPDX-License-Identifier: BSD-3-Clause
"""Rows with one label each, bound to the risk they are trained for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from svmcut.data.examples import Examples
from svmcut.errors import TrainingError
from svmcut.messages import Message
from svmcut.risks import make_risk
from svmcut.risks.protocol import QueryRisk, SumRisk
from svmcut.risks.squared import SquaredRisk
from svmcut.risks.weights import total
from svmcut.solvers.protocol import Problem
from svmcut.spaces.rows import linear_space
from svmcut.spec.catalog import TASKS, losses
from svmcut.spec.entries import GRADES, NUMBERS
from svmcut.spec.parameters import Settings
from svmcut.training.checks import check_memory, check_queries, rank_warnings
from svmcut.training.outcome import PERCENT, Units

if TYPE_CHECKING:
    from svmcut.solvers.protocol import StoppingRule


class BoundRows(Protocol):
    """Rows bound to a risk of weights of their features, wherever they lie: what a plan trains on.

    Attributes
    ----------
    examples : Sized
        The rows, with the number of features of the data; see X.
    X : Csr, or its n_rows, n_features and nnz
        On the columns that occur.
    columns : (d,) int32 or None
        As Csr.compact gives them.
    path : str
    units : Units
        Summed where the risk is a sum over rows of losses of one score each, or one a class.
    warnings : list of str
        What a user should know of the data.
    """

    examples: Any
    X: Any
    columns: Any
    path: str
    units: Units
    warnings: list[str]

    def space(self, cuts: bool) -> Any:
        """Weights of the features; cuts: whether cutting planes alone work with them."""

    def problem(self, space: Any, C: float, stop: StoppingRule) -> Any:
        """As solvers take it."""

    def rise(self, space: Any, w: Any) -> float:
        """As svmcut.training.certificate.weights_reading takes it."""

    def details(self) -> dict[str, Any]:
        """What the report says of how training went on them."""


def rise_of(space: Any, w: Any, weights: float, features: float) -> float:
    """A bound of how a weighed sum of losses rises with the relative change of w, from |w| and sums
    of squares."""
    with np.errstate(over="ignore"):
        return float(math.sqrt(max(0.0, space.dot(w, w))) * np.sqrt(weights * features))


class Vectors:
    """Examples with one label each, in memory; see BoundRows. weights: whether there will be
    vectors of weights.

    Attributes
    ----------
    risk : BoundRisk
    summed : bool
        As of units.
    total : float
        Sum of the weights of the examples, of queries where they are ranked.
    steepness : float
        No change of all scores by at most d changes the risk by more than this times d; inf where
        not known.

    Raises
    ------
    DataError, TrainingError
        For labels or queries the loss cannot use.
    MemoryLimitError
    """

    def __init__(self, examples: Examples, settings: Settings, weights: bool = True):
        self.examples, self._settings = examples.checked(), settings
        s = settings
        self.path, loss = examples.source.path, s.loss or ""
        self.X, self.columns = self.examples.X.compact()
        if weights:
            check_memory(self.path, self.X.n_features, s.max_memory)
        risk = make_risk(s)
        ranks, self.summed = s.labels == GRADES, s.of_scores
        if s.slack_norm == 2 and not ranks:  # a ranking risk squares the slack of every query
            risk = SquaredRisk(risk)
        if ranks:
            check_queries(examples)
        try:
            self.risk: Any = risk.bind(examples.y, examples.qid, examples.weights, s.threads)
        except TrainingError as error:
            raise TrainingError("{}: {}", self.path, error) from None
        epsilon, self.total, self.steepness = s.epsilon or 0.0, float(len(examples)), math.inf
        self.units = Units(loss, epsilon)
        if self.summed:
            assert isinstance(self.risk, SumRisk)
            self.total = total(self.risk.weights, len(examples))
            self.steepness = self.total * self.risk.steepest
            scale = (
                self.total if s.labels == NUMBERS else PERCENT
            )  # there C weighs an example in either unit
            self.units = Units(loss, epsilon, self.total, scale, summed=True)
        self.warnings = rank_warnings(self.risk) if ranks else []
        if ranks:
            assert isinstance(self.risk, QueryRisk)
            queries, pairs, v = self.risk.n_queries, self.risk.n_pairs, self.risk.weights
            self.total = total(v, queries)
            each = (pairs if v is None else float(v @ self.risk.pairs_per_query)) / self.total
            epsilon *= each if losses(s.task)[loss].in_pairs else 1.0
            self.units = Units(loss, epsilon, self.total, structures=queries)
            if losses(s.task)[loss].added:  # its least value may be that of w = 0
                remedy = Message("compare larger values of C, or give {loss=}", TASKS[s.task].loss)
                self.units = self.units._replace(at_zero=self._at_zero(), remedy=remedy)
        elif not self.summed:
            self.units = self.units._replace(at_zero=self._at_zero())

    def _at_zero(self) -> float:
        return float(self.risk.linearize(np.zeros(len(self.examples))).value) or math.inf

    def space(self, cuts: bool) -> Any:
        return linear_space(self.X, self._settings.bias or 0.0, self._settings.threads, cuts)

    def problem(self, space: Any, C: float, stop: StoppingRule) -> Problem:
        return Problem(self.risk, space, C, stop, self._settings.qp)

    def rise(self, space: Any, w: Any) -> float:
        if self.steepness == math.inf:
            return math.inf
        v, n, data = self.risk.weights, len(self.examples), self.X.data
        squares = n if v is None else float(np.dot(v, v))
        return rise_of(space, w, squares, float(np.dot(data, data)) + n * space.bias**2)

    def details(self) -> dict[str, Any]:
        return {}
