# SPDX-License-Identifier: BSD-3-Clause
"""All functions of a kernel, or those that a few points span, and exact training over them."""

from __future__ import annotations

import math

from numpy.typing import NDArray

from svmcut.base.errors import DataError, MemoryLimitError
from svmcut.base.typing import Any
from svmcut.data.examples import Csr
from svmcut.models import KernelModel
from svmcut.risks.protocol import SignedRisk
from svmcut.solvers.protocol import Problem, Progress, Solver, StoppingRule
from svmcut.spaces.kernel import KernelSpace
from svmcut.spaces.subspace import Basis, Subspace
from svmcut.training.certificate import CUTS, Certified, Certify
from svmcut.training.gate import STATIONARY
from svmcut.training.kernel_plan import KernelRoom
from svmcut.training.outcome import Objective, Outcome
from svmcut.training.stage import Ended, Stage


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
