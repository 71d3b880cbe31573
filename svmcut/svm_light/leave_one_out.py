# SPDX-License-Identifier: BSD-3-Clause
"""Leave-one-out errors of a machine: most rows by a bound, the others by training without them
(Joachims, ICML 2000).

    alpha_i = 0                          f does not change without i: no error xi_i >= 1
                   an error: f(x_i) cannot rise where i is left out rho alpha_i R^2 + xi_i < 1
        no error, for rho = 2 where a support vector is strictly inside its box
    else                                 training without i decides

All trainings of a thread share kernel rows: leaving a row out is a weight of 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import local

import numpy as np

from svmcut.solvers.smo import KernelProblem, Smo
from svmcut.solvers.smoothed_margin import bias_of
from svmcut.spec.records import replace
from svmcut.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.svm_light.machines import Machine, MachineProblem

RIGHT, WRONG, UNDECIDED = 1, -1, 0
#: Megabytes of kernel rows of a thread at most.
_ROOM = 500.0


def decided(
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
