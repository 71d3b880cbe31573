# SPDX-License-Identifier: BSD-3-Clause
"""Plans of two stages: a solver that chooses points, then exact training in the span of those points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svmcut.training.outcome import Objective, Outcome
from svmcut.training.room import kernel_failure
from svmcut.training.span import Span
from svmcut.training.stage import Ended, Plan, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from svmcut.solvers.protocol import StoppingRule
    from svmcut.training.room import KernelRoom


class Chooser:
    """The first stage, and what it leaves to the second.

    Parameters
    ----------
    room : KernelRoom

    Attributes
    ----------
    key, counts : str
        What the report calls the first stage, and what it says of it: a part of what was found.

    Notes
    -----
    What differs beside the methods here: first(objective, stop), the solver that chooses and its problem;
    found(objective, ended), what it chose, as plain values that are all the second stage needs, with the evaluations
    of kernel values that the room does not know of; check(found), which refuses any other; bare(objective, stop, found,
    ended), the judged outcome where no other stage follows.
    """

    key = ""
    counts = "details"
    check: Callable[[Any], None]
    first: Callable[[Objective, StoppingRule], tuple[Any, Any]]
    found: Callable[[Objective, Ended], dict[str, Any]]
    bare: Callable[[Objective, StoppingRule, dict[str, Any], Ended], Outcome]

    def __init__(self, room: KernelRoom):
        self.room, self.settings, self.path = room, room.settings, room.vectors.path

    def stopped_by(self, ended: Ended) -> str | None:
        """What ended the first stage before its aim."""
        return ended.stopped_by

    def size(self, found: dict[str, Any]) -> int:
        """How many points it chose."""
        return len(found["points"])

    def span(self, objective: Objective, found: dict[str, Any]) -> tuple[Span, Objective]:
        """The span of the points with the largest coefficients, and what is minimised in it."""
        return Span(self.room, self.room.heaviest(found["points"], found["coef"])), objective

    def polished(self, span: Span, objective: Objective, found: dict[str, Any], ended: Ended) -> Outcome:
        """The judged outcome of the second stage."""
        return span.judged(ended)


class Chosen(Plan):
    """A chooser, and the polish unless the settings or the run say otherwise.

    Parameters
    ----------
    chooser : Chooser
    """

    def __init__(self, chooser: Chooser):
        room = chooser.room
        super().__init__(room.settings, room.vectors.path, room.vectors.units, room.warnings)
        self._chooser = chooser

    def check_found(self, found: Any) -> None:
        if found is not None:
            self._chooser.check(found)

    def next(self, objective: Objective, found: dict[str, Any] | None) -> Stage:
        """The chooser's, or cutting planes in the span of what it found."""
        if found is None:
            return Stage(self.settings.solver, *self._chooser.first(objective, self.stop(objective)), objective)
        self._span, aim = self._chooser.span(objective, found)
        return self._span.stage("polish", aim, self.stop(aim))

    def finish(self, objective: Objective, found: dict[str, Any] | None, ended: Ended) -> dict[str, Any] | Outcome:
        """What was found, or the model of the last stage."""
        chooser = self._chooser
        if found is None:
            found = chooser.found(objective, ended)
            aimed = chooser.stopped_by(ended) in (None, "rounding")
            if self.settings.polish and aimed and chooser.size(found):
                return found
            outcome = chooser.bare(objective, self.stop(objective), found, ended)
        else:
            outcome = chooser.polished(self._span, objective, found, ended)
        outcome.details[chooser.key] = found[chooser.counts]
        outcome.kernel_evaluations = found["evaluations"] + chooser.room.evaluations
        return outcome

    def failure(self, error: Exception) -> Exception:
        return kernel_failure(self.path, error)
