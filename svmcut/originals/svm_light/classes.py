# SPDX-License-Identifier: BSD-3-Clause
"""svm_learn -z c: two classes.

Leave-one-out errors of a machine: most rows by a bound, the others by training without them
(Joachims, ICML 2000).

    alpha_i = 0                          f does not change without i: no error xi_i >= 1
                   an error: f(x_i) cannot rise where i is left out rho alpha_i R^2 + xi_i < 1
        no error, for rho = 2 where a support vector is strictly inside its box
    else                                 training without i decides

All trainings of a thread share kernel rows: leaving a row out is a weight of 0.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import local

import numpy as np
from numpy.typing import NDArray

from svmcut._native.kernels import KernelRows
from svmcut.base.records import replace
from svmcut.cli.termination import check_signals
from svmcut.cli.training_report import out
from svmcut.originals.svm_light import estimates
from svmcut.originals.svm_light.estimates import Candidates, acquit
from svmcut.originals.svm_light.machines import Machine, MachineProblem
from svmcut.originals.svm_light.run import LightRun
from svmcut.solvers.smo import KernelProblem, Smo
from svmcut.solvers.smoothed_margin import bias_of

RIGHT, WRONG, UNDECIDED = 1, -1, 0
#: Megabytes of kernel rows of a thread at most.
_ROOM = 500.0


def decide(
    problem: MachineProblem, machine: Machine, squared: float, rho: float | None
) -> NDArray[np.int8]:
    """RIGHT, WRONG or UNDECIDED for every row; rho None leaves all of 0 < alpha and xi < 1
    undecided.

    squared: R^2.
    """
    alpha, losses = np.abs(machine.beta), machine.losses(problem.y)
    verdicts = np.full(len(alpha), UNDECIDED, np.int8)
    if rho is not None:
        verdicts[rho * alpha * squared + losses < 1] = RIGHT
    verdicts[alpha == 0] = RIGHT
    verdicts[losses >= 1] = WRONG
    return verdicts


def scores_without(problem: MachineProblem, rows: NDArray[np.int64]) -> Iterator[float]:
    """f(x_i) of the machine trained without row i, for every row named, in their order."""
    own = local()
    most = problem.X.n_rows**2 * 8e-6
    weights = np.ones(len(problem.y)) if problem.weights is None else problem.weights
    base = KernelProblem(
        problem.X, problem.y, problem.kernel, problem.C, problem.tolerance, None, weights
    )
    solver = Smo(problem.free_bias, max(problem.cache_mb, min(most, _ROOM)), 1)

    def score(row: int) -> float:
        others = weights.copy()
        others[row] = 0.0
        if problem.on_features:
            return float(replace(problem, weights=others, threads=1).train().scores[row])
        if not hasattr(own, "run"):
            own.run = solver.native(base, solver.cache_mb)
        own.run.again(others)
        own.run.run(problem.tolerance, 2**62)
        beta, v = own.run.solution()
        if not problem.free_bias:
            return float(problem.y[row] - v[row])
        return float(problem.y[row] - v[row]) + bias_of(beta, v, problem.y, problem.C * others)

    with ThreadPoolExecutor(problem.threads) as pool:
        try:
            yield from pool.map(score, rows.tolist())
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class Classes(LightRun):
    """Training on labels of two signs."""

    def run(self, model_file: str) -> None:
        """Trains, reports and writes."""
        values, y = self.values, np.where(self.examples.y > 0, 1.0, -1.0)
        positive = int((y > 0).sum())
        self.report.more(
            f"{positive} positive, {len(y) - positive} negative, and 0 unlabeled examples."
        )
        alone = min(positive, len(y) - positive) == 1
        if values["leave_out"] == 1 and alone:
            out("\nCannot compute leave-one-out with only one example in one class.\n")
        given = self.alphas(len(y))
        problem = self.problem(y)
        start = None if given is None else problem.feasible(given)
        self.optimize()
        machine = problem.train(self.report.observe, start)
        removed = np.zeros(len(y), bool)
        if values["remove"] == 1:
            machine, removed = self.without_bounded(problem, machine)
        self.print_training(
            problem,
            machine,
            f"plus {int(removed.sum())} inconsistent examples" if values["remove"] == 1 else "",
        )
        if values["remove"] != 1:
            losses, alpha = machine.losses(y), np.abs(machine.beta)
            began = time.process_time()
            self.report.xi_alpha(
                lambda: estimates.rates(self.at_risk(problem, alpha, losses), y > 0),
                lambda: time.process_time() - began,
                self.rho_and_depth(),
            )
        self.report.evaluations(machine.evaluations)
        if values["leave_out"] == 1 and not alone:
            self.leave_out(problem, machine)
        self.write(model_file, machine.beta, machine.b, len(y), machine.beta, y)

    def print_training(self, problem: MachineProblem, machine: Machine, bound: str = "") -> None:
        """The lines from the end of training to the VC dimension; bound: what is said beside the
        support vectors."""
        losses, alpha = machine.losses(problem.y), np.abs(machine.beta)
        self.report.print_end(
            machine.steps,
            int((problem.y * machine.scores <= 0).sum()),
            machine.violation,
            self.runtime(machine.spent),
        )
        used = alpha > 0
        bound = (
            bound
            or f"including {int(estimates.at_bound(alpha, problem.boxes).sum())} at upper bound"
        )
        norm = estimates.norm(problem.squared_norm(machine), self.kernel)
        self.report.sizes(int(used.sum()), bound, float(losses.sum()), norm, self.longest)
        self.report.dimension(estimates.vc_dimension(norm, self.distances[used]))

    def problem(self, y) -> MachineProblem:
        """The problem of all examples."""
        factor = self.values["factor"]
        return self.machine_problem(y, None if factor == 1 else np.where(y > 0, factor, 1.0))

    def leave_out(self, problem: MachineProblem, machine: Machine) -> None:
        """The block of -x 1; --exact trains without every row whose error training decides."""
        values, began = self.values, time.process_time()
        verdicts = decide(
            problem,
            machine,
            float(self.distances.max()),
            None if values["exact"] else values["rho"],
        )
        rows = np.flatnonzero(verdicts == UNDECIDED)
        self.report.say("Computing leave-one-out", end="")
        trained = scores_without(problem, rows)
        for row, sign in enumerate(verdicts.tolist()):
            check_signals()
            if sign == UNDECIDED:
                self.report.say(f"(?[{row}]...", end="")
                verdicts[row] = RIGHT if problem.y[row] * next(trained) > 0 else WRONG
            mark = "+" if verdicts[row] == RIGHT else "-"
            self.report.say(mark if sign else f"{mark})", end="")
        self.report.say()
        self.report.say("Retrain on full problem...done.")
        rates = estimates.rates(verdicts == WRONG, problem.y > 0)
        self.report.left_out(rates, len(rows), values["rho"], time.process_time() - began)

    def at_risk(self, problem: MachineProblem, alpha, losses):
        """The examples that may be errors where they are left out."""
        failing = estimates.at_risk(alpha, losses, float(self.distances.max()), self.values["rho"])
        rows = np.flatnonzero(failing & (losses < 1))
        if self.values["depth"] > 0:
            free = np.flatnonzero((alpha > 0) & ~estimates.at_bound(alpha, problem.boxes))
            near = KernelRows(self.X.take(free), self.kernel, self.threads)
            own = self.kernel.own_values(self.squared)
            candidates = Candidates(free, own, lambda rows: near.against_double(self.X.take(rows)))
            failing[rows] = ~acquit(rows, alpha, losses, candidates, self.values["depth"])
        return failing

    def without_bounded(self, problem: MachineProblem, machine: Machine):
        """The machine of the examples that are left when those at the upper bound are taken out
        until there are none.

        Also whether each example was taken out.
        """
        removed, boxes = np.zeros(len(problem.y), bool), problem.boxes
        while True:
            bound = ~removed & estimates.at_bound(np.abs(machine.beta), boxes)
            self.report.say(" Moving training errors to inconsistent examples...done.")
            if not bound.any():
                return machine, removed
            removed |= bound
            self.report.say(f" Now {int(removed.sum())} inconsistent examples.")
            machine = problem.without(removed, self.report.observe).after(machine)
