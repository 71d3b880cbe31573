# SPDX-License-Identifier: BSD-3-Clause
"""Tags of the tokens of sequences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import UsageError
from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar, Self
from svmcut.data.arrays import vector_examples
from svmcut.data.examples import Sequences
from svmcut.files.output import Output
from svmcut.files.predictions import write_tags
from svmcut.files.sequences import as_sequences, read_sequences, stream_sequences
from svmcut.models import ChainModel, KernelChainModel
from svmcut.scoring.chunks import split_tags
from svmcut.scoring.measures import Measures, sequence_measures
from svmcut.spec.catalog import OF_TAGS, TASKS, measures
from svmcut.tasks.decoding import Decoded, Decoding, decoder, tag_probabilities, write_decoded
from svmcut.tasks.presentation import Presentation, align_columns
from svmcut.tasks.protocol import BLOCK_NUMBERS, Task

if TYPE_CHECKING:
    from svmcut.training.driver import Driver


class Tags:
    """Wrong tags and tokens of predicted sequences, their largest feature and tag, and the number
    of tags that the model knows."""

    queries = True

    def __init__(self, known: int):
        self.known, self.features, self.tags = known, 0, 0
        self.wrong: list[NDArray] = []
        self.lengths: list[NDArray] = []

    def add(self, part: Sequences, predicted: NDArray[np.int32]) -> None:
        predicted = getattr(predicted, "tags", predicted)
        self.wrong.append(np.add.reduceat(predicted != part.tags, part.indptr[:-1], dtype=np.int64))
        self.lengths.append(np.diff(part.indptr))
        self.features = max(self.features, part.X.n_features)
        self.tags = max(self.tags, int(part.tags.max()) + 1)

    def counts(self) -> dict[str, int]:
        examples, tokens, *_ = self.sizes()
        return {"examples": examples, "tokens": tokens}

    def sizes(self) -> tuple[int, int, int, int]:
        """Sizes as of Sequences.sizes."""
        lengths = np.concatenate(self.lengths)
        return len(lengths), int(lengths.sum()), self.features, self.tags


#: Lines up to which a table by tag is printed.
MAX_TAGS = 100


class TagLines(Presentation):
    """svm_hmm's lines."""

    foreign = "a model of sequences; score with svm_hmm_classify or svmcut classify"
    no_labels = "has no meaning for sequences; their predictions are tags already"
    has_beam = has_plain = True

    def count_line(self, tally: Any, measured: Measures) -> str:
        counts = tally.counts()
        sequences, tokens = (
            f"{number:,} {what}{'s' * (number != 1)}"
            for number, what in ((counts["examples"], "sequence"), (counts["tokens"], "token"))
        )
        return f"{sequences} with {tokens}"

    def sizes(self, data: Any) -> str:
        examples, tokens, features, tags = data.sizes()
        return f" {examples} examples, {tokens} tokens, {features} features, {tags} classes... done"

    def properties(self, data: Any, driver: Any) -> list[str]:
        return []  # the line of reading has them

    def size_summary(self, data: Any, driver: Any) -> str:
        examples, tokens, _, tags = data.sizes()
        return f"{examples} sequences, {tokens} tokens, {tags} tags"

    def timing(self, outcome: Any) -> list[str]:
        # the original times two parts of its search; here they are one, and what is timed is
        # training
        return [f"Viterbi timing: CreateTransEmitMatrix={0:f} Viterbi={outcome.seconds:f}"]

    def table(self, tally: Any) -> str:
        if not hasattr(tally, "table"):
            return ""
        lines = _table(tally.table())
        if tally.chunks is None:
            return lines
        rows, values = tally.chunks.table(), tally.chunks.values().values()
        return lines + _table(rows, ["all", sum(row["chunks"] for row in rows), *values])

    def number(self, value: float) -> str:
        return f"{value / 100:.4f}"


def _table(rows: list[dict[str, Any]], last: list[Any] | None = None) -> str:
    """Table of the first five entries of rows, a name, a number and three shares, without rows that
    have no share; empty if too long."""
    known, head = measures(next(iter(TASKS))), [*rows[0]][:5]
    table = [[*head[:2], *(str(known[name].plain) for name in head[2:])]]
    for name, count, *shares in [*([*row.values()][:5] for row in rows), *([last] if last else [])]:
        if not all(map(math.isnan, shares)):
            shown = ("-" if math.isnan(share) else f"{share:.2f} %" for share in shares)
            table.append([name, str(count), *shown])
    return "\n".join(["", *align_columns(table), ""]) if len(table) <= MAX_TAGS else ""


