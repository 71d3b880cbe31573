# SPDX-License-Identifier: BSD-3-Clause
"""Plans of two stages: a solver that chooses points, then exact training in the span of those
points."""

from __future__ import annotations

from svmcut.training.room import KernelPlan
from svmcut.training.span import Span
from svmcut.training.stage import Stage
from svmcut.typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from svmcut.training.outcome import Objective, Outcome
    from svmcut.training.stage import Ended


class Chosen(KernelPlan):
    """Points are chosen, and polished unless the settings or the run say otherwise.

    Attributes
    ----------
    key, counts : str
        What the report calls the first stage, and what it says of it: a part of what was found.

    Notes
    -----
    What differs beside the methods here: first(objective), the solver that chooses and its problem;
    handover(objective, ended), what it chose, as plain values that are all the second stage needs,
    with the evaluations of kernel values that the room does not know of; check(handed), which
    refuses any other; bare(objective, handed, ended), the judged outcome where no other stage
    follows.
    """

    key: ClassVar[str]
    counts: ClassVar[str] = "details"
    check: Callable[[Any], None]
    first: Callable[[Objective], tuple[Any, Any]]
    handover: Callable[[Objective, Ended], dict[str, Any]]
    bare: Callable[[Objective, dict[str, Any], Ended], Outcome]

    def stopped_by(self, ended: Ended) -> str | None:
        """What ended the first stage before its aim."""
        return ended.stopped_by

    def size(self, handed: dict[str, Any]) -> int:
        """How many points it chose."""
        return len(handed["points"])

    def span(self, objective: Objective, handed: dict[str, Any]) -> tuple[Span, Objective]:
        """The span of the points with the largest coefficients, and what is minimised in it."""
        return Span(self.room, self.room.heaviest(handed["points"], handed["coef"])), objective

    def polished(
        self, span: Span, objective: Objective, handed: dict[str, Any], ended: Ended
    ) -> Outcome:
        """The judged outcome of the second stage."""
        return span.judged(ended)

    def check_found(self, handed: Any) -> None:
        if handed is not None:
            self.check(handed)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        """The stage that chooses, or cutting planes in the span of what it found."""
        if handed is None:
            return Stage(self.settings.solver, *self.first(objective), objective)
        self._span, aim = self.span(objective, handed)
        return self._span.stage("polish", aim, self.stop(aim))

    def finish(
        self, objective: Objective, handed: dict[str, Any] | None, ended: Ended
    ) -> dict[str, Any] | Outcome:
        """What was found, or the model of the last stage."""
        if handed is None:
            handed = self.handover(objective, ended)
            aimed = self.stopped_by(ended) in (None, "rounding")
            if self.settings.polish and aimed and self.size(handed):
                return handed
            outcome = self.bare(objective, handed, ended)
        else:
            outcome = self.polished(self._span, objective, handed, ended)
        outcome.details[self.key] = handed[self.counts]
        outcome.kernel_evaluations = handed["evaluations"] + self.room.evaluations
        return outcome
