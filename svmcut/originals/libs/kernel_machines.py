# SPDX-License-Identifier: BSD-3-Clause
"""LIBSVM's machines by the trainers of svmcut, with the lines that LIBSVM prints of each."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmcut._native.smo import EXACT_POINTS
from svmcut.base.records import record, replace
from svmcut.base.resources import usable_cpus
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple
from svmcut.data.examples import Csr
from svmcut.data.precomputed import is_symmetric, make_symmetric
from svmcut.formats.library_text import (
    C_SVC,
    EPSILON_SVR,
    LINEAR,
    NU_SVC,
    NU_SVR,
    ONE_CLASS_SVM,
    POLYNOMIAL,
    PRECOMPUTED,
    RBF,
)
from svmcut.models.kernels import Kernel
from svmcut.originals.libs.rows import Rows, csr_of
from svmcut.originals.libs.words import Refused
from svmcut.risks.hinge import BoundHinge
from svmcut.risks.losses import BoundEpsilonInsensitive
from svmcut.solvers.compose import Watched
from svmcut.solvers.nu import NuProblem, NuSmo
from svmcut.solvers.smo import KernelProblem, Smo
from svmcut.training.fallback import RELATIVE_TOLERANCE, best_function, losses_of

if TYPE_CHECKING:
    from svmcut.training.fallback import Losses

#: Megabytes of kernel rows that are kept at least.
_CACHE = 40.0
#: Rows of given kernel values that are compared at once, and how far a value and its mirror image
#: may be apart, of the largest one.
_BLOCK, _ROUNDING = 512, 1e-5
#: The relative gap of nu-SVC is this times -e: a tolerance of 0.001 of the KKT
#: conditions says nothing of a margin that is as small.
_NU_GAP, LEAST_GAP = 0.01, 1e-9
#: A gap above this part of the objective is told where it was not to be.
_TELLING = 1e-3


@record
class Svm:
    """The options of svm-train."""

    #: -s.
    svm: int
    #: -t.
    kernel: int
    #: -d.
    degree: int
    #: -g.
    gamma: float
    #: -r.
    coef0: float
    #: -c.
    cost: float
    #: -n.
    nu: float
    #: -p.
    tube: float
    #: -e.
    tolerance: float
    #: -m.
    cache: float
    #: -b.
    probability: bool
    #: -wi.
    weights: dict[int, float]
    #: Prints reports of training.
    say: Callable[[str], None]
    #: Of the training file.
    path: str

    @property
    def of_classes(self) -> bool:
        return self.svm in (C_SVC, NU_SVC)

    def function(self) -> Kernel:
        """The kernel."""
        if self.kernel in (LINEAR, PRECOMPUTED):  # no function of rows that are values
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
    """Rows as solvers take them."""

    #: Of the whole file.
    rows: Rows
    #: Rows of ones alone where kernel values are given.
    X: Csr
    #: (n,) places of these rows in the file.
    own: NDArray[np.intp]
    #: (N, N) kernel values of all rows of the file, where they are given; float32 for many rows.
    K: NDArray | None = None

    def take(self, places: NDArray) -> Data:
        """Some of the rows."""
        return Data(self.rows, self.X.take(places), self.own[places], self.K)

    def kernel_values(self, copies: int = 1) -> dict[str, Any]:
        """Arguments of a problem for kernel values that are given; its rows may stand there
        twice."""
        if self.K is None:
            return {}
        values, places = self.K, self.own
        kind = np.float64 if copies * len(places) <= EXACT_POINTS else np.float32
        if values.dtype != kind:  # a copy, which may be of fewer rows
            values = values[np.ix_(places, places)].astype(kind)
            places = np.arange(len(places))
        return {"shared": (values, np.tile(places, copies)), "given": True}

    def expansion(self, rows: Data, machine: Machine, options: Svm) -> NDArray[np.float64]:
        """f of rows, of a machine of these."""
        used = np.flatnonzero(machine.beta)
        if self.K is not None:
            K = self.K[np.ix_(rows.own, self.own[used])]
            return K @ machine.beta[used] - machine.rho
        support = self.X.take(used)
        return options.function().expansion(rows.X, support, machine.beta[used], machine.rho)


def data_of(rows: Rows, options: Svm) -> Data:
    """The rows of a file; index 0 is a feature like the others."""
    every = np.arange(len(rows))
    if options.kernel == PRECOMPUTED:
        ones = Csr.from_dense(np.ones((len(rows), 1), np.float32))
        return Data(rows, replace(ones, proven=True), every, given_values(rows, options.path))
    X = csr_of(options.path, rows, 0, rows.highest + 1)
    return Data(rows, X.compact()[0], every)


def given_values(rows: Rows, path: str) -> NDArray:
    """(n, n) the values of all rows with all rows, which stand at their serial numbers; of many
    rows float32."""
    serials = rows.values[rows.indptr[:-1]].astype(np.int64)
    n, width = len(rows), max(rows.highest, int(serials.max())) + 1
    kind = np.float64 if n <= EXACT_POINTS else np.float32
    if (np.diff(rows.indptr) == width).all():  # every value stands there
        values, first = rows.values.reshape(n, width), int(serials[0])
        in_order = (np.diff(serials) == 1).all()
        K = values[:, first : first + n] if in_order else np.take(values, serials, axis=1)
        K = np.array(K, kind, order="C")
    else:
        place = np.full(width, -1)
        place[serials] = np.arange(n)
        of, column = rows.row_of_entries(), place[rows.indices]
        known = (column >= 0) & (rows.indices > 0)
        K = np.zeros((n, n), kind)
        K[of[known], column[known]] = rows.values[known]
        if not np.array_equal(place[serials], np.arange(n)):  # serial numbers stand twice
            K = K[:, place[serials]]
    if not is_symmetric(K):
        _check_symmetric(K, serials, path)
        make_symmetric(K, _BLOCK)
    return K


def _check_symmetric(K: NDArray, serials: NDArray[np.int64], path: str) -> None:
    """Refuses a value and its mirror image that are apart by more than rounding."""
    for start in range(0, len(K), _BLOCK):
        rows = slice(start, start + _BLOCK)
        apart = np.abs(K[rows, start:] - K[start:, rows].T)
        if apart.max() > _ROUNDING * float(np.abs(K).max()):
            i, j = np.unravel_index(int(np.argmax(apart)), apart.shape) + np.array(start)
            raise Refused(
                f"{path}:{i + 1}: the kernel value of samples {serials[i]} and {serials[j]} is "
                f"{K[i, j]:g}, that of {serials[j]} and {serials[i]} is {K[j, i]:g}; "
                "they must be equal"
            )


def fit(data: Data, y: NDArray, v: NDArray, options: Svm) -> Machine:
    """One machine, with its report; v weighs the rows of C-SVC."""
    how = True, max(_CACHE, options.cache), usable_cpus()
    late: list[str] = []
    if options.svm in (C_SVC, EPSILON_SVR):
        problem = _problem(data, y, v, options)
        run, idle = _follow(Smo(*how), problem, options)
        machine, late = _settle_stopped(run, _of_cost(run), data, options, _make_losses(problem))
        lines = _lines_of_cost(run, machine, problem)
    else:
        nu, least = _nu_problem(data, y, options), 0.0
        run, idle = _follow(NuSmo(*how), nu, options)
        if options.svm == NU_SVC and not run.has_margin:
            # w = 0 is best, which says nothing of rows: what is left at LIBSVM's tolerance does
            least = options.tolerance
            run, idle = _follow(NuSmo(*how), replace(nu, gap=None), options)
            late.append(f"WARNING: -n {options.nu:g} leaves no margin between two classes")
        machine, lines = _of_nu(run, nu, data, options, least, late)
    count = run.iterations
    if idle:
        late.insert(0, "WARNING: reaching max number of iterations")
    head = ["." * (count // 1000) + "*", f"optimization finished, #iter = {count}"]
    options.say("\n".join([*head, *late, *lines]))
    return machine


def _follow(solver: Smo, problem: Any, options: Svm) -> tuple[Any, bool]:
    """A run that is over, and whether it was for want of progress."""
    watched = Watched(solver, problem)
    for step in watched:
        if not math.isfinite(step.primal):
            raise Refused(f"{options.path}: kernel values are not finite; scale the features")
    run: Any = watched.run
    if watched.idle:
        run.settle()
    return run, watched.idle


def _settle_stopped(
    run: Any, machine: Machine, data: Data, options: Svm, losses: Losses
) -> tuple[Machine, list[str]]:
    """Give a machine; where its run ended before its rule was met, the best multiple of it or the
    best constant if that is better, and a line that says what is left. Multiples of one class and
    of nu-SVC are the machine they are of.

    losses: C R and the best bias, at scores without one.
    """
    if run.is_met():
        return machine, []
    f = data.expansion(data, Machine(machine.beta, 0.0), options)
    squared, (most, b) = float(machine.beta @ f), losses(f)
    is_definite = squared >= 0 if data.K is not None else options.function().is_definite
    primal = 0.5 * max(0.0, squared) + most
    best = best_function(*((squared, f) if is_definite else (0.0, 0 * f)), losses)
    if best.primal < primal - RELATIVE_TOLERANCE * abs(primal):
        t, b, primal = best
        machine = Machine(t * machine.beta, 0.0 - b)
    else:
        machine = machine._replace(rho=0.0 - b)
    if not is_definite or abs(primal - run.dual) <= _TELLING * abs(primal):
        return machine, []
    return machine, [
        f"WARNING: rounding ended training at objective {primal:g}; scale the features"
    ]


def _make_losses(problem: KernelProblem) -> Losses:
    """Makes C R and the best bias of C-SVC and epsilon-SVR."""
    y, v, tube = problem.y, problem.weights, problem.tube
    risk = BoundHinge(y, 1, v) if tube is None else BoundEpsilonInsensitive(y, 1, v, tube)
    return losses_of(risk, problem.C, True)


def _problem(data: Data, y: NDArray, v: NDArray, options: Svm) -> KernelProblem:
    weights = None if options.svm != C_SVC or (v == 1).all() else v
    tube = options.tube if options.svm == EPSILON_SVR else None
    how = {"tolerance": options.tolerance, "weights": weights, "tube": tube} | data.kernel_values()
    return KernelProblem(data.X, np.ascontiguousarray(y), options.function(), options.cost, **how)


def _nu_problem(data: Data, y: NDArray, options: Svm) -> NuProblem:
    """The problem of nu-SVC and of one class with multipliers up to 1, of nu-SVR up to C, each row
    twice."""
    X, n, kernel = data.X, data.X.n_rows, options.function()
    # in single precision, as the recorded programs: where nu is a whole number of rows, one more
    # has a small multiplier, and tells which of all the best margins it is
    mass = float(np.float32(options.nu)) * n
    e = {"tolerance": options.tolerance} | data.kernel_values(2 if options.svm == NU_SVR else 1)
    if options.svm == ONE_CLASS_SVM:
        return NuProblem(X, np.zeros(n), np.ones(n), (mass, 0.0), kernel, **e)
    half = (0.5 * mass, 0.5 * mass)
    if options.svm == NU_SVC:
        e["gap"] = min(max(_NU_GAP * options.tolerance, LEAST_GAP), 1e-3)
        return NuProblem(X, np.zeros(n), np.ascontiguousarray(y), half, kernel, **e)
    twice = X.take(np.tile(np.arange(n), 2))
    targets, sides = np.tile(y, 2).astype(np.float64), np.repeat([1.0, -1.0], n)
    return NuProblem(twice, targets, sides, half, kernel, options.cost, **e)


def _of_cost(run: Any) -> Machine:
    """The machine of C-SVC and epsilon-SVR."""
    f = run.expansion()
    return Machine(f.beta, 0.0 - f.b)


def _lines_of_cost(run: Any, machine: Machine, problem: KernelProblem) -> list[str]:
    size, n = np.abs(machine.beta), len(machine.beta)
    most = problem.C if problem.weights is None else problem.C * problem.weights
    lines = []
    if problem.weights is None or np.ptp(problem.weights) == 0:
        lines.append(f"nu = {size.sum() / (float(np.mean(most)) * n):.6f}")
    return lines + _counts(0.0 - run.dual, machine.rho, size, most)


def _of_nu(
    run: Any, problem: NuProblem, data: Data, options: Svm, least: float, late: list[str]
) -> tuple[Machine, list[str]]:
    """The machine and the lines of the others, which may be late; that of nu-SVC is divided by its
    rho, or by `least` where that is greater."""
    f, (rho, b) = run.expansion(), run.levels()
    if options.svm == NU_SVR:
        beta = f.beta.reshape(2, -1).sum(axis=0)
        y = problem.y[: len(beta)]

        def losses(s: NDArray[np.float64]) -> tuple[float, float]:
            v = np.tile(y - s, 2)
            return problem.C * problem.risk(v), problem.levels(v)[1]

        machine, more = _settle_stopped(run, Machine(beta, 0.0 - b), data, options, losses)
        late += more
        if machine.beta is not beta:
            s = data.expansion(data, Machine(machine.beta, 0.0), options)
            rho = problem.levels(np.tile(y - s, 2))[0]
        told = _counts(0.0 - run.dual, machine.rho, np.abs(machine.beta), problem.C)
        return machine, [f"epsilon = {0.0 - rho:.6f}", *told]
    size = np.abs(f.beta)
    if options.svm == ONE_CLASS_SVM:
        return Machine(f.beta, rho), _counts(0.0 - run.dual, rho, size, 1.0)
    rho = max(rho, least)
    machine = Machine(f.beta / rho, 0.0 - b / rho)
    told = _counts(0.0 - run.dual / rho**2, machine.rho, size, 1.0)
    return machine, [f"C = {1 / rho:.6f}", *told]


def _counts(objective: float, rho: float, size: NDArray, most: Any) -> list[str]:
    """The last two lines of a report, of multipliers of this size and with these bounds."""
    bounded = np.count_nonzero((size >= most) & (size > 0))
    return [
        f"obj = {objective:.6f}, rho = {rho:.6f}",
        f"nSV = {np.count_nonzero(size)}, nBSV = {bounded}",
    ]