class Tagging(Task):
    """Sequences, and the tags of their tokens. No sequence is cut."""

    presentation = TagLines
    #: True ends every sequence of predictions with an empty line.
    apart: ClassVar[bool] = False
    #: Options of decoding; None for the best tags alone.
    decoding: Decoding | None = None

    def decoding_as(self, how: Decoding) -> Self:
        """The task that decodes so."""
        other = type(self)()
        other.decoding = how
        return other

    def read(self, path: str, *, test: bool = False, costs: bool = False, **how: Any) -> Sequences:
        """Reads a file; with `test`, a tag of 0 is unknown."""
        return read_sequences(path, least=0 if test else 1, costs=costs, **how)

    def calibrating_driver(self, driver: Driver, data: Sequences) -> Driver:
        from svmcut.training.calibration import CalibratedChains

        if driver.settings.quick:  # which fits a temperature by itself
            return driver
        return CalibratedChains(driver.plan, data)

    def bounds(self, data: Sequences) -> NDArray[np.int64]:
        return data.indptr

    def from_arrays(self, X: Any, y: Any, qid: Any = None) -> Sequences:
        """Makes sequences of arrays: one row per token, tags from 1."""
        return as_sequences(vector_examples(X, y, qid))

    def counts(self, data: Sequences) -> dict[str, int]:
        return {"examples": len(data), "tokens": data.X.n_rows}

    def stream(self, path: str, **how: Any) -> Iterator[Sequences]:
        return stream_sequences(path, **how)

    def parts(self, block: Sequences, model: ChainModel | KernelChainModel) -> Iterator[Sequences]:
        tokens, first = BLOCK_NUMBERS // model.shape.stride, 0
        while first < len(block):
            fits = int(np.searchsorted(block.indptr, block.indptr[first] + tokens, "right")) - 1
            last = max(first + 1, fits)
            yield block.part(first, last)
            first = last

    def predictor(
        self, model: ChainModel | KernelChainModel, threads: int = 1, beam: int = 0
    ) -> Callable[[Sequences], Any]:
        if self.decoding is not None:
            return decoder(model, self.decoding, threads, beam)
        return lambda part: model.tags(part.X, part.indptr, threads, beam)

    def write(self, output: Output, predicted: Any, model: Any, labels: bool = False) -> None:
        if self.decoding is not None:
            write_decoded(output, predicted, self.tag_names(model), self.apart)
        else:
            write_tags(output, predicted)

    def write_probabilities(
        self,
        output: Output,
        predicted: Any,
        probabilities: NDArray[np.float64],
        model: Any,
        labels: bool = False,
    ) -> None:
        """Writes lines of tags with their probabilities."""
        tags = getattr(predicted, "tags", predicted)
        bounds = getattr(predicted, "indptr", np.array([0, len(tags)]))
        decoded = Decoded(tags, bounds, None, probabilities)
        write_decoded(output, decoded, self.tag_names(model), self.apart, confidence=True)

    def probabilities(
        self, part: Sequences, predicted: Any, model: Any, threads: int = 1
    ) -> NDArray[np.float64]:
        if self.decoding is not None:
            return predicted.probabilities
        return tag_probabilities(model, part, threads=threads)

    def places(self, part: Sequences, model: Any) -> NDArray[np.int64]:
        known = part.tags < model.shape.n_tags
        return np.where(known, np.maximum(part.tags, -1), -1).astype(np.int64)

    def tag_names(self, model: Any) -> tuple[str, ...]:
        """Names of the tags in a file of predictions."""
        return tuple(str(tag + 1) for tag in range(model.shape.n_tags))

    def tally(self, model: ChainModel | KernelChainModel) -> Tags:
        return Tags(model.shape.n_tags)

    def measure(self, tally: Tags) -> Measures:
        return sequence_measures(np.concatenate(tally.wrong), np.concatenate(tally.lengths))

    def check_measure(self, name: str, data: Sequences) -> None:
        if measures(OF_TAGS)[name].of_chunks and (
            data.names is None or split_tags(data.names.tags) is None
        ):
            raise UsageError(
                "{select=} is of chunks, which the tags of {} do not say; expected O, and B, I, E "
                "or S with -TYPE behind it",
                name.replace("_", "-"),
                data.source.path,
            )

    def warnings(self, tally: Tags, path: str) -> list[str]:
        known = tally.known
        return (
            [f"tags above {known} are not in the model and count as wrong"]
            if tally.tags > known
            else []
        )
