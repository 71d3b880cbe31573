# SPDX-License-Identifier: BSD-3-Clause
"""Models of several classes as machines of two on kernel values, which share their support
vectors."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from svmcut._native.kernels import machine_scores
from svmcut.base.records import fields, record, replace
from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar, Self
from svmcut.data.examples import Csr
from svmcut.models.base import Ends, kernel_facts, renumber, support_facts
from svmcut.models.classes import SeveralClasses
from svmcut.models.kernels import Kernel
from svmcut.models.linear_sums import linear_scores, linear_weights
from svmcut.models.two_classes import KernelModel, LinearModel
from svmcut.scoring.probabilities import (
    LOG_ODDS,
    Sigmoid,
    couple_pairs,
    couple_pairs_as_libsvm,
    fit_sigmoid,
)
from svmcut.spec import schemas

if TYPE_CHECKING:
    from svmcut.scoring.conformal import Coverage
    from svmcut.tables.encoding import Encoding


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """(0, 1), (0, 2), .., (1, 2), ..: the classes of the one-against-one machines."""
    return list(itertools.combinations(range(n_classes), 2))


@record(eq=False)
class KernelMulticlassModel(SeveralClasses):
    """f_j(x) = sum of alpha[e] K(z_places[e], x) over starts[j] <= e < starts[j + 1], less b[j];
    the other fields as in MulticlassModel."""

    has_ball: ClassVar[bool] = True

    kernel: Kernel
    #: (m, d) support vectors z of all machines, one row each.
    support: Csr
    #: (M + 1,) first coefficient of each machine.
    starts: NDArray[np.int64]
    #: (E,) support vectors, increasing within a machine.
    places: NDArray[np.int32]
    #: (E,) their weights, labels included.
    alpha: NDArray[np.float64]
    #: (M,) thresholds, subtracted.
    b: NDArray[np.float64]
    #: (K,) labels of the classes, increasing; of a foreign model in the order of its file.
    names: NDArray[np.float64]
    #: True for machines of the pairs of classes, as `pairs_of` orders them, with f above 0 for the
    #: first; else machine k is of class k against the rest.
    paired: bool
    columns: NDArray[np.int32] | None = None
    highest_index: int = 0
    n_documents: int = 0
    loss: str | None = None
    #: A and B of every pair of classes, for the probability of its first.
    sigmoids: tuple[Sigmoid, ...] | None = None
    #: Of machines against the rest, as in MulticlassModel.
    temperature: float | None = None
    table: Encoding | None = None
    certificate: tuple[float, ...] | None = None
    #: C of an example that weighs 1, for which the certificate holds.
    cost: float | None = None
    coverage: Coverage | None = None

    @property
    def has_probabilities(self) -> bool:
        return self.sigmoids is not None if self.paired else super().has_probabilities

    def probabilities(self, decisions: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, K) probabilities of the classes from `decisions`, if the model has them; of pairs by
        coupling."""
        if not self.paired:
            return super().probabilities(decisions)
        assert self.sigmoids is not None
        return couple_pairs(decisions, self.sigmoids, len(self.names))

    def decisions(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, M) float64 f_j(x) of every machine; the same bytes for any number of threads."""
        if self.kernel.is_linear:
            rows, machines = renumber(X, self.columns), zip(self.weights(), self.b, strict=True)
            return np.column_stack([linear_scores(rows, w, b, threads) for w, b in machines])
        return self._sums(X, threads, False)

    def label_decisions(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, M) numbers from which labels follow as from `decisions`: of pairs with their signs,
        else the largest where theirs is. Float32 sums where their error cannot matter."""
        if self.kernel.is_linear:
            return self.decisions(X, threads)
        return self._sums(X, threads, False, "signs" if self.paired else "largest")

    def weights(self) -> NDArray[np.float64]:
        """(M, d) weights of the features, for the linear kernel."""
        bounds = itertools.pairwise(self.starts.tolist())
        return np.stack(
            [
                linear_weights(self.support.take(self.places[a:b]), self.alpha[a:b])
                for a, b in bounds
            ]
        )

    def _sums(
        self, X: Csr, threads: int, narrow: bool, labels: str | None = None
    ) -> NDArray[np.float64]:
        known = self.support, self.starts, self.places, self.alpha, self.kernel, self.b
        return machine_scores(renumber(X, self.columns), *known, threads, narrow, labels)

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) f_k of every class; of pairs the votes, nan for a class with a decision that is
        nan."""
        return self._count(self.decisions(X, threads))

    def label_scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) numbers the largest of which is where that of `scores` is."""
        return self._count(self.label_decisions(X, threads))

    def _count(self, decisions: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, K) votes of pairs; of machines against the rest their decisions."""
        if not self.paired:
            return decisions
        votes = np.zeros((len(decisions), len(self.names)))
        for f, (first, second) in zip(decisions.T, pairs_of(len(self.names)), strict=True):
            bad = np.where(np.isfinite(f), 0.0, np.nan)
            votes[:, first] += (f > 0) + bad
            votes[:, second] += ~(f > 0) + bad
        return votes

    def with_probabilities(
        self, scores: NDArray, places: NDArray[np.int64], weights: NDArray | None
    ) -> Self:
        """This model with fitted probabilities; of pairs one sigmoid each, from the rows of its two
        classes."""
        if not self.paired:
            return super().with_probabilities(scores, places, weights)
        sigmoids = []
        for f, (first, second) in zip(scores.T, pairs_of(len(self.names)), strict=True):
            of = (places == first) | (places == second)
            own = None if weights is None else weights[of]
            sigmoids.append(fit_sigmoid(f[of], places[of] == first, own))
        return replace(self, sigmoids=tuple(sigmoids))

    @property
    def n_radii(self) -> int:
        return len(self.b)

    @property
    def n_features(self) -> int:
        return self.support.n_features

    def form(self) -> dict[str, schemas.Check]:
        self.require(paired=schemas.flag)
        shared, E, M = super().form(), len(self.alpha), len(self.machines())
        self.require(starts=schemas.array(np.int64, M + 1, low=0, high=E))
        rises = self.starts[0] == 0 and self.starts[-1] == E and (np.diff(self.starts) >= 0).all()
        wanted = "from 0 to the number of coefficients, never falling"
        schemas.require(bool(rises), "model.starts", wanted)
        sigmoids = schemas.many(schemas.row(schemas.REAL, schemas.REAL), M, M)
        return {
            "places": schemas.array(np.int32, E, low=0, high=self.support.n_rows - 1),
            "alpha": schemas.reals(E),
            "b": schemas.reals(M),
            "sigmoids": schemas.maybe(sigmoids),
            **shared,
        }

    def machines(self) -> list[tuple[int, ...]]:
        """Classes of every machine."""
        K = len(self.names)
        return [*pairs_of(K)] if self.paired else [(k,) for k in range(K)]

    def facts(self, ends: Ends) -> dict[str, Any]:
        labels, counts = self.label_texts(), np.diff(self.starts)
        machines = [
            {"of": [labels[k] for k in own], "support_vectors": int(count), "threshold": float(b)}
            for own, count, b in zip(self.machines(), counts, self.b, strict=True)
        ]
        sigmoids = self.sigmoids and {"sigmoids": [[*fitted] for fitted in self.sigmoids]}
        return self._head("kernel classes", sigmoids or None) | {
            "kernel": kernel_facts(self.kernel),
            **support_facts(self.support, self.alpha, self.columns),
            "machines": machines,
        }


@record(eq=False)
class JointKernelModel(KernelMulticlassModel):
    """Functions f_k of a kernel, one per class, trained jointly and without thresholds: machines
    against the rest."""

    has_ball: ClassVar[bool] = False

    def scores_in_float32(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) float64 f_k(x) as svm_multiclass prints them: products of two features are rounded
        to float32."""
        return self._sums(X, threads, True)


