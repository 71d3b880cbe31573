# SPDX-License-Identifier: BSD-3-Clause
"""Risks by name. A risk's module is imported when the risk is made, not before."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Literal, NamedTuple

from svmcut.errors import UsageError

if TYPE_CHECKING:
    from svmcut.risks.protocol import Risk


class Entry(NamedTuple):
    """Where a risk is made.

    Attributes
    ----------
    module, factory : str
        The class ``factory`` of ``module``.
    number : int or None
        The original's -l: svm_perf's, or svm_rank's for task "rank".
    task : {"classification", "rank"}
    table : bool
        Whether the loss is a function of the contingency table: these know slack rescaling and both slack norms.
    squared : tuple of two str, or None
        Module and class of the risk of slack norm 2, where it is one of its own.
    """

    module: str
    factory: str
    number: int | None
    task: Literal["classification", "rank"]
    table: bool
    squared: tuple[str, str] | None = None


_TABLES = "svmcut.risks.contingency"
_ORDINAL = "svmcut.risks.ordinal"
_SQUARED = ("svmcut.risks.ordinal_squared", "SquaredOrdinalRisk")

RISKS: dict[str, Entry] = {
    "zero-one": Entry(_TABLES, "ContingencyRisk", 0, "classification", True),
    "f1": Entry(_TABLES, "ContingencyRisk", 1, "classification", True),
    "error-rate": Entry("svmcut.risks.hinge", "HingeRisk", 2, "classification", True),
    "prbep": Entry(_TABLES, "ContingencyRisk", 3, "classification", True),
    "prec-at-k": Entry(_TABLES, "ContingencyRisk", 4, "classification", True),
    "rec-at-k": Entry(_TABLES, "ContingencyRisk", 5, "classification", True),
    "roc-area": Entry("svmcut.risks.rocarea", "RocAreaRisk", 10, "classification", False),
    "average-precision": Entry("svmcut.risks.average_precision", "AveragePrecisionRisk", 11, "classification", False),
    "swapped-pairs": Entry(_ORDINAL, "OrdinalRisk", 1, "rank", False, _SQUARED),
    "swapped-fraction": Entry(_ORDINAL, "OrdinalRisk", 2, "rank", False, _SQUARED),
    "pairs": Entry(_ORDINAL, "OrdinalRisk", None, "rank", False),
}


def make_risk(
    name: str,
    *,
    p: float = 0.0,
    rescaling: Literal["margin", "slack"] = "margin",
    slack_norm: Literal[1, 2] = 1,
    one_class: bool = False,
) -> Risk:
    """The risk of a name in `RISKS`.

    Parameters
    ----------
    name : str
        As ``--loss`` takes it.
    p : float
        ``--p``: k of prec-at-k and rec-at-k as a fraction of the positives; 0 for the default. Others ignore it.
    rescaling : {"margin", "slack"}
    slack_norm : {1, 2}
        Power of the slack in the objective.
    one_class : bool
        Whether measures of two classes accept examples of one, as svm_perf does.

    Returns
    -------
    Risk
        For error-rate the hinge, a sum over examples; with slack rescaling or slack norm 2 the loss of the sample. With
        slack norm 2 that of a sample is the slack, that of queries the mean of their squared slacks.

    Raises
    ------
    UsageError
        When the name is unknown, p is out of range, or the loss has no such rescaling or slack norm.
    """
    if name not in RISKS:
        raise UsageError(f"loss '{name}' is unknown; expected one of {', '.join(RISKS)}")
    if rescaling not in ("margin", "slack"):
        raise UsageError(f"rescaling '{rescaling}' is unknown; expected margin or slack")
    if slack_norm not in (1, 2):
        raise UsageError(f"slack norm {slack_norm} is unknown; expected 1 or 2")
    entry = RISKS[name]
    if rescaling == "slack" and not entry.table:
        raise UsageError(f"slack rescaling is not implemented for loss '{name}'")
    if slack_norm == 2 and not entry.table and entry.squared is None:
        raise UsageError(f"slack norm 2 is not implemented for loss '{name}'")
    plain = rescaling == "margin" and slack_norm == 1
    if not entry.table or (name == "error-rate" and plain):
        if not p >= 0:
            raise UsageError(f"--p {p:g} is out of range; expected a number of at least 0")
        module, name_of = (entry.module, entry.factory) if plain or entry.squared is None else entry.squared
        factory = getattr(importlib.import_module(module), name_of)
        if entry.task == "rank":
            return factory(name)
        return factory(one_class=True) if one_class and name != "error-rate" else factory()
    from svmcut.risks.contingency import ContingencyRisk

    return ContingencyRisk(name, p, rescaling, slack_norm, one_class)
