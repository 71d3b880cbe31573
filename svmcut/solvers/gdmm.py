# SPDX-License-Identifier: BSD-3-Clause
"""Greedy direction method of multipliers for structured outputs.

    problem      min_w  P(w) = 1/2 |w|^2 + C sum_n v_n H_n(w),   H_n relaxed to the local polytope
    its dual     min G(alpha) over a shifted simplex for every factor, subject to M_jf alpha_f =
    alpha_j: pairs agree
                 with the nodes they join
    update       augmented Lagrangian with weight rho; a factor at a time is moved to its minimum
                 over the few states in use and the one its maximisation oracle names; multipliers
                 follow the residual
    certificate  pairs are repaired to agree with their nodes, which makes a feasible dual point; P
                 by the argmax of the model (Viterbi; the roof dual)

No structured argmax is called between looks at the gap; a look comes when the passes have grown by
a fifth.

Yen, Huang, Zhong, Zhang, Dhillon and Ravikumar, NIPS 2016, Algorithms 1 and 4, section 3.2.

Deviations from the paper: the sign of the loss in equation (10) (the printed one learns nothing);
eta = 1; the best model by P is returned, not the last; a bound that is valid while factors
disagree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import gdmm_chain, multilabel, sparse
from svmcut.base.records import record
from svmcut.base.typing import Any, ClassVar
from svmcut.solvers.passes import PassRun, due
from svmcut.solvers.protocol import Solver, Start
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form, Kept, State
from svmcut.structured.chain import ChainSequences
from svmcut.structured.multilabel import LabelSets
from svmcut.structured.protocol import StructuredProblem

#: Passes before pairs enter: while nodes are far off, pairs answer errors that would go anyway.
NODE_PASSES = 10
RHO = 0.3  # of label sets, as a part of the length of an example; of chains rho is that length
PART_TAGS = 100  # tags tried for a token at a visit
FILLED = 1 / 8  # of the pairs: decoding with more weights is not sparse (chain_sparse.h)
LOOK_ENTRIES = 20_000  # pairs of tags in a Viterbi step that take as long as a visit of a token


class Factors(Kept):
    """The factors of a run, whose state is saved at looks alone."""

    called = "factors"
    passes: int

    def due(self, passes: int) -> int:
        """Return the pass of the look after this pass."""
        raise NotImplementedError

    def is_model(self, w: NDArray) -> bool:
        """Tell whether w is certainly of more use than w = 0, whatever its primal."""
        return False

    def restore(self, state: State) -> None:
        super().restore(state)
        fits = schemas.scheduled(self.passes, self.due)
        schemas.require(fits, "the passes of factors", "those of a look")


class LabelFactors(Factors):
    """The factors of a run on label sets; `active` counts the pair factors in use at the last
    look."""

    longest_cut = 0.0

    def __init__(
        self,
        model: LabelSets,
        C: float,
        seed: int,
        rho: float | None = None,
        soft: bool = False,
        parts: int = 1,
    ):
        self.model, self.C, self.passes, self._parts = model, C, 0, parts
        #: The iterate, (rows, K) and (K, K).
        self.W = np.zeros((model.n_rows, model.n_labels))
        self.v = np.zeros((model.n_labels, model.n_labels))
        squares = np.empty(model.n_samples)
        sparse.row_norms(model.rows, squares)
        if rho is None:
            rho = RHO * float(np.sqrt(np.mean(squares) + model.bias**2)) or RHO
        #: Whether a part can be wrong at all.
        self.doubtful = True
        self._descent = multilabel.Gdmm(
            model.rows, model.sets, self.W, self.v, model.bias, C, rho, seed, soft, model.weights
        )
        self.active, self._soft, self._node_passes = 0, soft, 0 if soft else NODE_PASSES

    def run(self) -> None:
        """Make a pass over the samples."""
        self._descent.run(self.model.pairs and self.passes >= self._node_passes, parts=self._parts)
        self.passes += 1

    def due(self, passes: int) -> int:
        """Return the pass of the look after this pass; a look reads the labels of all parts."""
        return max(passes + self._parts, due(passes))

    def form(self) -> Form:
        arrays = {"W": schemas.weights(*self.W.shape), "v": schemas.weights(*self.v.shape)}
        return arrays | {"_descent": OWN, "passes": schemas.COUNT, "active": schemas.COUNT}

    def look(self) -> tuple[float, list]:
        """Return a lower bound of P, and candidates (P, a function that returns w)."""
        repaired, linear, self.active, residual = self._descent.repair()
        squared = float(np.vdot(self.W, self.W))
        quadratic = squared + (
            0.5 * float(np.vdot(repaired, repaired)) if self.model.pairs else 0.0
        )
        # alpha scaled down is feasible too: the best multiple
        scale = min(1.0, linear / quadratic) if quadratic > 0 else 1.0
        lower = scale * linear - 0.5 * scale**2 * quadratic
        if not self.model.pairs:
            return lower, [self._candidate(None)]
        # while factors disagree their weights are useless, and their argmax is expensive
        scatter = residual / (self.C * self.model.total)
        far = scatter > 0.03 and not self._soft
        weights: list[NDArray | None] = [None] if far or not self.active else [self.v]
        if self.active and scatter < 1e-3:
            weights.append(repaired)
        return lower, [self._candidate(v) for v in weights]

    def _candidate(self, v):
        return self.model.primal(self.W, v, self.C), lambda: self.model.join(self.W, v)


class ChainFactors(Factors):
    """The factors of a run on chains of transition order 1 and emission order 0.

    `active` counts the states of tokens and pairs in use at the last look; `longest_cut` is the
    length of the longest sum of Psi(right) - Psi(labelling) so far.
    """

    #: Tags up to which all pairs are read, which is faster than keeping them in order.
    brute_tags: ClassVar[int] = 64

    def __init__(
        self,
        model: ChainSequences,
        C: float,
        seed: int,
        rho: float | None = None,
        soft: bool = False,
        parts: int | None = None,
    ):
        self.model, self.C, self.passes, self.active, self.longest_cut = model, C, 0, 0, 0.0
        X, K = model.sequences.X, model.shape.n_tags
        #: (dim,) The iterate.
        self.w = np.zeros(model.dim)
        self._cut: NDArray | None = None
        if rho is None:
            data = X.data[X.indptr[0] : X.indptr[-1]]
            rho = float(np.sqrt(np.vdot(data, data) / X.n_rows)) or 1.0
        parts = parts or max(1, K // PART_TAGS)
        #: As in LabelFactors.
        self.doubtful = K > 1
        self._descent = gdmm_chain.Gdmm(
            model.chains, self.w, C, rho, parts, self.brute_tags >= K, seed, soft, model.weights
        )

    def run(self) -> None:
        self._descent.run()
        self.passes += 1

    def due(self, passes: int) -> int:
        """Return the pass of the look after this pass. A look costs tokens K^2, which a pass does
        not; the first looks cost less, while few transitions have a weight."""
        most = 1 + self.model.shape.n_tags**2 // LOOK_ENTRIES
        return max(passes + max(1, min(passes, most)), int(1.2 * passes))

    def form(self) -> Form:
        counts = {"passes": schemas.COUNT, "active": schemas.COUNT}
        w = schemas.weights(len(self.w))
        return counts | {"w": w, "_descent": OWN, "longest_cut": schemas.real(0)}

    def look(self) -> tuple[float, list]:
        V, linear, _, self.active = self._descent.repair()
        emissions, own = self.w[: -len(V)], self.w[-len(V) :]
        # where V has a weight for most pairs and w has not, Viterbi's steps at w alone are few
        most = max(FILLED * len(V), float(np.count_nonzero(own)))
        if self.model.shape.n_tags <= self.brute_tags or np.count_nonzero(V) <= most:
            repaired = np.concatenate([emissions, V])
            quadratic = float(repaired @ repaired)
        else:
            repaired, quadratic = None, float(emissions @ emissions) + float(V @ V)
        scale = min(1.0, linear / quadratic) if quadratic > 0 else 1.0
        lower = scale * linear - 0.5 * scale**2 * quadratic
        candidates: list = [(self.primal(self.w), self.w.copy)]
        if repaired is not None:
            candidates.append((self.primal(repaired), lambda: repaired))
        return lower, candidates

    def is_model(self, w: NDArray) -> bool:
        return self.model.is_model(w)

    def primal(self, w) -> float:
        """Return P(w) by Viterbi's recursion."""
        model, separation = self.model, self.model.separate(w)
        if self._cut is None:
            self._cut = np.empty(model.dim)
        cut = model.joint(separation.labels, model.weights, self._cut)
        self.longest_cut = max(self.longest_cut, float(np.linalg.norm(cut)))
        return 0.5 * float(w @ w) + self.C * model.weighted_sum(separation.slacks)


