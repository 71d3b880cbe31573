# SPDX-License-Identifier: BSD-3-Clause
"""One class against the rest, class after class: K problems of two classes, whose certificates add up.

    problem      min_W  sum_k [1/2 |W_k|^2 + sum_i C_i l(y_ik W_k.x_i)],   y_ik = 1 where k is right, else -1

Every machine ends at a K-th of an absolute target, or at the relative one: so their sums meet it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from svmcut import states
from svmcut.solvers.protocol import Interrupted, Problem, Progress, Run, Solver, Start, State, StoppingRule, Watch
from svmcut.spaces.linear import LinearSpace


class OneVsRestRun(Run):
    """The steps of all machines, counted on, with the sums over the machines; those that are to come stand at w = 0.

    Parameters
    ----------
    problem : Problem
        OneVsRestRisk and LabelSpace without pairs.
    """

    def __init__(self, solver: OneVsRest, problem: Problem, start: Start | None, state: State | None):
        super().__init__(solver, problem, start, state)
        risk, space = problem.risk, problem.space
        self._K = risk.n_classes
        self._zero = problem.C * risk.machine(0).linearize(np.zeros(len(risk.y))).value
        self._space = LinearSpace(space.X, space.bias, space.threads)
        stop = StoppingRule(problem.stop.absolute / self._K, problem.stop.relative)
        self._binary = Problem(None, self._space, problem.C, stop, problem.qp)
        self._done: list[tuple[Any, tuple]] = []
        self._watch: Watch | None = None
        self._run: Any = None
        self._resumed = state
        if state is not None:
            real, count = states.REAL, states.COUNT
            numbers = states.row(count, real, real, real, real, count, count)
            one = states.row(self._space.kinds().element, numbers)
            states.checked(state, states.fields(done=states.many(one), watch=states.anything, machine=states.anything))
            states.require(len(state["done"]) < self._K, "the machines of the state", "fewer than classes")
            self._done = list(state["done"])

    def state(self) -> State:
        return {
            "done": list(self._done), "watch": self._watch and self._watch.state(),
            "machine": self._run and self._run.state(),
        }  # fmt: skip

    def __iter__(self) -> Iterator[Progress]:
        began, risk, solver = time.perf_counter(), self._problem.risk, self._solver.machine
        for k in range(len(self._done), self._K):
            problem = replace(self._binary, risk=risk.machine(k))
            state, self._resumed = self._resumed, None
            self._watch = Watch.of(solver, state and state["watch"])
            self._run = solver.start(problem, None, state and state["machine"])
            try:
                for progress in self._run:
                    over = self._watch is not None and self._watch.update(progress)
                    yield self._sum(progress, began)
                    if over:
                        break
            except Interrupted as signal:
                raise Interrupted(self._sum(signal.progress, began)) from None
            p = progress
            self._done.append((p.solution(), (p.iteration, p.passes, p.primal, p.dual, p.risk, p.cuts, p.support)))

    def _sum(self, p: Progress, began: float) -> Progress:
        now = (p.iteration, p.passes, p.primal, p.dual, p.risk, p.cuts, p.support)
        sums = [sum(values) for values in zip(*(numbers for _, numbers in self._done), now, strict=True)]
        iteration, passes, primal, dual, risk, cuts, support = sums
        left = self._K - 1 - len(self._done)
        primal, risk = primal + left * self._zero, risk + left * self._zero / self._problem.C
        columns = [w for w, _ in self._done]

        def solution():
            W = np.zeros((self._space.dim, self._K))
            for k, w in enumerate([*columns, p.solution()]):
                W[:, k] = w
            return W.ravel()

        return Progress(
            iteration, passes / self._K, primal, dual, primal - dual, time.perf_counter() - began, solution, cuts,
            support, risk, risk,
        )  # fmt: skip


@dataclass(frozen=True)
class OneVsRest(Solver):
    """A machine for every class.

    Parameters
    ----------
    machine : Solver
        Of two classes, certified.
    """

    run = OneVsRestRun
    patience: ClassVar[int | None] = None  # every machine is watched on its own
    machine: Solver
