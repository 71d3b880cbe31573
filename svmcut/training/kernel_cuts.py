# SPDX-License-Identifier: BSD-3-Clause
"""Exact training over all functions of a kernel, over the span of some rows, or over random Fourier
features."""

from __future__ import annotations

from svmcut.models import renumber
from svmcut.spec.catalog import FOURIER, SOLVERS
from svmcut.training.room import KernelPlan, KernelRoom
from svmcut.training.span import Span
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data.examples import Csr, Examples
    from svmcut.spaces.subspace import Basis
    from svmcut.spec.parameters import Settings
    from svmcut.training.outcome import Objective, Outcome
    from svmcut.training.stage import Ended, Stage


class KernelCuts(KernelPlan):
    """One stage, which starts from the solution of the C before; spanned as of Span.

    Attributes
    ----------
    span : Span
    """

    def __init__(
        self,
        examples: Examples,
        settings: Settings,
        spanned: tuple[Basis, NDArray] | None = None,
    ):
        super().__init__(examples, settings)
        room, based = self.room, spanned is None and "basis" in SOLVERS[settings.solver].takes
        if settings.basis_kind == FOURIER:
            from svmcut.training.fourier import FourierSpan

            self.span: Span = FourierSpan(room)
            return
        self.span = Span(room, _basis_points(room) if based else None, spanned)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        return self.span.stage(self.settings.solver, objective, self.stop(objective), warm=True)

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        outcome = self.span.judged(ended)
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
    return room.pivoted(even_rows(n, m))
