# SPDX-License-Identifier: BSD-3-Clause
"""The span of random Fourier features, and between which values the kernel's own minimum lies.

Their problem is one of 2 D features, and the certificate is of that: its minimum may lie above the
kernel's or below. Its multipliers alpha say of the kernel's minimum P*, for any features:

    D_K(alpha) <= P* <= P_K(sum_i alpha_i y_i K(x_i, .)),   and P_K(0) where that is less
"""

from __future__ import annotations

import numpy as np

from svmcut.errors import TrainingError
from svmcut.models.fourier import FourierModel, blocks, fourier_features, frequencies
from svmcut.spaces.subspace import Subspace
from svmcut.spec.records import replace
from svmcut.training.gate import Part, Reading
from svmcut.training.span import Span, refuse_features
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmcut.solvers.protocol import StoppingRule
    from svmcut.training.outcome import Objective, Outcome
    from svmcut.training.room import KernelRoom
    from svmcut.training.stage import Ended

#: Numbers a model may hold: its text has each.
MOST_NUMBERS = 10**7


class FourierSpan(Span):
    """Functions of random Fourier features, 2 D as many as `basis` allows.

    Raises
    ------
    TrainingError, MemoryLimitError
        When the model would hold more than MOST_NUMBERS, or the features do not fit.
    """

    def __init__(self, room: KernelRoom):
        s, X = room.settings, room.X
        D = max(1, s.basis // 2)
        if D * X.n_features > MOST_NUMBERS:
            raise TrainingError(
                "{}: {} frequencies of {} features are more than {:,} numbers of a model; lower "
                "{basis} or use "
                "{basis_kind=pivoted}",
                room.vectors.path,
                D,
                X.n_features,
                MOST_NUMBERS,
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

    def judged(self, ended: Ended) -> Outcome:
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
