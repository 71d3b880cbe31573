# SPDX-License-Identifier: BSD-3-Clause
"""Models of tags of sequences, from features or from kernel values of their tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import chain, sparse
from svmcut.base.errors import MemoryLimitError
from svmcut.base.records import field, record
from svmcut.base.resources import describe_shortage, one_blas_thread
from svmcut.base.typing import Any, ClassVar, Self
from svmcut.data.examples import Csr, Names
from svmcut.models.base import BaseModel, Ends, feature_facts, kernel_facts, renumber, support_facts
from svmcut.models.kernels import Kernel
from svmcut.spec import schemas
from svmcut.spec.catalog import losses

#: Kernel values held at once while tokens are scored.
_BLOCK_VALUES = 1 << 20
#: Tags of which a matrix of all transitions is a fact.
MAX_MATRIX_TAGS = 64


@record
class ChainShape:
    """Layout of the weights of a chain; see csrc/include/chain.h."""

    #: K.
    n_tags: int
    #: D.
    n_features: int
    #: svm_hmm's --t, 0 to 3.
    transition_order: int = 1
    #: svm_hmm's --e, 0 or 1, not above --t.
    emission_order: int = 0

    def validate(self) -> Self:
        """Returns this layout if a chain can have it; else raises StateError."""
        sizes = {"n_tags": schemas.count(1, 2**31 - 1), "n_features": schemas.count(0, 2**31 - 1)}
        orders = {"transition_order": schemas.count(0, 3), "emission_order": schemas.count(0, 1)}
        return schemas.checked(self, schemas.fields(**sizes, **orders), "shape")

    @property
    def stride(self) -> int:
        """Numbers in a row of tags: 4, 8 or a multiple of 16, so that rows are whole vectors."""
        return next(size for size in (4, 8, -(-self.n_tags // 16) * 16) if self.n_tags <= size)

    @property
    def node_size(self) -> int:
        """Weights of one feature."""
        return (self.n_tags + 1 if self.emission_order else 1) * self.stride

    @property
    def transitions(self) -> int:
        """Weights of all transitions."""
        return self.stride * sum(
            self.n_tags**order for order in range(1, self.transition_order + 1)
        )

    @property
    def dim(self) -> int:
        """Length of the weights: emissions, feature by feature, then transitions of order 1, 2,
        3."""
        return self.n_features * self.node_size + self.transitions


def check_lattice(shape: ChainShape, sequences: NDArray[np.int64]) -> None:
    """Raises MemoryLimitError if one float64 for every state and token of the longest sequence
    exceeds the machine's memory."""
    longest = int(np.max(np.diff(sequences), initial=0))
    need = (
        8e-6
        * longest
        * (shape.node_size + shape.n_tags ** max(0, shape.transition_order - 1) * shape.stride)
    )
    if there := describe_shortage(need, least=100):
        refusal = (
            f"a sequence of {longest} tokens at transition order {shape.transition_order} needs "
            f"about {need:,.0f} MB "
            f"for its states and {there}"
        )
        remedy = "cut the sequence, or train at a lower order of transitions"
        raise MemoryLimitError(
            "{}; lower {transitions}, or cut the sequence", refusal, original=f"{refusal}; {remedy}"
        )


