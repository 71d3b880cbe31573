# SPDX-License-Identifier: BSD-3-Clause
"""Order within queries: a larger label belongs above a smaller one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut.errors import DataError
from svmcut.measures import Measured, ranking_measures
from svmcut.risks.ordinal import query_starts
from svmcut.tasks.vectors import Scores, VectorTask, known_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data import Examples, Source
    from svmcut.models import ScoringModel


class Ranking(VectorTask):
    """Rows of queries, and their scores."""

    def as_original(self) -> Ranking:
        return SvmRank()

    def stream(self, path: str, **how: Any) -> Iterator[Examples]:
        """As Task.stream; refuses queries whose ids decrease or are negative."""
        last = 0
        for block in super().stream(path, **how):
            if block.qid is not None:
                last = _check_queries(block.qid, last, block.source)
            yield block

    def bounds(self, data: Examples) -> NDArray[np.int64]:
        """As Task.bounds; a DataError where queries decrease or are negative."""
        if data.qid is not None and len(data):
            _check_queries(data.qid, 0, data.source)
        return query_starts(data.qid, len(data))

    def measured(self, tally: Scores) -> Measured:
        return ranking_measures(tally.y, tally.scores, tally.qid)


class SvmRank(Ranking):
    """Features beyond those of the model are no part of a kernel's values."""

    def predictor(self, model: ScoringModel, threads: int = 1, beam: int = 0) -> Callable[[Examples], NDArray]:
        score = super().predictor(model, threads, beam)
        return lambda part: score(known_features(part, model))


def _check_queries(qid: NDArray[np.int64], last: int, source: Source) -> int:
    previous = np.concatenate([[last], qid[:-1]])
    wrong = np.flatnonzero(qid < previous)
    if len(wrong):
        row = int(wrong[0])
        message = f"qid {qid[row]} follows {previous[row]}; query ids start at 0 and must not decrease"
        raise DataError(source.path, message, source.line_of(row))
    return int(qid[-1])
