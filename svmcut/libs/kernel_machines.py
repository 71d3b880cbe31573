# SPDX-License-Identifier: BSD-3-Clause
"""LIBSVM's machines by the trainers of svmcut, with the lines that LIBSVM prints of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcut.data.examples import Csr
from svmcut.files.models.library_text import (
    C_SVC,
    EPSILON_SVR,
    LINEAR,
    NU_SVC,
    POLYNOMIAL,
    PRECOMPUTED,
    RBF,
)
from svmcut.libs.rows import Rows
from svmcut.libs.training_rows import csr_of
from svmcut.libs.words import Refused
from svmcut.models.kernels import Kernel
from svmcut.resources import usable_cpus
from svmcut.solvers.compose import Watched
from svmcut.solvers.smo import KernelProblem, Smo
from svmcut.spec.records import record

#: Megabytes of kernel rows that are kept at least.
_CACHE = 40.0


@record
class Svm:
    """What to train.

    Attributes
    ----------
    svm, kernel, degree : int
        -s, -t, -d
    gamma, coef0, cost, nu, tube, tolerance, cache : float
        -g, -r, -c, -n, -p, -e, -m
    probability : bool
        -b
    weights : dict of int to float
        -wi
    say : callable
        Prints what training reports.
    path : str
        Of the training file.
    """

    svm: int
    kernel: int
    degree: int
    gamma: float
    coef0: float
    cost: float
    nu: float
    tube: float
    tolerance: float
    cache: float
    probability: bool
    weights: dict[int, float]
    say: Callable[[str], None]
    path: str

    @property
    def of_classes(self) -> bool:
        return self.svm in (C_SVC, NU_SVC)

    def function(self) -> Kernel:
        """The kernel."""
        if self.kernel == LINEAR:
            return Kernel()
        if self.kernel == RBF:
            return Kernel("rbf", gamma=self.gamma)
        name = "polynomial" if self.kernel == POLYNOMIAL else "sigmoid"
        return Kernel(name, self.degree, scale=self.gamma, offset=self.coef0)


class Machine(NamedTuple):
    """f(x) = sum_i beta_i K(x_i, x) - rho."""

    beta: NDArray[np.float64]
    rho: float


class Data(NamedTuple):
    """Rows of a file, and as solvers take them."""

    rows: Rows
    X: Csr

    def take(self, places: NDArray) -> Data:
        """Some of the rows; the file's stay with the whole."""
        return Data(self.rows, self.X.take(places))


def data_of(rows: Rows, options: Svm) -> Data:
    """The rows of a file; index 0 is a feature like the others."""
    X = csr_of(options.path, rows, 0, rows.highest + 1)
    return Data(rows, X.compact()[0])


def fit(X: Csr, y: NDArray, v: NDArray, options: Svm) -> Machine:
    """One machine, with its report; v weighs the rows of C-SVC."""
    if options.svm not in (C_SVC, EPSILON_SVR) or options.kernel == PRECOMPUTED:
        raise Refused(f"ERROR: -s {options.svm} -t {options.kernel} is not trained yet")
    weights = None if options.svm != C_SVC or (v == 1).all() else v
    problem = KernelProblem(
        X,
        np.ascontiguousarray(y),
        options.function(),
        options.cost,
        tolerance=options.tolerance,
        weights=weights,
        tube=options.tube if options.svm == EPSILON_SVR else None,
    )
    solver = Smo(True, max(_CACHE, options.cache), usable_cpus())
    watched = Watched(solver, problem)
    for step in watched:
        if not math.isfinite(step.primal):
            raise Refused(f"{options.path}: kernel values are not finite; scale the features")
    assert watched.last is not None
    run: Any = watched.run
    f = run.expansion()
    _told(run, problem, f, options, watched.idle)
    return Machine(f.beta, 0.0 - f.b)


def _told(run: Any, problem: KernelProblem, f: Any, options: Svm, idle: bool) -> None:
    n, count = len(f.beta), run._native.iterations
    most = problem.C if problem.weights is None else problem.C * problem.weights
    size = np.abs(f.beta)
    lines = ["." * (count // 1000) + "*", f"optimization finished, #iter = {count}"]
    if idle:
        lines.append("WARNING: reaching max number of iterations")
    if problem.weights is None or np.ptp(problem.weights) == 0:
        lines.append(f"nu = {size.sum() / (np.sum(most) if np.ndim(most) else most * n):.6f}")
    lines.append(f"obj = {-run._native.dual:.6f}, rho = {0.0 - f.b:.6f}")
    lines.append(
        f"nSV = {np.count_nonzero(size)}, nBSV = {np.count_nonzero((size >= most) & (size > 0))}"
    )
    options.say("\n".join(lines))
