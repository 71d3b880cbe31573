# SPDX-License-Identifier: BSD-3-Clause
"""Comments of programs: what the model is, what columns become, and weights per unit."""

from __future__ import annotations

from svmcut._version import __version__
from svmcut.scorers.description import Scorer
from svmcut.scorers.literals import remark
from svmcut.tables.encoding import Fitted, Number

#: Features that have a comment each, at most.
MAX_NOTES = 5000


def head(scorer: Scorer) -> list[str]:
    """Lines at the top of a file."""
    columns = len(scorer.columns)
    of = f" of {columns} column{'s' * (columns > 1)}" if columns else ""
    rows = [f"Written by svmcut {__version__}; {scorer.n_features:,} features{of}."]
    if scorer.labels:
        rows.append(f"Labels: {remark(', '.join(scorer.labels), 200)}")
    if scorer.machines is not None:
        kernel = scorer.machines.kernel
        known = ", ".join(f"{name} {value:g}" for name, value in kernel.parameters.items())
        rows.append(f"{scorer.machines.support.n_rows:,} support vectors; {kernel.name}, {known}")
    return rows


def column_note(column: Fitted) -> str:
    """Comment on a column."""
    if isinstance(column, Number) and not column.boolean:
        how = f"number, mean {column.mean:g}, deviation {1 / column.scale:g}"
        return f"{remark(column.name)}: {how}" + ", some missing" * column.missing
    return f"{remark(column.name)}: {column.describe()}"


def weight_notes(scorer: Scorer) -> list[str]:
    """A comment for the weights of every feature; of a number that of its unit."""
    if not scorer.columns or scorer.n_features > MAX_NOTES or scorer.weights is None:
        return [""] * scorer.n_features
    notes = [remark(feature) for feature in scorer.features()]
    if scorer.n_sums == 1:
        for column, first in scorer.columns:
            if isinstance(column, Number):
                per_unit = float(scorer.weights[first, 0]) * column.scale
                notes[first] += f"; {per_unit:.4g} per unit"
    return notes
