# SPDX-License-Identifier: BSD-3-Clause
"""Training of classes on kernel values: a machine of two for every pair of classes, or for each
against the rest.

Machines are trained one after the other by the plan of two classes that the solver has; their
certificates add up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

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
from svmcut.spec import schemas
from svmcut.spec.catalog import MULTICLASS, PLANS, SOLVERS, SUBSPACE, TASKS, load
from svmcut.spec.parameters import DEFAULTS, Settings
from svmcut.training.certificate import is_close, sample_nonzeros
from svmcut.training.checks import check_nu, checked_weights, class_warnings
from svmcut.training.gate import Part, judge_composite, primal_of_file
from svmcut.training.kernel_plan import kernel_warnings
from svmcut.training.outcome import PERCENT, Objective, Outcome, class_units
from svmcut.training.settings import kernel_of
from svmcut.training.stage import Ended, Plan, Stage

#: Nonzeros of a row from which the values of all rows serve pairs better than rows of their own: a
#: value of two classes is one machine's alone, so that sharing halves their number and costs the
#: memory of all.
WIDE = 100
#: How solvers run that are cutting planes from the start.
CUTS = SOLVERS[SUBSPACE].plan


class MachinesPlan(Plan):
    """The stages of every machine in turn; a run that is stopped leaves the machines it did not
    come to at w = 0.

    What a stage leaves to the next is the outcomes of the machines that are done, and what the
    stages of the present machine leave to each other.
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
        at_zero = 0.0 if s.is_nu else float(loss.linearize(np.zeros(1)).value)
        #: losses of the machines at w = 0
        self._at_zero = [weight * at_zero for weight in self._totals]
        #: their sums from each machine to the last
        self._at_zero_from = np.append(np.cumsum(self._at_zero[::-1])[::-1], 0.0).tolist()
        self._total = sum(self._totals)
        #: how many machines are summed, the last of them, and their sums
        self._summed: tuple[int, Outcome | None, Others] = (0, None, Others())
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
            schemas.fields(done=schemas.many(known, most=most), machine=schemas.anything),
            "found",
        )
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
        done, inner = (handed["done"], handed["machine"]) if handed else ([], None)
        machine, stopped_by = ended.run.machine, ended.stopped_by
        if machine.last is not None:
            own_end = "rounding" if machine.idle else stopped_by
            own = Ended(self._stage, machine.run, machine.last, own_end)
            part = self._plan.finish(self._aim, inner, own)
            if not isinstance(part, Outcome):
                return {"done": done, "machine": part}
            done = [*done, part.portable()]
        if len(done) < len(self._machines) and stopped_by not in ("limit", "interrupt"):
            return {"done": done, "machine": None}
        return self._outcome(objective, done, ended)

    def check_finite(self, primal: float) -> None:
        self._plan.check_finite(primal)

    def failure(self, error: Exception) -> Exception:
        return error if self._plan is None else self._plan.failure(error)

    def _begin(self, at: int, done: Sequence[Outcome]) -> None:
        """The plan of a machine; done: those whose steps count, too."""
        self._at = at
        self._plan = self._plan_of(at, done)

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
            most = max(1, most - sum(outcome.progress.iteration for outcome in done))
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
        left = self._at_zero_from[min(k + 1, len(self._machines))]
        return sums._replace(
            primal=sums.primal + objective.C * left,
            risk=sums.risk + left,
            evaluations=sums.evaluations + self._evaluations,
            own=objective.C * self._at_zero[k] if k < len(self._machines) else 0.0,
        )

    def _sum(self, done: Sequence[Outcome]) -> Others:
        """Return the sums over the machines that are done; those of the last call go on where these
        begin with the same."""
        count, last, sums = self._summed
        if count > len(done) or (count and done[count - 1] is not last):
            count, sums = 0, Others()
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
        model = self._model(done)
        rewritten = any(
            outcome.primal_of_file is not None or outcome.stopped_by == "rounding"
            for outcome in done
        )
        whole = Outcome(
            model,
            objective,
            ended.progress,
            self.settings.solver,
            math.sqrt(sum(outcome.norm**2 for outcome in done)),
            max((outcome.longest_cut for outcome in done), default=0.0),
            np.concatenate([np.zeros(0), *(outcome.multipliers for outcome in done)]),
            certificate=(primal, others.dual),
            kernel_evaluations=others.evaluations,
            sums=sum(outcome.sums for outcome in done),
            primal_of_file=primal + self._change_in_file(done, model) if rewritten else None,
            details={
                "machines": [self._describe_machine(j, outcome) for j, outcome in enumerate(done)]
            },
        )
        whole.warnings = list(dict.fromkeys(text for outcome in done for text in outcome.warnings))
        if len(done) == len(self._machines):
            whole.radii = np.array([*map(_radius, done)])
        missing = ended.stopped_by if len(done) < len(self._machines) else None
        return judge_composite(whole, done, missing, _part(whole.model), self.settings.original)

    def _change_in_file(self, done: list[Outcome], whole: KernelMulticlassModel) -> float:
        """The change of the sum by the digits of the file, also for machines to which they matter
        little.

        Where rounding chose the steps, the sums of the coefficients of equal rows matter, too.
        """
        change = 0.0
        for j, outcome in enumerate(done):
            file, model = outcome.primal_of_file, outcome.model
            assert isinstance(model, KernelModel)
            own = slice(whole.starts[j], whole.starts[j + 1])
            summed = len(whole.alpha[own]) < len(model.alpha) and outcome.stopped_by == "rounding"
            if summed or file is None:
                reading = self._plan_of(j, done[:j]).in_file(outcome)
                if summed:
                    support, alpha = whole.support.take(whole.places[own]), whole.alpha[own]
                    model = replace(model, support=support, alpha=alpha, columns=None)
                    reading = reading._replace(change=math.inf, part=None)
                file = primal_of_file(model, reading)
            change += (file or 0.0) - outcome.primal
        return change

    def _describe_machine(self, j: int, outcome: Outcome) -> dict[str, Any]:
        """The report's entry of a machine."""
        progress, model = outcome.progress, outcome.model
        assert isinstance(model, KernelModel)
        labels = [float(self.names[k]) for k in self._machines[j] if k is not None]
        return {
            "labels": labels,
            "primal": outcome.primal,
            "dual": outcome.dual,
            "gap": outcome.gap,
            "converged": outcome.converged,
            "stopped_by": outcome.stopped_by,
            "iterations": progress.iteration,
            "support_vectors": model.support.n_rows,
            "threshold": model.b,
            **({} if (file := outcome.primal_of_file) is None else {"primal_of_file": file}),
            **outcome.details,
        }

    def _model(self, done: list[Outcome]) -> KernelMulticlassModel:
        s, M = self.settings, len(self._machines)
        models: list[Any] = [outcome.model for outcome in done]
        support, own_rows = self._support(done)
        b, places, alpha = np.zeros(M), [np.zeros(0, np.int32)], [np.zeros(0)]
        for j, (model, own) in enumerate(zip(models, own_rows, strict=True)):
            rows, where = np.unique(own, return_inverse=True)
            places.append(rows.astype(np.int32))
            alpha.append(np.bincount(where, model.alpha, len(rows)).astype(np.float64))
            b[j] = model.b
        ends = np.cumsum([*map(len, places)] + [0] * (M - len(models)))
        return KernelMulticlassModel(
            kernel_of(s),
            replace(support, n_features=self._X.n_features),
            ends,
            np.concatenate(places),
            np.concatenate(alpha),
            b,
            self.names,
            self._paired,
            self._columns,
            self._examples.X.n_features,
            len(self._examples),
            self._loss,
        )

    def _support(self, done: list[Outcome]) -> tuple[Csr, list[NDArray[np.int32]]]:
        """The distinct support vectors of these machines and their places, see _unite_rows."""
        models: list[Any] = [outcome.model for outcome in done]
        if not SOLVERS[self.settings.solver].by_conditions:
            return _unite_rows([_in_columns(model) for model in models])
        # the multipliers name rows, most of which several machines share
        own = [self._rows(j)[np.flatnonzero(outcome.multipliers)] for j, outcome in enumerate(done)]
        every = np.concatenate([np.zeros(0, np.int64), *own])
        rows = every[np.sort(np.unique(every, return_index=True)[1])]
        vectors = self._X.take(rows)
        if self.settings.is_given:
            vectors = point_rows(serial_columns(self._examples)[rows], self._X.n_features)
        support, (where,) = _unite_rows([vectors])
        places = np.zeros(len(self._y), np.int32)
        places[rows] = where
        return support, [places[part] for part in own]


