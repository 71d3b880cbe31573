# SPDX-License-Identifier: BSD-3-Clause
"""Stochastic subgradients for chains, certified by one cut a pass.

    problem      min_w  P(w) = 1/2 |w|^2 + C sum_n H_n(w)
    update       w <- (1 - r) w + r n C psi_n(y),  r = 1/(k + 1),  y the most violated labelling of sequence n at w;
                 after k steps w = (n C / k) sum psi. Sequences come in random order, each once a pass
    average      wbar <- k/(k + 2) wbar + 2/(k + 2) w
    certificate  a pass finds a labelling of every sequence, which is a cut; P(wbar) less the bound of the bundle

Shalev-Shwartz, Singer and Srebro, ICML 2007; the average is that of Lacoste-Julien, Schmidt and Bach, 2012. Deviations:
passes in random order, not single draws; the method itself has no bound, the cuts of its passes have.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from svmcut import states
from svmcut._native import chain_ssg
from svmcut.cutting.bundle import Cut, CutBundle
from svmcut.qp import make_qp
from svmcut.solvers.protocol import Progress, Stall, Start, kept
from svmcut.spaces.chain import ChainSpace
from svmcut.structured.protocol import StructuredProblem

CHUNK = 5000  # visits between two moments in which a signal is heard


class Ssg:
    """Stochastic subgradient steps with a weighted average.

    Parameters
    ----------
    seed : int
        Of the order of the visits.
    max_idle : int
        As in CuttingPlane.
    """

    name = "ssg"
    needs = frozenset({"chain"})

    def __init__(self, seed: int = 0, max_idle: int = 50):
        self.seed, self.max_idle = seed, max_idle

    def steps(
        self, problem: StructuredProblem, start: Start | None = None, state: dict[str, Any] | None = None
    ) -> Iterator[Progress]:
        """Yields after every pass.

        Parameters
        ----------
        start : Start or None
            Its bundle and points count; the steps begin at w = 0.
        state : dict or None
            What `state` gave in a run on the same problem: this one goes on from there to the same bytes.
        """
        model, C, stop = problem.model, problem.C, problem.stop
        started = time.perf_counter()
        space = ChainSpace(model.sequences.X, model.chains, model.threads)
        self.bundle = bundle = start.bundle if start else CutBundle(space, make_qp(problem.qp))
        rng, n = np.random.default_rng(self.seed), model.n_samples
        z, weighted, visits = space.zero(), space.zero(), 0
        best, primal, risk = None, np.inf, 0.0

        def look(w):
            nonlocal best, primal, risk
            found = float(model.separate(w).slacks.sum())
            value = 0.5 * space.dot(w, w) + C * found
            if value < primal:
                best, primal, risk = w, value, found

        lower, slack, iteration, passes, stall, ends = 0.0, 0.0, 1, 1.0, Stall(60), False
        if state is None:
            for point in (space.zero(), *(start.points if start else ())):
                look(point)
            if start:
                solution = bundle.solve(C, 0.01 * stop.target(primal) / C)
                lower, slack = max(0.0, solution.lower), solution.slack
        else:
            w, real = states.weights(space.dim), states.REAL
            states.checked(state, states.fields(
                rng=states.generator, best=w, z=w, weighted=w, numbers=states.row(
                    states.COUNT, real, real, real, real, states.count(1), real, states.flag
                ),
            ))  # fmt: skip
            self.bundle = bundle = CutBundle.restored(space, make_qp(problem.qp), state["bundle"])
            rng.bit_generator.state = state["rng"]
            stall.restore(state["stall"])
            best, z, weighted = state["best"], state["z"].copy(), state["weighted"].copy()
            visits, primal, risk, lower, slack, iteration, passes, ends = state["numbers"]

        def snapshot() -> dict[str, Any]:
            return {
                "bundle": bundle.state(), "rng": rng.bit_generator.state, "stall": stall.state(), "best": best,
                "z": z.copy(), "weighted": weighted.copy(),
                "numbers": (visits, primal, risk, lower, slack, iteration, passes, ends),
            }  # fmt: skip

        self.state = snapshot
        while True:
            if state is None:
                ends = stop.met(primal, lower) or stall.update(primal - lower)
            state = None
            yield Progress(
                iteration, passes, primal, lower, primal - lower, time.perf_counter() - started, kept(best),
                len(bundle), bundle.support, slack, risk,
            )  # fmt: skip
            if ends:
                return
            before = z.copy()
            order, loss = rng.permutation(n).astype(np.int32), 0.0
            for start_at in range(0, n, CHUNK):
                part = order[start_at : start_at + CHUNK]
                visits, wrong, _ = chain_ssg.visit(model.chains, C, part, visits, z, weighted)
                loss += wrong
            bundle.add(Cut(before - z, loss, risk))
            solution = bundle.solve(C, 0.1 * max(primal - lower, stop.target(primal)) / C)
            lower, slack = max(lower, solution.lower), solution.slack
            bundle.prune(self.max_idle)
            look(2 * n * C / (visits * (visits + 1)) * (visits * z - weighted))
            iteration += 1
            passes += 2
