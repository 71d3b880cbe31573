# SPDX-License-Identifier: BSD-3-Clause
"""The protocol of risks: convex functions of the scores that know labels and never features."""

from __future__ import annotations

from numpy.typing import NDArray

from svmcut.base.typing import Any, NamedTuple, Protocol, runtime_checkable


class Linearization(NamedTuple):
    """The most violated constraint at scores s, as a linear function of the scores.

    Attributes
    ----------
    value : float
        R(s), in the unit of the risk.
    coef : (n,) float64
        A subgradient of R at s; for chains a svmcut.data.labellings.Labelling that represents one.
    offset : float
        The constant of the cut, known exactly (a count or the loss of a labelling): for every s',
        R(s') >= offset + coef.s', with equality at s. Computing it as value - coef.s would lose
        digits.
    """

    value: float
    coef: Any
    offset: float


class BoundRisk(Protocol):
    """A risk of given labels."""

    def linearize(self, s: NDArray) -> Linearization:
        """Value, subgradient and offset at scores s, (n,) float64; O(n log n) unless documented."""
        ...


@runtime_checkable
class ExactLineRisk(BoundRisk, Protocol):
    """A risk with an exact minimum on a line."""

    def line_minimum(self, s: NDArray, e: NDArray, wd: float, dd: float, C: float) -> float:
        """The t >= 0 that minimises (t^2 dd + 2 t wd)/2 + C R(s + t e)."""
        ...


@runtime_checkable
class GridRisk(BoundRisk, Protocol):
    """A risk that evaluates many steps of a line as cheaply as one."""

    def on_grid(self, s: NDArray, target: NDArray, grid: NDArray, even: int) -> NDArray:
        """(2, steps): R and its right derivative at s + t (target - s) for every t of the grid,
        which rises from 0 and is evenly spaced up to grid[even]."""
        ...


@runtime_checkable
class LineRisk(BoundRisk, Protocol):
    """A risk with values on a line that need no scores there; its coefficients are labellings."""

    def along(self, s: NDArray, e: NDArray, known: Linearization) -> Any:
        """R on the line s + t e, t >= 0: an object whose at(t) gives R, its slope and the
        linearization. `known` is the linearization at s."""
        ...


@runtime_checkable
class SignedRisk(BoundRisk, Protocol):
    """A sum over examples with one label each.

    Attributes
    ----------
    signs : (n,) float64 in {-1, +1}
    weights : (n,) float64 or None
        None for 1 each.
    """

    signs: NDArray
    weights: NDArray | None

    def take(self, rows: NDArray) -> SignedRisk:
        """The risk of these examples alone."""
        ...


@runtime_checkable
class SumRisk(BoundRisk, Protocol):
    """A sum over examples of losses of one score each.

    Attributes
    ----------
    weights : (n,) float64 or None
        Of the examples; None for 1 each.
    steepest : float
        The largest slope of a loss.
    """

    weights: NDArray | None
    steepest: float


@runtime_checkable
class LossRisk(SumRisk, Protocol):
    """A SumRisk whose dual variables have boxes of their own; svmcut.risks.losses has what solvers
    need.

    Attributes
    ----------
    targets : (n,) float64
        Labels in {-1, +1}, or targets.
    tube : float
        Half the width of the interval around a target without loss.
    number : int
        Of svmcut._native.losses.
    """

    targets: NDArray
    tube: float
    number: int

    def dual_cut(self, fractions: NDArray, logit: NDArray | None) -> tuple[NDArray, float]:
        """Coefficients and offset of the cut with these fractions of the dual box."""
        ...


@runtime_checkable
class QueryRisk(BoundRisk, Protocol):
    """A risk of the orders within queries.

    Attributes
    ----------
    n_queries, n_pairs : int
        Queries, and pairs of rows of one query with different labels.
    pairs_per_query : (n_queries,) int64
    weights : (n_queries,) float64 or None
        None for 1 each.
    """

    n_queries: int
    n_pairs: int
    pairs_per_query: NDArray
    weights: NDArray | None


class Risk(Protocol):
    """A family of risks.

    Attributes
    ----------
    name : str
        The value of ``--loss``.
    """

    @property
    def name(self) -> str: ...

    def bind(
        self, y: NDArray, qid: NDArray | None = None, cost: NDArray | None = None, threads: int = 1
    ) -> BoundRisk:
        """Check, sort and index the labels once.

        Raises
        ------
        TrainingError
            When the labels leave the risk undefined (a measure that needs both classes); names the
            loss.
        """
        ...
