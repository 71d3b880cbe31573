# SPDX-License-Identifier: BSD-3-Clause
"""Block-coordinate Frank-Wolfe for chains, with the labellings of each sequence kept.

    problem      min_w  1/2 |w|^2 + C sum_n H_n(w)                            H_n = max_y [Delta + w.(Psi - Psi_n)]
    its dual     max    C sum_n sum_y q_n(y) Delta(y_n, y) - 1/2 |w|^2,       w = C sum_n sum_y q_n(y) psi_n(y)
    update       one sequence at a time: its most violated labelling joins those known, then q_n moves to the optimum
                 over them (csrc/chain/chain_bcfw.cc)
    certificate  P at w or at the weighted average of w, whichever is lower, less the dual of q

The fastest trainer of chains with few tags. Lacoste-Julien, Jaggi, Schmidt and Pletscher, ICML 2013, Algorithm 4, with
the pairwise steps, cached labellings and choice of blocks by gaps of Osokin, Alayrac, Lukasewitz, Dokania and
Lacoste-Julien, ICML 2016.

Deviations from the papers: a visit goes on to the optimum over the labellings of the sequence, which costs no more
features; sequences whose gap was small rest for some passes, where the paper samples; the average is taken over passes,
weighted by their number; w is float32 in the passes and is summed afresh from the labellings, in float64, whenever the
certificate is computed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from svmcut import states
from svmcut._native.chain_bcfw import Blocks
from svmcut.solvers.protocol import Progress, Stall, Start, kept
from svmcut.structured.protocol import StructuredProblem

CHUNK = 5000  # visits between two moments in which a signal is heard


class Bcfw:
    """Block-coordinate ascent over sequences.

    Parameters
    ----------
    seed : int
        Of the order of the visits.
    """

    name = "bcfw"
    needs = frozenset({"chain"})

    # After a run, longest_cut is the length of the longest sum of psi_n met.

    def __init__(self, seed: int = 0):
        self.seed = seed

    def steps(
        self, problem: StructuredProblem, start: Start | None = None, state: dict[str, Any] | None = None
    ) -> Iterator[Progress]:
        """Yields after every exact look at the gap: two passes over the features and no more.

        Parameters
        ----------
        start : Start or None
            Its points are evaluated; the labellings are found afresh.
        state : dict or None
            What `state` gave in a run on the same problem: this one goes on from there to the same bytes.
        """
        model, C, stop = problem.model, problem.C, problem.stop
        started = time.perf_counter()
        n, w = model.n_samples, np.zeros(model.dim)
        blocks = Blocks(model.chains, C, self.seed)
        best, primal, risk = w, np.inf, 0.0

        self.longest_cut = 0.0

        def look(w):
            nonlocal best, primal, risk
            separation = model.separate(w)
            self.longest_cut = max(self.longest_cut, float(np.linalg.norm(model.joint(separation.labels))))
            found = float(separation.slacks.sum())
            value = 0.5 * float(w @ w) + C * found
            if value < primal:
                best, primal, risk = w.copy(), value, found

        lower, looks, iteration, stall, ends = 0.0, 1, 1, Stall(60), False
        passes = 1.0
        average, weight, due = np.zeros(model.dim), 0.0, 1
        if state is None:
            for point in (w, *(start.points if start else ())):
                look(point)
        else:
            w_kind, real, ahead = states.weights(model.dim), states.REAL, states.count(1)
            states.checked(state, states.fields(
                blocks=states.anything, best=w_kind, average=w_kind, numbers=states.row(
                    real, real, real, real, states.COUNT, ahead, real, real, ahead, states.flag
                ),
            ))  # fmt: skip
            blocks.restore(state["blocks"])
            stall.restore(state["stall"])
            best, average = state["best"], state["average"].copy()
            primal, risk, self.longest_cut, lower, looks, iteration, passes, weight, due, ends = state["numbers"]
            # what decides how long the next look is put off
            fits = blocks.visits == n * (iteration - 1) and due <= max(1, iteration // 8)
            states.require(fits, "the visits and numbers of the state", f"{n} visits an iteration")

        def snapshot() -> dict[str, Any]:
            return {
                "blocks": blocks.saved(), "stall": stall.state(), "best": best, "average": average.copy(),
                "numbers": (
                    primal, risk, self.longest_cut, lower, looks, iteration, passes, weight, due, ends,
                ),
            }  # fmt: skip

        self.state = snapshot
        while True:
            if state is None:
                ends = stop.met(primal, lower) or stall.update(primal - lower)
            state = None
            yield Progress(
                iteration, passes, primal, lower, primal - lower, time.perf_counter() - started, kept(best),
                blocks.cached, blocks.support, max(0.0, (lower - 0.5 * float(best @ best)) / C), risk,
            )  # fmt: skip
            if ends:
                return
            target, rounds = stop.target(primal), 0
            while True:
                for start_at in range(0, n, CHUNK):
                    blocks.visit(min(CHUNK, n - start_at))
                blocks.weights(False, w)
                rounds += 1
                average *= weight / (weight + iteration + rounds)
                average += (iteration + rounds) / (weight + iteration + rounds) * w
                weight += iteration + rounds
                if rounds >= due or blocks.gap <= target:
                    break
            iteration += rounds
            due = max(1, iteration // 8)
            blocks.weights(True, w)
            lower = max(lower, blocks.loss - 0.5 * float(w @ w))
            look(w)
            look(average)
            looks += 2
            passes = looks + blocks.visits / n
