# SPDX-License-Identifier: BSD-3-Clause
"""Label sets, one example at a time by its relaxed argmax: block-coordinate Frank-Wolfe and stochastic subgradients.

    problem      min_w  1/2 |w|^2 + C sum_n H_n(w)                    H_n by the local polytope
    its dual     max    sum_n l_n - 1/2 |w|^2,   w = sum_n w_n,   (w_n, l_n) in the hull of C (psi_n, Delta_n)
    BCFW         (w_n, l_n) moves towards its argmax, exactly on the line (csrc/labels/label_blocks.cc)
    SSG          w = C n (mean of the psi_n met so far): after whole passes a point of the hull too
    certificate  P at w or at the weighted average of w, less the dual of w; one pass of the argmax each

Lacoste-Julien, Jaggi, Schmidt and Pletscher, ICML 2013, Algorithm 4 and section 3.

Deviation from the paper: the average is taken over passes, weighted by their number.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from svmcut import states
from svmcut._native import multilabel
from svmcut.solvers.protocol import Progress, Stall, kept
from svmcut.structured.protocol import StructuredProblem


class _Run:
    """What both trainers keep: what their passes change, the best point, the bound, and when to look next or to end.

    Attributes
    ----------
    arrays : list of float64 arrays
        One for features and one for pairs, and both again; 0 at first.
    total : float
    """

    def __init__(self, problem: StructuredProblem, seed: int):
        self.model, self.C, self.stop = problem.model, problem.C, problem.stop
        model = self.model
        self.began, self.passes, self.looks = time.perf_counter(), 0, 0
        self.best, self.primal = np.zeros(model.dim), problem.C * len(model.gold)  # at 0 every label is wrong
        self.lower, self.stall, self.ends = 0.0, Stall(40), False
        shapes = (model.n_rows, model.n_labels), (model.n_labels, model.n_labels)
        self.arrays, self.total = [np.zeros(shape) for shape in 2 * shapes], 0.0
        self.blocks: Any = None
        if model.n_labels:
            self.blocks = multilabel.Blocks(
                model.rows, model.sets, model.n_labels, model.bias, model.pairs, problem.C, seed
            )

    def look(self, linear: float, w, mean) -> None:
        """Bound and primal value of w, whose dual has this linear part, and primal value of its mean; each (W, v)."""
        W, v = w
        self.lower = max(self.lower, linear - 0.5 * float(np.vdot(W, W)) - 0.25 * float(np.vdot(v, v)))
        for W, v in (w, mean):
            value = self.model.primal(W, v if self.model.pairs else None, self.C)
            self.looks += 1
            if value < self.primal:
                self.primal, self.best = value, self.model.join(W, v)

    def state(self) -> dict[str, Any]:
        return {
            "blocks": self.blocks and self.blocks.saved(), "arrays": [array.copy() for array in self.arrays],
            "best": self.best, "stall": self.stall.state(),
            "numbers": (self.passes, self.looks, self.primal, self.lower, self.ends, self.total),
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        real, count = states.REAL, states.COUNT
        states.checked(state, states.fields(
            blocks=states.anything, arrays=states.row(*(states.weights(*array.shape) for array in self.arrays)),
            best=states.weights(self.model.dim), numbers=states.row(count, count, real, real, states.flag, real),
        ))  # fmt: skip
        if self.blocks:
            self.blocks.restore(state["blocks"])
        for array, saved in zip(self.arrays, state["arrays"], strict=True):
            array[:] = saved
        self.best = state["best"]
        self.stall.restore(state["stall"])
        self.passes, self.looks, self.primal, self.lower, self.ends, self.total = state["numbers"]
        states.require(states.scheduled(self.passes, due), "the passes of the state", "those of a look")

    def judge(self) -> None:
        """Sets `ends`."""
        self.ends = self.stop.met(self.primal, self.lower) or self.stall.update(self.primal - self.lower)

    def progress(self) -> Progress:
        return Progress(
            max(1, self.passes), float(self.passes + self.looks), self.primal, self.lower, self.primal - self.lower,
            time.perf_counter() - self.began, kept(self.best),
        )  # fmt: skip


def due(passes: int) -> int:
    """The pass of the look after the one at this pass."""
    return max(passes + 1, int(1.2 * passes))


class _Visits:
    """A trainer of passes: `_visit` makes one and gives the linear part of the dual, `_points` gives w and its mean.

    Parameters
    ----------
    seed : int
        Of the order of the visits.
    """

    def __init__(self, seed: int = 0):
        self.seed = seed

    def steps(self, problem: StructuredProblem, start=None, state: dict[str, Any] | None = None) -> Iterator[Progress]:
        """Yields after every exact look at the gap; iteration counts the passes."""
        run = _Run(problem, self.seed)
        if state is not None:
            run.restore(state)
        self.state = run.state
        while True:
            if state is None:
                run.judge()
            state = None
            yield run.progress()
            if run.ends or run.blocks is None:
                return
            next_look = due(run.passes)
            while run.passes < next_look:
                run.passes += 1
                linear = self._visit(run)
            run.look(linear, *self._points(run))

    def _visit(self, run: _Run) -> float:
        raise NotImplementedError

    def _points(self, run: _Run) -> tuple[Any, Any]:
        raise NotImplementedError


class LabelBcfw(_Visits):
    """Block-coordinate Frank-Wolfe on label sets; a seed draws the order of the visits."""

    name = "bcfw"

    def _visit(self, run: _Run) -> float:
        W, v, mean_W, mean_v = run.arrays
        linear = run.blocks.bcfw(W, v)
        run.total += run.passes
        for mean, now in ((mean_W, W), (mean_v, v)):
            mean += run.passes / run.total * (now - mean)
        return linear

    def _points(self, run: _Run):
        return run.arrays[:2], run.arrays[2:]


class LabelSsg(_Visits):
    """Stochastic subgradients on label sets; the gap falls like one over the passes; a seed draws their order."""

    name = "ssg"

    def _visit(self, run: _Run) -> float:
        run.total += run.blocks.ssg(*run.arrays)
        n = run.model.n_samples
        return run.C * n / float(n * run.passes) * run.total

    def _points(self, run: _Run):
        z, zv, weighted, weighted_v = run.arrays
        n = run.model.n_samples
        visits = float(n * run.passes)
        now, mean = run.C * n / visits, 2 * run.C * n / (visits * (visits + 1))
        return (now * z, now * zv), (mean * (visits * z - weighted), mean * (visits * zv - weighted_v))
