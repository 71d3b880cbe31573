# SPDX-License-Identifier: BSD-3-Clause
"""What a risk is: a convex function of the scores that knows labels and never features."""

from __future__ import annotations

from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Linearization(NamedTuple):
    """The most violated constraint at scores s, as a linear function of the scores.

    Attributes
    ----------
    value : float
        R(s), in the unit of the risk.
    coef : (n,) float64
        A subgradient of R at s. Of chains a svmcut.data.labellings.Labelling that stands for one.
    offset : float
        The constant of the cut, known exactly (a count or the loss of a labelling): for every s',
        R(s') >= offset + coef.s', with equality at s. Not computed as value - coef.s, which loses
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
    """A risk whose minimum on a line is known."""

    def line_minimum(self, s: NDArray, e: NDArray, wd: float, dd: float, C: float) -> float:
        """The t >= 0 that minimises (t^2 dd + 2 t wd)/2 + C R(s + t e)."""
        ...


@runtime_checkable
class GridRisk(BoundRisk, Protocol):
    """A risk whose values at many steps of a line cost no more than at one."""

    def on_grid(self, s: NDArray, target: NDArray, grid: NDArray, even: int) -> NDArray:
        """(2, steps): R and its slope to the right at s + t (target - s) for every t of the grid,
        which rises from 0, evenly up to grid[even]."""
        ...


@runtime_checkable
class LineRisk(BoundRisk, Protocol):
    """A risk that knows its values on a line without forming the scores there; its coefficients are
    labellings."""

    def along(self, s: NDArray, e: NDArray, known: Linearization) -> Any:
        """R on the line s + t e, t >= 0, known being its linearization at s: an object whose at(t)
        gives R, its slope and the linearization."""
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
        Of the slopes of a loss.
    """

    weights: NDArray | None
    steepest: float


@runtime_checkable
class LossRisk(SumRisk, Protocol):
    """One whose dual variables have boxes of their own; svmcut.risks.losses has what solvers ask of
    it.

    Attributes
    ----------
    targets : (n,) float64
        Labels in {-1, +1}, or targets.
    tube : float
        Half the width of what costs nothing around them.
    number : int
        Of svmcut._native.losses.
    """

    targets: NDArray
    tube: float
    number: int

    def dual_cut(self, fractions: NDArray, logit: NDArray | None) -> tuple[NDArray, float]:
        """Coefficients and offset of the cut that fractions of the dual box stand for."""
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
        As ``--loss`` takes it.
    """

    @property
    def name(self) -> str: ...

    def bind(
        self, y: NDArray, qid: NDArray | None = None, cost: NDArray | None = None, threads: int = 1
    ) -> BoundRisk:
        """Check the labels once, sort and index once.

        Raises
        ------
        TrainingError
            When the labels leave the risk undefined (a measure that needs both classes); names the
            loss.
        """
        ...
