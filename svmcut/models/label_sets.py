# SPDX-License-Identifier: BSD-3-Clause
"""Models of sets of labels: with weights of pairs of labels and their prediction, or of many labels
with sparse weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import label_index, multilabel, sparse
from svmcut.base.errors import MemoryLimitError
from svmcut.base.records import record
from svmcut.base.resources import describe_shortage
from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar
from svmcut.data.examples import Csr
from svmcut.models.base import (
    CERTIFICATES,
    COST,
    BaseModel,
    Ends,
    certificate_facts,
    feature_facts,
    renumber,
)
from svmcut.spec import schemas
from svmcut.spec.catalog import TASKS

if TYPE_CHECKING:
    from svmcut.tables.encoding import Encoding


@record(eq=False)
class MultilabelModel(BaseModel):
    """score(x, y) = sum_k y_k (W[k].x + constant[k]) + sum of the weights of the pairs with both
    labels on."""

    has_ball: ClassVar[bool] = True
    of_sets: ClassVar[bool] = True

    #: (d, K) weights; those of a feature are adjacent.
    W: NDArray[np.float64]
    #: (K,) constant part of the score of a label.
    constant: NDArray[np.float64]
    #: (P,) place of the first label of each pair.
    first: NDArray[np.int32]
    #: (P,) place of the second, above the first.
    second: NDArray[np.int32]
    #: (P,) pair weights.
    v: NDArray[np.float64]
    #: (K,) labels, increasing, as in the files.
    names: NDArray[np.int64]
    columns: NDArray[np.int32] | None = None
    table: Encoding | None = None
    #: (K,) training rows that have each label, of `n_rows`; None if the model was read from a file.
    counts: NDArray[np.int64] | None = None
    n_rows: int = 0
    #: As in MulticlassModel, for a model without pairs.
    certificate: tuple[float, ...] | None = None
    #: C of an example that weighs 1, for which the certificate holds.
    cost: float | None = None

    def pair_weights(self) -> NDArray[np.float64] | None:
        """(K, K) symmetric with a diagonal of 0; None without pairs. Raises MemoryLimitError."""
        if not len(self.v):
            return None
        need = 8e-6 * len(self.names) ** 2
        if there := describe_shortage(need, least=100):
            refusal = (
                f"weights of the pairs of {len(self.names)} labels take {need:,.0f} MB and {there}"
            )
            raise MemoryLimitError("{}; train with {pairs=none}", refusal, original=refusal)
        pairs = np.zeros((len(self.names), len(self.names)))
        pairs[self.first, self.second] = pairs[self.second, self.first] = self.v
        return pairs

    def decode(
        self, X: Csr, method: str = "lp", threads: int = 1
    ) -> tuple[NDArray, NDArray, NDArray]:
        return LabelDecoder(self, method).decode(X, threads)

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) float64 scores of every label alone."""
        return LabelDecoder(self).label_scores(X, threads)

    def predict(self, X: Csr, threads: int = 1) -> NDArray[np.bool_]:
        """(n, L) bool: column k is True if a row has the label k."""
        sets = np.zeros((X.n_rows, int(self.names.max(initial=-1)) + 1), bool)
        sets[:, self.names] = self.decode(X, threads=threads)[0]
        return sets

    @property
    def n_radii(self) -> int:
        return len(self.names)

    @property
    def n_features(self) -> int:
        return len(self.W)

    def form(self) -> dict[str, schemas.Check]:
        self.require(names=schemas.array(np.int64, None, rising=True))
        K, P = len(self.names), len(self.v)
        places = schemas.array(np.int32, P, low=0, high=K - 1)
        known = schemas.maybe(schemas.array(np.int64, K, low=0))
        self.require(counts=known, n_rows=schemas.count())
        arrays: dict[str, schemas.Check] = {"certificate": CERTIFICATES, "cost": COST}
        arrays |= {"W": schemas.reals(None, K), "constant": schemas.reals(K)}
        return arrays | {"first": places, "second": places, "v": schemas.reals(P)}

    def facts(self, ends: Ends) -> dict[str, Any]:
        labels = [str(label) for label in self.names.tolist()]

        def pair(place: int) -> dict[str, Any]:
            return {"labels": [labels[self.first[place]], labels[self.second[place]]]}

        weights = [
            {"of": label, "constant": float(constant)} | ends.of_features(w, self.columns)
            for label, constant, w in zip(labels, self.constant, self.W.T, strict=True)
        ]
        counts = {"number": len(self.v), "positive": int((self.v > 0).sum())}
        return {
            "kind": "label sets",
            "loss": TASKS["multilabel"].loss,
            "labels": labels,
            "features": feature_facts(self.columns, np.count_nonzero(self.W, 1)),
            "weights": weights,
            "pairs": counts | ends.of(self.v, pair),
            **certificate_facts(self.certificate, self.cost),
        }


class LabelDecoder:
    """Predicts with one model, block after block.

    Methods: "lp", the local-polytope relaxation (exact if no label is at one half, always so if all
    v >= 0) with coordinate ascent from its rounding; "icm", coordinate ascent from the labels' own
    signs; "greedy" addition. Memory: a copy of W, and (K, K) float64 if there are pairs.
    """

    def __init__(self, model: MultilabelModel, method: str = "lp"):
        self._columns, self._method, self.pairs = model.columns, method, model.pair_weights()
        self._features = multilabel.Weights(np.vstack([model.W, model.constant]), None, 1.0)
        self._pairs = multilabel.Weights(np.zeros((0, len(model.names))), self.pairs, 0.0)

    def label_scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        return multilabel.scores(sparse.Rows(renumber(X, self._columns)), self._features, threads)

    def decode(self, X: Csr, threads: int = 1) -> tuple[NDArray, NDArray, NDArray]:
        """(n, K) bool predicted sets, (n, K) label scores, and (n,) how many labels the relaxation
        left at one half."""
        scores = self.label_scores(X, threads)
        y, halves = multilabel.decode(scores, self._pairs, self._method, threads)
        return y.astype(bool), scores, halves


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
        rows = sparse.Rows(renumber(X, self.columns))
        return label_index.scores(
            rows, self.indptr, self.places, self.values, self.constant, threads
        )

    def predict(self, X: Csr, threads: int = 1) -> NDArray[np.bool_]:
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

    def facts(self, ends: Ends) -> dict[str, Any]:
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
            "features": feature_facts(self.columns, np.diff(self.indptr)),
            "weights": weights,
            "pairs": {"number": 0, "positive": 0} | ends.of(np.zeros(0), lambda place: {}),
        }
