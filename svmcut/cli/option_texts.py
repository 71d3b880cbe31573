# SPDX-License-Identifier: BSD-3-Clause
"""What help says of options that hang on the losses of a task."""

from __future__ import annotations

from svmcut.messages import join_names
from svmcut.spec.catalog import SOLVERS, losses, takers
from svmcut.spec.entries import FLOOR, NEWTON, PLACES, RANGE
from svmcut.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svmcut.spec.entries import Loss

#: What --at is, with the losses that take it.
AT_HELP = {
    PLACES: "Number of top places that {} counts",
    FLOOR: "least value of the second measure of {}",
    RANGE: "LOW,HIGH, the range of false-positive rates of {}",
}

#: What workers do, of rows that lie in parts or of sets of labels.
SPREAD = {
    True: "EXAMPLE_FILE may be a quoted pattern: every file is a part that a worker reads by the "
    "same name. Cutting planes or Newton's method; same bytes for any number of workers.",
    False: "Each trains blocks of labels or of the nodes of a tree, to the bytes of one machine.",
}


def placed(rows: Sequence[Loss]) -> str:
    """What --at is of these losses."""
    texts = [
        text.format(join_names([loss.name for loss in rows if loss.place == place]))
        for place, text in AT_HELP.items()
        if any(loss.place == place for loss in rows)
    ]
    text = "; ".join(texts)
    return text[:1].upper() + text[1:]


def biased(task: str) -> str:
    """Where a bias may be free."""
    taking = takers(task, "free_bias")
    kernel = [name for name in taking if SOLVERS[name].free_bias]
    own = SOLVERS[NEWTON].losses or ()
    sums = [loss.name for loss in losses(task).values() if loss.name in own]
    on_features = f"instead of the constant feature, for {join_names(sums)}"
    if not kernel:
        return on_features
    return f"with kernels for solvers {join_names(kernel)}; on features {on_features}"