def _radius(outcome: Outcome) -> float:
    """Bound on the distance of a machine from its optimum."""
    slip = outcome.gap_rounding
    if outcome.apart is not None and outcome.apart[1] == 0:  # the dual value is that of its own w
        return math.sqrt(max(0.0, outcome.apart[0]) + slip)
    return math.sqrt(2 * (max(0.0, outcome.gap) + slip))


def _part(model: Any) -> Part:
    """The coefficients of some support vectors in all machines."""
    rows = sample_nonzeros(np.ones(model.support.n_rows))
    columns = (
        np.arange(model.support.n_features, dtype=np.int32)
        if model.columns is None
        else model.columns
    )
    known = np.isin(model.places, rows)
    machines = np.repeat(np.arange(len(model.b)), np.diff(model.starts))
    part = replace(
        model,
        support=model.support.take(rows),
        places=np.searchsorted(rows, model.places[known]).astype(np.int32),
        alpha=model.alpha[known],
        starts=np.searchsorted(machines[known], np.arange(len(model.b) + 1)).astype(np.int64),
    )

    def holds(read: Any) -> bool:
        own = read.support.indices if read.columns is None else read.columns[read.support.indices]
        exact = (
            (read.support.indptr, part.support.indptr),
            (own, columns[part.support.indices]),
            (read.support.data, part.support.data),
            (read.starts, part.starts),
            (read.alpha, part.alpha),
            (read.places, part.places),
            (read.names, part.names),
        )
        same = all(np.array_equal(*each) for each in exact)
        return same and read.kernel == part.kernel and is_close(read.b, part.b)

    return Part(part, holds)


