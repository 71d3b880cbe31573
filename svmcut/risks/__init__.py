# SPDX-License-Identifier: BSD-3-Clause
"""Risks by name. A risk's module is imported when the risk is made, not before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from svmcut.spec.catalog import LOSSES, load
from svmcut.spec.entries import Loss

if TYPE_CHECKING:
    from svmcut.risks.protocol import Risk

#: Those of vectors; the names of the two tasks differ.
RISKS: dict[str, Loss] = {
    loss.name: loss for loss in LOSSES if loss.task in ("classification", "rank", "regression")
}


def make_risk(
    name: str,
    *,
    p: float = 0.0,
    at: int = 10,
    tube: float = 0.1,
    rescaling: Literal["margin", "slack"] = "margin",
    slack_norm: Literal[1, 2] = 1,
    one_class: bool = False,
) -> Risk:
    """The risk of a name in `RISKS`.

    Parameters
    ----------
    name : str
        As parameter loss takes it.
    p : float
        Parameter p: k of prec-at-k and rec-at-k as a fraction of the positives; 0 for the default.
        Others ignore it.
    at : int
        Parameter at: places that ndcg counts. Others ignore it.
    tube : float
        Parameter tube, of the epsilon-insensitive loss. Others ignore it.
    rescaling : {"margin", "slack"}
    slack_norm : {1, 2}
        Power of the slack in the objective.
    one_class : bool
        Whether measures of two classes accept examples of one, as svm_perf does.

    Returns
    -------
    Risk
        For error-rate the hinge, a sum over examples; with slack rescaling or slack norm 2 the loss
        of the sample. With slack norm 2 that of a sample is the slack, that of queries the mean of
        their squared slacks.

    Notes
    -----
    What a loss has no rescaling, slack norm or p for is refused before, by
    `svmcut.spec.refusals.check`.
    """
    entry = RISKS[name]
    plain = rescaling == "margin" and slack_norm == 1
    if not entry.table or (entry.is_sum and plain):
        factory = load(entry.where if plain or entry.squared is None else entry.squared)
        if entry.task == "regression":
            return factory(tube)
        if entry.task == "rank":
            return factory(name, at) if entry.ranked else factory(name)
        return factory(one_class=True) if one_class and not entry.is_sum else factory()
    from svmcut.risks.contingency import ContingencyRisk

    return ContingencyRisk(name, p, rescaling, slack_norm, one_class)
