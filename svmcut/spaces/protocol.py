# SPDX-License-Identifier: BSD-3-Clause
"""What a space is: where w and the normals of cuts live. It knows features and never labels."""

from __future__ import annotations

import numpy as np

from svmcut.base.typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from svmcut.spec import schemas


class Elements(Protocol):
    """Vectors of any kind: all that a bundle of cuts asks for."""

    @property
    def by_rows(self) -> bool:
        """Whether a bundle keeps normals as coefficients, and takes their scores."""
        return False

    def kinds(self) -> schemas.Kinds:
        """What a state may hold of this space."""
        ...

    def dot(self, a, b) -> float: ...

    def combine(self, weights, elements: Sequence) -> Any:
        """sum_k weights[k] elements[k]"""
        ...

    def dots(self, elements: Sequence, a) -> NDArray[np.float64]:
        """(k,) dot products of every element with a, each to the last bit that of `dot`."""
        return np.array([self.dot(element, a) for element in elements])

    def combined_square(self, weights, elements: Sequence) -> float:
        """|sum_k weights[k] elements[k]|^2, to the last bit."""
        w = self.combine(weights, elements)
        return self.dot(w, w)

    def keep(self, a, coef) -> Any:
        """What a bundle keeps of the normal a = A^T coef, for `dots` and `combine`; it may take
        less memory."""
        return a


class Space(Elements, Protocol):
    """Points w and their scores A w.

    Attributes
    ----------
    dim : int
        Numbers that stand for an element.
    """

    dim: int

    def zero(self) -> Any: ...

    def scores(self, w) -> NDArray:
        """A w; not to be changed, for a space may know them already."""
        ...

    def adjoint(self, coef) -> Any:
        """A^T coef."""
        ...

    def blend(self, p: float, a, q: float, b) -> Any:
        """p a + q b"""
        return self.combine((p, q), (a, b))