def most_probable(model: Any) -> Any:
    """Copy of a model of LIBSVM, of two classes or of pairs, whose scores are log odds or
    probabilities of classes.

    LIBSVM's programs use it for probabilities: the label is then the most probable class, which the
    score or the most votes of pairs may not give.
    """
    given = {one.name: getattr(model, one.name) for one in fields(model)}
    if isinstance(model, KernelMulticlassModel):
        assert model.paired
        return CoupledClasses(**given | {"paired": False})
    return (OddsOfLinear if isinstance(model, LinearModel) else OddsOfKernel)(**given)


@record(eq=False)
class CoupledClasses(KernelMulticlassModel):
    """Machines of pairs whose probabilities are coupled as LIBSVM does, to its tolerance; without
    votes."""

    @property
    def has_probabilities(self) -> bool:
        return True

    def probabilities(self, decisions: NDArray[np.float64]) -> NDArray[np.float64]:
        return decisions

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n, K) probabilities; nan if a decision is nan."""
        assert self.sigmoids is not None
        return couple_pairs_as_libsvm(self.decisions(X, threads), self.sigmoids, len(self.names))


class _Odds:
    """Scores -A f - B, which are above 0 if the positive class has more than half."""

    __slots__ = ()

    sigmoid: Sigmoid | None

    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        """(n,) log odds; a half counts for the positive class, the first of the file."""
        assert self.sigmoid is not None
        A, B = self.sigmoid
        odds = -A * super().scores(X, threads) - B  # type: ignore[misc]
        return np.where(odds == 0, np.finfo(np.float64).tiny, odds)

    @property
    def calibration(self) -> Sigmoid:
        return LOG_ODDS


@record(eq=False)
class OddsOfLinear(_Odds, LinearModel):
    """Log odds of a linear model."""


@record(eq=False)
class OddsOfKernel(_Odds, KernelModel):
    """Log odds of a kernel model."""
