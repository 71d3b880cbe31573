# SPDX-License-Identifier: BSD-3-Clause
"""Tags of tokens whose attributes and tags have names: CRFsuite's text, and tokens in columns with
a template."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import UsageError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple
from svmcut.data.examples import Names, Sequences
from svmcut.files.output import Output
from svmcut.files.predictions import write_names
from svmcut.models import ChainModel, KernelChainModel
from svmcut.scoring.chunks import ChunkCounts, split_tags
from svmcut.scoring.measures import Measures, class_shares
from svmcut.spec import refusals
from svmcut.spec.parameters import Settings
from svmcut.tables.conll import TestColumns, how_of, read_conll
from svmcut.tables.crfsuite import read_crfsuite, stream_crfsuite
from svmcut.tables.templates import Template
from svmcut.tasks.sequences import Tagging, Tags

if TYPE_CHECKING:
    from svmcut.training.driver import Driver


class Tagged(NamedTuple):
    """Predicted tags."""

    #: (tokens,) from 0.
    tags: NDArray[np.int32]
    #: (n + 1,) starts of the sequences.
    indptr: NDArray[np.int64]


class NamedTags(Tags):
    """Counts of tags: for each, how many tokens have it, are predicted to have it, and both."""

    def __init__(self, names: tuple[str, ...]):
        super().__init__(len(names))
        self.names, self.unknown = names, 0
        self.right, self.predicted, self.both = (np.zeros(len(names), np.int64) for _ in range(3))
        parts = split_tags(names)
        self.chunks = None if parts is None else ChunkCounts(parts)

    def add(self, part: Sequences, predicted: Any) -> None:
        super().add(part, predicted.tags)
        K, known = self.known, part.tags >= 0
        self.unknown += int((~known).sum())
        for total, tags in (
            (self.right, part.tags[known]),
            (self.predicted, predicted.tags),
            (self.both, part.tags[predicted.tags == part.tags]),
        ):
            total += np.bincount(tags, minlength=K)
        if self.chunks is not None:
            self.chunks.add(part.tags, predicted.tags, part.indptr, part.others)

    def table(self) -> list[dict[str, Any]]:
        """Tokens, precision, recall and F1 in percent of every tag; nan if undefined."""
        columns = {"tokens": self.right, **class_shares(self.right, self.predicted, self.both)}
        rows = zip(self.names, *(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(("tag", *columns), row, strict=True)) for row in rows]


class NamedTagging(Tagging):
    """Sequences of tokens with attributes by name, and the names of their tags."""

    apart = True

    def read(
        self,
        path: str,
        *,
        test: bool = False,
        costs: bool = False,
        names: Names | None = None,
        max_memory: float | None = None,
        **how: Any,
    ) -> Sequences:
        """Reads a file; with `names`, those of the training set, it is a test file."""
        return self._read_named(path, how, names=names, max_memory=max_memory)

    def _read_named(self, path: str, how: dict[str, Any], **known: Any) -> Sequences:
        return read_crfsuite(path, **known)

    def from_arrays(self, X: Any, y: Any, qid: Any = None) -> Sequences:
        raise UsageError("{input} says how a file is written; leave it out with arrays")

    def plan(self, data: Sequences, settings: Settings, time_limit: float | None = None) -> Driver:
        driver = super().plan(data, settings, time_limit)
        driver.task_fields = {"names": data.names}
        return driver

    def stream(self, path: str, **how: Any) -> Iterator[Sequences]:
        return stream_crfsuite(path, how["names"], unlabelled=how.get("unlabelled", False))

    def predictor(
        self, model: ChainModel | KernelChainModel, threads: int = 1, beam: int = 0
    ) -> Callable[[Sequences], Any]:
        if self.decoding is not None:
            return super().predictor(model, threads, beam)
        return lambda part: Tagged(model.tags(part.X, part.indptr, threads, beam), part.indptr)

    def write(self, output: Output, predicted: Any, model: Any, labels: bool = False) -> None:
        if self.decoding is not None:
            super().write(output, predicted, model)
        else:
            write_names(output, predicted.tags, predicted.indptr, model.names.tags)

    def tag_names(self, model: Any) -> tuple[str, ...]:
        return model.names.tags

    def tally(self, model: Any) -> NamedTags:
        return NamedTags(model.names.tags)

    def counts_of(self, tally: Any) -> dict[str, Any]:
        if not tally.right.any():
            return tally.counts()
        of_chunks = {} if tally.chunks is None else {"chunks": tally.chunks.table()}
        return tally.counts() | {"tags": tally.table()} | of_chunks

    def measure(self, tally: Any) -> Measures:
        measured = super().measure(tally)
        if tally.chunks is None:
            return measured
        return measured._replace(values=measured.values | tally.chunks.values())

    def label_warnings(self, data: Sequences, driver: Driver) -> list[str]:
        return _unknown(int((data.tags < 0).sum()), data.source.path)

    def warnings(self, tally: Any, path: str) -> list[str]:
        return _unknown(tally.unknown, path)


def _unknown(count: int, path: str) -> list[str]:
    return (
        [Message("{} tags of {} are none the model knows, and count as errors", count, path)]
        if count
        else []
    )


class ColumnTagging(NamedTagging):
    """Sequences of tokens in columns, and the names of their tags."""

    def _read_named(self, path: str, how: dict[str, Any], **known: Any) -> Sequences:
        """Reads a file; `how["table"]` has the template and the tokens that a feature needs."""
        if known["names"] is None and "table" in how:
            known |= how_of(how["table"])
        return read_conll(path, **known)

    def plan(self, data: Sequences, settings: Settings, time_limit: float | None = None) -> Driver:
        """Plans as Task.plan; a template without a line B leaves transitions out, unless they are
        set. Raises UsageError for features of two tags without emissions=1, which gives them to
        every feature."""
        assert data.names is not None
        template = Template(data.names.template)
        joined = template.joined
        if joined is not None and not settings.emissions:
            raise UsageError(
                "line {} of the template joins features with two tags; begin it with U, or add "
                "{emissions=1}, which joins all features with two tags",
                joined.number,
            )
        if not template.has_transitions and not {"transitions", "emissions"} & settings.wishes():
            settings = replace(settings, transitions=0)
            refusals.check(settings)
        return super().plan(data, settings, time_limit)

    def stream(self, path: str, **how: Any) -> Iterator[Sequences]:
        return how["table"].stream(path)


def test_columns(names: Names, unlabelled: bool, partial: bool) -> TestColumns:
    """Reader of files to classify."""
    return TestColumns(names, unlabelled, partial)