class TagsModel(BaseModel):
    """Base of models of tags: names, and facts of transitions."""

    __slots__ = ()

    of_sequences: ClassVar[bool] = True
    shape: ChainShape
    names: Names | None
    temperature: float | None

    def tags(
        self, X: Csr, sequences: NDArray[np.int64], threads: int = 1, beam: int = 0
    ) -> NDArray[np.int32]:
        """(tokens,) int32 best tags, from 0, of the sequences X[sequences[n] : sequences[n + 1]];
        see Chains.argmax."""
        raise NotImplementedError

    def lattice(
        self, X: Csr, sequences: NDArray[np.int64], threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scores of the tags of every token, (tokens * shape.node_size,), and of transitions,
        (shape.transitions,); see csrc/include/chain.h."""
        raise NotImplementedError

    def form(self) -> dict[str, schemas.Check]:
        texts = schemas.many(schemas.text())
        parts = {"tags": texts, "attributes": texts, "template": texts, "columns": schemas.count(0)}
        parts["hash_bits"] = schemas.count(0)
        return {
            "names": schemas.maybe(schemas.instance(Names, **parts)),
            "temperature": schemas.maybe(schemas.real()),
        }

    @property
    def has_probabilities(self) -> bool:
        """True if the probabilities of its tags are calibrated."""
        return self.temperature is not None

    def _probability_facts(self) -> dict[str, Any]:
        """Facts of its probabilities."""
        if self.temperature is None:
            return {}
        return {"probabilities": {"temperature": self.temperature}}

    def _label_texts(self) -> list[str]:
        """Names of the tags, or their numbers."""
        if self.names is None:
            return [str(tag + 1) for tag in range(self.shape.n_tags)]
        return [*self.names.tags]

    def _transitions(self, weights: NDArray, ends: Ends) -> list[dict[str, Any]]:
        """Transitions of every order, tags from the farthest to the weighted one; all of order 1 if
        there are few."""
        shape, labels = self.shape, self._label_texts()
        K, start, orders = shape.n_tags, 0, []
        for order in range(1, shape.transition_order + 1):
            size = K**order * shape.stride
            table = weights[start : start + size].reshape(-1, shape.stride)[:, :K]
            start += size
            sizes = (K,) * (order + 1)

            def name(place: int, sizes: tuple[int, ...] = sizes) -> dict[str, Any]:
                return {"tags": [labels[tag] for tag in np.unravel_index(place, sizes)]}

            row = {"order": order, "weighted": int(np.count_nonzero(table))}
            row |= ends.of(table.ravel(), name)
            if order == 1 and K <= MAX_MATRIX_TAGS:
                row["matrix"] = table.tolist()
            orders.append(row)
        return orders


@record(eq=False)
class ChainModel(TagsModel):
    """Tags of a sequence: argmax over y of w.Psi(x, y)."""

    has_ball: ClassVar[bool] = True

    #: (shape.dim,) weights; features at or above shape.n_features, or not in ``columns``, have
    #: none.
    w: NDArray[np.float64]
    shape: ChainShape
    #: Linear kernel with the parameters in a model file.
    kernel: Kernel = field(default_factory=Kernel)
    columns: NDArray[np.int32] | None = None
    #: Number of emission features in a model file; None for the largest there is.
    highest_feature: int | None = None
    #: svm_hmm's number of the loss in a model file: 1 for wrong tags, 0 for zero/one.
    loss: int = 1
    #: Names of the tags and of all features.
    names: Names | None = None
    #: Factor of scores before probabilities; None if it was not fitted.
    temperature: float | None = None
    #: As in LinearModel; the constant feature is 0.
    certificate: tuple[float, float, float] | None = None
    #: C of an example that weighs 1, for which the certificate holds.
    cost: float | None = None

    def tags(
        self, X: Csr, sequences: NDArray[np.int64], threads: int = 1, beam: int = 0
    ) -> NDArray[np.int32]:
        check_lattice(self.shape, sequences)
        return _best_tags(self._native_chains(X, sequences), self.w, None, beam, threads)

    def lattice(
        self, X: Csr, sequences: NDArray[np.int64], threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        check_lattice(self.shape, sequences)
        nodes = np.empty(X.n_rows * self.shape.node_size)
        chain.nodes(self._native_chains(X, sequences), self.w, nodes, threads)
        return nodes, self.w[len(self.w) - self.shape.transitions :]

    def _native_chains(self, X: Csr, sequences: NDArray[np.int64]) -> Any:
        """The sequences for the C++ side."""
        shape = self.shape
        return chain.Chains(
            sparse.Rows(renumber(X, self.columns)),
            sequences,
            np.zeros(X.n_rows, np.int32),
            shape.n_features,
            shape.n_tags,
            shape.stride,
            shape.transition_order,
            shape.emission_order,
        )

    @property
    def n_features(self) -> int:
        return self.shape.n_features

    def form(self) -> dict[str, schemas.Check]:
        w = schemas.reals(self.shape.validate().dim)
        return {"w": w, "loss": schemas.count(0, 1), **super().form()}

    def facts(self, ends: Ends) -> dict[str, Any]:
        shape, labels = self.shape, self._label_texts()
        slots = shape.node_size // shape.stride
        nodes = self.w[: shape.n_features * shape.node_size].reshape(
            shape.n_features, slots, shape.stride
        )[:, :, : shape.n_tags]
        weights = [
            {"of": labels[tag], **({"behind": labels[before - 1]} if before else {})}
            | ends.of_features(nodes[:, before, tag], self.columns)
            for before in range(slots)
            for tag in range(shape.n_tags)
        ]
        known = losses("sequence").values()
        return {
            "kind": "chain",
            "loss": next(row.name for row in known if row.number == bool(self.loss)),
            "labels": labels,
            **self._probability_facts(),
            "features": feature_facts(self.columns, np.count_nonzero(nodes, (1, 2))),
            "weights": weights,
            "transitions": self._transitions(self.w[len(self.w) - shape.transitions :], ends),
        }


@record(eq=False)
class KernelChainModel(TagsModel):
    """Tags of a sequence: argmax over y of sum_t f_{y_t}(x_t) + the transitions, with f_k = sum_u
    alpha[u, k] K(z_u, .); the other fields as in ChainModel."""

    kernel: Kernel
    #: (m, d) support tokens z.
    support: Csr
    #: (m, K) their weights, one per tag.
    alpha: NDArray[np.float64]
    #: (shape.transitions,) as after the emissions of a ChainModel.
    transitions: NDArray[np.float64]
    #: Emission order 0.
    shape: ChainShape
    columns: NDArray[np.int32] | None = None
    highest_feature: int | None = None
    names: Names | None = None
    temperature: float | None = None

    @one_blas_thread()
    def node_scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, stride) f_k(x_i) of every row, 0 after the last tag."""
        from svmcut._native.kernels import KernelRows

        scores = np.zeros((X.n_rows, self.shape.stride))
        if self.support.n_rows:
            rows = KernelRows(self.support, self.kernel, threads)
            X = renumber(X, self.columns)
            step = max(16, _BLOCK_VALUES // self.support.n_rows)
            for start in range(0, X.n_rows, step):
                values = rows.against_double(X.rows(start, min(start + step, X.n_rows)))
                scores[start : start + step, : self.shape.n_tags] = values @ self.alpha
        return scores

    def tags(
        self, X: Csr, sequences: NDArray[np.int64], threads: int = 1, beam: int = 0
    ) -> NDArray[np.int32]:
        """Best tags as of ChainModel.tags, in memory for the scores of all tokens and a fixed
        number of kernel values."""
        from svmcut.data.labellings import featureless_chains

        shape = self.shape
        check_lattice(shape, sequences)
        chains = featureless_chains(
            sequences,
            np.zeros(X.n_rows, np.int32),
            shape.n_tags,
            shape.stride,
            shape.transition_order,
        )
        return _best_tags(
            chains, self.transitions, self.node_scores(X, threads).ravel(), beam, threads
        )

    def lattice(
        self, X: Csr, sequences: NDArray[np.int64], threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        check_lattice(self.shape, sequences)
        return self.node_scores(X, threads).ravel(), self.transitions

    @property
    def n_features(self) -> int:
        return self.support.n_features

    def form(self) -> dict[str, schemas.Check]:
        shape = self.shape.validate()
        return {
            "alpha": schemas.reals(self.support.n_rows, shape.n_tags),
            "transitions": schemas.reals(shape.transitions),
            **super().form(),
        }

    def facts(self, ends: Ends) -> dict[str, Any]:
        return {
            "kind": "kernel chain",
            "loss": None,
            "labels": self._label_texts(),
            **self._probability_facts(),
            "kernel": kernel_facts(self.kernel),
            **support_facts(self.support, self.alpha, self.columns),
            "transitions": self._transitions(self.transitions, ends),
        }


def _best_tags(chains, w, nodes, beam: int, threads: int) -> NDArray[np.int32]:
    """(tokens,) tags of the best labelling of every sequence."""
    labels, values = np.empty(chains.n_tokens, np.int32), np.empty(chains.n_sequences)
    chain.argmax(
        chains, w, nodes, chain.DECODE, beam, labels, values, np.empty_like(values), threads
    )
    return labels
