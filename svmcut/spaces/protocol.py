# SPDX-License-Identifier: BSD-3-Clause
"""The protocol of spaces, where w and the normals of cuts live. A space knows features, never
labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import Any, Protocol
from svmcut.spec import schemas


class Elements(Protocol):
    """Vectors of any kind, with the operations that a bundle of cuts needs."""

    @property
    def should_keep_coefficients(self) -> bool:
        """True if a bundle should pass `keep` the coefficients of normals, and their scores."""
        return False

    def kinds(self) -> schemas.Kinds:
        """The checks of elements, scores and coefficients in a checkpoint."""
        ...

    def dot(self, a, b) -> float: ...

    def combine(self, weights, elements: Sequence) -> Any:
        """sum_k weights[k] elements[k]"""
        ...

    def dots(self, elements: Sequence, a) -> NDArray[np.float64]:
        """(k,) dot products of every element with a, equal to `dot` to the last bit."""
        return np.array([self.dot(element, a) for element in elements])

    def combined_square(self, weights, elements: Sequence) -> float:
        """|sum_k weights[k] elements[k]|^2, to the last bit."""
        w = self.combine(weights, elements)
        return self.dot(w, w)

    def keep(self, a, coef) -> Any:
        """The normal a = A^T coef as a bundle stores it for `dots` and `combine`, which may take
        less memory."""
        return a


class Space(Elements, Protocol):
    """Points w and their scores A w.

    Attributes
    ----------
    dim : int
        Length of the arrays that represent an element.
    """

    dim: int

    def zero(self) -> Any: ...

    def scores(self, w) -> NDArray:
        """A w; must not be changed, as a space may return stored scores."""
        ...

    def adjoint(self, coef) -> Any:
        """A^T coef."""
        ...

    def blend(self, p: float, a, q: float, b) -> Any:
        """p a + q b"""
        return self.combine((p, q), (a, b))
