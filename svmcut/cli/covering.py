# SPDX-License-Identifier: BSD-3-Clause
"""classify's intervals and sets of labels, and how many of the rows are in theirs."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator

import numpy as np

from svmcut.base.errors import ModelError, UsageError
from svmcut.base.messages import Message
from svmcut.base.typing import Any
from svmcut.cli.score_lines import ScoringOptions
from svmcut.files.output import write_atomically
from svmcut.scoring.conformal import ABSOLUTE, intervals_of, label_sets
from svmcut.tasks.calibration import strangeness_inputs
from svmcut.tasks.protocol import Task


def quote_label(label: str) -> str:
    """A label among others with blanks in between: quoted as in JSON where it would not be read as
    it is."""
    is_plain = label.isprintable() and not {*label} & {" ", '"', "\\"} and label not in ("", "-")
    return label if is_plain else json.dumps(label, ensure_ascii=False)


class Covered:
    """Writes the intervals or sets of rows, and counts those that hold the row's label."""

    def __init__(self, task: Task, model: Any, options: ScoringOptions, output: Any = None):
        self._task, self._model, self._output = task, model, output
        self._threads, self._has_labels = options.threads, not options.unlabelled
        self._promised = model.coverage
        self.is_number = self._promised.score == ABSOLUTE
        self._texts = [] if self.is_number else [*map(quote_label, model.label_texts())]
        self._rows, self._hits, self._size = 0, 0, 0.0

    def take(self, part: Any, predicted: Any) -> None:
        """Counts and writes rows by their predictions."""
        score = self._promised.score
        made = strangeness_inputs(self._task, self._model, score, part, predicted, self._threads)
        self._rows += len(made)
        if self.is_number:
            self._take_numbers(part, intervals_of(self._promised, made))
        else:
            self._take_sets(part, label_sets(self._promised, made))

    def _take_numbers(self, part: Any, ends: np.ndarray) -> None:
        low, high = ends.T
        self._size += float((high - low).sum())
        if self._has_labels:
            self._hits += int(((low <= part.y) & (part.y <= high)).sum())
        self._write(f"{low:.17g} {high:.17g}" for low, high in ends.tolist())

    def _take_sets(self, part: Any, sets: np.ndarray) -> None:
        self._size += float(sets.sum())
        if self._has_labels:
            places = self._task.places(part, self._model)
            self._hits += int((sets[np.arange(len(sets)), places] & (places >= 0)).sum())
        self._write(
            " ".join(text for text, has in zip(self._texts, row, strict=True) if has) or "-"
            for row in sets.tolist()
        )

    def _write(self, lines: Iterator[str]) -> None:
        if self._output is not None:
            text = "".join(f"{line}\n" for line in lines)
            self._output.write(text.encode("utf-8", "surrogateescape"))

    def report(self) -> dict[str, Any]:
        """Entries of the report; a mean width that is not finite is None."""
        mean: float | None = self._size / max(1, self._rows)
        mean = mean if math.isfinite(self._size) else None
        size = {"mean_width" if self.is_number else "mean_set_size": mean}
        return ({"coverage": self._hits / max(1, self._rows)} if self._has_labels else {}) | size

    def summary(self) -> str:
        """Line to print."""
        what, mean = "width of intervals" if self.is_number else "size of sets", self._size
        size = f"mean {what} {mean / max(1, self._rows):.6g}"
        promised = f"{100 * self._promised.share:g} % promised"
        if not self._has_labels:
            return f"Coverage: {promised}; {size}\n"
        share = 100 * self._hits / max(1, self._rows)
        return f"Coverage: {share:.2f} % of {self._rows:,} rows, {promised}; {size}\n"


@contextlib.contextmanager
def open_covered(
    task: Task, model: Any, path: str, options: ScoringOptions
) -> Iterator[Covered | None]:
    """Yields what writes and counts intervals or sets; None for a model that promises no coverage.
    Raises ModelError or UsageError if such a file is asked for and the model has none of it."""
    numbers, sets = options.intervals, options.label_sets
    promised = getattr(model, "coverage", None)
    if promised is None and (numbers, sets) != (None, None):
        message = (
            "the model promises no coverage; svmcut conformal DEV MODEL OUT writes one that does"
        )
        raise ModelError(path, Message(message))
    if promised is None or options.task is not None:
        yield None
        return
    is_number = promised.score == ABSOLUTE
    if is_number and sets is not None:
        raise UsageError(
            "--label-sets is for classes, and the model predicts numbers; use --intervals"
        )
    if not is_number and numbers is not None:
        raise UsageError("--intervals is for numbers, and the model has classes; use --label-sets")
    target = numbers if is_number else sets
    if target is None:
        yield Covered(task, model, options)
        return
    with write_atomically(target) as output:
        yield Covered(task, model, options, output)
