# SPDX-License-Identifier: BSD-3-Clause
"""Training on a budget of B centres: steps of O(B), and a look now and then, whose best function is
the result.

    f = sum_k beta_k K(z_k, .),  at most B centres z, which need not be training points

Both kinds of steps are below. When a step leaves a centre too many, the one with the least
|beta_k| sqrt(K(z_k, z_k)) goes:

    merge    the rbf kernel's: with the centre of the same sign that loses least it becomes one
             between them, z = h z_a + (1 - h) z_j; losses by a table (csrc/budget/merge_table.cc),
             h by Newton's method
    project  on the span of the other centres, with the Cholesky factor of their Gram matrix, O(B^2)
    remove   O(B)

Neither kind of step converges on a budget: the last f is often worse by points than one a little
earlier. So f is judged a few times an epoch, by its primal value on a sample of the rows or by its
error on rows held out (for targets the mean |y - f|), and the best is kept. Steps are sequential;
the result has the same bytes for any number of threads.

References
----------
Wang, Crammer and Vucetic, Breaking the curse of kernelization, JMLR 13, 2012 (the three ways,
merging in Section 4.3).

Budgeted stochastic coordinate ascent.

    problem      min_f  1/2 |f|^2 + sum_i C_i max(0, 1 - y_i f(x_i)),  without bias;  C_i = C v_i, C
                 without weights
    dual         max    sum_i alpha_i - 1/2 |sum_i alpha_i y_i K(x_i, .)|^2,   0 <= alpha_i <= C_i
    update       alpha_i <- clip(alpha_i + (1 - y_i f(x_i)) / K(x_i, x_i), 0, C_i); the change times
                 y_i K(x_i, .) joins f, which is cut back to B centres; alpha is not
    certificate  while nothing has been cut back, sum alpha - 1/2 |f|^2 is a lower bound; later none

Of targets y the losses are max(0, |y_i - f(x_i)| - tube), alpha = beta lies between -C_i and C_i,
the dual is sum beta_i y_i - tube |beta_i| - 1/2 |f|^2, and a step the exact one of that (Ho and
Lin, JMLR 2012, Algorithm 4).

Qaadan, Schueler and Glasmachers, Dual SVM training on a budget, 2018, Algorithm 1. Without a budget
the steps that move f tend to the part of the alphas strictly between 0 and C (Lemma 2).

Deviations from the paper: the order is a new shuffle every epoch by default; a row that is a centre
still gets no second one; merging filters by the sign of beta, not by the label, from which a
falling alpha differs; the result is that of the best look.

Budgeted stochastic gradient descent.

    problem      min_f  1/2 |f|^2 + C sum_i v_i max(0, 1 - y_i f(x_i)),  without bias
    update       f <- (1 - 1/t) f, and + (V C / t) y_i K(x_i, .) where y_i f(x_i) < 1; f is cut back
                 to B centres
    certificate  none

Of targets y the losses are max(0, |y_i - f(x_i)| - tube), and beyond the tube the sign of y_i -
f(x_i) stands for y_i.

Wang, Crammer and Vucetic, JMLR 13, 2012: Pegasos with a budget, lambda = 1 / (V C), V = sum v_i; V
= n without weights. Without a budget the steps that add to f tend to the mean of alpha / C (Qaadan,
Schueler, Glasmachers, 2018, Lemma 2).

Deviations from the paper: the order is a new shuffle every epoch by default, with a row as often as
its weight says; a row that is a centre still gets no second one; no projection on a ball; the
result is that of the best look.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut._native.budget import Budget
from svmcut.base.records import record
from svmcut.base.typing import Any, ClassVar, NamedTuple
from svmcut.risks.weights import total
from svmcut.solvers.protocol import Progress, Run, Solver, Start
from svmcut.solvers.smo import KernelProblem
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form, State

#: Rows by which f is judged, and looks an epoch where they cost little against the steps.
SAMPLE, LOOKS = 4096, 4
#: The values that a look computes.
VALUES = ("sampled_primal", "held_out_error", "model_dual")


class Centres(NamedTuple):
    """f(x) = sum_k beta_k K(z_k, x): (m, d) float32 centres, (m,) float64 coefficients with their
    signs."""

    Z: NDArray[np.float32]
    beta: NDArray[np.float64]


class BudgetedRun(Run):
    """A step at every look, and when some time has passed; ends after the epochs.

    `looked` is False where the last Progress only reports that time has passed.
    """

    def __init__(self, solver: BudgetedSolver, problem: KernelProblem, start: Start | None):
        super().__init__(solver, problem, start)
        n, rng = len(problem.y), np.random.default_rng(solver.seed)
        self._judges = self._judge_weights = None
        X, y, v = problem.X, problem.y, problem.weights
        held = min(n - 1, int(solver.hold_out * n))
        if held:
            order = rng.permutation(n)
            kept, self._judges = np.sort(order[held:]), np.sort(order[:held])
            X, y = problem.X.take(kept), np.ascontiguousarray(problem.y[kept])
            if v is not None:
                v, self._judge_weights = v[kept], v[self._judges]
        self._rows = X
        self._sample = np.sort(rng.choice(len(y), min(len(y), SAMPLE), replace=False))
        self._run = Budget(
            X,
            y,
            problem.kernel,
            problem.C,
            solver.budget,
            solver.dual,
            solver.maintenance,
            solver.sampling,
            solver.seed,
            solver.append,
            solver.threads,
            weights=v,
            tube=problem.tube,
        )
        self._y, self._spent, self.looked = y, 0.0, False
        self._values: dict[str, float] = {}
        self._best: Centres | None = None
        self._total, self._weights = total(v, len(y)), None if v is None else v[self._sample]
        self._score, self._primal = (math.inf, math.inf), problem.C * problem.risk(problem.y)

    def form(self) -> Form:
        number = schemas.real(0, infinite=True)
        score, values = schemas.row(number, number), dict.fromkeys(VALUES, schemas.REAL)
        known = {"_score": score, "_primal": number, "_spent": schemas.REAL}
        return {"_run": OWN, "_values": schemas.some(**values)} | known

    def state(self) -> State:
        return super().state() | {"best": tuple(self.solution())}

    def restore(self, state: State) -> None:
        super().restore(state)
        Z = schemas.array(np.float32, None, self._problem.X.n_features)
        schemas.checked(state, schemas.fields(best=schemas.row(Z, schemas.reals(None))))
        self._best = best = Centres(*state["best"])
        schemas.require(len(best.Z) == len(best.beta), "best", "a beta a centre")

    def __iter__(self) -> Iterator[Progress]:
        solver, run, y = self._solver, self._run, self._y
        began, spent = time.perf_counter(), self._spent
        looks = max(1, min(LOOKS, len(y) // (2 * len(self._sample))))
        last = math.ceil(solver.epochs * len(y)) if solver.max_steps is None else solver.max_steps
        last = max(1, min(last, math.ceil(solver.epochs * len(y))))
        done = run.counts()["steps"]
        if done >= last:  # a finished run reports its end once more
            self.looked = True
            yield self._progress()
        while done < last:
            epoch, place = divmod(done, len(y))
            j = place * looks // len(y) + 1
            while len(y) * j // looks <= place:
                j += 1
            target = min(last, epoch * len(y) + len(y) * j // looks)
            run.run(target - done, solver.seconds_between)
            done = run.counts()["steps"]
            self.looked = done == target
            if self.looked:
                self._look()
            self._spent = spent + time.perf_counter() - began
            yield self._progress()

    def solution(self) -> Centres:
        """Return the best f so far; before the first look, the present one."""
        return self._best or self.present()

    def present(self) -> Centres:
        """Return the present f."""
        return Centres(*self._run.expansion())

    def counts(self) -> dict[str, Any]:
        """Count visits, those that moved f, centres merged or dropped, and kernel values."""
        return self._run.counts()

    def criteria(self) -> dict[str, float]:
        """Return the values by which the best f was chosen."""
        names = ("held_out_error",) * (self._judges is not None) + ("sampled_primal",)
        return dict(zip(names, self._score[-len(names) :], strict=True))

    def alpha(self) -> NDArray[np.float64] | None:
        """Return alpha of every row, (n,), 0 where held out; None where steps have no alpha."""
        if not self._solver.dual:
            return None
        held = self._run.state()["alpha"].astype(np.float64)
        if self._judges is None:
            return held
        alpha = np.zeros(len(self._problem.y))
        alpha[np.setdiff1d(np.arange(len(alpha)), self._judges)] = held
        return alpha

    def _look(self) -> None:
        """Judge the present f, and keep it where it is the best."""
        run, problem, y = self._run, self._problem, self._y[self._sample]
        squared = run.squared_norm()
        losses = problem.losses(y - run.scores(self._rows, self._sample), y)
        mean = float(np.average(losses, weights=self._weights))
        primal = 0.5 * squared + problem.C * self._total * mean
        self._values = {"sampled_primal": primal}
        error = 0.0
        if self._judges is not None:
            f, y = run.scores(problem.X, self._judges), problem.y[self._judges]
            wrong = 100.0 * ((f > 0) != (y > 0)) if problem.tube is None else np.abs(y - f)
            error = float(np.average(wrong, weights=self._judge_weights))
            self._values["held_out_error"] = error
        if self._solver.dual:
            self._values["model_dual"] = run.counts()["sum_alpha"] - 0.5 * squared
        if self._best is None or (error, primal) < self._score:
            self._best, self._score, self._primal = self.present(), (error, primal), primal

    def _progress(self) -> Progress:
        counts, n = self._run.counts(), len(self._y)
        # until a centre is given up, f is that of alpha
        dual = self._values.get("model_dual", math.nan) if not counts["maintained"] else math.nan
        extra = {
            **self._values,
            "merged": counts["maintained"] - counts["removed"],
            "dropped": counts["removed"],
            "moves": counts["moves"],
        }
        if self._solver.maintenance == "project":
            extra["projected"] = extra.pop("merged")
        state = counts["steps"], counts["steps"] / n, self._primal, dual, self._primal - dual
        numbers: Any = {"support": counts["centres"], "evaluations": counts["evaluations"]}
        numbers |= {"extra": extra, "report": self.looked}
        return Progress(*state, self._spent, self.solution, **numbers)


@record
class BudgetedSolver(Solver):
    """The parameters of both kinds of steps."""

    run = BudgetedRun
    patience: ClassVar[int | None] = None
    dual: ClassVar[bool] = True
    #: B, the largest number of centres.
    budget: int = 500
    #: Visits in units of the rows.
    epochs: float = 10
    #: One of "merge", "project", "remove".
    maintenance: str = "merge"
    #: One of "shuffled", "independent", "adaptive". A new order of the rows every epoch;
    #: independent draws; visits as frequent as they raise the dual (bsca).
    sampling: str = "shuffled"
    seed: int = 0
    #: Threads of looks.
    threads: int = 1
    #: Part of the rows that is not trained on and judges f.
    hold_out: float = 0.0
    #: Whether a row that is a centre already becomes another one, as in the papers.
    append: bool = False
    max_steps: int | None = None
    #: Seconds after which a step reports that time has passed.
    seconds_between: float = 0.2


class Bsca(BudgetedSolver):
    """Coordinate ascent in the dual."""


class Bsgd(BudgetedSolver):
    """Stochastic gradient steps in the primal."""

    dual = False
