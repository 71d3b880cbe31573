# SPDX-License-Identifier: BSD-3-Clause
"""Trees of labels: a label's score is the sum over its path."""

from __future__ import annotations

import numpy as np

from svmcut._native import sparse
from svmcut.base.records import record
from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar
from svmcut.data.examples import Csr
from svmcut.data.label_clusters import WIDEST
from svmcut.models import facts
from svmcut.models.base import BaseModel
from svmcut.models.columns import renumber
from svmcut.scoring.tops import TopScores, rank_best, stack_scores
from svmcut.spec import schemas
from svmcut.spec.catalog import TASKS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.tables.encoding import Encoding

#: How fast the score of a machine becomes sure: 1 / (1 + exp(-STEEP f)).
STEEP = 4.0
#: Log-probability above which a label is predicted.
EVEN = float(np.log(0.5))
#: Nodes of a level that a search goes on with unless told otherwise.
BEAM = 10
#: Labels that `facts` lists.
LISTED = 1000
#: Scores of a level that a search holds at once.
AT_ONCE = 1 << 20


def _leading(
    ranked: TopScores, k: int, threads: int, left: NDArray[np.float64] | None = None
) -> TopScores:
    """Those that are no worse than the k-th best of their row, and those that lead to a label that
    is predicted; `left` rises to the best of the others."""
    kept = (ranked.score >= ranked.kth_best(k, threads)[ranked.row]) | (ranked.score > EVEN)
    if left is not None:
        np.maximum.at(left, ranked.row[~kept], ranked.score[~kept])
    return ranked.select(kept)


