# SPDX-License-Identifier: BSD-3-Clause
"""Models of very many labels, each on its own, that store nonzero weights only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import sparse
from svmcut.base.records import record
from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar
from svmcut.data.examples import Csr
from svmcut.models import facts
from svmcut.models.base import BaseModel
from svmcut.models.columns import renumber
from svmcut.spec import schemas
from svmcut.spec.catalog import TASKS

if TYPE_CHECKING:
    from svmcut.tables.encoding import Encoding

#: Labels up to which `facts` lists weights; more would fill no readable page.
MAX_LISTED = 1000


@record(eq=False)
class SparseLabelModel(BaseModel):
    """score(x, k) = sum_j x_j W[j, k] + constant[k]; a label is predicted if that is above 0."""

    of_sets: ClassVar[bool] = True

    #: (d + 1,): feature j has the weights indptr[j] to indptr[j + 1].
    indptr: NDArray[np.int64]
    #: (m,) places in `names` of the labels they are for.
    places: NDArray[np.int32]
    #: (m,) weights.
    values: NDArray[np.float32]
    #: (K,) constant part of the score of a label.
    constant: NDArray[np.float64]
    #: (K,) labels, increasing, as in the files.
    names: NDArray[np.int64]
    #: (K,) training rows that have each label.
    counts: NDArray[np.int64]
    #: Training rows.
    n_rows: int
    #: True if its file is the binary one.
    binary: bool = True
    columns: NDArray[np.int32] | None = None
    table: Encoding | None = None

    @property
    def v(self) -> NDArray[np.float64]:
        """(0,) weights of pairs of labels: none."""
        return np.zeros(0)

    @property
    def n_features(self) -> int:
        return len(self.indptr) - 1

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) float64 scores of every label."""
        from svmcut._native import label_index

        rows = sparse.Rows(renumber(X, self.columns))
        return label_index.scores(
            rows, self.indptr, self.places, self.values, self.constant, threads
        )

    def predict(self, X: Csr, threads: int = 1) -> NDArray[np.bool_]:
        """(n, L) bool: column k is True if a row has the label k."""
        sets = np.zeros((X.n_rows, int(self.names.max(initial=-1)) + 1), bool)
        sets[:, self.names] = self.scores(X, threads) > 0
        return sets

    def form(self) -> dict[str, schemas.Check]:
        self.require(names=schemas.array(np.int64, None, rising=True))
        self.require(places=schemas.array(np.int32, None, low=0, high=len(self.names) - 1))
        K, m = len(self.names), len(self.places)
        self.require(indptr=schemas.array(np.int64, None, low=0, high=m))
        ends = len(self.indptr) > 0 and self.indptr[0] == 0 and self.indptr[-1] == m
        schemas.require(ends and bool((np.diff(self.indptr) >= 0).all()), "indptr", "bounds")
        return {
            "values": schemas.array(np.float32, m),
            "constant": schemas.reals(K),
            "counts": schemas.array(np.int64, K, low=0),
            "n_rows": schemas.count(1),
        }

    def by_label(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """(K + 1,) bounds of the weights of every label, their features and values."""
        K = len(self.names)
        order = np.argsort(self.places, kind="stable")
        features = np.repeat(np.arange(self.n_features, dtype=np.int32), np.diff(self.indptr))
        bounds = np.concatenate([[0], np.cumsum(np.bincount(self.places, minlength=K))])
        return bounds.astype(np.int64), features[order], self.values[order]

    def facts(self, ends: facts.Ends) -> dict[str, Any]:
        labels = [str(label) for label in self.names.tolist()]
        bounds, features, values = self.by_label()
        weights = []
        for k, label in enumerate(labels[:MAX_LISTED]):
            w = np.zeros(self.n_features)
            own = slice(bounds[k], bounds[k + 1])
            w[features[own]] = values[own]
            one = {"of": label, "constant": float(self.constant[k])}
            weights.append(one | ends.of_features(w, self.columns))
        return {
            "kind": "label sets",
            "loss": TASKS["multilabel"].loss,
            "labels": labels,
            "features": facts.features(self.columns, np.diff(self.indptr)),
            "weights": weights,
            "pairs": {"number": 0, "positive": 0} | ends.of(np.zeros(0), lambda place: {}),
        }
