# SPDX-License-Identifier: BSD-3-Clause
"""svm_learn -z p: rankings by pairs.

svm_learn -z r: regression.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError, TrainingError, UsageError
from svmcut.base.typing import NamedTuple
from svmcut.cli.termination import check_signals
from svmcut.cli.training_report import out
from svmcut.originals.svm_light import estimates
from svmcut.originals.svm_light.estimates import Candidates, acquit
from svmcut.originals.svm_light.pairs import (
    MOST,
    MOST_INDEFINITE,
    GradedRows,
    PairMachine,
    alphas,
    blocks,
    train,
    train_formed,
)
from svmcut.originals.svm_light.run import LOOSEST, LightRun
from svmcut.risks.ordinal import OrdinalRisk, query_starts

#: Pairs up to which every one is looked at for the figures of the report.
MOST_PAIRS = 10_000_000
#: Part of C that is next to nothing: sums of cuts leave a little of each on pairs that are none of
#: the last.
BOUND_TOLERANCE = 0.01


class Figures(NamedTuple):
    """Figures of the pairs for the report."""

    #: (k,) with the pair's sign, of every pair looked at.
    alpha: NDArray[np.float64]
    #: (k,) of every pair looked at.
    losses: NDArray[np.float64]
    #: Pairs in the wrong order.
    wrong: int
    #: Support vectors.
    vectors: int
    #: Support vectors at the upper bound: alpha that is C and above 0, of cuts above
    #: 1 - BOUND_TOLERANCE of C and above BOUND_TOLERANCE of it.
    bound: int
    #: The largest |phi(x_i) - phi(x_j)|^2.
    longest: float
    #: The largest d^2 of a support vector.
    radius: float
    #: The largest d^2 of any pair.
    largest: float


class Pairs(LightRun):
    """Training on pairs of rows of one query with different labels."""

    def run(self, model_file: str) -> None:
        """Trains, reports and writes; raises UsageError without -c where there are too many pairs
        to find the default, and DataError for costs of examples."""
        values, examples = self.values, self.examples
        if examples.weights is not None and (examples.weights != 1).any():
            raise DataError(examples.source.path, "cost: is not for -z p; leave it out")
        n = len(examples)
        qid = np.zeros(n, np.int64) if examples.qid is None else examples.qid
        self._order = np.arange(n) if (np.diff(qid) >= 0).all() else np.argsort(qid, kind="stable")
        self._X = self.X if (self._order == np.arange(n)).all() else self.X.take(self._order)
        self._y, qid = examples.y[self._order], qid[self._order]
        self._start = query_starts(qid, n)
        pairs = OrdinalRisk().bind(self._y, qid, threads=self.threads).n_pairs
        out(f"Constructing {pairs} rank constraints...done.")
        self._every = max(1, -(-pairs // MOST_PAIRS))
        if self._every > 1 and not values["cost"] > 0:
            raise UsageError(
                "option -c is missing; its default is a mean over pairs, and {} are too many", pairs
            )
        C = self.cost_of_pairs()
        self.optimize()
        machine = self.machine(pairs, C)
        runtime = self.runtime(machine.spent)
        began = time.process_time()
        figures = self.figures(machine, C)
        drawn = "" if self._every == 1 else f" (of {len(figures.alpha)} pairs drawn)"
        self.report.print_end(machine.steps, figures.wrong, machine.violation, runtime)
        norm, positive = estimates.norm(machine.squared, self.kernel), ~np.signbit(figures.alpha)
        bound = f"including {figures.bound} at upper bound"
        longest = math.sqrt(figures.longest)
        self.report.sizes(figures.vectors, bound, machine.loss, norm, longest, drawn)
        self.report.dimension(1.0 + norm**2 * figures.radius, drawn)
        self.report.xi_alpha(
            lambda: estimates.rates(self.at_risk(machine, figures, C), positive),
            lambda: time.process_time() - began,
            self.rho_and_depth(machine.gram is not None) + drawn,
        )
        self.report.evaluations(machine.evaluations)
        beta = np.empty(n)
        beta[self._order] = machine.alpha
        self.write(model_file, beta, 0.0, n, figures.alpha, figures.alpha)

    def machine(self, pairs: int, C: float) -> PairMachine:
        """Trains the machine of all pairs, which are formed where they are few; raises
        TrainingError for more pairs than can be formed with a kernel that is not definite."""
        kernel = self.kernel
        tolerance = min(self.values["tolerance"], LOOSEST)
        observe = self.report.observe
        graded = GradedRows(self._X, self._y, self._start, kernel, C, tolerance, self.threads)
        if 0 < pairs <= (MOST if kernel.is_definite else MOST_INDEFINITE):
            return train_formed(graded, observe)
        if pairs and not kernel.is_definite:
            raise TrainingError(
                "{}: {} pairs are too many for a kernel that is not positive semidefinite; "
                "expected {} at most, or "
                "choose another kernel",
                self.examples.source.path,
                pairs,
                MOST_INDEFINITE,
            )
        return train(graded, observe)

    def at_risk(self, machine: PairMachine, figures: Figures, C: float) -> NDArray[np.bool_]:
        """The pairs that may be in the wrong order where they are left out; the search needs pairs
        that were formed."""
        size, losses, depth = np.abs(figures.alpha), figures.losses, self.values["depth"]
        failing = estimates.at_risk(size, losses, figures.largest, self.values["rho"])
        gram = machine.gram
        if depth > 0 and gram is not None:
            rows, own = np.flatnonzero(failing & (losses < 1)), np.diag(gram).astype(np.float64)
            free = np.flatnonzero((size > 0) & ~estimates.at_bound(size, C))
            candidates = Candidates(free, own, lambda rows: gram[np.ix_(rows, free)])
            failing[rows] = ~acquit(rows, size, losses, candidates, depth)
        return failing

    def cost_of_pairs(self) -> float:
        """C as given, or the default over all pairs."""
        if self.values["cost"] > 0:
            return self.values["cost"]
        parts = [
            block.distances
            for block in blocks(self._X, self._y, self._start, self.kernel, 1, self.threads)
        ]
        return self.cost(np.concatenate([np.zeros(0), *parts]))

    def figures(self, machine: PairMachine, C: float) -> Figures:
        """Figures of the pairs for the report, of a part of them where they are too many."""
        signed, losses, wrong, vectors, bound = [np.zeros(0)], [np.zeros(0)], 0, 0, 0
        longest = radius = largest = 0.0
        for block in blocks(self._X, self._y, self._start, self.kernel, self._every, self.threads):
            check_signals()
            count = sum(map(len, losses))
            alpha = (
                alphas(machine, block)
                if machine.pairs is None
                else machine.pairs[count : count + len(block.i)]
            )
            margin = block.sign * (machine.scores[block.i] - machine.scores[block.j])
            if machine.pairs is None:
                full, used = alpha >= C * (1 - BOUND_TOLERANCE), alpha > C * BOUND_TOLERANCE
            else:
                full, used = estimates.at_bound(alpha, C), alpha > 0
            wrong, bound = wrong + int((margin <= 0).sum()), bound + int(full.sum())
            largest = max(largest, float(block.distances.max()))
            longest = max(longest, float(block.lengths.max()))
            radius = max(radius, float(block.distances[used].max(initial=0.0)))
            vectors += int(used.sum())
            signed.append(np.copysign(alpha, block.sign))
            losses.append(np.maximum(0.0, 1 - margin))
        return Figures(
            np.concatenate(signed),
            np.concatenate(losses),
            wrong,
            vectors,
            bound,
            longest,
            radius,
            largest,
        )


class Numbers(LightRun):
    """Training on labels that are numbers; svm_light counts an example twice, for errors above and
    below."""

    def run(self, model_file: str) -> None:
        """Trains, reports and writes."""
        y, tube = np.ascontiguousarray(self.examples.y), max(0.0, self.values["tube"])
        given = self.alphas(2 * len(y))
        problem = self.machine_problem(y, tube=tube)
        start = None if given is None else problem.feasible(given[::2] + given[1::2])
        self.optimize()
        machine = problem.train(self.report.observe, start)
        self.report.print_end(machine.steps, None, machine.violation, self.runtime(machine.spent))
        size = np.abs(machine.beta)
        bound = f"including {int(estimates.at_bound(size, problem.boxes).sum())} at upper bound"
        loss = float(np.maximum(0.0, np.abs(machine.scores - y) - tube).sum())
        norm = estimates.norm(problem.squared_norm(machine), self.kernel)
        self.report.sizes(int((size > 0).sum()), bound, loss, norm, self.longest)
        self.report.evaluations(machine.evaluations)
        both = np.column_stack(
            [np.maximum(machine.beta, 0.0), np.minimum(machine.beta, 0.0)]
        ).ravel()
        self.write(
            model_file,
            machine.beta,
            machine.b,
            2 * len(y),
            both,
            np.resize([1.0, -1.0], 2 * len(y)),
        )
