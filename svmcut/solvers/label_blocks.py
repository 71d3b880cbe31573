# SPDX-License-Identifier: BSD-3-Clause
"""Label sets, one example at a time by its relaxed argmax: block-coordinate Frank-Wolfe and stochastic subgradients.

    problem      min_w  1/2 |w|^2 + C sum_n H_n(w)                    H_n by the local polytope
    its dual     max    sum_n l_n - 1/2 |w|^2,   w = sum_n w_n,   (w_n, l_n) in the hull of C (psi_n, Delta_n)
    BCFW         (w_n, l_n) moves towards its argmax, exactly on the line (csrc/label_blocks.cc)
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

from svmcut._native import multilabel
from svmcut.solvers.protocol import Progress, Stall
from svmcut.structured.protocol import StructuredProblem


class _Run:
    """What both trainers keep: weights in two arrays, the best point, the bound, and when to look next or to end."""

    def __init__(self, problem: StructuredProblem, seed: int):
        self.model, self.C, self.stop = problem.model, problem.C, problem.stop
        model = self.model
        self.began, self.passes, self.looks = time.perf_counter(), 0, 0
        self.best, self.primal = np.zeros(model.dim), problem.C * len(model.gold)  # at 0 every label is wrong
        self.lower, self.stall, self.ends = 0.0, Stall(40), False
        self.blocks = None
        if model.n_labels:
            self.blocks = multilabel.Blocks(
                model.rows, model.sets, model.n_labels, model.bias, model.pairs, problem.C, seed
            )

    def zeros(self):
        model = self.model
        return np.zeros((model.n_rows, model.n_labels)), np.zeros((model.n_labels, model.n_labels))

    def consider(self, W, v) -> None:
        value = self.model.primal(W, v if self.model.pairs else None, self.C)
        self.looks += 1
        if value < self.primal:
            self.primal, self.best = value, self.model.join(W, v)

    def state(self, arrays, **numbers) -> dict[str, Any]:
        """What `restore` goes on from: this, the weights that the passes change, and numbers of the trainer."""
        return {
            "blocks": self.blocks and self.blocks.saved(), "arrays": [array.copy() for array in arrays],
            "best": self.best, "stall": self.stall.state(), "own": numbers,
            "numbers": (self.passes, self.looks, self.primal, self.lower, self.ends),
        }  # fmt: skip

    def restore(self, state: dict[str, Any], arrays) -> dict[str, Any]:
        """Puts a state back; gives the numbers of the trainer."""
        if self.blocks:
            self.blocks.restore(state["blocks"])
        for array, saved in zip(arrays, state["arrays"], strict=True):
            array[:] = saved
        self.best = state["best"]
        self.stall.restore(state["stall"])
        self.passes, self.looks, self.primal, self.lower, self.ends = state["numbers"]
        return state["own"]

    def judge(self) -> None:
        """Sets `ends`."""
        self.ends = self.stop.met(self.primal, self.lower) or self.stall.update(self.primal - self.lower)

    def progress(self) -> Progress:
        return Progress(
            max(1, self.passes), float(self.passes + self.looks), self.primal, self.lower, self.primal - self.lower,
            time.perf_counter() - self.began, lambda w=self.best: w,
        )  # fmt: skip

    def due(self) -> int:
        return max(self.passes + 1, int(1.2 * self.passes))


class LabelBcfw:
    """Block-coordinate Frank-Wolfe on label sets.

    Parameters
    ----------
    seed : int
        Of the order of the visits.
    """

    name = "bcfw"

    def __init__(self, seed: int = 0):
        self.seed = seed

    def steps(self, problem: StructuredProblem, start=None, state: dict[str, Any] | None = None) -> Iterator[Progress]:
        """Yields after every exact look at the gap; iteration counts the passes."""
        run, weight = _Run(problem, self.seed), 0.0
        W, v, mean_W, mean_v = arrays = (*run.zeros(), *run.zeros())
        if state is not None:
            weight = run.restore(state, arrays)["weight"]
        self.state = lambda: run.state(arrays, weight=weight)
        while True:
            if state is None:
                run.judge()
            state = None
            yield run.progress()
            if run.ends:
                return
            due = run.due()
            while run.passes < due:
                linear = run.blocks.bcfw(W, v)
                run.passes += 1
                weight += run.passes
                for mean, now in ((mean_W, W), (mean_v, v)):
                    mean += run.passes / weight * (now - mean)
            run.lower = max(run.lower, linear - 0.5 * float(np.vdot(W, W)) - 0.25 * float(np.vdot(v, v)))
            run.consider(W, v)
            run.consider(mean_W, mean_v)


class LabelSsg:
    """Stochastic subgradients on label sets; the gap falls like one over the passes.

    Parameters
    ----------
    seed : int
        Of the order of the visits.
    """

    name = "ssg"

    def __init__(self, seed: int = 0):
        self.seed = seed

    def steps(self, problem: StructuredProblem, start=None, state: dict[str, Any] | None = None) -> Iterator[Progress]:
        """As LabelBcfw.steps."""
        run, n, loss = _Run(problem, self.seed), problem.model.n_samples, 0.0
        z, zv, weighted, weighted_v = arrays = (*run.zeros(), *run.zeros())
        if state is not None:
            loss = run.restore(state, arrays)["loss"]
        self.state = lambda: run.state(arrays, loss=loss)
        while True:
            if state is None:
                run.judge()
            state = None
            yield run.progress()
            if run.ends:
                return
            due = run.due()
            while run.passes < due:
                loss += run.blocks.ssg(z, zv, weighted, weighted_v)
                run.passes += 1
            visits = float(n * run.passes)
            W, v = run.C * n / visits * z, run.C * n / visits * zv
            dual = run.C * n / visits * loss - 0.5 * float(np.vdot(W, W)) - 0.25 * float(np.vdot(v, v))
            run.lower = max(run.lower, dual)
            run.consider(W, v)
            scale = 2 * run.C * n / (visits * (visits + 1))
            run.consider(scale * (visits * z - weighted), scale * (visits * zv - weighted_v))
