# SPDX-License-Identifier: BSD-3-Clause
"""Sequential minimal optimisation over kernels.

    problem      min_{w,b}  P = 1/2 |w|^2 + sum_i C_i max(0, 1 - y_i (w.phi(x_i) + b)),   b free, or
                 0;  C_i = C v_i
    dual         max_beta   D = sum_i beta_i y_i - 1/2 beta'K beta,   0 <= beta_i y_i <= C_i,  sum
                 beta = 0 if b is free
    update       with v = y - K beta: i has the highest v of those that may rise, j maximises (v_i -
                 v_j)^2 / (K_ii + K_jj - 2 K_ij) among those that may fall, and beta_i rises by what
                 beta_j falls (Fan, Chen and Lin, JMLR 6, 2005, WSS 2). Without b, i has the largest
                 gain v_i^2 / K_ii of its own, j the largest together with i, and both move to their
                 best point in the box (after Steinwart, Hush and Scovel, JMLR 12, 2011): a
                 thirtieth of the steps of one coordinate at a time on adult.
    stop         highest v that may rise - lowest that may fall <= tolerance; without b, no
                 violation above it
    certificate  P - D, from v

The same for the epsilon-insensitive loss of targets y, in n variables where LIBSVM has 2 n:

    problem      P = 1/2 |w|^2 + sum_i C_i max(0, |y_i - w.phi(x_i) - b| - tube)
    dual         D = sum_i (beta_i y_i - tube |beta_i|) - 1/2 beta'K beta,   |beta_i| <= C_i,  sum
                 beta = 0 if b is free
    update       v less the tube may rise where beta >= 0, else v and the tube; v and the tube may
                 fall where beta <= 0, else v less the tube. A step goes on past beta = 0, where the
                 slope falls by two tubes, or ends there

w = sum_i beta_i phi(x_i); b is the mean v of the points strictly between their bounds, else the
middle of the extremes; with targets the b of the least loss, a median of v - tube and v + tube.

Deviations from the papers: points put aside by shrinking leave the layout, so that rows shrink with
the active set, and their v comes back in one blocked pass over the coefficients that changed. v is
float64; kernel rows are float64 over up to 2,000 points and float32 over more. Where the rule is
met, v is formed anew from float64 kernel values for each point whose loss rounding could hide, and
training goes on from there until that v meets the rule (iterative refinement): the report has the
primal and the dual value of one beta and b at that v. At ordinary C that costs more than it is
worth: where eight times the error of some 250 points is a small part of the tolerance, v is left as
it is.

Where steps crawl over few points, as C or the kernel's scale is large, the dual is solved as a
whole (svmcut/qp/box.py), and steps go on from there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut._native.kernels import KernelRows
from svmcut._native.smo import EXACT_POINTS
from svmcut._native.smo import Smo as NativeSmo
from svmcut.base.records import record
from svmcut.base.typing import Any, ClassVar
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.risks.weights import boxes
from svmcut.solvers.protocol import Progress, Run, Solution, Solver, Start
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form, State

FIRST_PEEK = 500_000  # steps
#: Refreshes without gain after which a run ends, as rounding forbids progress.
FUTILE = 2
#: Steps after which the claimed gains are first checked by a v that is formed anew, in all and for
#: every point.
TRUSTED, TRUSTED_PER_POINT = 100_000, 50
#: The same where steps gained less than this part of the primal, and coefficients at their bounds
#: would be rounded by more than this part of a violation.
HASTY, HASTY_PER_POINT, NOTHING, ROUGH = 20_000, 5, 1e-7, 1e-3
#: Points whose v is formed anew to decide on a refresh of all, where there are more than eight
#: times as many.
PROBED = 250
#: Most points whose dual is solved as a whole, and the steps after which it is.
MAX_WHOLE_ROWS, CRAWL = 600, 200_000
#: Steps at which so few points end where nothing else ends them.
MAX_CRAWL = 10_000_000
#: Rows times the square of their columns up to which that is done for more rows of a linear kernel.
MAX_COLUMN_WORK = 2e8


def _centre(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kernel values of the features less their mean: the same dual where coefficients add up to 0,
    with more digits where features are far from 0."""
    means = K.mean(axis=0)
    centred: NDArray[np.float64] = K - means - means[:, None] + means.mean()
    return centred


