# SPDX-License-Identifier: BSD-3-Clause
"""Order within queries: a larger label belongs above a smaller one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError
from svmcut.base.messages import escape
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.data.examples import Examples, Source
from svmcut.files.weights import find_queries, read_queries
from svmcut.risks.ordinal import query_starts
from svmcut.scoring.measures import Measures, ranking_measures
from svmcut.spec.parameters import Settings
from svmcut.tasks.presentation import RankingLines
from svmcut.tasks.vectors import Scores, VectorTask, known_features

if TYPE_CHECKING:
    from svmcut.models import ScoringModel
    from svmcut.training.driver import Driver


#: Name of a caller's arrays in messages.
ARRAYS_NAME = "X"


class Ranking(VectorTask):
    """Rows of queries, and their scores."""

    presentation = RankingLines

    def as_original(self) -> Ranking:
        return SvmRank()

    #: True reads FILE.group or FILE.query if it exists and the lines have no queries.
    reads_query_file = True

    def read(self, path: str, **how: Any) -> Examples:
        """Reads a file, with the queries of FILE.group or FILE.query if the lines have none."""
        examples = super().read(path, **how)
        if (
            examples.qid is None
            and self.reads_query_file
            and (name := find_queries(path)) is not None
        ):
            return replace(examples, qid=read_queries(name, len(examples), path))
        return examples

    def stream(self, path: str, **how: Any) -> Iterator[Examples]:
        """Streams a file with queries as `read`; raises DataError if they decrease or are
        negative."""
        last, blocks = 0, super().stream(path, **how)
        if self.reads_query_file and (name := find_queries(path)) is not None:
            blocks = _with_queries([*blocks], name, path)
        for block in blocks:
            if block.qid is not None:
                last = _check_queries(block.qid, last, block.source)
            yield block

    def bounds(self, data: Examples) -> NDArray[np.int64]:
        """First rows of the queries; raises DataError if they decrease or are negative."""
        if data.qid is not None and len(data):
            _check_queries(data.qid, 0, data.source)
        return query_starts(data.qid, len(data))

    def plan(self, data: Examples, settings: Settings, time_limit: float | None = None) -> Driver:
        driver = super().plan(data, settings, time_limit)
        if data.qid is None and data.source.path != ARRAYS_NAME and not settings.original:
            driver.notes.append(_one_query_note(data.source.path, len(data)))
        return driver

    def measure(self, tally: Scores) -> Measures:
        return ranking_measures(tally.y, tally.scores, tally.qid)


class SvmRank(Ranking):
    """Rankings by svm_rank's rules: kernel values ignore features beyond those of the model, and no
    query file is read."""

    reads_query_file = False

    def predictor(
        self, model: ScoringModel, threads: int = 1, beam: int = 0
    ) -> Callable[[Examples], NDArray]:
        score = super().predictor(model, threads, beam)
        return lambda part: score(known_features(part, model))


def _one_query_note(path: str, rows: int) -> str:
    """Note on examples without queries."""
    remedy = (
        "write qid:N into every line, or a file of this name and .group with the number of rows of "
        "every query"
    )
    return f"{escape(path)} has no qid, and its {rows} rows are taken as one query; {remedy}"


def _with_queries(blocks: list[Examples], name: str, path: str) -> Iterator[Examples]:
    """All blocks of a file, with the queries of a query file if the lines have none."""
    if any(block.qid is not None for block in blocks):
        yield from blocks
        return
    qid, start = read_queries(name, sum(map(len, blocks)), path), 0
    for block in blocks:
        yield replace(block, qid=qid[start : start + len(block)])
        start += len(block)


def _check_queries(qid: NDArray[np.int64], last: int, source: Source) -> int:
    previous = np.concatenate([[last], qid[:-1]])
    wrong = np.flatnonzero(qid < previous)
    if len(wrong):
        row = int(wrong[0])
        message = (
            f"qid {qid[row]} follows {previous[row]}; query ids start at 0 and must not decrease"
        )
        raise DataError(source.path, message, source.line_of(row))
    return int(qid[-1])
