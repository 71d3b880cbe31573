# SPDX-License-Identifier: BSD-3-Clause
"""Sets of labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut.base.messages import Message, escape
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self
from svmcut.data.arrays import multilabel_examples
from svmcut.data.examples import MultilabelExamples
from svmcut.data.label_clusters import MAX_CHILDREN
from svmcut.data.labels import distinct, label_texts
from svmcut.files.multilabel import read_multilabel, stream_multilabel
from svmcut.files.output import Output
from svmcut.files.predictions import write_label_sets, write_top_labels
from svmcut.models import LabelDecoder, LabelTreeModel, SparseLabelModel
from svmcut.models.label_trees import BEAM, LOG_HALF
from svmcut.scoring.measures import Measures, label_measures
from svmcut.scoring.tops import (
    CUTOFFS,
    USUAL_PROPENSITY,
    Propensity,
    TopScores,
    TopTally,
    is_member,
    rank_best,
    select_top_scores,
)
from svmcut.spec.entries import SETS
from svmcut.tasks.presentation import Presentation
from svmcut.tasks.protocol import BLOCK_NUMBERS, Task

if TYPE_CHECKING:
    from svmcut.models import SetModel


class Predicted(NamedTuple):
    """Predictions for n rows."""

    #: Row of each predicted label.
    row: NDArray[np.int64]
    #: Place of each predicted label among the model's.
    place: NDArray[np.int64]
    #: Labels that may rank among the best.
    ranked: TopScores
    #: (n,) labels that the relaxation left at one half; for a tree -1 if other labels may be the
    #: best.
    halves: NDArray[np.int32]
    #: (n, K) scores of all labels, if a certificate may need them.
    scores: NDArray[np.float64] | None = None


class SetTally:
    """Counts of predicted sets, by labels of the model and other labels, which it never
    predicts."""

    queries = False

    def __init__(self, model: SetModel, propensity: Propensity = USUAL_PROPENSITY):
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
        place = np.searchsorted(self._names, part.names)
        known = is_member(part.names, self._names)
        row, label = part.entries()
        has, n, K = known[label], len(part), len(self._names)
        gold = distinct(row[has] * K + place[label[has]])
        beyond = np.bincount(row[~has], minlength=n)
        for name, count in zip(
            *np.unique(part.names[label[~has]], return_counts=True), strict=True
        ):
            self.others[int(name)] = self.others.get(int(name), 0) + int(count)
        own = gold // max(1, K)
        both = is_member(predicted.row * K + predicted.place, gold)
        hits, sizes, wanted = (
            np.bincount(of, minlength=n) for of in (predicted.row[both], predicted.row, own)
        )
        self._rows += n
        self._halves += int(np.maximum(predicted.halves, 0).sum())
        self._open += int((predicted.halves < 0).sum())
        self._exact += int(((hits == sizes) & (hits == wanted) & (beyond == 0)).sum())
        np.add.at(self._both, predicted.place[both], 1)
        np.add.at(self._right, gold - own * K, 1)
        np.add.at(self._predicted, predicted.place, 1)
        self._tops.add(predicted.ranked, gold, beyond)

    def counts(self) -> dict[str, int]:
        counts = {"examples": self._rows, "halves": self._halves}
        return counts | ({"best_of_tree": self._rows - self._open} if self._of_tree else {})

    def measure(self) -> Measures:
        """The measures; labels that the model lacks have no rank."""
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
        """Line on how many rows certainly have the best labels of a tree."""
        counts = tally.counts()
        if "best_of_tree" not in counts:
            return ""
        return f"Best of the tree : {counts['best_of_tree']} of {counts['examples']} rows\n"

    def size_summary(self, data: Any, driver: Any) -> str:
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

    def losses(self, measured: Measures) -> str:
        return ""


class Labelling(Task):
    """Rows, and their sets of labels."""

    presentation = LabelSetLines
    label_kind = SETS

    #: Labels of a row that are written with their scores, 0 for the predicted sets.
    top: ClassVar[int] = 0
    propensity: ClassVar[Propensity] = USUAL_PROPENSITY
    #: Names of the model's labels; None for their numbers or words.
    names: ClassVar[list[str] | None] = None

    def ranking_as(self, top: int, propensity: Propensity, names: list[str] | None) -> Self:
        """The task that writes the `top` best labels of a row with their scores, 0 for the sets,
        under these names, and measures by this propensity."""
        other: Any = type(self)()
        other.top, other.propensity, other.names = top, propensity, names
        return other

    def read(
        self, path: str, *, test: bool = False, costs: bool = False, table: Any = None, **how: Any
    ) -> MultilabelExamples:
        """Reads a file, or a table by `table`."""
        if table is not None:
            return table.read(path, SETS, how["max_memory"])
        examples = read_multilabel(path, **how)
        return examples if costs else replace(examples, weights=None)

    def from_arrays(self, X: Any, y: Any, qid: Any = None) -> MultilabelExamples:
        """Makes examples of arrays; y has one column per label."""
        return multilabel_examples(X, y, qid)

    def counts(self, data: MultilabelExamples) -> dict[str, int]:
        return {"examples": len(data), "labels": len(data.names)}

    def stream(
        self, path: str, unlabelled: bool = False, table: Any = None, **how: Any
    ) -> Iterator[MultilabelExamples]:
        """Streams a file, or a table by `table`."""
        if table is not None:
            return table.stream(path, SETS, unlabelled)
        return stream_multilabel(path, **how)

    def parts(self, block: MultilabelExamples, model: SetModel) -> Iterator[MultilabelExamples]:
        # a search of a tree holds no scores of all labels
        held = MAX_CHILDREN if isinstance(model, LabelTreeModel) else len(model.names)
        step = max(1, BLOCK_NUMBERS // max(1, held))
        for start in range(0, len(block), step):
            yield block.part(start, min(len(block), start + step))

    def predictor(
        self, model: SetModel, threads: int = 1, beam: int = 0
    ) -> Callable[[MultilabelExamples], Predicted]:
        most = max(self.top, *CUTOFFS)
        if isinstance(model, LabelTreeModel):
            return self._tree_predictor(model, threads, beam)
        if isinstance(model, SparseLabelModel):
            alone: SparseLabelModel = model

            def predict_alone(part: MultilabelExamples) -> Predicted:
                scores = alone.scores(part.X, threads)
                ranked = select_top_scores(scores, most, threads)
                row, place = np.nonzero(scores > 0)
                return Predicted(row, place, ranked, np.zeros(len(part), np.int32))

            return predict_alone
        decoder = LabelDecoder(model)
        v = decoder.pairs

        def predict(part: MultilabelExamples) -> Predicted:
            sets, scores, halves = decoder.decode(part.X, threads)
            # what a label adds to the others that are predicted: the order for precision at k
            ranks = scores if v is None else scores + sets @ v
            row, place = np.nonzero(sets)
            return Predicted(row, place, select_top_scores(ranks, most, threads), halves, ranks)

        return predict

    def _tree_predictor(
        self, model: LabelTreeModel, threads: int, beam: int
    ) -> Callable[[MultilabelExamples], Predicted]:
        beam, wanted = beam or max(BEAM, self.top), self.top or max(CUTOFFS)

        def predict(part: MultilabelExamples) -> Predicted:
            ranked, left = model.search(part.X, beam, threads, max(wanted, *CUTOFFS))
            last = ranked.kth_best(min(wanted, ranked.K), threads)
            on = ranked.select(ranked.score > LOG_HALF)
            return Predicted(on.row, on.place, ranked, -(last < left).astype(np.int32))

        return predict

    def write(
        self, output: Output, predicted: Predicted, model: SetModel, labels: bool = False
    ) -> None:
        ranked, rows = predicted.ranked, np.arange(predicted.ranked.n + 1)
        if self.top:
            at, _ = rank_best(ranked, self.top)
            names = self._label_names(model, ranked.place[at])
            between = "\t" if self.names else " "
            ends = np.searchsorted(ranked.row[at], rows)
            write_top_labels(output, ends, names, ranked.score[at], between)
        else:
            order = np.lexsort((predicted.place, predicted.row))
            names = self._label_names(model, predicted.place[order])
            write_label_sets(output, np.searchsorted(predicted.row, rows), names)

    def _label_names(self, model: SetModel, place: NDArray[np.int64]) -> list[str]:
        """Names of the labels at these places."""
        own, of = np.unique(place, return_inverse=True)
        if self.names:
            texts = [self.names[k] for k in own.tolist()]
        else:
            texts = label_texts(model.names[own].tolist(), model.words)
        texts = [*map(escape, texts)]
        return [texts[k] for k in of.tolist()]

    def tally(self, model: SetModel) -> SetTally:
        return SetTally(model, self.propensity)

    def measure(self, tally: SetTally) -> Measures:
        return tally.measure()

    def warnings(self, tally: SetTally, path: str) -> list[str]:
        others = len(tally.others)
        text = "{} labels of {} are not in the model and are never predicted"
        return [Message(text, others, path)] if others else []