class GdmmRun(PassRun):
    """A run whose iterations are passes; `longest_cut` is known on chains."""

    soft: ClassVar[bool] = False

    def __init__(self, solver: Gdmm, problem: StructuredProblem, start: Start | None):
        model = problem.model
        parts: Any = {} if solver.parts is None else {"parts": solver.parts}
        kind = LabelFactors if isinstance(model, LabelSets) else ChainFactors
        self._factors = factors = kind(
            model, problem.C, solver.seed, solver.rho, self.soft, **parts
        )
        # at 0 every part is wrong
        zero = problem.C * model.weighted_sum(np.diff(model.parts)) * factors.doubtful
        super().__init__(solver, problem, start, zero, 40)
        self.longest_cut = factors.longest_cut

    def form(self) -> Form:
        return super().form() | {"_factors": OWN}

    def restore(self, state: State) -> None:
        super().restore(state)
        self.longest_cut = self._factors.longest_cut

    def _counts(self) -> dict[str, Any]:
        passes = self._factors.passes
        return {
            "iteration": max(1, passes),
            "passes": float(passes),
            "support": self._factors.active,
        }

    def _advance(self) -> None:
        factors = self._factors
        due = factors.due(factors.passes)
        while factors.passes < due:
            factors.run()
        value, weights = self._look()
        if value < self.primal:
            self.primal, self.best = value, weights()

    def _look(self) -> tuple[float, Any]:
        """Return the better candidate of a look."""
        factors = self._factors
        bound, candidates = factors.look()
        self.longest_cut, self.lower = factors.longest_cut, max(self.lower, bound)
        return min(candidates, key=lambda candidate: candidate[0])

    def _end_early(self) -> None:
        value, weights = self._look()
        w = weights()
        if value < self.primal or (w.any() and self._factors.is_model(w)):
            self.primal, self.best = value, w


@record
class Gdmm(Solver):
    """Greedy direction method of multipliers over label sets or chains."""

    run = GdmmRun
    #: Seed of the order of the visits.
    seed: int = 0
    #: Weight of the disagreement of factors; None for a share of the mean length of an example.
    rho: float | None = None
    #: A visit searches one of so many parts of the labels or tags; None for 1 and for a part of
    #: some PART_TAGS tags.
    parts: int | None = None
