# SPDX-License-Identifier: BSD-3-Clause
"""Risks by name; the module of a risk is imported when the risk is made."""

from __future__ import annotations

from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.spec.catalog import LOSSES, TASKS, load
from svmcut.spec.entries import TWO_CLASSES, Loss
from svmcut.spec.parameters import Settings
from svmcut.spec.places import place_of

if TYPE_CHECKING:
    from svmcut.risks.protocol import Risk

#: Losses of one score a row.
RISKS: dict[str, Loss] = {loss.name: loss for loss in LOSSES if TASKS[loss.task].has_scores}


def make_risk(settings: Settings) -> Risk:
    """The risk of the settings' loss, one of `RISKS`: by its rescaling and slack norm, and the
    parameters its row takes.

    For error-rate that is the hinge, a sum over examples; with slack rescaling or slack norm 2 it
    is the loss of the whole sample. Slack norm 2 squares the slack of a sample, and averages the
    squared slacks of queries. With `original` measures of two classes accept examples of one class,
    as the original programs do. `svmcut.spec.refusals.check` has already refused combinations that
    a loss does not have.
    """
    s, task, entry = settings, TASKS[settings.task], RISKS[settings.loss or ""]
    if task.has_scores:  # others train each class against the rest, with the losses of two
        entry = next((loss for loss in task.losses if loss.name == s.loss), entry)
    if not entry.table or entry.shared or (entry.is_sum and s.is_plain):
        factory = load(entry.where if s.is_plain or entry.squared is None else entry.squared)
        own: dict[str, Any] = {parameter: getattr(s, parameter) for parameter in entry.takes}
        if "at" in own:
            own["at"] = place_of(entry, s.at)
        if s.original and TASKS[entry.task].labels == TWO_CLASSES and not entry.is_sum:
            own["one_class"] = True
        return factory(entry.name, **own) if entry.shared else factory(**own)
    from svmcut.risks.contingency import ContingencyRisk

    return ContingencyRisk(entry.name, s.p, s.rescaling, s.slack_norm, s.original)