def _in_columns(model: KernelModel) -> Csr:
    """The support vectors in the columns of the rows the machine was trained on."""
    support = model.support
    return (
        support
        if model.columns is None
        else replace(support, indices=model.columns[support.indices])
    )


def _has_distinct_rows(rows: Csr) -> bool:
    """Decide by sums of the entries, each times a number of its column, that no two rows are equal:
    equal rows have equal sums."""
    if rows.indptr[0] != 0 or rows.indptr[-1] != len(rows.data):
        return False
    of_row = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
    sums = np.bincount(of_row, rows.data * np.sqrt(rows.indices + 2.0), rows.n_rows)
    return len(np.unique(sums)) == rows.n_rows


def _unite_rows(supports: list[Csr]) -> tuple[Csr, list[NDArray[np.int32]]]:
    """The rows of all, equal ones once, in the order in which they come; which of them each has."""
    if len(supports) == 1 and _has_distinct_rows(supports[0]):
        (alone,) = supports
        whole = Csr(alone.data, alone.indices, alone.indptr, 0, True)
        return whole, [np.arange(alone.n_rows, dtype=np.int32)]
    known: dict[tuple[bytes, bytes], int] = {}
    places_of: list[NDArray[np.int32]] = []
    columns: list[NDArray[np.int32]] = []
    values: list[NDArray[np.float32]] = []
    for support in supports:
        places, bounds = np.empty(support.n_rows, np.int32), support.indptr.tolist()
        for row in range(support.n_rows):
            entries = slice(bounds[row], bounds[row + 1])
            key = support.indices[entries].tobytes(), support.data[entries].tobytes()
            places[row] = at = known.setdefault(key, len(known))
            if at == len(columns):
                columns.append(support.indices[entries])
                values.append(support.data[entries])
        places_of.append(places)
    indptr = np.cumsum([0, *map(len, columns)], dtype=np.int64)
    rows = Csr(
        np.concatenate([np.zeros(0, np.float32), *values]),
        np.concatenate([np.zeros(0, np.int32), *columns]),
        indptr,
        0,
        True,
    )
    return rows, places_of
