# SPDX-License-Identifier: BSD-3-Clause
"""Exact training over all functions of a kernel, over those that a few points span, or over random
Fourier features; and plans of two stages: a solver that chooses points, then exact training in
their span.

Of Fourier features the problem is one of 2 D features, and the certificate is of that: its minimum
may lie above the kernel's or below. Its multipliers alpha say of the kernel's minimum P*, for any
features:

    D_K(alpha) <= P* <= P_K(sum_i alpha_i y_i K(x_i, .)),   and P_K(0) where that is less
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError, MemoryLimitError, TrainingError
from svmcut.base.records import replace
from svmcut.base.typing import Any, ClassVar
from svmcut.data.examples import Csr, Examples
from svmcut.models import KernelModel, renumber
from svmcut.models.fourier import FourierModel, blocks, fourier_features, frequencies
from svmcut.risks.protocol import SignedRisk
from svmcut.solvers.protocol import Problem, Progress, Solver, StoppingRule
from svmcut.spaces.kernel import KernelSpace
from svmcut.spaces.subspace import Basis, Subspace
from svmcut.spec.catalog import FOURIER, SOLVERS
from svmcut.spec.parameters import Settings
from svmcut.training.certificate import CUTS, Certified, Certify
from svmcut.training.driver import Ended, Stage
from svmcut.training.gate import STATIONARY, Part, Reading
from svmcut.training.kernel_plan import KernelPlan, KernelRoom
from svmcut.training.outcome import Objective, Outcome


class Span:
    """Functions of a kernel and training over them, with the certificate of the full problem.

    `points` span the functions, None for all of them; `spanned` has in their place a basis and the
    features (n, k) of the rows. Raises MemoryLimitError when their features do not fit, and
    DataError when all points are zero.
    """

    def __init__(
        self,
        room: KernelRoom,
        points: Csr | None = None,
        spanned: tuple[Basis, NDArray] | None = None,
    ):
        self.room, self.basis = room, None
        self.space: KernelSpace | Subspace
        if spanned is not None:
            from svmcut.spaces.subspace import Subspace

            self.basis = spanned[0]
            self.space = Subspace(spanned[1], bool(room.settings.certify), room.settings.threads)
        elif points is None:
            self.space = KernelSpace(room.rows, room.budget / 2)
        else:
            self.basis, self.space = _span_features(room, points)

    def stage(
        self, name: str, objective: Objective, stop: StoppingRule, warm: bool = False
    ) -> Stage:
        """Newton's method in a span where the loss is the hinge, and cutting planes for the
        others."""
        room = self.room
        problem = Problem(room.vectors.risk, self.space, objective.C, stop, room.settings.qp)

        solver: Solver = CUTS
        if not isinstance(self.space, KernelSpace) and isinstance(room.vectors.risk, SignedRisk):
            from svmcut.solvers.span_newton import SpanNewton

            solver = SpanNewton()
        certified = Certified(
            self.certifier(objective, stop) if room.settings.certify else None, solver
        )
        return Stage(name, certified, problem, objective, warm)

    def certifier(self, objective: Objective, stop: StoppingRule) -> Certify | None:
        """A function that bounds the full problem at a Progress of a run; None if the run's problem
        is the full one."""
        room = self.room

        def certify(run, progress: Progress) -> tuple[float, float]:
            model = run.bundle.solve(objective.C, 1e-3 * stop.target(progress.primal) / objective.C)
            offset = model.lower + 0.5 * model.squared_norm
            dual = room.dual_bound(offset, model.w.coefficients())
            return room.bracket(
                room.primal(self.model(progress.solution(), progress.cuts), objective.C), dual
            )

        return certify

    def outcome(self, ended: Ended) -> Outcome:
        """The outcome of that stage, not yet judged."""
        progress, w = ended.progress, ended.progress.solution()
        outcome = ended.outcome(
            self.room.settings.solver, self.model(w, progress.cuts), self.space.dot(w, w)
        )
        if self.room.settings.certify:
            outcome.certificate = ended.run.certificate(progress)
        elif self.basis is not None:
            outcome.certificate = (progress.primal, math.nan)
        if self.basis is not None:
            outcome.details["basis"] = {
                "vectors": len(self.basis),
                "dual": progress.dual,
                "gap": progress.gap,
            }
        return outcome

    def judge(self, ended: Ended) -> Outcome:
        """The outcome with the verdict."""
        stop, progress = ended.stage.problem.stop, ended.progress
        met = stop.met(progress.primal, progress.dual)
        return judge_span(self.room, self.outcome(ended), stop, ended.stopped_by, met)

    def model(self, w, cuts: int) -> Any:
        """The model of an element of the space."""
        room, basis = self.room, self.basis
        if basis is None:
            return room.model(w, cuts)
        known = basis.Z, basis.to_alpha @ w.w, 0.0, room.vectors.columns
        return KernelModel(room.kernel, *known, room.vectors.examples.X.n_features, cuts)


def judge_span(
    room: KernelRoom, outcome: Outcome, stop: StoppingRule, stopped_by: str | None, in_span: bool
) -> Outcome:
    """The outcome with the verdict; in_span: whether the rule is met for the problem the solver
    knew.

    A relative gap speaks of the full problem, so a span that cannot meet it is a reason to end;
    epsilon is the rule within it.
    """
    otherwise = "float32" if in_span else "rounding"
    if in_span and "basis" in outcome.details:
        otherwise = (
            "basis" if stop.relative is not None and not math.isnan(outcome.dual) else "span"
        )
    if not room.kernel.is_definite and in_span:
        otherwise = STATIONARY
    return room.improve(outcome.judge(stop, stopped_by, otherwise, room.reading(outcome, stop)))


def refuse_features(room: KernelRoom, k: int) -> None:
    """Refuses more features than fit, as a MemoryLimitError."""
    n, path = room.X.n_rows, room.vectors.path
    need, memory = 4e-6 * n * min(k, room.settings.basis), room.memory
    if need > memory:
        refusal = (
            f"{path}: {k} features of {n} rows need about {need:,.0f} MB and {memory:,.0f} MB are "
            "available"
        )
        raise MemoryLimitError("{}; lower {basis}", refusal)


def _span_features(room: KernelRoom, points: Csr) -> tuple[Basis, Subspace]:
    """The basis of those points that do not depend on others, and the features of all rows."""
    from svmcut.spaces.subspace import Basis, Subspace

    n, settings, path = room.X.n_rows, room.settings, room.vectors.path
    refuse_features(room, points.n_rows)
    basis = Basis(room.kernel, points, settings.threads)
    if not len(basis):
        raise DataError(path, "every row is zero in the feature space of the kernel")
    F = basis.features(room.X, room.budget / 3)
    room.extra += points.n_rows**2 + n * len(basis)
    return basis, Subspace(F, bool(settings.certify), settings.threads)


class KernelCuts(KernelPlan):
    """One stage, which starts from the solution of the C before; spanned as of Span."""

    def __init__(
        self,
        examples: Examples,
        settings: Settings,
        spanned: tuple[Basis, NDArray] | None = None,
    ):
        super().__init__(examples, settings)
        room, based = self.room, spanned is None and "basis" in SOLVERS[settings.solver].takes
        if settings.basis_kind == FOURIER:
            self.span: Span = FourierSpan(room)
            return
        self.span = Span(room, _basis_points(room) if based else None, spanned)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        return self.span.stage(self.settings.solver, objective, self.stop(objective), warm=True)

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        outcome = self.span.judge(ended)
        outcome.kernel_evaluations = self.room.evaluations
        return outcome


def _basis_points(room: KernelRoom) -> Csr:
    """The rows the settings name as candidates of a basis, at most `basis` of them."""
    settings, n = room.settings, room.X.n_rows
    if settings.basis_file:
        from svmcut.files.examples import read_examples

        return renumber(
            read_examples(settings.basis_file, threads=settings.threads).X, room.vectors.columns
        )
    from svmcut.spaces.subspace import even_rows

    if settings.basis_method == 1 or settings.basis_kind == "even":
        return room.X.take(even_rows(n, settings.basis))
    # the factor of all rows costs n k^2; twenty candidates a vector lose little
    m = n if settings.basis_method == 2 else min(n, max(20 * settings.basis, 2000))
    return room.pivot_basis(even_rows(n, m))


class Chosen(KernelPlan):
    """Points are chosen, and polished unless the settings or the run say otherwise.

    A subclass has first(objective), the solver that chooses and its problem; handover(objective,
    ended), what it chose, as plain values that are all the second stage needs, with the evaluations
    of kernel values that the room does not know of; check(handed), which refuses any other;
    bare(objective, handed, ended), the judged outcome where no other stage follows.
    """

    #: What the report calls the first stage, and what it says of it: a part of what was found.
    key: ClassVar[str]
    counts: ClassVar[str] = "details"
    check: Callable[[Any], None]
    first: Callable[[Objective], tuple[Any, Any]]
    handover: Callable[[Objective, Ended], dict[str, Any]]
    bare: Callable[[Objective, dict[str, Any], Ended], Outcome]

    def stopped_by(self, ended: Ended) -> str | None:
        """The reason why the first stage ended before its aim, if it did."""
        return ended.stopped_by

    def size(self, handed: dict[str, Any]) -> int:
        """The number of points it chose."""
        return len(handed["points"])

    def span(self, objective: Objective, handed: dict[str, Any]) -> tuple[Span, Objective]:
        """The span of the points with the largest coefficients, and what is minimised in it."""
        return Span(self.room, self.room.heaviest(handed["points"], handed["coef"])), objective

    def finish_polish(
        self, span: Span, objective: Objective, handed: dict[str, Any], ended: Ended
    ) -> Outcome:
        """The judged outcome of the second stage."""
        return span.judge(ended)

    def check_found(self, handed: Any) -> None:
        if handed is not None:
            self.check(handed)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        """The stage that chooses, or cutting planes in the span of what it found."""
        if handed is None:
            return Stage(self.settings.solver, *self.first(objective), objective)
        self._span, judge_by_proof = self.span(objective, handed)
        return self._span.stage("polish", judge_by_proof, self.stop(judge_by_proof))

    def finish(
        self, objective: Objective, handed: dict[str, Any] | None, ended: Ended
    ) -> dict[str, Any] | Outcome:
        """The points found, or the model of the last stage."""
        if handed is None:
            handed = self.handover(objective, ended)
            aimed = self.stopped_by(ended) in (None, "rounding")
            if self.settings.polish and aimed and self.size(handed):
                return handed
            outcome = self.bare(objective, handed, ended)
        else:
            outcome = self.finish_polish(self._span, objective, handed, ended)
        outcome.details[self.key] = handed[self.counts]
        outcome.kernel_evaluations = handed["evaluations"] + self.room.evaluations
        return outcome


#: Numbers a model may hold: its text has each.
MAX_NUMBERS = 10**7


class FourierSpan(Span):
    """Functions of random Fourier features, 2 D as many as `basis` allows.

    Raises TrainingError if the model would hold more than MAX_NUMBERS, and MemoryLimitError if the
    features do not fit.
    """

    def __init__(self, room: KernelRoom):
        s, X = room.settings, room.X
        D = max(1, s.basis // 2)
        if D * X.n_features > MAX_NUMBERS:
            raise TrainingError(
                "{}: {} frequencies of {} features are more than {:,} numbers of a model; lower "
                "{basis} or use "
                "{basis_kind=pivoted}",
                room.vectors.path,
                D,
                X.n_features,
                MAX_NUMBERS,
            )
        refuse_features(room, 2 * D)
        self.room, self.basis = room, None
        self.omega = frequencies(D, X.n_features, room.kernel.gamma, s.seed)
        F = np.empty(
            (X.n_rows, 2 * D), np.float64 if 16e-6 * X.n_rows * D <= room.budget / 3 else np.float32
        )
        for start, stop in blocks(X, self.omega):
            F[start:stop] = fourier_features(X.rows(start, stop), self.omega)
        self.space = Subspace(F, bool(s.certify), s.threads)

    def certifier(self, objective: Objective, stop: StoppingRule) -> None:
        return None

    def outcome(self, ended: Ended) -> Outcome:
        progress, w, room = ended.progress, ended.progress.solution(), self.room
        outcome = ended.outcome(
            room.settings.solver, self.model(w, progress.cuts), self.space.dot(w, w)
        )
        outcome.details["fourier"] = {"frequencies": len(self.omega)}
        if room.settings.certify:
            outcome.details["fourier"] |= self._bracket(ended.run.bundle, ended.stage.objective)
        return outcome

    def _bracket(self, bundle, objective: Objective) -> dict[str, float]:
        """Bounds of the kernel's minimum, of the multipliers of these cuts."""
        C, room = objective.C, self.room
        model = bundle.solution(C)
        coef = model.w.coefficients()
        squared, risk = room.parts(room.machine(coef, 0.0))
        offset = model.lower + 0.5 * model.squared_norm
        at_zero = room.vectors.risk.linearize(np.zeros(len(coef))).value
        primal = min(0.5 * squared + C * risk, C * at_zero)
        return {"kernel_primal": primal, "kernel_dual": room.dual_bound(offset, coef, 1.0, squared)}

    def model(self, w, cuts: int) -> FourierModel:
        vectors = self.room.vectors
        d, n = vectors.examples.X.n_features, len(vectors.examples)
        gamma, seed = self.room.kernel.gamma, self.room.settings.seed
        return FourierModel(gamma, self.omega, w.w, seed, 0.0, vectors.columns, d, n)

    def judge(self, ended: Ended) -> Outcome:
        """The outcome with the verdict; its file has every digit."""
        outcome = self.outcome(ended)
        model, C, room = outcome.model, outcome.objective.C, self.room

        def value(read: Any) -> float:
            s = read.scores(room.vectors.examples.X, room.settings.threads)
            return 0.5 * float(read.w @ read.w) + C * room.vectors.risk.linearize(s).value

        reading = Reading(value, 0.0, lambda: _part(model), room.settings.original)
        return outcome.judge(ended.stage.problem.stop, ended.stopped_by, reading=reading)


def _part(model: Any) -> Part:
    """Some of the frequencies."""
    D = len(model.omega)
    rows = np.arange(0, D, max(1, D * model.omega.shape[1] // 10_000))
    part = replace(model, omega=model.omega[rows], w=model.w[np.concatenate([rows, D + rows])])

    def holds(read: Any) -> bool:
        same = np.array_equal(read.omega, part.omega) and np.array_equal(read.w, part.w)
        return same and read.gamma == part.gamma and read.b == part.b

    return Part(part, holds)
