# SPDX-License-Identifier: BSD-3-Clause
"""Training of classes on kernel values: a machine of two for every pair of classes, or for each
against the rest.

Machines are trained one after the other by the plan of two classes that the solver has; their
certificates add up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from svmcut._native.kernels import KernelRows
from svmcut._native.smo import EXACT_POINTS
from svmcut.base.records import replace
from svmcut.base.resources import describe_shortage
from svmcut.base.typing import Any
from svmcut.data.examples import Csr, Examples
from svmcut.data.precomputed import point_rows, serial_columns
from svmcut.models import KernelModel, KernelMulticlassModel, pairs_of
from svmcut.risks import make_risk
from svmcut.risks.weights import total
from svmcut.solvers.compose import OneOfMany, Others
from svmcut.solvers.protocol import Progress, StoppingRule, constant
from svmcut.solvers.smo_machines import MachinesProblem, SmoMachines, form_of_machines
from svmcut.spec import schemas
from svmcut.spec.catalog import MULTICLASS, PLANS, SOLVERS, SUBSPACE, TASKS, load
from svmcut.spec.parameters import DEFAULTS, Settings
from svmcut.training.checks import check_nu, checked_weights, class_warnings
from svmcut.training.compiled_machines import (
    CompiledMachines,
    Machine,
    is_compiled,
    rows_of_machines,
)
from svmcut.training.driver import Ended, Plan, Stage
from svmcut.training.gate import judge_composite, primal_of_file
from svmcut.training.kernel_plan import kernel_warnings
from svmcut.training.outcome import PERCENT, Objective, Outcome, class_units
from svmcut.training.settings import kernel_of
from svmcut.training.shared_vectors import in_own_columns, part_of_machines, unite_rows

#: Nonzeros of a row from which the values of all rows serve pairs better than rows of their own: a
#: value of two classes is one machine's alone, so that sharing halves their number and costs the
#: memory of all.
WIDE = 100
#: How solvers run that are cutting planes from the start.
CUTS = SOLVERS[SUBSPACE].plan
#: The stage of the compiled loop.
TOGETHER = "machines"


class MachinesPlan(Plan):
    """The stages of every machine in turn; a run that is stopped leaves the machines it did not
    come to at w = 0.

    Machines of few rows are trained in one stage before, by the compiled loop, which may leave some
    of them. What a stage leaves to the next is what that loop found, the outcomes of the other
    machines that are done, and what the stages of the present machine leave to each other.
    """

    splits = True

    def __init__(self, examples: Examples, settings: Settings):
        self._examples, s = examples.validate(), settings
        self.names, self._y = np.unique(self._examples.y, return_inverse=True)
        self._X, self._columns = (
            (self._examples.X, None) if s.is_given else self._examples.X.compact()
        )
        self._weights, K = checked_weights(examples), len(self.names)
        self._paired = s.multiclass == MULTICLASS[2] and K > 1
        self._machines: list[tuple[int, int | None]] = (
            [*pairs_of(K)] if self._paired else [(k, None) for k in range(K)]
        )
        self._plan: Any = None
        self._at = -1
        self._values: NDArray | None = None
        self._spanned: Any = None
        self._own, self._own_of = settings, tuple[Any, ...]()
        self._evaluations = 0
        sizes = np.bincount(self._y)
        self._largest = int(np.sort(sizes)[-2:].sum()) if self._paired else len(self._y)
        self._loss = None if s.loss == TASKS[s.task].loss else s.loss
        path = examples.source.path
        n = len(examples)
        units = class_units(
            s.loss or "",
            s.epsilon or 0.0,
            total(self._weights, n),
            n,
            1.0 if self._loss else PERCENT,
        )
        super().__init__(
            s,
            path,
            units,
            class_warnings(path, len(self._y), self.names) + kernel_warnings(kernel_of(s)),
        )
        v = np.ones(len(examples)) if self._weights is None else self._weights
        V = np.bincount(self._y, v, K)
        #: sums of weights of the machines
        self._totals = [
            float(V.sum() if other is None else V[k] + V[other]) for k, other in self._machines
        ]
        loss = make_risk(s).bind(np.ones(1), None, None, 1)
        self._is_compiled = is_compiled(s, loss, self._largest)
        at_zero = 0.0 if s.is_nu else float(loss.linearize(np.zeros(1)).value)
        #: losses of the machines at w = 0
        self._at_zero = [weight * at_zero for weight in self._totals]
        self._set_compiled(None)
        self._total = sum(self._totals)
        if s.is_nu:
            self._check_nu(V)

    def _check_nu(self, V: NDArray) -> None:
        for k, other in self._machines:
            minus = float(V.sum() - V[k] if other is None else V[other])
            names = f"{self.names[k]:g}", "the rest" if other is None else f"{self.names[other]:g}"
            check_nu(self.path, self.settings.nu or 0.0, float(V[k]), minus, *names)

    def stop(self, objective: Objective) -> StoppingRule:
        """The rule for the sums."""
        by_conditions = SOLVERS[self.settings.solver].by_conditions
        return StoppingRule(
            math.nan if by_conditions else objective.c * objective.epsilon, self.settings.gap
        )

    def check_found(self, handed: Any) -> None:
        if handed is None:
            return
        most = len(self._machines) - 1
        known = schemas.instance(Outcome, model=schemas.instance(KernelModel))
        schemas.checked(
            handed,
            schemas.fields(
                done=schemas.many(known, most=most),
                machine=schemas.anything,
                compiled=schemas.anything,
            ),
            "found",
        )
        if handed["compiled"] is not None:
            schemas.require(self._is_compiled, "compiled", "nothing")
            _, entries, _ = self._entries
            form = form_of_machines(len(self._machines), len(entries))
            left = schemas.rows(len(self._machines))
            schemas.checked(handed["compiled"], schemas.fields(left=left, **form), "compiled")
            self._queue = handed["compiled"]["left"].tolist()
        schemas.require(len(handed["done"]) < len(self._queue), "done", "fewer machines")
        for outcome in handed["done"]:
            outcome.validate().model.validate(self._examples.X.n_features)
        self._begin(len(handed["done"]), handed["done"])
        self._plan.check_found(handed["machine"])

    def pieces(self, objective: Objective) -> int:
        """The number of machines; see svmcut.training.pieces.Splits."""
        return len(self._machines)

    def piece(self, objective: Objective, k: int) -> tuple[Plan, tuple[None, float]]:
        """The plan of a machine."""
        self._begin(k, ())
        return self._plan, (None, objective.C)

    def check_piece(self, objective: Objective, k: int, outcome: Outcome) -> None:
        schemas.require(isinstance(outcome.model, KernelModel), "model", "one of a kernel")
        outcome.model.validate(self._examples.X.n_features)

    def sums(self, objective: Objective, done: Mapping[int, Outcome]) -> Progress:
        """The sums over the machines that are trained, and the others at w = 0."""
        o = self._sum([done[k] for k in sorted(done)])
        missing = [loss for k, loss in enumerate(self._at_zero) if k not in done]
        primal = o.primal + objective.C * sum(missing)
        left, risk = primal - o.dual, o.risk + sum(missing[1:])
        counts: dict[str, Any] = {"cuts": o.cuts, "support": o.support, "risk": risk}
        counts["evaluations"] = o.evaluations + self._evaluations
        return Progress(o.iteration, o.passes, primal, o.dual, left, 0.0, constant(None), **counts)

    def whole(self, objective: Objective, done: Mapping[int, Outcome], ended: Ended) -> Outcome:
        """The machines up to the first that is missing."""
        most = len(self._machines)
        count = next((k for k in range(most) if k not in done), most)
        return self._outcome(objective, [done[k] for k in range(count)], ended)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        self._objective = objective
        if handed is None:
            self._set_compiled(None)
            if self._is_compiled:
                return self._stage_together(objective)
        elif handed["compiled"] is not None and self._compiled is None:
            problem, known = self._problem_together(objective), handed["compiled"]
            self._set_compiled(CompiledMachines.restore(problem, known, self.settings))
        done, inner = (handed["done"], handed["machine"]) if handed else ([], None)
        if inner is None or self._at != len(done):
            self._begin(len(done), done)
        self._aim = self._plan.units.objective(None, objective.C)
        self._stage = stage = self._plan.next(self._aim, inner)
        solver = OneOfMany(stage.solver, self._others(objective, done))
        return Stage(stage.name, solver, stage.problem, objective, start=stage.start)

    def finish(
        self, objective: Objective, handed: dict[str, Any] | None, ended: Ended
    ) -> dict[str, Any] | Outcome:
        if ended.stage.name == TOGETHER:
            return self._finish_together(objective, ended)
        handed = handed or {"done": [], "machine": None, "compiled": None}
        done, inner = handed["done"], handed["machine"]
        machine, stopped_by = ended.run.machine, ended.stopped_by
        if machine.last is not None:
            own_end = "rounding" if machine.idle else stopped_by
            own = Ended(self._stage, machine.run, machine.last, own_end)
            part = self._plan.finish(self._aim, inner, own)
            if not isinstance(part, Outcome):
                return handed | {"machine": part}
            done = [*done, part.portable()]
        if len(done) < len(self._queue) and stopped_by not in ("limit", "interrupt"):
            return handed | {"done": done, "machine": None}
        return self._outcome(objective, done, ended)

    def check_finite(self, primal: float) -> None:
        if self._plan is None:
            super().check_finite(primal)
        else:
            self._plan.check_finite(primal)

    def failure(self, error: Exception) -> Exception:
        return error if self._plan is None else self._plan.failure(error)

    @cached_property
    def _entries(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
        return rows_of_machines(self._y, self._machines, self._paired)

    def _problem_together(self, objective: Objective) -> MachinesProblem:
        """All machines as the compiled loop takes them."""
        s, at_zero = self.settings, objective.C * np.array(self._at_zero)
        how = objective.C, objective.epsilon, s.gap, self._weights, self._values_together()
        return MachinesProblem(self._X, kernel_of(s), *how, *self._entries, at_zero)

    def _values_together(self) -> NDArray | None:
        """Kernel values of all rows for the compiled loop and what it leaves, where they fit."""
        s, N = self.settings, len(self._y)
        need = 8e-6 * N * N
        fits = need <= s.cache_size and not describe_shortage(need, s.max_memory, least=100)
        if self._values is None and fits:
            rows = KernelRows(self._X, kernel_of(s), s.threads)
            self._values = rows.gram(True)
            self._evaluations = rows.evaluations
        return self._values

    def _stage_together(self, objective: Objective) -> Stage:
        s, problem = self.settings, self._problem_together(objective)
        how = s.cache_size, s.threads, self._evaluations, s.max_iterations
        solver = SmoMachines(bool(s.free_bias), *how)
        return Stage(TOGETHER, solver, problem, objective)

    def _finish_together(self, objective: Objective, ended: Ended) -> dict[str, Any] | Outcome:
        run = ended.run
        self._set_compiled(
            CompiledMachines.judge(ended.stage.problem, run.table, run.beta, self.settings)
        )
        if self._queue and ended.stopped_by not in ("limit", "interrupt"):
            known = run.results() | {"left": np.array(self._queue, np.int64)}
            return {"done": [], "machine": None, "compiled": known}
        return self._outcome(objective, [], ended)

    def _set_compiled(self, compiled: CompiledMachines | None) -> None:
        """Leave to the plans of machines those that the compiled loop has not trained."""
        self._compiled = compiled
        #: machines that their own plans train
        self._queue = [*range(len(self._machines))] if compiled is None else compiled.remaining
        later = [self._at_zero[j] for j in self._queue]
        #: sums of losses at w = 0 from each of these machines to the last
        self._at_zero_from = np.append(np.cumsum(later[::-1])[::-1], 0.0).tolist()
        self._sums_together = Others() if compiled is None else compiled.sum()
        #: how many machines are summed, the last of them, and their sums
        self._summed: tuple[int, Outcome | None, Others] = (0, None, self._sums_together)
        self._at = -1

    def _begin(self, at: int, done: Sequence[Outcome]) -> None:
        """The plan of a machine; done: those whose steps count, too."""
        self._at = at
        self._plan = self._plan_of(self._queue[at], done)

    def _plan_of(self, j: int, done: Sequence[Outcome]) -> Any:
        s, rows, first = self.settings, self._rows(j), self._machines[j][0]
        X = self._X.take(rows) if self._paired else self._X
        v = None if self._weights is None else self._weights[rows]
        signs = np.where(self._y[rows] == first, 1.0, -1.0)
        epsilon, most = s.epsilon or 0.0, s.max_iterations
        if not SOLVERS[
            s.solver
        ].by_conditions:  # in percent of the machine's own rows, so that the gaps add up to C e
            epsilon *= self._total**-1 * self.units.samples
        if most is not None:
            before = self._sums_together.iteration
            most = max(1, most - before - sum(outcome.progress.iteration for outcome in done))
        values, cache = self._values_for(len(rows)), s.cache_size
        if values is not None:  # what is left for rows of its own, which are shorter
            cache = max(DEFAULTS["cache_size"], cache - values.nbytes / 1e6)
        if (epsilon, most, cache) != self._own_of:
            self._own_of = epsilon, most, cache
            self._own = replace(
                s,
                task=DEFAULTS["task"],
                multiclass=None,
                epsilon=epsilon,
                max_iterations=most,
                given=None,
                cache_size=cache,
            )
        own = self._own
        plan = self._make_plan(X, signs, v, own, j, **self._spanned_for(rows, own))
        plan.shared = None if values is None else (values, rows)
        return plan

    def _rows(self, j: int) -> NDArray[np.int64]:
        """The rows that a machine is trained on."""
        first, second = self._machines[j]
        if second is None:
            return np.arange(len(self._y))
        if self._compiled is not None:
            starts, rows, _ = self._entries
            return rows[starts[j] : starts[j + 1]]
        return np.flatnonzero((self._y == first) | (self._y == second))

    def _make_plan(
        self, X: Csr, signs: NDArray, v: NDArray | None, own: Settings, j: int, **shared: Any
    ) -> Any:
        plan, serials = load(PLANS[SOLVERS[own.solver].plan]), self._examples.serials
        if serials is not None:
            serials = serials[self._rows(j)]
        examples = Examples(X, signs, None, v, self._examples.source, serials=serials)
        return plan(examples, own, **shared)

    def _spanned_for(self, rows: NDArray, own: Settings) -> dict[str, Any]:
        """One basis of all rows for the machines of a subspace, and their features of these
        rows."""
        row = SOLVERS[own.solver]
        if row.plan != CUTS or "basis" not in row.takes:
            return {}
        if self._spanned is None:
            signs = np.where(self._y == 0, 1.0, -1.0)
            whole = self._make_plan(self._X, signs, None, own, self._at)
            self._spanned = (whole.span.basis, whole.span.space.F)
            self._evaluations = whole.room.evaluations
        basis, F = self._spanned
        return {"spanned": (basis, F if len(rows) == len(F) else F[rows])}

    def _values_for(self, n: int) -> NDArray | None:
        """Kernel values of all rows for a machine of n of them, computed once; None where the cache
        is too small."""
        if self._is_compiled:
            return self._values_together()
        s, N, exact = self.settings, len(self._y), n <= EXACT_POINTS
        need = (8e-6 if exact else 4e-6) * N * N
        if s.is_given or (self._paired and self._X.nnz < WIDE * N):
            return None
        if (
            not SOLVERS[s.solver].by_conditions
            or need > s.cache_size
            or (exact and self._largest > EXACT_POINTS)
        ):
            return None
        if self._values is None and not describe_shortage(need, s.max_memory, least=100):
            rows = KernelRows(self._X, kernel_of(s), s.threads)
            self._values = rows.gram(exact)
            self._evaluations = rows.evaluations
        return self._values

    def _others(self, objective: Objective, done: Sequence[Outcome]) -> Others:
        """Return the sums over all machines but the first that is not done."""
        sums, k = self._sum(done), len(done)
        left = self._at_zero_from[min(k + 1, len(self._queue))]
        return sums._replace(
            primal=sums.primal + objective.C * left,
            risk=sums.risk + left,
            evaluations=sums.evaluations + self._evaluations,
            own=objective.C * self._at_zero[self._queue[k]] if k < len(self._queue) else 0.0,
        )

    def _sum(self, done: Sequence[Outcome]) -> Others:
        """Return the sums over the machines that are done; those of the last call go on where these
        begin with the same."""
        count, last, sums = self._summed
        if count > len(done) or (count and done[count - 1] is not last):
            count, sums = 0, self._sums_together
        for outcome in done[count:]:
            progress = outcome.progress
            sums = Others(
                sums.iteration + progress.iteration,
                sums.passes + progress.passes,
                sums.primal + outcome.primal,
                sums.dual + outcome.dual,
                sums.risk + progress.risk,
                sums.cuts + progress.cuts,
                sums.support + progress.support,
                sums.evaluations + (outcome.kernel_evaluations or 0),
            )
        self._summed = len(done), done[-1] if done else None, sums
        return sums

    def _outcome(self, objective: Objective, done: list[Outcome], ended: Ended) -> Outcome:
        """The machines as one model, with the sums of their certificates; those that are missing
        are 0."""
        others = self._others(objective, done)
        primal = others.primal + others.own
        own = {j: _machine(outcome) for j, outcome in zip(self._queue, done, strict=False)}
        compiled = self._compiled.machines() if self._compiled else {}
        machines = dict(sorted((compiled | own).items())) if compiled else own
        parts = [*machines.values()]
        model = self._model(machines)
        rewritten = any(
            part.primal_of_file is not None or part.stopped_by == "rounding" for part in parts
        )
        whole = Outcome(
            model,
            objective,
            ended.progress,
            self.settings.solver,
            math.sqrt(sum(part.norm**2 for part in parts)),
            max((part.longest_cut for part in parts), default=0.0),
            self._multipliers(machines),
            certificate=(primal, others.dual),
            kernel_evaluations=others.evaluations,
            sums=sum(part.sums for part in parts),
            primal_of_file=primal + self._change_in_file(machines, model) if rewritten else None,
            details={"machines": [self._describe_machine(*each) for each in machines.items()]},
        )
        whole.warnings = list(dict.fromkeys(text for part in parts for text in part.warnings))
        if len(parts) == len(self._machines):
            whole.radii = np.array([part.radius for part in parts])
        missing = ended.stopped_by if len(parts) < len(self._machines) else None
        some = part_of_machines(whole.model)
        return judge_composite(whole, parts, missing, some, self.settings.original)

    def _multipliers(self, machines: dict[int, Machine]) -> NDArray[np.float64]:
        """Join those of all machines, 0 for what a stopped compiled loop has not come to."""
        if self._compiled is None:
            own = [part.multipliers for part in machines.values()]
            return np.concatenate([np.zeros(0), *own])
        starts, rows, _ = self._entries
        multipliers = np.zeros(len(rows))
        for j, part in machines.items():
            multipliers[starts[j] : starts[j + 1]] = part.multipliers
        return multipliers

    def _change_in_file(self, machines: dict[int, Machine], whole: KernelMulticlassModel) -> float:
        """The change of the sum by the digits of the file, also for machines to which they matter
        little.

        Where rounding chose the steps, the sums of the coefficients of equal rows matter, too.
        """
        change, done = 0.0, list[Outcome]()
        for j, part in machines.items():
            file, outcome = part.primal_of_file, part.outcome
            own = slice(whole.starts[j], whole.starts[j + 1])
            summed = len(whole.alpha[own]) < len(part.alpha) and part.stopped_by == "rounding"
            if summed or file is None:
                plan = self._plan_of(j, done)
                if outcome is None:
                    outcome = self._outcome_of(plan, part)
                reading, model = plan.in_file(outcome), outcome.model
                if summed:
                    assert isinstance(model, KernelModel)
                    support, alpha = whole.support.take(whole.places[own]), whole.alpha[own]
                    model = replace(model, support=support, alpha=alpha, columns=None)
                    reading = reading._replace(change=math.inf, part=None)
                file = primal_of_file(model, reading)
            change += (file or 0.0) - part.primal
            done += [part.outcome] if part.outcome else []
        return change

    def _outcome_of(self, plan: Any, part: Machine) -> Outcome:
        """A machine of the compiled loop as its own plan would have it."""
        objective = plan.units.objective(None, self._objective.C)
        primal, dual = part.primal, part.dual
        model, none = plan.room.machine(part.multipliers, 0.0 - part.b), constant(None)
        progress = Progress(part.iterations, 0.0, primal, dual, primal - dual, 0.0, none)
        return Outcome(model, objective, progress, self.settings.solver)

    def _describe_machine(self, j: int, part: Machine) -> dict[str, Any]:
        """The report's entry of a machine."""
        labels = [float(self.names[k]) for k in self._machines[j] if k is not None]
        return {
            "labels": labels,
            "primal": part.primal,
            "dual": part.dual,
            "gap": part.primal - part.dual,
            "converged": part.converged,
            "stopped_by": part.stopped_by,
            "iterations": part.iterations,
            "support_vectors": len(part.alpha),
            "threshold": part.b,
            **({} if (file := part.primal_of_file) is None else {"primal_of_file": file}),
            **(part.outcome.details if part.outcome else {}),
        }

    def _model(self, machines: dict[int, Machine]) -> KernelMulticlassModel:
        s, M = self.settings, len(self._machines)
        support, own_rows = self._support(machines)
        parts = machines.values()
        b = np.zeros(M)
        b[[*machines]] = [part.b for part in parts]
        # equal rows of a machine have one coefficient, and rows increase in each
        of = np.repeat([*machines] or [0], [*map(len, own_rows)] or [0])
        rows = np.concatenate([np.zeros(0, np.int64), *own_rows])
        known, where = np.unique(of * max(support.n_rows, 1) + rows, return_inverse=True)
        alpha = np.concatenate([np.zeros(0), *(part.alpha for part in parts)])
        of, places = np.divmod(known, max(support.n_rows, 1))
        return KernelMulticlassModel(
            kernel_of(s),
            replace(support, n_features=self._X.n_features),
            np.searchsorted(of, np.arange(M + 1)),
            places.astype(np.int32),
            np.bincount(where, alpha, len(known)).astype(np.float64),
            b,
            self.names,
            self._paired,
            self._columns,
            self._examples.X.n_features,
            len(self._examples),
            self._loss,
        )

    def _support(self, machines: dict[int, Machine]) -> tuple[Csr, list[NDArray]]:
        """The distinct support vectors of these machines and their places, see unite_rows."""
        parts = machines.values()
        if not SOLVERS[self.settings.solver].by_conditions:
            models: list[Any] = [part.outcome and part.outcome.model for part in parts]
            return unite_rows([in_own_columns(model) for model in models])
        # the multipliers name rows, most of which several machines share
        own = [self._rows(j)[part.multipliers != 0] for j, part in machines.items()]
        every = np.concatenate([np.zeros(0, np.int64), *own])
        rows = every[np.sort(np.unique(every, return_index=True)[1])]
        vectors = self._X.take(rows)
        if self.settings.is_given:
            vectors = point_rows(serial_columns(self._examples)[rows], self._X.n_features)
        support, (where,) = unite_rows([vectors])
        places = np.zeros(len(self._y), np.int64)
        places[rows] = where
        return support, [places[part] for part in own]


def _machine(outcome: Outcome) -> Machine:
    """A machine that its own plan trained."""
    model: Any = outcome.model
    own = outcome.primal, outcome.dual, outcome.converged, outcome.stopped_by
    counts = outcome.progress.iteration, model.b, model.alpha, outcome.multipliers
    more = outcome.norm, outcome.longest_cut, outcome.sums, _radius(outcome)
    return Machine(*own, *counts, *more, outcome.primal_of_file, (*outcome.warnings,), outcome)


def _radius(outcome: Outcome) -> float:
    """Bound on the distance of a machine from its optimum."""
    slip = outcome.gap_rounding
    if outcome.apart is not None and outcome.apart[1] == 0:  # the dual value is that of its own w
        return math.sqrt(max(0.0, outcome.apart[0]) + slip)
    return math.sqrt(2 * (max(0.0, outcome.gap) + slip))
