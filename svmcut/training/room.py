# SPDX-License-Identifier: BSD-3-Clause
"""What plans on kernel values share: rows of values, memory, models over the rows and their exact numbers."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from svmcut._native.kernels import KernelRows
from svmcut.errors import MemoryLimitError, SvmcutError, TrainingError, UsageError
from svmcut.machine import planned_memory
from svmcut.models import KernelModel
from svmcut.risks.protocol import SignedRisk
from svmcut.training.certificate import scaled_bound
from svmcut.training.gate import SLIP
from svmcut.training.outcome import Outcome
from svmcut.training.settings import SMO, kernel_of
from svmcut.training.stage import Plan
from svmcut.training.vectors import Vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data import Csr, Examples
    from svmcut.kernels import Kernel
    from svmcut.parameters import Settings
    from svmcut.solvers.protocol import StoppingRule

#: Megabytes for stored kernel values and features; half of them for the Gram matrix.
_BUDGET = 4000.0
#: Rows scored at once where no kernel rows are laid out.
_BLOCK = 1 << 16
#: Rows up to which the digits of a model file are always looked at in full; beyond, some rows may be looked at first.
SCREENED = 2000


class KernelRoom:
    """The kernel values of some examples.

    Parameters
    ----------
    vectors : Vectors
    settings : Settings
    exact_work : float
        Work (kernel values times 8 + nonzeros of a row) up to which scores and features are computed in float64; 1e9
        takes about 20 s of one CPU.

    Attributes
    ----------
    extra : int
        Kernel values computed beside `rows`.
    warnings : list of str
        What a user should know of the examples and of the kernel.
    """

    def __init__(self, vectors: Vectors, settings: Settings, exact_work: float):
        self.vectors, self.settings, self.kernel = vectors, settings, kernel_of(settings)
        self.X, self.extra, self._exact_work = vectors.X, 0, exact_work
        self.warnings = vectors.warnings + kernel_warnings(self.kernel)

    @cached_property
    def rows(self) -> KernelRows:
        """Kernel rows of the examples, laid out when they are first needed."""
        return self._rows_of(self.X)

    @property
    def evaluations(self) -> int:
        """Kernel values computed so far."""
        return self.extra + (self.rows.evaluations if self._laid_out else 0)

    @property
    def memory(self) -> float:
        """Megabytes there are, or may be used."""
        return planned_memory(self.settings.max_memory)

    @property
    def budget(self) -> float:
        """Megabytes that decide how numbers are stored; the same on every machine that has as much, as models are."""
        return min(_BUDGET, self.memory)

    def model(self, w, cuts: int) -> KernelModel:
        """The model of an expansion, without threshold."""
        used = w.coef != 0
        known = self.X.take(w.points[used]), w.coef[used], 0.0, self.vectors.columns
        # the originals state one more than the number of features where training points are the support vectors
        return KernelModel(self.kernel, *known, self.vectors.examples.X.n_features + 1, cuts)

    def machine(self, beta: NDArray, b: float) -> KernelModel:
        """The model sum_i beta_i K(x_i, .) + b."""
        rows = np.flatnonzero(beta)
        known = self.X.take(rows), beta[rows], 0.0 - b, self.vectors.columns
        return KernelModel(self.kernel, *known, self.vectors.examples.X.n_features, len(self.vectors.examples))

    def parts(self, model: KernelModel) -> tuple[float, float]:
        """|f|^2 and R(f) of a model."""
        squared = float(model.alpha @ self._expand(model.support, model.support, model.alpha))
        s = self._expand(self.X, model.support, model.alpha) - model.b
        return squared, self.vectors.risk.linearize(s).value

    def primal(self, model: KernelModel, C: float) -> float:
        """1/2 |f|^2 + C R(f) of a model."""
        squared, risk = self.parts(model)
        return 0.5 * squared + C * risk

    def squared(self, coef: NDArray) -> float:
        """coef'K coef of coefficients of all rows."""
        points = np.flatnonzero(coef)
        Z = self.X.take(points)
        return max(0.0, float(coef[points] @ self._expand(Z, Z, coef[points])))

    def bound(self, alpha: NDArray, C: float) -> float:
        """The dual bound of 0 <= alpha_i <= C v_i for a sum of hinge losses, or of |alpha_i| <= C v_i for targets: the
        best multiple of it in the box."""
        risk = self.vectors.risk
        v, size = risk.weights, np.abs(alpha)
        most = C / max(float((size if v is None else size / v).max()), 1e-300)
        if isinstance(risk, SignedRisk):
            return scaled_bound(float(alpha.sum()), self.squared(alpha * risk.signs), most)
        return scaled_bound(float(alpha @ risk.targets - risk.tube * size.sum()), self.squared(alpha), most)

    def bracket(self, primal: float, dual: float) -> tuple[float, float]:
        """Both, or no dual where it lies above the primal because the kernel is not positive semidefinite.

        A bound above the primal by rounding alone is lowered to it, and holds all the more.
        """
        if dual <= primal * (1 + SLIP):
            return primal, min(primal, dual)
        return primal, dual if self.kernel.is_definite else math.nan

    def primal_of_file(self, outcome: Outcome, stop: StoppingRule, screened: bool = False) -> float | None:
        """The primal of the model as a reader of its file gets it; None where no digit can matter.

        screened: where rows are many, the losses of some say whether one can.
        """
        from svmcut.files.rounding import change_in_file, model_read_back

        model, C, n = outcome.model, outcome.objective.C, self.X.n_rows
        assert isinstance(model, KernelModel)
        kept, room = model_read_back(model), 0.01 * abs(stop.target(outcome.primal))
        change, offset = change_in_file(model, kept)
        most = C * self.vectors.steepness * (change + offset) + change * float(np.abs(model.alpha).sum())
        if most <= room or (screened and n > SCREENED and self._typical_change(model, kept) * C <= room):
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            return self.primal(kept, C)

    def _typical_change(self, model: KernelModel, kept: KernelModel) -> float:
        """Eight times the change of the losses if each were that of the worst of some SCREENED / 8 rows."""
        n = self.X.n_rows
        rows = self.X.take(np.arange(0, n, 8 * n // SCREENED + 1))
        a, b = (each.kernel.expansion(rows, each.support, each.alpha, each.b, self.settings.threads)
                for each in (model, kept))  # fmt: skip
        with np.errstate(invalid="ignore", over="ignore"):
            return float(8 * self.vectors.steepness * np.max(np.abs(a - b)))

    def is_small(self, values: int) -> bool:
        """Whether so many kernel values are computed in float64."""
        return values * (8 + self.X.nnz / max(self.X.n_rows, 1)) <= self._exact_work

    def heaviest(self, points: NDArray, coef: NDArray) -> Csr:
        """At most `basis` of these rows, chosen from those with the largest coefficients."""
        heavy = np.argsort(-np.abs(coef), kind="stable")[: max(20 * self.settings.basis, 2000)]
        return self.pivoted(np.sort(points[heavy]))

    def pivoted(self, candidates: NDArray) -> Csr:
        """At most `basis` of these rows, by incomplete Cholesky factorisation."""
        from svmcut.spaces.subspace import pivoted_rows

        rows = self._rows_of(self.X.take(candidates))
        chosen = pivoted_rows(rows, self.settings.basis)
        self.extra += rows.evaluations
        return self.X.take(candidates[chosen])

    @property
    def _laid_out(self) -> bool:
        return "rows" in self.__dict__

    def _expand(self, X: Csr, Z: Csr, alpha: NDArray) -> NDArray[np.float64]:
        """sum_k alpha_k K(z_k, .) at the rows of X, in float64."""
        values, own = X.n_rows * Z.n_rows, X is self.X and self._laid_out
        if not own or self.is_small(values):
            self.extra += values
        if self.is_small(values):
            return self.kernel.expansion(X, Z, alpha, 0.0, self.settings.threads)
        if own:
            return self.rows.accumulate_foreign(Z, alpha, exact=True)
        blocks = [X.rows(start, min(start + _BLOCK, X.n_rows)) for start in range(0, X.n_rows, _BLOCK)]
        return np.concatenate([self._rows_of(block).accumulate_foreign(Z, alpha, exact=True) for block in blocks])

    def _rows_of(self, X: Csr) -> KernelRows:
        return KernelRows(X, self.kernel, self.settings.threads)


class KernelPlan(Plan):
    """A plan on kernel values of examples.

    Attributes
    ----------
    exact_work : float
        As KernelRoom's.
    weights : bool
        As of Vectors.
    room : KernelRoom
    shared : ((N, N) array, (n,) int64) or None
        Kernel values of a set and the examples' rows of it, where several plans share them; see KernelProblem.
    """

    exact_work: ClassVar[float] = 1e9
    weights: ClassVar[bool] = True
    shared: tuple[NDArray, NDArray[np.int64]] | None = None

    def __init__(self, examples: Examples, settings: Settings, one_class: bool = False):
        vectors = Vectors(examples, settings, one_class, self.weights)
        self.room = KernelRoom(vectors, settings, self.exact_work)
        super().__init__(settings, vectors.path, vectors.units, self.room.warnings)
        if settings.initial is not None and settings.solver != SMO:
            raise UsageError(
                f"parameter 'initial' is a start of solver '{SMO}', and {settings.solver} is taken for "
                f"{len(examples):,} rows; give solver='{SMO}'"
            )

    def failure(self, error: Exception) -> Exception:
        """What a user is told of a failure of compiled loops over kernel values."""
        from svmcut._native.expansion import NoLevel

        if isinstance(error, NoLevel):
            return TrainingError(f"{self.path}: kernel values are not finite; scale the features")
        if isinstance(error, MemoryError) and not isinstance(error, SvmcutError):
            return MemoryLimitError(f"{self.path}: {error}")
        return error


def kernel_warnings(kernel: Kernel) -> list[str]:
    """What a user should know of a kernel."""
    if kernel.is_definite:
        return []
    of = " of these parameters" if kernel.name != "sigmoid" else ""
    return [
        f"the {kernel.name} kernel{of} need not be positive definite: training ends at a stationary point, and no dual "
        "bound is known"
    ]
