# SPDX-License-Identifier: BSD-3-Clause
"""What is refused of the options of labels by the thousand."""

from __future__ import annotations

from svmcut.errors import UsageError
from svmcut.messages import Parameter
from svmcut.spec.catalog import AUTO, DUAL_CD
from svmcut.spec.parameters import Settings


def check_blocks(settings: Settings) -> None:
    """Refuses what blocks of labels alone have, where labels are not learnt in blocks.

    Raises
    ------
    UsageError
    """
    names = ("tree", "prune", "label_block", "model_format")
    asked = next((name for name in names if getattr(settings, name) not in (None, False)), None)
    if asked is None:
        return
    if settings.pairs != "none":
        raise UsageError(
            "{} is for labels without weights of pairs; add {pairs=none}", Parameter(asked)
        )
    if settings.solver not in (AUTO, DUAL_CD):
        raise UsageError("{} is for {solver=}; leave out {solver}", Parameter(asked), DUAL_CD)
