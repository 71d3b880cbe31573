# SPDX-License-Identifier: BSD-3-Clause
"""LIBSVM's machines by the trainers of svmcut, with the lines that LIBSVM prints of each; models of
the machines of all pairs of classes, or of one, and their probabilities, from the values of rows
that five folds held out.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut._native.kernels import KernelRows
from svmcut._native.smo import EXACT_POINTS, MACHINE, train_machines
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
    KernelText,
)
from svmcut.models import pairs_of
from svmcut.models.kernels import Kernel
from svmcut.originals.libs.rows import (
    Rows,
    class_factors,
    classes_of,
    csr_of,
    fold_count,
    folds,
    take_rows,
)
from svmcut.originals.libs.svm_predict import Expansion, pair_coefficients
from svmcut.originals.libs.words import Refused
from svmcut.risks.hinge import BoundHinge
from svmcut.risks.losses import BoundEpsilonInsensitive
from svmcut.scoring.probabilities import Sigmoid, fit_sigmoid
from svmcut.solvers.compose import Watched
from svmcut.solvers.nu import NuProblem, NuSmo
from svmcut.solvers.smo import HASTY, KernelProblem, Smo
from svmcut.training.fallback import RELATIVE_TOLERANCE, best_function, losses_of

if TYPE_CHECKING:
    from svmcut.training.fallback import Losses

#: Megabytes of kernel rows that are kept at least.
_CACHE = 40.0
#: Machines of one call of the compiled loop, between which signals are served.
_TOGETHER = 64
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
        lines = _lines_of_cost(run.dual, machine, problem.C, problem.weights)
    else:
        nu, least = _nu_problem(data, y, options), 0.0
        run, idle = _follow(NuSmo(*how), nu, options)
        if options.svm == NU_SVC and not run.has_margin:
            # w = 0 is best, which says nothing of rows: what is left at LIBSVM's tolerance does
            least = options.tolerance
            run, idle = _follow(NuSmo(*how), replace(nu, gap=None), options)
            late.append(f"WARNING: -n {options.nu:g} leaves no margin between two classes")
        machine, lines = _of_nu(run, nu, data, options, least, late)
    if idle:
        late.insert(0, "WARNING: reaching max number of iterations")
    _report(run.iterations, [*late, *lines], options)
    return machine


def _report(count: int, lines: list[str], options: Svm) -> None:
    head = ["." * (count // 1000) + "*", f"optimization finished, #iter = {count}"]
    options.say("\n".join([*head, *lines]))


def _fit_together(
    data: Data, own: list[NDArray], factors: NDArray[np.float64], options: Svm
) -> Iterator[Machine | None]:
    """Machines of all pairs of classes of C-SVC, with their reports, by one compiled loop; None for
    one that is left to `fit`, as all of larger classes are."""
    pairs, kernel, n = pairs_of(len(own)), options.function(), data.X.n_rows
    largest = sum(sorted(map(len, own))[-2:])
    usual = options.svm == C_SVC and data.K is None and kernel.is_definite and len(own) > 2
    if not usual or largest > EXACT_POINTS:
        yield from [None] * len(pairs)
        return
    threads, cache = usable_cpus(), max(_CACHE, options.cache)
    parts = [k for pair in pairs for k in pair]
    counts = np.array([len(own[k]) for k in parts])
    starts = np.append(0, np.cumsum(counts))[::2].copy()
    rows = np.concatenate([own[k] for k in parts]).astype(np.int64)
    sides = np.repeat(np.tile(np.array([1, -1], np.int8), len(pairs)), counts)
    v = np.ones(n)
    for part, factor in zip(own, factors, strict=True):
        v[part] = factor
    weights = None if (v == 1).all() else v
    values = KernelRows(data.X, kernel, threads).gram(True) if 8e-6 * n * n <= cache else None
    rule = options.cost, options.tolerance, -1.0, HASTY, True
    table, beta = np.zeros(len(pairs), MACHINE), np.zeros(len(rows))
    known = data.X, kernel, values, weights, rule
    for first in range(0, len(pairs), _TOGETHER):
        here = slice(first, first + _TOGETHER)
        begins = starts[first : first + _TOGETHER + 1]
        train_machines(*known, begins, rows, sides, cache, threads, beta, table[here])
        for k in range(first, min(first + _TOGETHER, len(pairs))):
            if table["met"][k] != 1:
                yield None
                continue
            entries = slice(starts[k], starts[k + 1])
            machine = Machine(beta[entries], 0.0 - float(table["b"][k]))
            own_weights = None if weights is None else weights[rows[entries]]
            dual = float(table["dual"][k])
            lines = _lines_of_cost(dual, machine, options.cost, own_weights)
            _report(int(table["iterations"][k]), lines, options)
            yield machine


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


def _lines_of_cost(dual: float, machine: Machine, C: float, weights: NDArray | None) -> list[str]:
    size, n = np.abs(machine.beta), len(machine.beta)
    most = C if weights is None else C * weights
    lines = []
    if weights is None or np.ptp(weights) == 0:
        lines.append(f"nu = {size.sum() / (float(np.mean(most)) * n):.6f}")
    return lines + _counts(0.0 - dual, machine.rho, size, most)


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


_FOLDS = 5
#: Standard deviations beyond which a residual has no part in the scale of the others.
MAX_DEVIATIONS = 5.0
#: Marks of the scores of one class on each side of 0.
_MARKS = 5


def pair_sigmoid(data: Data, y: NDArray, v: NDArray, options: Svm) -> Sigmoid:
    """A and B of a pair of classes with these signs."""
    f = np.zeros(len(y))
    for held in folds(len(y), _FOLDS):
        train = np.flatnonzero(~held)
        signs = y[train]
        if not len(train) or (signs == signs[:1]).all():  # no machine of one class
            f[held] = signs[0] if len(train) else 0.0
            continue
        f[held] = _values(data, (train, held), signs, v[train], options)
    return fit_sigmoid(f, y > 0)


def laplace_scale(data: Data, options: Svm) -> float:
    """Sigma of the Laplace distribution of residuals, without those that are far away."""
    y = data.rows.labels
    residuals, ones = np.abs(y), np.ones(len(y))  # of no row to train on nothing is known
    for held in folds(len(y), fold_count(len(y), _FOLDS)):
        train = np.flatnonzero(~held)
        if not len(train):
            continue
        residuals[held] = np.abs(
            y[held] - _values(data, (train, held), y[train], ones[train], options)
        )
    far = MAX_DEVIATIONS * math.sqrt(2.0) * float(residuals.mean())
    sigma = float(residuals[residuals <= far].mean())
    options.say(
        "Prob. model for test data: target value = predicted value + z,\n"
        f"z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma= {sigma:g}"
    )
    return sigma


def marks(data: Data, machine: Machine, options: Svm) -> list[float] | None:
    """Scores that part ten ranges of probability of one class: halfway between bounds, five that
    hold a fifth each of the training rows below 0, then 0, then five of those above. None, and a
    warning, where one side has fewer rows than bounds."""
    f = data.expansion(data, machine, options)
    # rows at 0, whose sign is what rounding leaves of it: half of them on either side
    free = (machine.beta > 0) & (machine.beta < 1)
    count = np.count_nonzero(f[~free] < 0) + np.count_nonzero(free) // 2
    below, above = np.split(np.sort(f), [count])
    if min(len(below), len(above)) < _MARKS:
        print(
            f"WARNING: number of positive or negative decision values <{_MARKS}; "
            "too few to do a probability estimation.",
            file=sys.stderr,
        )
        return None
    places = np.arange(_MARKS)
    low, high = below[places * len(below) // _MARKS], above[(places + 1) * len(above) // _MARKS - 1]
    bounds = np.concatenate([low, [0.0], high])
    return (0.5 * (bounds[:-1] + bounds[1:])).tolist()


def _values(
    data: Data, places: tuple[NDArray, NDArray], y: NDArray, v: NDArray, options: Svm
) -> NDArray[np.float64]:
    """f of the rows that are held out, where places are those to train on, and whether a row is
    held out."""
    train, held = data.take(places[0]), data.take(np.flatnonzero(places[1]))
    machine = fit(train, y, v, options)
    if options.of_classes:
        options.say(f"Total nSV = {np.count_nonzero(machine.beta)}")
    return train.expansion(held, machine, options)


#: Rows that show how digits change decisions, and the part of the tolerance by which they may.
SAMPLED, PART = 250, 0.1


def train(rows: Rows, options: Svm) -> KernelText:
    """The model of rows, whose report is told machine by machine."""
    data = data_of(rows, options)
    if not options.of_classes:
        return _one_machine(data, options)
    names, places = classes_of(rows.classes())
    factors = class_factors(names, options.weights)
    K, own = len(names), [np.flatnonzero(places == k) for k in range(len(names))]
    if K == 1:
        options.say("WARNING: training data in only one class. See README for details.")
    coef: NDArray[np.float64] = np.zeros((len(rows), max(1, K - 1)))
    used, rho, sigmoids = np.zeros(len(rows), bool), [], []
    together: Any = itertools.repeat(None)
    if not options.probability:
        together = _fit_together(data, own, factors, options)
    for i, j in pairs_of(K):
        pair = np.concatenate([own[i], own[j]])
        y = np.repeat([1.0, -1.0], [len(own[i]), len(own[j])])
        v = np.where(y > 0, factors[i], factors[j])
        if options.probability:
            sigmoids.append(pair_sigmoid(data.take(pair), y, v, options))
        machine = next(together) or fit(data.take(pair), y, v, options)
        rho.append(machine.rho)
        coef[own[i], j - 1] = machine.beta[: len(own[i])]
        coef[own[j], i] = machine.beta[len(own[i]) :]
        used[pair] |= machine.beta != 0
    order = np.concatenate([part[used[part]] for part in own])
    options.say(f"Total nSV = {len(order)}")
    known: dict[str, Any] = {"labels": names, "counts": [int(used[part].sum()) for part in own]}
    if options.probability:
        known["sigmoids"] = [A for A, _ in sigmoids], [B for _, B in sigmoids]
    return _text(data, options, order, coef[order], rho, known)


def _one_machine(data: Data, options: Svm) -> KernelText:
    """The model of a regression, or of one class."""
    known: dict[str, Any] = {}
    if options.probability and options.svm != ONE_CLASS_SVM:
        known["sigmoids"] = [laplace_scale(data, options)], None
    machine = fit(data, data.rows.labels, np.ones(len(data.rows)), options)
    if options.probability and options.svm == ONE_CLASS_SVM:
        known["marks"] = marks(data, machine, options)
    order = np.flatnonzero(machine.beta)
    return _text(data, options, order, machine.beta[order][:, None], [machine.rho], known)


def _text(
    data: Data,
    options: Svm,
    order: NDArray[np.int64],
    coefs: NDArray[np.float64],
    rho: list[float],
    known: dict[str, Any],
) -> KernelText:
    """The model of these support vectors."""
    if options.kernel == PRECOMPUTED:
        vectors = serials_of(data.rows, order)
    else:
        rows = take_rows(data.rows, order)
        vectors = rows.indptr, rows.indices, rows.values
    known |= {"degree": options.degree, "gamma": options.gamma, "coef0": options.coef0}
    text = KernelText(options.svm, options.kernel, rho, coefs, vectors, **known)
    return text if options.kernel == PRECOMPUTED else _with_digits(text, data.rows, options)


def _with_digits(text: KernelText, rows: Rows, options: Svm) -> KernelText:
    """The model with the vectors as they were trained, in single precision, and all their digits,
    where those of the file in eight digits would change a decision by much of the tolerance."""
    indptr, indices, values = text.rows
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = 10.0 ** (7 - np.floor(np.log10(np.abs(values))))
        eight = np.where(values == 0, 0.0, np.round(values * scale) / scale)
    trained = values.astype(np.float32).astype(np.float64)
    exact = replace(text, rows=(indptr, indices, trained), digits=17)
    short = replace(text, rows=(indptr, indices, eight))
    sample = take_rows(rows, np.arange(0, len(rows), max(1, len(rows) // SAMPLED)))
    coefs = pair_coefficients(text)
    one, other = (Expansion(model).sums(sample, coefs) for model in (exact, short))
    apart = float(np.max(np.abs(one - other), initial=0.0))
    return exact if apart > PART * options.tolerance else text


def serials_of(rows: Rows, order: NDArray[np.int64]) -> tuple[NDArray, NDArray, NDArray]:
    """Some rows, of their serial number alone, at index 0."""
    zeros = np.zeros(len(order), np.int32)
    return np.arange(len(order) + 1), zeros, rows.values[rows.indptr[order]]


def check_nu(options: Svm, rows: Rows) -> None:
    """Refuses a nu of nu-SVC that two classes cannot have."""
    counts = np.bincount(classes_of(rows.classes())[1]).tolist()
    for k, n in enumerate(counts):
        for m in counts[k + 1 :]:
            if options.nu * (n + m) / 2 > min(n, m):
                most = 2 * min(n, m) / (n + m)
                raise Refused(
                    "ERROR: specified nu is infeasible: "
                    f"two classes have {n} and {m} rows; give -n {most:g} or less"
                )
