# SPDX-License-Identifier: BSD-3-Clause
"""svm_learn -z r: regression."""

from __future__ import annotations

import numpy as np

from svmcut.svm_light import estimates
from svmcut.svm_light.run import LightRun


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
        self.report.trained(machine.steps, None, machine.violation, self.runtime(machine.spent))
        size = np.abs(machine.beta)
        bound = f"including {int(estimates.at_bound(size, problem.boxes).sum())} at upper bound"
        loss = float(np.maximum(0.0, np.abs(machine.scores - y) - tube).sum())
        norm = estimates.norm(machine.squared, self.kernel)
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
