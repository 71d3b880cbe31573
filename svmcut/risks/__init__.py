# SPDX-License-Identifier: BSD-3-Clause
"""Risks by name. A risk's module is imported when the risk is made, not before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svmcut.spec.catalog import LOSSES, load
from svmcut.spec.entries import Loss

if TYPE_CHECKING:
    from svmcut.risks.protocol import Risk
    from svmcut.spec.parameters import Settings

#: Those of vectors; the names of the two tasks differ.
RISKS: dict[str, Loss] = {
    loss.name: loss for loss in LOSSES if loss.task in ("classification", "rank", "regression")
}


def make_risk(settings: Settings) -> Risk:
    """The risk of the settings' loss, one of `RISKS`: by its rescaling and slack norm, and the
    parameters it has of p, at and tube.

    Returns
    -------
    Risk
        For error-rate the hinge, a sum over examples; with slack rescaling or slack norm 2 the loss
        of the sample. With slack norm 2 that of a sample is the slack, that of queries the mean of
        their squared slacks. Measures of two classes accept examples of one by the conventions of
        the originals.

    Notes
    -----
    What a loss has no rescaling, slack norm or p for is refused before, by
    `svmcut.spec.refusals.check`.
    """
    s, entry = settings, RISKS[settings.loss or ""]
    if not entry.table or (entry.is_sum and s.is_plain):
        factory = load(entry.where if s.is_plain or entry.squared is None else entry.squared)
        if entry.task == "regression":
            return factory(s.tube)
        if entry.task == "rank":
            return factory(entry.name, s.at) if entry.ranked else factory(entry.name)
        return factory(one_class=True) if s.original and not entry.is_sum else factory()
    from svmcut.risks.contingency import ContingencyRisk

    return ContingencyRisk(entry.name, s.p, s.rescaling, s.slack_norm, s.original)
