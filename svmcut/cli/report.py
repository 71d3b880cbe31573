# SPDX-License-Identifier: BSD-3-Clause
"""Reports: the originals' lines for stdout, and one JSON document for programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from svmcut.files.output import write_atomically

if TYPE_CHECKING:
    from svmcut.measures import RankingMeasures

_CLASSIFICATION_NOTE = """\
NOTE: The loss reported above is the percentage of errors. The zero/one-error
      is the multivariate zero/one-error regarding the whole prediction vector!
"""
_RANKING_NOTE = """\
NOTE: The loss reported above is the fraction of swapped pairs averaged over
      all rankings. The zero/one-error is fraction of perfectly correct
      rankings!
"""
_CLASSIFICATION_LINES = (
    ("Accuracy ", "accuracy"),
    ("Precision", "precision"),
    ("Recall   ", "recall"),
    ("F1       ", "f1"),
    ("PRBEP    ", "prbep"),
    ("ROCArea  ", "roc_area"),
    ("AvgPrec  ", "average_precision"),
)


def loss_lines(cpu_seconds: float, loss: float, correct: int, total: int) -> str:
    """Run time, average loss and zero/one-error over structures, as svm_perf and svm_rank print them."""
    wrong = total - correct
    return (
        f"Runtime (without IO) in cpu-seconds: {cpu_seconds:.2f}\n"
        f"Average loss on test set: {loss:.4f}\n"
        f"Zero/one-error on test set: {100.0 * wrong / total:.2f}% "
        f"({correct} correct, {wrong} incorrect, {total} total)\n"
    )


def classification_lines(measures: dict[str, float]) -> str:
    """svm_perf's note and seven numbers, in percent; -nan where a measure is undefined, as scripts know it."""
    numbers = ((label, measures[key]) for label, key in _CLASSIFICATION_LINES)
    lines = (f"{label}: {' -nan' if math.isnan(value) else f'{value:5.2f}'}\n" for label, value in numbers)
    return _CLASSIFICATION_NOTE + "".join(lines)


def contingency_lines(measures: dict[str, float], table: tuple[int, int, int, int]) -> str:
    """svm_perf's lines of -v 2: average loss, what accuracy, precision, recall and F1 lack to 100, and the table."""
    losses = [measures["error_rate"], *(100.0 - measures[key] for key in ("accuracy", "precision", "recall", "f1"))]
    return "".join(f"    loss={loss:f}; contingency_table={table}\n" for loss in losses)


def ranking_lines(measures: RankingMeasures) -> str:
    """svm_rank's note and two numbers."""
    return (
        f"{_RANKING_NOTE}"
        f"Total Num Swappedpairs  : {measures.swapped_pairs:6d}\n"
        f"Avg Swappedpairs Percent: {measures.swapped_percent:6.2f}\n"
    )


def write_report(path: str, document: dict[str, Any]) -> None:
    """Write one JSON document; what is not finite becomes null.

    Raises
    ------
    OutputError
        When the file cannot be written.
    """
    import json

    text = json.dumps(_finite(document), indent=2, allow_nan=False)
    with write_atomically(path) as output:
        output.write(text.encode("ascii") + b"\n")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "item"):
        return _finite(value.item())
    return value
