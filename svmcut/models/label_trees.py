# SPDX-License-Identifier: BSD-3-Clause
"""Trees of labels: a label's score is the sum over its path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from svmcut._native import sparse
from svmcut.data.examples import Csr
from svmcut.models import facts
from svmcut.models.base import BaseModel
from svmcut.models.columns import renumber
from svmcut.spec import schemas
from svmcut.spec.catalog import TASKS
from svmcut.spec.records import record

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
        self, X: Csr, beam: int = BEAM, threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(n, K) scores of the labels that were reached, -inf of others, and (n,) the best score of
        a node that was left out, which no label below it exceeds.

        From each level the `beam` best nodes of a row are gone on with, of equal ones the first,
        and all that may lead to a label that is predicted: the sets of labels are exact. The k best
        labels of a row are those of the whole tree where the k-th is at least the second answer.
        """
        X, n = renumber(X, self.columns), X.n_rows
        scores, left = np.full((n, len(self.names)), -np.inf), np.full(n, -np.inf)
        table = np.full(max(X.n_features, self.width) + 1, -1, np.int32)
        row, node, above = np.arange(n), np.zeros(n, np.int64), np.zeros(n)
        while len(row):
            found = []
            order = np.argsort(node, kind="stable")
            starts = np.flatnonzero(np.diff(node[order], prepend=-1))
            for own in np.split(order, starts[1:]):
                own_node = int(node[own[0]])
                f = self._child_scores(X.take(row[own]), own_node, table, threads)
                path = above[own][:, None] - np.logaddexp(0.0, -STEEP * f)
                leads = self.leads[self.first[own_node] : self.first[own_node + 1]]
                labels = leads < 0
                scores[np.ix_(row[own], ~leads[labels])] = path[:, labels]
                inner = leads[~labels]
                if len(inner):
                    of = np.repeat(row[own], len(inner)), np.tile(inner, len(own))
                    found.append((*of, path[:, ~labels].ravel()))
            if not found:
                break
            row, node, above = map(np.concatenate, zip(*found, strict=True))
            order = np.lexsort((node, -above, row))
            row, node, above = row[order], node[order], above[order]
            rank = np.arange(len(row)) - np.searchsorted(row, row)
            kept = (rank < beam) | (above > EVEN)
            np.maximum.at(left, row[~kept], above[~kept])
            row, node, above = row[kept], node[kept], above[kept]
        return scores, left

    def _child_scores(
        self, X: Csr, node: int, table: NDArray[np.int32], threads: int
    ) -> NDArray[np.float64]:
        """(n, children) f of the children of a node; `table` is -1 everywhere, and again after."""
        from svmcut._native import label_index

        own = slice(self.bounds[node], self.bounds[node + 1])
        features, indptr = self.features[own], self.indptr[own.start : own.stop + 1]
        weights = slice(int(indptr[0]), int(indptr[-1]))
        table[features] = np.arange(len(features), dtype=np.int32)
        places = table[X.indices]
        table[features] = -1
        kept = places >= 0
        ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr].astype(np.int64)
        rows = Csr(X.data[kept], places[kept], ends, max(1, len(features)), True)
        return label_index.scores(
            sparse.Rows(rows),
            indptr - indptr[0],
            self.places[weights].astype(np.int32),
            self.values[weights],
            self.constant[self.first[node] : self.first[node + 1]],
            threads,
        )

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) float64 scores of the labels that a search reaches, -inf of others."""
        return self.search(X, threads=threads)[0]

    def predict(self, X: Csr, threads: int = 1) -> NDArray[np.bool_]:
        """(n, L) bool: column k says whether a row has the label k."""
        sets = np.zeros((X.n_rows, int(self.names.max(initial=-1)) + 1), bool)
        sets[:, self.names] = self.scores(X, threads) > EVEN
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