@record
class KernelProblem:
    """min over w of 1/2 |w|^2 + C sum_i v_i max(0, 1 - y_i f(x_i)), of targets of max(0, |y_i -
    f(x_i)| - tube)."""

    #: (n, d), n >= 1.
    X: Csr
    #: (n,) in {-1, +1}, or of any numbers
    y: NDArray[np.float64]
    kernel: Kernel
    #: The cost of an example that weighs 1.
    C: float
    #: Largest violation of the KKT conditions.
    tolerance: float = 1e-3
    #: The largest (P - D) / P, in place of the tolerance.
    gap: float | None = None
    #: (n,) v; None for 1 each.
    weights: NDArray[np.float64] | None = None
    #: The tube of targets; None for labels.
    tube: float | None = None
    #: Kernel values (N, N) of a set, and the places (n,) of the rows of X in it; float64 for up to
    #: EXACT_POINTS rows of X, else float32.
    shared: tuple[NDArray, NDArray[np.int64]] | None = None
    #: Whether these values are the kernel, and X has only a number of rows.
    given: bool = False

    @classmethod
    def of(cls, risk: Any, X: Csr, kernel: Kernel, C: float, **how: Any) -> KernelProblem:
        """Return the problem of a SignedRisk, of labels, or a LossRisk, of targets."""
        signed = hasattr(risk, "signs")  # isinstance asks a Protocol's base at length
        y, tube = (risk.signs, None) if signed else (risk.targets, risk.tube)
        y = np.ascontiguousarray(y, np.float64)
        return cls(X, y, kernel, C, weights=risk.weights, tube=tube, **how)

    def losses(self, r: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the losses of some rows, where y - f = r."""
        return np.maximum(0.0, y * r if self.tube is None else np.abs(r) - self.tube)

    def risk(self, r: NDArray[np.float64]) -> float:
        """Return sum v loss where y - f = r."""
        losses = self.losses(r, self.y)
        return float((losses if self.weights is None else self.weights * losses).sum())

    def dual(self, beta: NDArray[np.float64], v: NDArray[np.float64]) -> float:
        """Return D where v = y - K beta."""
        value = 0.5 * float(np.add.reduce(beta * (self.y + v)))
        return value - self.tube * float(np.abs(beta).sum()) if self.tube else value

    def best(self, K: Any, free_bias: bool) -> NDArray[np.float64] | None:
        """Return beta of the greatest D, as near as rounding allows; None where only 0 has sum
        0. K is (n, n), or (n, d) rows whose products it is."""
        from svmcut.qp.box import maximise_in_box, signed_values

        top = np.array(np.broadcast_to(boxes(self.C, self.weights), len(self.y)))
        if self.tube is None:
            signs, r = np.sign(self.y), np.ones(len(self.y))
        else:  # a rise and a fall of each row
            signs = np.repeat([1.0, -1.0], len(self.y))
            r, top = signs * np.tile(self.y, 2) - self.tube, np.tile(top, 2)
            K = np.tile(K, (2, 2 if K.shape[0] == K.shape[1] else 1))
        if free_bias and abs(signs.sum()) == len(signs):
            return None
        x = maximise_in_box(signed_values(K, signs), r, top, signs if free_bias else None)
        beta, n = signs * x, len(self.y)
        return beta if self.tube is None else beta[:n] + beta[n:]

    def unit(self, free_bias: bool) -> float:
        """Return the size of a violation at beta = 0: 1 for labels; for targets their spread, or
        their size without a bias."""
        if self.tube is None:
            return 1.0
        return float(np.std(self.y) if free_bias else np.sqrt(np.mean(np.square(self.y))))


def residual(problem: Any, beta: NDArray[np.float64], threads: int) -> NDArray[np.float64]:
    """Return v = y - K beta of a KernelProblem or NuProblem, with the float64 values of a run
    where points are few."""
    points = np.flatnonzero(beta)
    if problem.shared is not None:
        values, places = problem.shared
        product: NDArray[np.float64] = values[places[points]][:, places].T @ beta[points]
        return problem.y - product
    rows, exact = KernelRows(problem.X, problem.kernel, threads), len(beta) <= EXACT_POINTS
    return problem.y - rows.accumulate_foreign(problem.X.take(points), beta[points], exact=exact)


def has_few_columns(problem: Any) -> bool:
    """Return whether K of a KernelProblem or NuProblem is a product of rows of few columns."""
    n, d = problem.X.n_rows, problem.X.n_features
    return not problem.given and problem.kernel.is_linear and n * d * d <= MAX_COLUMN_WORK


def values(problem: Any, threads: int) -> NDArray[np.float64]:
    """Return K of a KernelProblem or NuProblem, (n, n) float64."""
    if problem.shared is not None:
        places = problem.shared[1]
        known: NDArray = problem.shared[0][np.ix_(places, places)]
        return known.astype(np.float64)
    return KernelRows(problem.X, problem.kernel, threads).gram(exact=True)


class SmoRun(Run):
    """A step now and then, the last where the stopping rule is met or rounding forbids progress.

    While points are put aside, the primal value is the best one that was certified before.
    """

    def __init__(self, solver: Smo, problem: KernelProblem, start: Start | None):
        super().__init__(solver, problem, start)
        last: Any = start and start.run
        own = last and last._problem
        if own is not None and own.X is problem.X and own.kernel == problem.kernel:
            self._native = last._native
            self._native.rescale(problem.C)
        else:
            self._native = solver.native(problem, solver.cache_mb)
        run = self._native
        self._first, self._due, self._peek = run.iterations, 0, FIRST_PEEK
        self._trusted = max(TRUSTED, TRUSTED_PER_POINT * len(problem.y))
        self._hasty = max(HASTY, HASTY_PER_POINT * len(problem.y))
        self._held, self._claimed, self._borne = self._hasty, 0.0, -np.inf
        self._primal = problem.C * problem.risk(problem.y)
        self._unit = problem.unit(solver.free_bias)
        self._tolerance = problem.tolerance if problem.gap is None else 0.1 * self._unit
        self._least, self._futile, self._is_vain = np.inf, 0, False
        self._stepping = self._refreshing = 0.0

    def form(self) -> Form:
        counts = dict.fromkeys(("_first", "_due", "_peek", "_futile", "_held"), schemas.COUNT)
        infinite = "_primal", "_least", "_claimed", "_borne"
        reals = dict.fromkeys(infinite, schemas.real(infinite=True))
        return {"_native": OWN, "_tolerance": schemas.real(0)} | counts | reals

    def restore(self, state: State) -> None:
        super().restore(state)
        schemas.checked(state, schemas.fields(first=schemas.count(0, self._native.iterations)))

    def __iter__(self) -> Iterator[Progress]:
        self._began, run = time.perf_counter(), self._native
        if self._resumed:
            yield self._progress()._replace(report=self._is_look_due())
        while True:
            done = run.iterations - self._first
            if done >= self._due:
                self._due = done + max(min(1000, done), 128, done // 20)  # for a curve
            steps = self._due - done
            if self._solver.max_steps is not None:
                steps = max(1, min(steps, self._solver.max_steps - done))
            began = time.perf_counter()
            finished = run.run(self._tolerance, steps, self._solver.seconds_between)
            self._stepping += time.perf_counter() - began
            self._peek_whole()
            progress = self._progress()
            crawled = not finished and self._has_crawled
            if not (finished or crawled or self._is_disproved()):
                yield progress._replace(report=self._is_look_due())
                continue
            if not finished:
                progress = self._refresh()
                self._judge(progress)
            elif self._is_met(progress):
                if self._has_many_points:
                    standing = self._standing()
                    if self._is_met(standing) and self._is_exact_enough(standing):
                        yield standing
                        return
                progress = self._refresh()
                self._judge(progress)
            elif self._tolerance <= 4e-10 * self._unit:
                progress, self._futile = self._refresh(), FUTILE
            over = crawled or self._futile >= FUTILE or self._is_met(progress)
            if self._futile >= FUTILE and not self._is_met(progress):
                progress = self._solve_whole() or progress
            if finished and not over:
                self._tolerance /= 4
            yield progress
            if over:
                return

    @property
    def _has_crawled(self) -> bool:
        """True where few points took so many steps that only rounding can be left of them."""
        done = self._native.iterations - self._first
        return len(self._problem.y) <= MAX_WHOLE_ROWS and done >= MAX_CRAWL

    def is_met(self) -> bool:
        """Tell whether the rule is met, of a run that is over."""
        return self._is_met(self._standing())

    def _is_met(self, progress: Progress) -> bool:
        """Tell whether the rule is met at the present v, every point being active."""
        problem = self._problem
        if problem.gap is None:
            return self.violation() <= problem.tolerance
        return progress.gap <= problem.gap * abs(
            progress.primal
        )  # below 0 where the kernel is not definite

    @property
    def _has_many_points(self) -> bool:
        """True where probing the error of some points is cheaper than forming all anew."""
        return len(self._problem.y) > 8 * PROBED

    def _is_exact_enough(self, progress: Progress) -> bool:
        """Tell whether the rounding of float32 rows cannot matter: eight times the error that some
        points show is within the rule."""
        problem = self._problem
        largest, error = self._probe_error()
        if problem.gap is not None:
            return progress.gap + error <= problem.gap * abs(progress.primal)
        return 4 * largest <= problem.tolerance and error <= 1e-3 * abs(progress.primal)

    def _is_error_small(self, progress: Progress) -> bool:
        return self._probe_error()[1] <= 0.1 * progress.gap

    def _probe_error(self) -> tuple[float, float]:
        """Return the largest error of v at some points, and eight times its effect on the primal;
        inf for few points."""
        run, problem = self._native, self._problem
        if not self._has_many_points:
            return np.inf, np.inf
        began = time.perf_counter()
        b, rho = self._edges()
        largest, total = run.probe(b, PROBED, rho)
        self._refreshing += time.perf_counter() - began
        return largest, 8 * problem.C * total

    def _judge(self, progress: Progress) -> None:
        """Count the refreshes that brought the rule no nearer."""
        rest = (
            self.violation()
            if self._problem.gap is None
            else progress.gap / max(abs(progress.primal), 1e-300)
        )
        self._futile = 0 if rest < 0.9 * self._least else self._futile + 1
        self._least = min(self._least, rest)

    def _refresh(self) -> Progress:
        """Form v anew; return primal and dual of its solution."""
        began = time.perf_counter()
        self._native.refresh(*self._edges())
        self._refreshing += time.perf_counter() - began
        return self._standing()

    def _standing(self) -> Progress:
        """Return primal and dual of the present solution, not the best so far, at the present v;
        every point is active."""
        run, problem = self._native, self._problem
        self._primal = np.inf
        progress = self._progress()
        beta, v = run.solution()
        dual = problem.dual(beta, v)
        return progress._replace(dual=dual, gap=progress.primal - dual)

    def _edges(self) -> tuple[float, float]:
        """Return the bias, and rho of a nu machine: the places where losses begin."""
        return self.expansion().b, 0.0

    def _is_look_due(self) -> bool:
        """Tell whether the steps up to the next look are done, not only the time."""
        most = self._solver.max_steps
        return self._native.iterations - self._first >= (
            self._due if most is None else min(self._due, most)
        )

    def _peek_whole(self) -> None:
        """Certify the primal now and then in a long run with points put aside, in a copy that
        changes nothing: their losses are unknown, and the gap would seem to stand still."""
        run, problem = self._native, self._problem
        done = run.iterations - self._first
        if done < self._peek or not self._is_look_due():
            return
        self._peek = 2 * done
        if run.active == len(problem.y):
            return
        copy = self._solver.native(problem, 1.0)
        copy.restore(run.state())
        copy.make_whole()
        self._native = copy
        self._progress()
        self._native = run

    def _is_disproved(self) -> bool:
        """Tell whether a v formed anew, in a copy that changes nothing, confirms no more than half
        of the gains that the steps since the last such check claim: rounding chose them, and would
        do so for ever."""
        run, problem = self._native, self._problem
        done = run.iterations - self._first
        if done < self._held or not self._is_look_due():
            return False
        if self._is_hopeless():
            self._held = done + self._hasty
            self._solve_whole()
            return True
        if self._held < self._trusted:
            self._held = self._trusted
            return False
        if done >= CRAWL and self._solve_whole() is not None:
            self._held = done + self._trusted
            return True
        primal, self._native = self._primal, self._solver.native(problem, 1.0)
        self._native.restore(run.state())
        self._native.make_whole()
        borne = self._refresh().dual
        self._primal, self._native = min(primal, self._primal), run
        lost = borne - self._borne <= 0.5 * (run.dual - self._claimed)
        self._held = done + (self._trusted if lost else done)
        self._claimed, self._borne = borne if lost else run.dual, borne
        return lost

    def _is_hopeless(self) -> bool:
        """Tell whether steps gain nothing beside the primal, as with huge kernel values, which make
        them short, and rounding would hide what many more of them gain."""
        problem = self._problem
        is_nothing = 0 <= self._native.dual <= NOTHING * self._primal
        if not is_nothing or problem.given or problem.kernel.row.of_distances:
            return False
        own = KernelRows(problem.X, problem.kernel, self._solver.threads).diagonal
        most = float(np.max(boxes(problem.C, problem.weights)) * own.max())
        return 2.0**-53 * most > ROUGH * self._unit

    def _solve_whole(self) -> Progress | None:
        """Solve the dual of few points as a whole and go on from there, unless the present gap is
        smaller; None where it is not solved."""
        run, problem = self._native, self._problem
        few = len(problem.y) <= MAX_WHOLE_ROWS and (problem.given or problem.kernel.is_definite)
        is_narrow = not few and has_few_columns(problem)
        if self._is_vain or not (few or is_narrow):
            return None
        run.make_whole()
        before, state = self._refresh(), run.state()
        began = time.perf_counter()
        if is_narrow:
            K: Any = problem.X.to_dense().astype(np.float64)
        else:
            K = values(problem, self._solver.threads)
        free, beta = self._solver.free_bias, None
        if np.isfinite(K).all():
            beta = problem.best(K if is_narrow or not free else _centre(K), free)
        if beta is not None:
            known = 0 if problem.shared or is_narrow else K.size
            counts = run.iterations, run.evaluations + known
            v = problem.y - (K @ (K.T @ beta) if is_narrow else K @ beta)
            run.restore(self._solver.native_state(problem, beta, v, counts))
            run.make_whole()
            if not self._standing().gap < before.gap:
                self._is_vain = True
                run.restore(state)
                run.make_whole()
        self._stepping += time.perf_counter() - began
        return None if beta is None else self._standing()

    def settle(self) -> Progress:
        """Return the exact primal and dual of the solution of a stopped run, of all points."""
        self._native.make_whole()
        standing = self._standing()
        return standing if self._is_error_small(standing) else self._refresh()

    def time_parts(self) -> None:
        """Count the seconds of the parts of steps from here on."""
        self._native.time()

    def seconds_of_parts(self) -> dict[str, float]:
        """Return the seconds of kernel values, selection, steps, updates of v and refreshes;
        `steps` has all of the compiled side."""
        names = "kernel", "select", "optimizer", "update"
        parts = dict(zip(names, self._native.spent.tolist(), strict=True))
        return {**parts, "final": self._refreshing, "steps": self._stepping}

    @property
    def iterations(self) -> int:
        """Steps of this run and of those before it in its memory."""
        return self._native.iterations

    @property
    def dual(self) -> float:
        """The dual value of the present solution."""
        return self._native.dual

    def violation(self) -> float:
        """Return the violation of the KKT conditions; exact where every point is active."""
        run = self._native
        return max(0.0, run.highest - run.lowest) / (1 if self._solver.free_bias else 2)

    def _progress(self) -> Progress:
        run, problem = self._native, self._problem
        risk = 0.0
        if run.active == len(problem.y):
            beta, v = run.solution()
            squared = float(np.add.reduce(beta * (problem.y - v)))  # as the compiled loop sums
            risk = problem.risk(v - self._bias(beta, v))
            self._primal = min(self._primal, 0.5 * squared + problem.C * risk)
        passes = run.evaluations / len(problem.y) ** 2
        state = run.iterations - self._first, passes, self._primal, run.dual, self.expansion
        return Progress.since(self._began, *state, 0, run.support, risk, risk, run.evaluations)

    def expansion(self) -> Solution:
        """Return the present solution."""
        beta, v = self._native.solution()
        return Solution(beta, self._bias(beta, v))

    def scores(self) -> NDArray[np.float64]:
        """Return f at the points, (n,); exact where every point is active."""
        beta, v = self._native.solution()
        return self._problem.y - v + self._bias(beta, v)

    def _middle(self, v) -> float:
        """Return the b of the least loss of targets, where y - w.phi(x) = v."""
        problem = self._problem
        edges = np.concatenate([v - problem.tube, v + problem.tube])
        if problem.weights is None:
            return float(np.median(edges))
        order = np.argsort(edges, kind="stable")
        mass = np.cumsum(np.concatenate([problem.weights, problem.weights])[order])
        return float(edges[order[np.searchsorted(mass, 0.5 * mass[-1])]])

    def _bias(self, beta, v) -> float:
        if not self._solver.free_bias:
            return 0.0
        run, problem = self._native, self._problem
        if problem.tube is not None:
            return self._middle(v)
        size = np.abs(beta)
        between = (size > 0) & (size < boxes(problem.C, problem.weights))
        inside = v[between]
        if len(inside):
            return float(np.add.reduce(inside) / len(inside))  # the mean, in half its time
        ends = [end for end in (run.highest, run.lowest) if np.isfinite(end)]
        return float(sum(ends) / len(ends)) if ends else 0.0


@record
class Smo(Solver):
    """SMO with shrinking and a row cache; C++ takes the steps, Python looks at them now and
    then."""

    run = SmoRun
    patience: ClassVar[int | None] = 1_000_000
    free_bias: bool = True
    #: Megabytes of kernel rows kept.
    cache_mb: float = 40.0
    #: Threads, which change no byte of the result.
    threads: int = 1
    #: The most steps of a run.
    max_steps: int | None = None
    #: Seconds after which a step reports that time has passed.
    seconds_between: float = 0.5

    def state_at(self, problem: KernelProblem, beta: NDArray[np.float64]) -> State:
        """Return the state of a run that begins at these coefficients, in their boxes and of sum 0
        where b is free; at 0 where their scores are beyond single precision."""
        n, v = len(beta), residual(problem, beta, self.threads)
        if not np.isfinite(v).all():
            beta, v = np.zeros(n), np.array(problem.y, np.float64)
        native = self.native(problem, 1.0)
        native.restore(self.native_state(problem, beta, v))
        native.make_whole()
        state = {"native": native.state(), "tolerance": problem.tolerance, "peek": FIRST_PEEK}
        state |= {"held": max(HASTY, HASTY_PER_POINT * n), "claimed": 0.0, "borne": -np.inf}
        state |= dict.fromkeys(("primal", "least"), np.inf)
        return state | dict.fromkeys(("first", "due", "futile"), 0)

    @staticmethod
    def native_state(
        problem: KernelProblem,
        beta: NDArray[np.float64],
        v: NDArray[np.float64],
        counts: tuple[int, int] = (0, 0),
    ) -> State:
        """Return the compiled side's state at beta and v, after so many steps and kernel values;
        make_whole must follow before a step."""
        n, dual = len(beta), problem.dual(beta, v)
        integers = np.concatenate([[n, *counts, min(n, 1000), 0, -1], np.arange(n)])
        reals = np.concatenate([[problem.C, dual, 0.0, 0.0, 0.0], v, beta, v, beta])
        return {"integers": integers.astype(np.int64), "reals": reals}

    def native(self, problem: Any, cache_mb: float) -> NativeSmo:
        """Return the compiled side of a run."""
        return self.make_native(problem, problem.y, self.free_bias, cache_mb, tube=problem.tube)

    def make_native(
        self, problem: Any, signs: NDArray, free_bias: bool, cache_mb: float, **more: Any
    ) -> NativeSmo:
        """Return a compiled side of rows on these sides."""
        shared, places = problem.shared or (None, None)
        return NativeSmo(
            problem.X,
            signs,
            problem.kernel,
            problem.C,
            free_bias,
            cache_mb,
            self.threads,
            weights=problem.weights,
            shared=shared,
            places=places,
            given=problem.given,
            **more,
        )
