# SPDX-License-Identifier: BSD-3-Clause
"""Joins a risk, which knows scores, to a space, which knows features."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcut.cutting.bundle import Cut
from svmcut.risks.protocol import Linearization


class RiskOracle:
    """The most violated constraint of a risk as a cut of a space.

    Parameters
    ----------
    risk : BoundRisk
    space : Space
    refresh : int
        The normal of a cut is formed from the last one where few coefficients changed (a fraction of the rows is read),
        and afresh every `refresh` cuts, so that rounding does not add up. 1 switches this off.
    """

    def __init__(self, risk, space, refresh: int = 50):
        self.risk, self.space, self._refresh = risk, space, refresh
        self._coef = self._a = None
        self._age = 0

    def state(self) -> dict[str, Any]:
        """What the next normal is formed from; it does not change any more."""
        return {"coef": self._coef, "a": self._a, "age": self._age}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from a `state`."""
        self._coef, self._a, self._age = state["coef"], state["a"], state["age"]

    def separate(self, w) -> Cut:
        """The cut at w; one pass for the scores, one for the normal."""
        return self.cut_at(self.space.scores(w))

    def cut_at(self, s) -> Cut:
        """The cut at scores that are known already; one pass for the normal, over changed rows alone where it pays."""
        return self.cut_of(self.risk.linearize(s))

    def cut_of(self, known: Linearization) -> Cut:
        """The cut of a linearization."""
        return Cut(self.normal(known.coef), known.offset, known.value, known.coef)

    def normal(self, coef):
        """A^T coef; one pass, over changed rows alone where it pays."""
        if self._a is not None and self._age < self._refresh:
            change = coef - self._coef
            if 2 * np.count_nonzero(change) < np.count_nonzero(coef):
                a = self.space.adjoint(change)
                a += self._a
                self._age += 1
                self._coef, self._a = coef, a
                return a
        self._age = 1
        self._coef, self._a = coef, self.space.adjoint(coef)
        return self._a