@record(eq=False)
class LabelTreeModel(BaseModel):
    """score(x, k) = sum over the children m on the path to label k of log sigma(4 f_m(x)),
    f_m(x) = sum_j x_j W[j, m] + constant[m]; a label is predicted where that is above log 1/2.

    Attributes
    ----------
    first : (J + 1,) int64
        Node j has the children first[j] to first[j + 1]; node 0 is the root.
    leads : (M,) int64
        The node that a child is, which comes later; ~k where it is the label at place k.
    bounds : (J + 1,) int64
        Node j has weights of features[bounds[j]] to features[bounds[j + 1] - 1], increasing.
    features : (E,) int32
    indptr : (E + 1,) int64
        Entry e of these has the weights indptr[e] to indptr[e + 1].
    places : (m,) uint8
        Which child of the node a weight is for.
    values : (m,) float32
        The weights.
    constant : (M,) float64
        What every example adds to the score of a child.
    names, counts, n_rows, binary, columns
        As of SparseLabelModel.
    width : int
        d, the number of features.
    """

    first: NDArray[np.int64]
    leads: NDArray[np.int64]
    bounds: NDArray[np.int64]
    features: NDArray[np.int32]
    indptr: NDArray[np.int64]
    places: NDArray[np.uint8]
    values: NDArray[np.float32]
    constant: NDArray[np.float64]
    names: NDArray[np.int64]
    counts: NDArray[np.int64]
    n_rows: int
    width: int
    binary: bool = True
    columns: NDArray[np.int32] | None = None
    table: Encoding | None = None

    #: Whether labels are sought in a beam.
    has_beam: ClassVar[bool] = True

    @property
    def v(self) -> NDArray[np.float64]:
        """(0,) of pairs of labels, which have no weights here."""
        return np.zeros(0)

    @property
    def n_features(self) -> int:
        return self.width

    def search(
        self, X: Csr, beam: int = BEAM, threads: int = 1, k: int | None = None
    ) -> tuple[TopScores, NDArray[np.float64]]:
        """Scores of the labels that were reached, and (n,) the best score of a node that was left
        out, which no label below it exceeds. With k labels that are worse than the k-th best of
        their row are left out, but for those that are predicted.

        From each level the `beam` best nodes of a row are gone on with, of equal ones the first,
        and all that may lead to a label that is predicted: the sets of labels are exact. The k best
        labels of a row are those of the whole tree where the k-th is at least the second answer.
        """
        from svmcut._native import label_index

        X = renumber(X, self.columns)
        tree = label_index.Tree(
            self.first,
            self.bounds,
            self.features,
            self.indptr,
            self.places,
            self.values,
            self.constant,
            self.width,
        )
        n, K = X.n_rows, len(self.names)
        step = max(1, AT_ONCE // max(1, min(K, WIDEST * beam)))
        parts = [
            (start, *self._searched(tree, X.rows(start, min(n, start + step)), beam, threads, k))
            for start in range(0, max(1, n), step)
        ]
        ranked = stack_scores(
            n, K, [part._replace(row=part.row + first) for first, part, _ in parts]
        )
        return ranked, np.concatenate([left for _, _, left in parts])

    def _searched(
        self, tree: Any, X: Csr, beam: int, threads: int, k: int | None
    ) -> tuple[TopScores, NDArray[np.float64]]:
        """As `search`, of few rows."""
        n, K, rows = X.n_rows, len(self.names), sparse.Rows(X)
        left = np.full(n, -np.inf)
        levels: list[TopScores] = []
        row, node, above = np.arange(n), np.zeros(n, np.int64), np.zeros(n)
        while len(row):
            f, ends = tree.scores(rows, row, node, threads)
            widths = np.diff(ends)
            lead = self.leads[np.repeat(self.first[node] - ends[:-1], widths) + np.arange(len(f))]
            path = np.repeat(above, widths) - np.logaddexp(0.0, -STEEP * f)
            of, inner = np.repeat(row, widths), lead >= 0
            labels = TopScores(n, K, of[~inner], ~lead[~inner], path[~inner])
            levels.append(labels if k is None else _leading(labels, k, threads))
            nodes = TopScores(n, len(self.first), of[inner], lead[inner], path[inner])
            kept = _leading(nodes, beam, threads, left)
            at, rank = rank_best(kept, kept.K)
            on = (rank < beam) | (kept.score[at] > EVEN)
            np.maximum.at(left, kept.row[at[~on]], kept.score[at[~on]])
            at = at[on]
            row, node, above = kept.row[at], kept.place[at], kept.score[at]
        return stack_scores(n, K, levels), left

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) float64 scores of the labels that a search reaches, -inf of others."""
        return self.search(X, threads=threads)[0].dense()

    def predict(self, X: Csr, threads: int = 1) -> NDArray[np.bool_]:
        """(n, L) bool: column k says whether a row has the label k."""
        sets = np.zeros((X.n_rows, int(self.names.max(initial=-1)) + 1), bool)
        ranked = self.search(X, threads=threads, k=1)[0]
        on = ranked.select(ranked.score > EVEN)
        sets[on.row, self.names[on.place]] = True
        return sets

    def form(self) -> dict[str, schemas.Check]:
        self.require(
            names=schemas.array(np.int64, None, rising=True),
            width=schemas.count(0),
            first=schemas.array(np.int64, None, low=0, high=len(self.leads), rising=True),
            bounds=schemas.array(np.int64, len(self.first), low=0, high=len(self.features)),
            features=schemas.array(np.int32, None, low=0, high=self.width - 1),
            indptr=schemas.array(
                np.int64, len(self.features) + 1, low=0, high=len(self.values), rising=True
            ),
        )
        self._check_tree()
        for name, most in (("first", len(self.leads)), ("bounds", len(self.features))):
            array = getattr(self, name)
            schemas.require(array[0] == 0 and array[-1] == most, name, "bounds of all")
        rising = bool((np.diff(self.bounds) >= 0).all())
        ends = self.indptr[0] == 0 and self.indptr[-1] == len(self.values)
        schemas.require(rising and bool(ends), "bounds and indptr", "bounds")
        falls = np.diff(self.features) <= 0
        falls[
            self.bounds[1:-1][(self.bounds[1:-1] > 0) & (self.bounds[1:-1] <= len(falls))] - 1
        ] = 0
        schemas.require(not falls.any(), "features", "increasing ones in every node")
        m, K = len(self.values), len(self.names)
        self.require(places=schemas.array(np.uint8, m), values=schemas.array(np.float32, m))
        weights = self.indptr[self.bounds]
        widths = np.repeat(np.diff(self.first), np.diff(weights))
        schemas.require(bool((self.places < widths).all()), "places", "children of their nodes")
        return {
            "constant": schemas.reals(len(self.leads)),
            "counts": schemas.array(np.int64, K, low=0),
            "n_rows": schemas.count(1),
        }

    def _check_tree(self) -> None:
        """Every node but the root is a child of an earlier one, every label a child."""
        J, K = len(self.first) - 1, len(self.names)
        self.require(leads=schemas.array(np.int64, None, low=-K, high=J - 1))
        schemas.require(J > 0 and self.first[-1] == len(self.leads), "first", "nodes")
        above = np.repeat(np.arange(J), np.diff(self.first))
        inner = self.leads >= 0
        nodes, labels = np.sort(self.leads[inner]), np.sort(~self.leads[~inner])
        whole = np.array_equal(nodes, np.arange(1, J)) and np.array_equal(labels, np.arange(K))
        later = bool((self.leads[inner] > above[inner]).all())
        schemas.require(whole and later, "leads", "a tree of all nodes and labels")

    def weights_of(self, child: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The features of a child of a node, and its weights."""
        node = int(np.searchsorted(self.first, child, side="right")) - 1
        own = slice(self.bounds[node], self.bounds[node + 1])
        ends = self.indptr[own.start : own.stop + 1]
        weights = slice(ends[0], ends[-1])
        mine = self.places[weights] == child - self.first[node]
        return np.repeat(self.features[own], np.diff(ends))[mine], self.values[weights][mine]

    def facts(self, ends: facts.Ends) -> dict[str, Any]:
        labels = [str(label) for label in self.names.tolist()]
        leaves = np.flatnonzero(self.leads < 0)
        child = np.empty(len(labels), np.int64)
        child[~self.leads[leaves]] = leaves
        weights = []
        for label, m in zip(labels[:LISTED], child.tolist(), strict=False):
            w = np.zeros(self.n_features)
            features, values = self.weights_of(m)
            w[features] = values
            one = {"of": label, "constant": float(self.constant[m])}
            weights.append(one | ends.of_features(w, self.columns))
        used = np.bincount(self.features, np.diff(self.indptr), minlength=self.n_features)
        return {
            "kind": "label sets",
            "loss": TASKS["multilabel"].loss,
            "labels": labels,
            "features": facts.features(self.columns, used.astype(np.int64)),
            "weights": weights,
            "pairs": {"number": 0, "positive": 0} | ends.of(np.zeros(0), lambda place: {}),
            "tree": {"nodes": len(self.first) - 1, "machines": len(self.leads)},
        }
