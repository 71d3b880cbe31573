# SPDX-License-Identifier: BSD-3-Clause
"""Models of very many labels as a tree: the score of a label is the sum over its path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import label_index, sparse
from svmcut.base.records import record
from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar
from svmcut.data.examples import Csr
from svmcut.data.label_clusters import MAX_CHILDREN
from svmcut.models.base import BaseModel, Ends, feature_facts, renumber
from svmcut.scoring.tops import TopScores, rank_best, stack_scores
from svmcut.spec import schemas
from svmcut.spec.catalog import TASKS

if TYPE_CHECKING:
    from svmcut.tables.encoding import Encoding

#: Steepness of the probability of a machine with score f: 1 / (1 + exp(-STEEPNESS f)).
STEEPNESS = 4.0
#: Log-probability above which a label is predicted.
LOG_HALF = float(np.log(0.5))
#: Default number of nodes of a level from which a search goes on.
BEAM = 10
#: Labels up to which `facts` lists weights.
MAX_LISTED = 1000
#: Scores of a level that a search holds at once.
MAX_SCORES_AT_ONCE = 1 << 20


def _best_of_rows(
    ranked: TopScores, k: int, threads: int, left: NDArray[np.float64] | None = None
) -> TopScores:
    """Labels or nodes at least as good as the k-th best of their row, and all that lead to a
    predicted label; `left` rises to the best of the others."""
    kept = (ranked.score >= ranked.kth_best(k, threads)[ranked.row]) | (ranked.score > LOG_HALF)
    if left is not None:
        np.maximum.at(left, ranked.row[~kept], ranked.score[~kept])
    return ranked.select(kept)


@record(eq=False)
class LabelTreeModel(BaseModel):
    """score(x, k) = sum over the children m on the path to label k of log sigma(4 f_m(x)), f_m(x) =
    sum_j x_j W[j, m] + constant[m]; a label is predicted if that is above log 1/2. The other fields
    as in SparseLabelModel."""

    #: (J + 1,): node j has the children first[j] to first[j + 1]; node 0 is the root.
    first: NDArray[np.int64]
    #: (M,) node that a child is, which comes later; ~k for the label at place k.
    leads: NDArray[np.int64]
    #: (J + 1,): node j has weights of features[bounds[j]] to features[bounds[j + 1] - 1],
    #: increasing.
    bounds: NDArray[np.int64]
    #: (E,)
    features: NDArray[np.int32]
    #: (E + 1,): entry e of these has the weights indptr[e] to indptr[e + 1].
    indptr: NDArray[np.int64]
    #: (m,) child of the node that a weight is for.
    places: NDArray[np.uint8]
    #: (m,) weights.
    values: NDArray[np.float32]
    #: (M,) constant part of the score of a child.
    constant: NDArray[np.float64]
    names: NDArray[np.int64]
    counts: NDArray[np.int64]
    n_rows: int
    #: d, the number of features.
    width: int
    binary: bool = True
    columns: NDArray[np.int32] | None = None
    table: Encoding | None = None

    #: True as labels are searched with a beam.
    has_beam: ClassVar[bool] = True

    @property
    def v(self) -> NDArray[np.float64]:
        """(0,) weights of pairs of labels: none."""
        return np.zeros(0)

    @property
    def n_features(self) -> int:
        return self.width

    def search(
        self, X: Csr, beam: int = BEAM, threads: int = 1, k: int | None = None
    ) -> tuple[TopScores, NDArray[np.float64]]:
        """Scores of the labels that were reached, and (n,) the best score of a node that was left
        out, which no label below it exceeds. With k, only the k best labels of a row and the
        predicted ones.

        The search goes on from the `beam` best nodes of a level, of equal ones the first, and from
        all that may lead to a predicted label: the sets of labels are exact. The k best labels of a
        row are those of the whole tree if the k-th is at least the second result.
        """
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
        step = max(1, MAX_SCORES_AT_ONCE // max(1, min(K, MAX_CHILDREN * beam)))
        parts = [
            (
                start,
                *self._search_block(tree, X.rows(start, min(n, start + step)), beam, threads, k),
            )
            for start in range(0, max(1, n), step)
        ]
        ranked = stack_scores(
            n, K, [part._replace(row=part.row + first) for first, part, _ in parts]
        )
        return ranked, np.concatenate([left for _, _, left in parts])

    def _search_block(
        self, tree: Any, X: Csr, beam: int, threads: int, k: int | None
    ) -> tuple[TopScores, NDArray[np.float64]]:
        """Searches as `search`, few rows."""
        n, K, rows = X.n_rows, len(self.names), sparse.Rows(X)
        left = np.full(n, -np.inf)
        levels: list[TopScores] = []
        row, node, above = np.arange(n), np.zeros(n, np.int64), np.zeros(n)
        while len(row):
            f, ends = tree.scores(rows, row, node, threads)
            widths = np.diff(ends)
            lead = self.leads[np.repeat(self.first[node] - ends[:-1], widths) + np.arange(len(f))]
            path = np.repeat(above, widths) - np.logaddexp(0.0, -STEEPNESS * f)
            of, inner = np.repeat(row, widths), lead >= 0
            labels = TopScores(n, K, of[~inner], ~lead[~inner], path[~inner])
            levels.append(labels if k is None else _best_of_rows(labels, k, threads))
            nodes = TopScores(n, len(self.first), of[inner], lead[inner], path[inner])
            kept = _best_of_rows(nodes, beam, threads, left)
            at, rank = rank_best(kept, kept.K)
            on = (rank < beam) | (kept.score[at] > LOG_HALF)
            np.maximum.at(left, kept.row[at[~on]], kept.score[at[~on]])
            at = at[on]
            row, node, above = kept.row[at], kept.place[at], kept.score[at]
        return stack_scores(n, K, levels), left

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) scores of the labels that a search reaches, -inf of others."""
        return self.search(X, threads=threads)[0].dense()

    def predict(self, X: Csr, threads: int = 1) -> NDArray[np.bool_]:
        sets = np.zeros((X.n_rows, int(self.names.max(initial=-1)) + 1), bool)
        ranked = self.search(X, threads=threads, k=1)[0]
        on = ranked.select(ranked.score > LOG_HALF)
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
        """Checks that every node but the root is a child of an earlier one, and every label a
        child."""
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
        """Features of a child of a node, and its weights."""
        node = int(np.searchsorted(self.first, child, side="right")) - 1
        own = slice(self.bounds[node], self.bounds[node + 1])
        ends = self.indptr[own.start : own.stop + 1]
        weights = slice(ends[0], ends[-1])
        mine = self.places[weights] == child - self.first[node]
        return np.repeat(self.features[own], np.diff(ends))[mine], self.values[weights][mine]

    def facts(self, ends: Ends) -> dict[str, Any]:
        labels = [str(label) for label in self.names.tolist()]
        leaves = np.flatnonzero(self.leads < 0)
        child = np.empty(len(labels), np.int64)
        child[~self.leads[leaves]] = leaves
        weights = []
        for label, m in zip(labels[:MAX_LISTED], child.tolist(), strict=False):
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
            "features": feature_facts(self.columns, used.astype(np.int64)),
            "weights": weights,
            "pairs": {"number": 0, "positive": 0} | ends.of(np.zeros(0), lambda place: {}),
            "tree": {"nodes": len(self.first) - 1, "machines": len(self.leads)},
        }
