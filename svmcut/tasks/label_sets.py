# SPDX-License-Identifier: BSD-3-Clause
"""Sets of labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np

from svmcut.data.arrays import multilabel_examples
from svmcut.data.labels import label_texts
from svmcut.files.multilabel import read_multilabel, stream_multilabel
from svmcut.files.predictions import write_label_sets, write_top_labels
from svmcut.messages import Message
from svmcut.models import LabelDecoder, LabelTreeModel, SparseLabelModel
from svmcut.models.label_trees import BEAM, EVEN
from svmcut.scoring.measures import Measured, label_measures
from svmcut.scoring.tops import TOP, USUAL, Propensity, TopTally, best
from svmcut.spec.entries import SETS
from svmcut.spec.records import replace
from svmcut.tasks.presentation import Presentation
from svmcut.tasks.protocol import BLOCK_NUMBERS, Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data.examples import MultilabelExamples
    from svmcut.files.output import Output
    from svmcut.models import SetModel

#: (n, K) sets, (n, K) scores that rank the labels of a row, (n,) labels the relaxation left at one
#: half, of a tree -1 where its best labels are others perhaps.
Predicted: TypeAlias = "tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.int32]]"


class SetTally:
    """Counts of predicted sets: of labels that the model knows, and of others, which it never
    predicts."""

    queries = False

    def __init__(self, model: SetModel, propensity: Propensity = USUAL):
        names = model.names
        self._of_tree, self._open = isinstance(model, LabelTreeModel), 0
        self._names, self._rows, self._exact, self._halves = names, 0, 0, 0
        inverse, unknown = None, 1.0
        if model.counts is not None:
            inverse = propensity.inverse(model.counts, model.n_rows)
            unknown = float(propensity.inverse(np.zeros(1), model.n_rows)[0])
        self._tops = TopTally(len(names), inverse, unknown)
        self._both, self._right, self._predicted = (
            np.zeros(len(names), np.int64) for _ in range(3)
        )
        self.others: dict[int, int] = {}

    def add(self, part: MultilabelExamples, predicted: Predicted) -> None:
        sets, ranks, halves = predicted
        place = np.searchsorted(self._names, part.names)
        known = place < len(self._names)
        known[known] = self._names[place[known]] == part.names[known]
        row, label = part.entries()
        has = known[label]
        gold = np.zeros_like(sets)
        gold[row[has], place[label[has]]] = True
        beyond = np.bincount(row[~has], minlength=len(gold))
        for name, count in zip(
            *np.unique(part.names[label[~has]], return_counts=True), strict=True
        ):
            self.others[int(name)] = self.others.get(int(name), 0) + int(count)
        self._rows += len(gold)
        self._halves += int(np.maximum(halves, 0).sum())
        self._open += int((halves < 0).sum())
        self._exact += int(((gold == sets).all(axis=1) & (beyond == 0)).sum())
        self._both += (gold & sets).sum(axis=0)
        self._right += gold.sum(axis=0)
        self._predicted += sets.sum(axis=0)
        self._tops.add(ranks, gold, beyond)

    def counts(self) -> dict[str, int]:
        counts = {"examples": self._rows, "halves": self._halves}
        return counts | ({"best_of_tree": self._rows - self._open} if self._of_tree else {})

    def measured(self) -> Measured:
        """The measures; others rank nowhere."""
        others = [self.others[name] for name in sorted(self.others)]
        right = np.append(self._right, np.array(others, np.int64))
        both, predicted = (
            np.append(part, np.zeros(len(others), np.int64))
            for part in (self._both, self._predicted)
        )
        measured = label_measures(both, right, predicted, self._exact, self._rows)
        return measured._replace(values=measured.values | self._tops.values())


class LabelSetLines(Presentation):
    """Lines of label sets, which have no original."""

    foreign = "a model of label sets; score with svmcut classify"
    no_labels = "has no meaning for label sets; their predictions are labels already"
    no_missing = "has no meaning for label sets; a line that starts with a blank has no labels"

    def table(self, tally: Any) -> str:
        """Of a tree, how many rows have its best labels for certain."""
        counts = tally.counts()
        if "best_of_tree" not in counts:
            return ""
        return f"Best of the tree : {counts['best_of_tree']} of {counts['examples']} rows\n"

    def objects(self, data: Any, driver: Any) -> str:
        return (
            f"{len(data)} examples, {len(data.names)} labels, {len(data.labels) / len(data):.2f} a "
            "row"
        )

    def final_lines(
        self, outcome: Any, options: Any, cpu_seconds: float, original: bool
    ) -> list[str]:
        v = outcome.model.v
        return [
            f"Upper bound on duality gap: {max(0.0, outcome.gap):.5f}",
            f"Dual objective value: dval={outcome.dual:.5f}",
            f"Primal objective value: pval={outcome.primal:.5f}",
            f"Number of iterations: {outcome.progress.iteration}",
            f"Number of pair weights: {len(v)}, {int((v > 0).sum())} of them positive",
            f"Norm of weight vector: |w|={outcome.norm:.5f}",
            f"Runtime in cpu-seconds: {cpu_seconds:.2f}",
        ]

    def losses(self, measured: Measured) -> str:
        return ""


class Labelling(Task):
    """Rows, and their sets of labels."""

    presentation = LabelSetLines
    label_kind = SETS

    #: Labels of a row that are written with their scores, 0 for the predicted sets.
    top: ClassVar[int] = 0
    propensity: ClassVar[Propensity] = USUAL
    #: What the labels of the model are called; None for their numbers or words.
    names: ClassVar[list[str] | None] = None

    def ranking_as(self, top: int, propensity: Propensity, names: list[str] | None) -> Self:
        """The task that writes the `top` best labels of a row with their scores, 0 for the sets, by
        these names, and measures by this propensity."""
        other: Any = type(self)()
        other.top, other.propensity, other.names = top, propensity, names
        return other

    def read(
        self, path: str, *, test: bool = False, costs: bool = False, table: Any = None, **how: Any
    ) -> MultilabelExamples:
        """As Task.read; of a table as `table` reads it."""
        if table is not None:
            return table.read(path, SETS, how["max_memory"])
        found = read_multilabel(path, **how)
        return found if costs else replace(found, weights=None)

    def from_arrays(self, X: Any, y: Any, qid: Any = None) -> MultilabelExamples:
        """As Task.from_arrays: y has one column a label."""
        return multilabel_examples(X, y, qid)

    def counts(self, data: MultilabelExamples) -> dict[str, int]:
        return {"examples": len(data), "labels": len(data.names)}

    def stream(
        self, path: str, unlabelled: bool = False, table: Any = None, **how: Any
    ) -> Iterator[MultilabelExamples]:
        """As Task.stream; of a table as `table` reads it."""
        if table is not None:
            return table.stream(path, SETS, unlabelled)
        return stream_multilabel(path, **how)

    def parts(self, block: MultilabelExamples, model: SetModel) -> Iterator[MultilabelExamples]:
        step = max(1, BLOCK_NUMBERS // max(1, len(model.names)))
        for start in range(0, len(block), step):
            yield block.part(start, min(len(block), start + step))

    def predictor(
        self, model: SetModel, threads: int = 1, beam: int = 0
    ) -> Callable[[MultilabelExamples], Predicted]:
        if isinstance(model, LabelTreeModel):
            return self._searching(model, threads, beam)
        if isinstance(model, SparseLabelModel):
            alone: SparseLabelModel = model

            def predict_alone(part: MultilabelExamples) -> Predicted:
                scores = alone.scores(part.X, threads)
                return scores > 0, scores, np.zeros(len(scores), np.int32)

            return predict_alone
        decoder = LabelDecoder(model)
        v = decoder.pairs

        def predict(part: MultilabelExamples) -> Predicted:
            sets, scores, halves = decoder.decode(part.X, threads)
            # what a label adds to the others that are predicted: the order for precision at k
            return sets, scores if v is None else scores + sets @ v, halves

        return predict

    def _searching(
        self, model: LabelTreeModel, threads: int, beam: int
    ) -> Callable[[MultilabelExamples], Predicted]:
        beam, wanted = beam or max(BEAM, self.top), self.top or max(TOP)

        def predict(part: MultilabelExamples) -> Predicted:
            scores, left = model.search(part.X, beam, threads)
            k = min(wanted, scores.shape[1])
            last = -np.partition(-scores, k - 1, axis=1)[:, k - 1]
            return scores > EVEN, scores, -(last < left).astype(np.int32)

        return predict

    def write(
        self, output: Output, predicted: Predicted, model: SetModel, labels: bool = False
    ) -> None:
        names = self.names or label_texts(model.names.tolist(), model.words)
        if self.top:
            scores = predicted[1]
            row, _, place = best(scores, self.top)
            reached = scores[row, place] > -np.inf
            row, place = row[reached], place[reached]
            ends = np.searchsorted(row, np.arange(len(scores) + 1))
            between = "\t" if self.names else " "
            write_top_labels(output, ends, place, scores[row, place], names, between)
        else:
            write_label_sets(output, predicted[0], names)

    def tally(self, model: SetModel) -> SetTally:
        return SetTally(model, self.propensity)

    def measured(self, tally: SetTally) -> Measured:
        return tally.measured()

    def warnings(self, tally: SetTally, path: str) -> list[str]:
        others = len(tally.others)
        text = f"{others} labels of {path} are not in the model and are never predicted"
        return [Message(text)] if others else []
