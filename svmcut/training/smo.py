# SPDX-License-Identifier: BSD-3-Clause
"""Training on kernel values by sequential minimal optimization."""

from __future__ import annotations

import math

import numpy as np

from svmcut._native.smo import EXACT_POINTS
from svmcut.data.examples import Examples
from svmcut.risks.weights import boxes
from svmcut.solvers.protocol import Start, StoppingRule
from svmcut.solvers.smo import KernelProblem, Smo
from svmcut.spec.parameters import Settings
from svmcut.training.given import GivenRoom, room_of
from svmcut.training.initial import coefficients, read_initial
from svmcut.training.outcome import Objective, Outcome
from svmcut.training.room import KernelPlan, KernelRoom
from svmcut.training.stage import Ended, Stage
from svmcut.training.vectors import Vectors
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


class SmoPlan(KernelPlan):
    """One stage; the solver starts from its last solution. epsilon is the tolerance of the KKT
    conditions.

    "auto" is smo without bias, the objective of svm_perf; smo by name has an unregularised bias
    unless free_bias is False, the objective of LIBSVM and svm_light.
    """

    infinite = "kernel values are not finite"

    exact_work = 2e7  # the steps keep v of their own; what is left to expand is the file
    weights = False

    def __init__(self, examples: Examples, settings: Settings):
        super().__init__(examples, settings)
        s = settings
        self._last: Any = None
        self.begun: NDArray | None = None  # coefficients to begin with
        self._solver = Smo(bool(s.free_bias), s.cache_size, s.threads, s.max_iterations)
        self.initial = None if s.initial is None else read_initial(s, self.room.kernel)

    def _room(self, vectors: Vectors, settings: Settings) -> KernelRoom:
        return room_of(vectors, settings, self.exact_work)

    def stop(self, objective: Objective) -> StoppingRule:
        """A relative gap; without, the gap is a consequence of the KKT conditions."""
        return StoppingRule(math.nan, self.settings.gap)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        room = self.room
        risk, epsilon = room.vectors.risk, objective.epsilon
        rule = {"tolerance": epsilon, "gap": self.settings.gap, "shared": self.shared}
        if isinstance(room, GivenRoom):
            rule |= {"shared": room.shared(), "given": True}
        problem = KernelProblem.of(risk, room.X, room.kernel, objective.C, **rule)
        if self.initial is not None and self._last is None:
            beta = coefficients(
                self.initial, room.X, room.vectors.columns, problem, self._solver.free_bias
            )
            self.begun = beta
        if self.begun is not None and self._last is None:
            state = self._solver.state_at(problem, self.begun)
            self._last = self._solver.start(problem, None, state)
        return Stage(
            self.settings.solver, self._solver, problem, objective, start=Start(run=self._last)
        )

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        """The machine; primal and dual are those of the model in every case."""
        room, run, progress = self.room, ended.run, ended.progress
        self._last = run
        if ended.stopped_by is not None:
            progress = run.settle()
            self.check_finite(progress.primal)
        f = progress.solution()
        squared = 2 * (progress.primal - objective.C * progress.risk)
        known = {
            "longest_cut": 0.0,
            "multipliers": f.beta,
            "kernel_evaluations": progress.evaluations,
        }
        ended = ended._replace(progress=progress)
        outcome = ended.outcome(ended.stage.name, room.machine(f.beta, f.b), squared, **known)
        room.lower(outcome, f.beta, boxes(objective.C, room.vectors.risk.weights))
        if self.settings.keep_multipliers:
            most = np.broadcast_to(boxes(objective.C, room.vectors.risk.weights), len(f.beta))
            share = np.zeros(len(most))
            outcome.fractions = np.divide(np.abs(f.beta), most, out=share, where=most > 0)
        outcome.apart = outcome.gap, 0.0  # the coefficients are those of the dual value
        rule = self.stop(objective)
        if (
            rule.relative is None
        ):  # the gap that the tolerance of the KKT conditions allows where they hold
            holds = run.violation() <= objective.epsilon
            rule = StoppingRule(
                objective.C * objective.epsilon * 2 * room.vectors.units.samples
                if holds
                else -math.inf
            )
        otherwise = "float32" if room.X.n_rows > EXACT_POINTS else "rounding"
        outcome.judge(rule, ended.stopped_by, otherwise, room.reading(outcome, rule, screened=True))
        return room.least(outcome, self._solver.free_bias)
