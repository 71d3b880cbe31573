# SPDX-License-Identifier: BSD-3-Clause
"""Runs of classify with a linear model of two classes and no unusual option: the same predictions
and lines as of `svmcut.cli.scoring`, before NumPy could be imported.

Anything unusual, above all a fault, is left to that module before anything is written or printed.
"""

from __future__ import annotations

import os
import stat
import time
from types import SimpleNamespace

from svmcut._native.scored import LinearScorer, Unusual
from svmcut.base.errors import SvmcutError
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.cli.score_lines import Files, ScoringOptions, check_files, print_lines
from svmcut.files.names import input_by_ending
from svmcut.files.output import write_atomically
from svmcut.files.text import feed_scanner, open_text
from svmcut.formats import marks
from svmcut.formats.grammar import LINE_LIMIT, HeaderLines
from svmcut.formats.seals import split_seal
from svmcut.scoring.measures import ROUNDING, find_negative_range, two_class_measures
from svmcut.spec.catalog import FORMATS, MARKED
from svmcut.tasks.presentation import TASK, ClassificationLines, aims_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svmcut.scoring.measures import Measures

#: Bytes of examples from which on a run says what it does before it is done.
MAX_QUIET_BYTES = 1 << 28
_BLOCK_BYTES = 1 << 18
#: Rows from which on so many may have no feature of the model, as svmcut.cli.advice says.
_MIN_SCORED_ROWS, _MAX_UNKNOWN_SHARE = 10, 0.5


class _Tally:
    """Counts of rows, under the names that svmcut.tasks.vectors.Scores has."""

    words: Sequence[str] = ()

    def __init__(self, model: Any, rows: int, worth: dict[str, Any]):
        self.labels, self.loss, self.parameter = model.labels, model.loss, model.parameter
        self._hits, self._predicted = worth["hits"], worth["predicted"]
        self._counts = rows - worth["positives"], worth["positives"]

    def groups(self, names: Sequence[str]) -> dict[str, int]:
        """Rows of each class."""
        return dict(zip(names, self._counts, strict=True))

    def confusion(self) -> list[list[int]]:
        """Rows of each class that are predicted negative and positive."""
        positive = self._predicted - self._hits, self._hits
        return [[n - high, high] for n, high in zip(self._counts, positive, strict=True)]


def score_linear(files: Files, options: ScoringOptions) -> _Tally | None:
    """Does what `svmcut.cli.scoring.run_scoring` does and gives no warnings; returns None if
    nothing was done. Raises OutputError or OSError if the predictions or lines cannot be written
    after all."""
    has_printed = False
    try:
        if not _is_plain(files, options):
            return None
        check_files(files, options)
        model, scorer = _read(files, options)
        cpu_seconds = 0.0
        with write_atomically(files.predictions) as output:
            with open_text(files.examples) as text:
                for _ in feed_scanner(scorer, text, _BLOCK_BYTES):
                    began = time.process_time()
                    scorer.score()
                    cpu_seconds += time.process_time() - began
                    output.write(scorer.lines())
            _check_rows(scorer, model, options)
            measured, tally = _count(scorer, model)
            shown, has_printed = ClassificationLines(TASK), True
            options.say("Reading model...done.")
            options.say(f"Reading test examples...{shown.sizes(tally)}.")
        predicted = SimpleNamespace(tally=tally, cpu_seconds=cpu_seconds)
        print_lines(shown, predicted, measured, model, options)
        return tally
    except (ValueError, SvmcutError, OSError, MemoryError):
        if has_printed:
            raise
        return None


def _is_plain(files: Files, options: ScoringOptions) -> bool:
    """True if the files are ordinary and no option asks for more."""
    usual = ScoringOptions(
        task=options.task,
        verbosity=options.verbosity,
        threads=options.threads,
        names=options.names,
        light_verbosity=0,
    )
    if options != usual or options.verbosity > 1 or options.task not in (None, TASK):
        return False
    examples, model = os.stat(files.examples), os.stat(files.model)
    if not (stat.S_ISREG(examples.st_mode) and stat.S_ISREG(model.st_mode)):
        return False
    if examples.st_size >= MAX_QUIET_BYTES or input_by_ending(files.examples) is not None:
        return False
    if files.predictions in ("-", os.devnull):
        return files.predictions == os.devnull
    try:
        return stat.S_ISREG(os.stat(files.predictions).st_mode)
    except FileNotFoundError:
        return True


def _read(files: Files, options: ScoringOptions) -> tuple[Any, LinearScorer]:
    """Fields of a model, and the scorer with its weights."""
    with open(files.model, "rb") as file:
        first = file.readline(LINE_LIMIT)
        if first.rstrip() != FORMATS[0].first:
            raise Unusual
        body, seal = split_seal(files.model, first, file, False)
        if seal.caution:
            raise Unusual
        lines = HeaderLines(files.model, first, body, 11)
        text, fields = marks.split(files.model, body.read(), 12)
    highest = lines.integer(8, "the highest feature index", 0)
    lines.integer(9, "the number of training documents", 0)
    if not lines.kernel().is_linear or lines.integer(10, "vectors", 1) != 2:
        raise Unusual
    known = dict.fromkeys(("labels", "loss", "parameter", "threshold", "sigma"))
    model = SimpleNamespace(**known | fields, b=lines.real(11, "the threshold b"))
    if options.task is not None:
        model.labels = None  # the originals know one rule for labels
    if model.loss in MARKED or (model.labels is not None and model.labels[0] is None):
        raise Unusual
    offset = model.b if model.threshold is None else model.b + model.threshold
    scorer = LinearScorer(files.examples, text, highest, offset, model.labels, options.threads)
    return model, scorer


def _check_rows(scorer: LinearScorer, model: Any, options: ScoringOptions) -> None:
    """Raises Unusual for rankings, and for rows that call for a warning."""
    rows = scorer.rows
    if scorer.positives in (0, rows) or (options.task is None and scorer.queries):
        raise Unusual
    if (
        options.task is None
        and rows >= _MIN_SCORED_ROWS
        and scorer.count(-model.b) >= _MAX_UNKNOWN_SHARE * rows
    ):
        raise Unusual


def _count(scorer: LinearScorer, model: Any) -> tuple[Measures, _Tally]:
    """Measures of all rows, and their counts."""
    aims = aims_of(model.loss, model.parameter)
    negatives = scorer.rows - scorer.positives
    floors = (floor * (1 - ROUNDING) for floor in (aims.precision, aims.recall))
    worth = scorer.worth(*floors, *find_negative_range(aims.rates, negatives))
    return two_class_measures(worth, scorer.rows, aims), _Tally(model, scorer.rows, worth)
