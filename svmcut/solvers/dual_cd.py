# SPDX-License-Identifier: BSD-3-Clause
"""Dual coordinate descent for the hinge loss, certified as one fractional cut.

    problem      min_w  1/2 |w|^2 + C sum_i max(0, 1 - y_i w.x_i)
    its dual     max    sum alpha - 1/2 |w|^2,   0 <= alpha <= C,   w = sum_i alpha_i y_i x_i
    update       one alpha at a time to its optimum, in random order (csrc/linear/dual_cd.cc)
    certificate  c = alpha / C is a cut; P at w and on the line to it from the best point so far

The fastest of the trainers here on sparse rows with many features. Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML
2008, Algorithm 3.

Deviations from the paper: the constant feature has its own weight and X is not copied; the run ends at a duality gap
and not at a projected gradient; the exact gap is computed when the sum of the gaps met on the way says that it is due.
Where the gap falls too slowly and features are few, Newton's method goes on from the point reached; where it stalls,
cutting planes do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut import states
from svmcut._native import dual_cd, sparse
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.fractional import FractionalCuts, check_needs
from svmcut.solvers.newton import DENSE_DIM, Newton
from svmcut.solvers.protocol import Interrupted, Problem, Progress, Stall, Start

if TYPE_CHECKING:
    from numpy.typing import NDArray


class DualCd:
    """Dual coordinate descent.

    Parameters
    ----------
    seed : int
        Of the order of the visits.
    max_epochs : int
        Epochs of all rows the run may be predicted to need yet where Newton's method could go on (few features).
    """

    # After a run, fractions holds alpha / C, (n,) float64: with Start it is where the next run begins, at any C.

    name = "dual-cd"
    needs = frozenset({"hinge", "linear"})

    def __init__(self, seed: int = 0, max_epochs: float = 15):
        self.seed, self.max_epochs = seed, max_epochs

    @property
    def bundle(self):
        return self._run.bundle

    def steps(
        self, problem: Problem, start: Start | None = None, state: dict[str, Any] | None = None
    ) -> Iterator[Progress]:
        """Yields after every exact look at the gap.

        Parameters
        ----------
        start : Start or None
            Its fractions, where it has some, are alpha / C of an earlier run.
        state : dict or None
            What `state` gave in a run on the same problem: this one goes on from there to the same bytes.
        """
        check_needs(self, problem)
        if state:
            fractions = states.maybe(states.reals(len(problem.risk.signs), low=0, high=1))
            stage = states.text("start", "descent", "handed")
            states.checked(state, states.fields(stage=stage, fractions=fractions, descent=states.anything))
        self._run = run = FractionalCuts.restored(problem, state["run"]) if state else FractionalCuts(problem, start)
        self._stage = state["stage"] if state else "start"
        self.fractions = state["fractions"] if state else None if start is None else start.fractions
        self._descent: Callable[[], dict[str, Any]] | None = None
        self._next: Newton | CuttingPlane | None = None
        if self._stage == "start":
            met = run.met()
            yield run.progress(again=state is not None)
            if met:
                return
            state = None
        if self._stage != "handed":
            going_on = yield from self._descend(problem, state)
            if not going_on:
                return
            state = None
        self._stage = "handed"
        self._next = Newton() if self._few(problem) else CuttingPlane()
        yield from run.hand_over(self._next, state and state["next"])

    def state(self) -> dict[str, Any]:
        """Where the run stands, to be called between two steps; what the run does later does not change it."""
        return {
            "stage": self._stage, "fractions": self.fractions, "run": self._run.state(),
            "descent": self._descent and self._descent(), "next": self._next and self._next.state(),
        }  # fmt: skip

    def _few(self, problem: Problem) -> bool:
        """Whether Newton's method could go on."""
        return problem.space.dim <= max(DENSE_DIM, len(problem.risk.signs) // 10)

    def _descend(self, problem: Problem, state: dict[str, Any] | None):
        """The descent itself; True where another solver should go on."""
        space, C, signs, run = problem.space, problem.C, problem.risk.signs, self._run
        rows, n = space.rows, len(signs)
        norms = np.empty(n)
        sparse.row_norms(rows, norms, space.threads)
        norms += space.bias**2
        alpha, w, looks = np.zeros(n), space.zero(), 0
        saved = state["descent"] if state else None
        if saved is not None:
            numbers = states.row(states.real(0), states.COUNT, states.REAL)
            states.checked(saved, states.fields(
                alpha=states.reals(n, low=0, high=C), w=space.kinds().element, looks=states.COUNT, numbers=numbers,
                native=states.row(states.array(np.int32, 2 * n), states.anything),
            ), "descent")  # fmt: skip
            np.copyto(alpha, saved["alpha"])
            np.copyto(w, saved["w"])
            looks = saved["looks"]
        elif self.fractions is not None:
            np.multiply(self.fractions, C, out=alpha)
            np.copyto(w, space.adjoint(signs * alpha))
        elif run.lower == 0:
            # The cut at 0 is c = 1. Where C is so small that its multiplier is C, it is a better start than 0, or the
            # end already.
            a = space.adjoint(-signs)
            run.cut(a, float(n), float(n), -signs)
            looks += 1
            if run.bundle.beta[-1] == 1.0:
                np.multiply(a, -C, out=w)
                alpha.fill(C)
                self.fractions = np.ones(n)
                run.search(w, space.scores(w))
                looks += 1
                met = run.met()
                yield run.progress()
                if met:
                    return False
        descent = dual_cd.Descent(rows, signs, norms, space.bias, alpha, w, self.seed)
        # The estimate adds gaps of many moments and knows no search of the line: its last ratio to the gap says when
        # to look.
        ratio, stall, epochs, gap = 1.0, Stall(60), 0, run.gap
        few = self._few(problem)
        block = min(max(10, 200_000 // (space.X.nnz + 10 * n)), 200)  # epochs that cost more than a look does
        if saved is not None:
            descent.load(*saved["native"])
            ratio, epochs, gap = saved["numbers"]
            stall.restore(saved["stall"])

        def snapshot() -> dict[str, Any]:
            return {
                "alpha": alpha.copy(), "w": w.copy(), "looks": looks, "native": descent.save(),
                "numbers": (ratio, epochs, gap), "stall": stall.state(),
            }  # fmt: skip

        def look() -> NDArray[np.float64]:
            """Takes alpha in as a cut and as a point; the scores of its w."""
            nonlocal looks
            self.fractions = np.minimum(alpha / C, 1.0)
            coef = self.fractions * signs
            np.negative(coef, out=coef)
            a = space.adjoint(coef)
            np.multiply(a, -C, out=w)
            s = space.scores(w)
            looks += 2
            run.passes = looks + descent.entries / max(1, space.X.nnz)
            run.search(w, s)
            run.cut(a, float(np.sum(self.fractions)), run.risk, coef)
            return s

        self._descent, self._stage = snapshot, "descent"
        while True:
            if saved is None:
                epochs, gap = descent.epochs, run.gap
                try:
                    descent.run(C, max(block, epochs // 5), run.target / ratio)
                except KeyboardInterrupt:
                    look()
                    raise Interrupted(run.progress()) from None
                s = look()
            else:
                s = space.scores(w)
            met = run.met()
            yield run.progress(again=saved is not None)
            saved = None
            if met:
                return False
            since = descent.epochs - epochs
            if few and epochs and self._too_slow(gap / run.gap, since, descent.active / n, run):
                return True
            if stall.update(run.gap):
                return True
            ratio = min(max(run.gap / descent.gap, 0.3), 1.5) if descent.gap > 0 else 1.0
            descent.wake(C, s)

    def _too_slow(self, fall: float, epochs: int, share: float, run: FractionalCuts) -> bool:
        """Whether a gap that fell to 1 / fall of itself in so many epochs, of that share of the rows, needs more than
        max_epochs of all rows yet."""
        if not fall > 1 or run.target <= 0:
            return True
        return share * epochs * math.log(run.gap / run.target) / math.log(fall) > self.max_epochs
