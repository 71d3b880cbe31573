# SPDX-License-Identifier: BSD-3-Clause
"""The common part of plans on kernel values: rows of values, memory, and models over the rows with
their exact numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from svmcut._native.kernels import KernelRows
from svmcut.base.errors import MemoryLimitError, SvmcutError, TrainingError, UsageError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.resources import planned_memory
from svmcut.base.typing import Any, ClassVar
from svmcut.data.examples import Csr, Examples
from svmcut.files.output import KEPT
from svmcut.formats.rounding import change_in_file, model_read_back, read_back_number
from svmcut.models import KernelModel, LinearModel, renumber
from svmcut.models.kernels import Kernel
from svmcut.models.linear_sums import linear_scores
from svmcut.risks.protocol import ExactLineRisk, SignedRisk
from svmcut.solvers.protocol import StoppingRule
from svmcut.spaces.kernel import ROUNDED
from svmcut.spec.parameters import Settings
from svmcut.training.certificate import in_columns, is_close, sample_nonzeros, scaled_bound
from svmcut.training.driver import Plan
from svmcut.training.fallback import RELATIVE_TOLERANCE, Losses, best_function, losses_of
from svmcut.training.gate import (
    DIGITS_TOLERANCE,
    DUAL_TOLERANCE,
    ENDS,
    Part,
    Reading,
    is_in_memory,
    sum_rounding,
)
from svmcut.training.outcome import Outcome
from svmcut.training.settings import SMO, kernel_of
from svmcut.training.vectors import Vectors

#: Megabytes for stored kernel values and features; half of them for the Gram matrix.
_MAX_MEGABYTES = 4000.0
#: Rows scored at once where no kernel rows are laid out.
_BLOCK = 1 << 16
#: Ends of a run that was stopped, whose best multiple may be better.
STOPPED = ("limit", "interrupt", "cap", "rounding", "float32")
#: Rows up to which the digits of a model file are always looked at in full; beyond, some rows may
#: be looked at first.
SCREENED = 2000
#: Numbers of a matrix up to which |f|^2 is summed again in extended precision.
MAX_EXTENDED = 1 << 20


def _deliver(value: float) -> float:
    """Return a number of a model with the digits of a file, or with all of them in memory."""
    return value if is_in_memory() else read_back_number(value)


class KernelRoom:
    """The kernel values of some examples.

    Scores and features are computed in float64 up to `exact_work`: kernel values times 8 plus the
    nonzeros of a row; 1e9 takes about 20 s of one CPU.
    """

    def __init__(self, vectors: Vectors, settings: Settings, exact_work: float):
        self.vectors, self.settings, self.kernel = vectors, settings, kernel_of(settings)
        self.X, self.extra, self._exact_work = vectors.X, 0, exact_work
        self.warnings = vectors.warnings + kernel_warnings(self.kernel)

    @property
    def is_definite(self) -> bool:
        """True if the matrix of the values is known to be positive semidefinite."""
        return self.kernel.is_definite

    def diagonal(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """K(x, x) of these rows."""
        if self.kernel.row.of_distances:
            return np.ones(len(rows))
        return self.rows_of(self.X.take(rows)).diagonal

    def dual_rounding(self, size: NDArray, most: Any) -> float:
        """The amount by which a dual value of coefficients of this size, in boxes of `most`, has to
        be lowered: half of what rounding can do to beta'K beta, as |K(x, z)|^2 <= K(x, x) K(z,
        z)."""
        points = np.flatnonzero(size)
        own = np.sqrt(np.abs(self.diagonal(points % self.X.n_rows)))
        return 0.5 * ROUNDED * float(size[points] @ own) ** 2

    def lower(self, outcome: Outcome, beta: NDArray, most: Any, least: float = 0.0) -> None:
        """Lowers the dual of an outcome so, down to a known bound; nothing where that is none
        beside the primal."""
        low = self.dual_rounding(np.abs(beta), most)
        if not low <= DUAL_TOLERANCE * abs(outcome.primal):
            outcome.certificate = outcome.primal, max(least, outcome.dual - low)

    @cached_property
    def rows(self) -> KernelRows:
        """Kernel rows of the examples, laid out when they are first needed."""
        return self.rows_of(self.X)

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
        """Megabytes that decide how numbers are stored; the same on every machine that has as much,
        as models are."""
        return min(_MAX_MEGABYTES, self.memory)

    def model(self, w, cuts: int) -> KernelModel:
        """The model of an expansion, without threshold."""
        used = w.coef != 0
        known = self.X.take(w.points[used]), w.coef[used], 0.0, self.vectors.columns
        # the originals state one more than the number of features where training points are the
        # support vectors
        return KernelModel(self.kernel, *known, self.vectors.examples.X.n_features + 1, cuts)

    def machine(self, beta: NDArray, b: float) -> KernelModel:
        """The model sum_i beta_i K(x_i, .) + b."""
        rows = np.flatnonzero(beta)
        known = self.X.take(rows), beta[rows], 0.0 - b, self.vectors.columns
        return KernelModel(
            self.kernel, *known, self.vectors.examples.X.n_features, len(self.vectors.examples)
        )

    def parts(self, model: KernelModel) -> tuple[float, float]:
        """|f|^2 and R(f) of a model."""
        squared, s = self._evaluate(model)
        with np.errstate(over="ignore", invalid="ignore"):
            return squared, self.vectors.risk.linearize(s).value

    def evaluate(self, read: LinearModel | KernelModel) -> tuple[float, NDArray[np.float64]]:
        """|f|^2 and f at the rows, of a model that was read back; of the linear kernel readers add
        the support vectors up."""
        if isinstance(read, KernelModel):
            return self._evaluate(self._own(read))
        s = read.scores(self.vectors.examples.X, self.settings.threads)
        return float(read.w @ read.w), s

    def _evaluate(self, model: KernelModel) -> tuple[float, NDArray[np.float64]]:
        kernel, support, alpha = model.kernel, model.support, model.alpha
        with np.errstate(over="ignore", invalid="ignore"):
            if kernel.is_linear:  # as it predicts
                w = model.weights()
                return float(w @ w), linear_scores(self.X, w, model.b, self.settings.threads)
            return self._square(model), self._expand(self.X, support, alpha, kernel) - model.b

    def _square(self, model: KernelModel) -> float:
        """|f|^2 of a model; in extended precision where terms of few support vectors cancel out."""
        kernel, support, alpha = model.kernel, model.support, model.alpha
        squared = float(alpha @ self._expand(support, support, alpha, kernel))
        if self.settings.is_given or kernel.row.of_distances:
            return squared
        terms = float(np.abs(alpha) @ np.sqrt(np.abs(self.rows_of(support).diagonal))) ** 2
        few = len(alpha) * max(len(alpha), support.n_features) <= MAX_EXTENDED
        if not few or sum_rounding(terms, 1) <= RELATIVE_TOLERANCE * abs(squared):
            return squared
        Z = support.to_dense().astype(np.longdouble)
        products = Z @ Z.T
        return float(alpha @ kernel.values(products, products) @ alpha)

    def primal(self, model: KernelModel, C: float) -> float:
        """1/2 |f|^2 + C R(f) of a model."""
        squared, risk = self.parts(model)
        return 0.5 * squared + C * risk

    def squared_norm(self, coef: NDArray) -> float:
        """coef'K coef of coefficients of all rows."""
        points = np.flatnonzero(coef)
        Z = self.X.take(points)
        return max(0.0, float(coef[points] @ self._expand(Z, Z, coef[points])))

    def bound(self, alpha: NDArray, C: float) -> float:
        """The dual bound of 0 <= alpha_i <= C v_i for a sum of hinge losses, or of |alpha_i| <= C
        v_i for targets: the best multiple of it in the box."""
        risk = self.vectors.risk
        v, size = risk.weights, np.abs(alpha)
        most = C / max(float((size if v is None else size / v).max()), 1e-300)
        if isinstance(risk, SignedRisk):
            return self.dual_bound(float(alpha.sum()), alpha * risk.signs, most)
        return self.dual_bound(float(alpha @ risk.targets - risk.tube * size.sum()), alpha, most)

    def dual_bound(
        self, offset: float, coef: NDArray, most: float = 1.0, squared: float | None = None
    ) -> float:
        """See scaled_bound; lowered by what rounding may have added, if that is not negligible."""
        squared, size = self.squared_norm(coef) if squared is None else squared, np.abs(coef)
        bound, low = scaled_bound(offset, squared, most), self.dual_rounding(size, size)
        return (
            bound
            if low <= DUAL_TOLERANCE * bound
            else scaled_bound(offset, squared + 2 * low, most)
        )

    def bracket(self, primal: float, dual: float) -> tuple[float, float]:
        """Both, or no dual where it lies above the primal because the kernel is not definite.

        A bound above the primal by rounding alone is lowered to it, and holds all the more.
        """
        if dual <= primal * (1 + DUAL_TOLERANCE):
            return primal, min(primal, dual)
        return primal, dual if self.is_definite else math.nan

    def reading(self, outcome: Outcome, stop: StoppingRule, screened: bool = False) -> Reading:
        """The reading of an outcome's model for the gate. With `screened` and many rows, the losses
        of some of them decide if an original's eight digits can matter."""
        model, C, original = outcome.model, outcome.objective.C, self.settings.original
        assert isinstance(model, KernelModel)
        reading = self.reading_of(
            outcome, lambda read: self._read_primal(read, C), C * self.vectors.steepness
        )
        many = screened and original and self.X.n_rows > SCREENED
        if many and self._typical_change(
            model, model_read_back(model)
        ) * C <= DIGITS_TOLERANCE * abs(stop.target(outcome.primal)):
            return reading._replace(change=0.0)
        return reading

    def reading_of(
        self, outcome: Outcome, value: Callable[[Any], float], steepness: float
    ) -> Reading:
        """The same where a change of all scores by d changes that value by at most d times the
        steepness, beside what changes in |f|^2."""
        model, original = outcome.model, self.settings.original
        assert isinstance(model, KernelModel)
        change, offset = 0.0, abs(read_back_number(model.b) - model.b)
        if original:
            change = change_in_file(model, model_read_back(model))
        rise = change + offset
        most = change * float(np.abs(model.alpha).sum()) + (steepness * rise if rise else 0.0)
        return Reading(
            value,
            most,
            lambda: self._part(model),
            original,
            self.is_definite,
            sums=lambda: self.rounding(model, steepness) + sum_rounding(abs(outcome.primal), 1),
        )

    def rounding(self, model: KernelModel, steepness: float) -> float:
        """Bound on the rounding of |f|^2 and the risk of a model in float64, where the slopes in
        all scores add up to `steepness`: |K(x, z)|^2 <= K(x, x) K(z, z) in every term."""
        longest = math.sqrt(np.abs(self.diagonal(np.arange(self.X.n_rows))).max(initial=0.0))
        size = float(np.abs(model.alpha).sum()) * longest
        if not (self.settings.is_given or self.kernel.row.of_distances):
            own = np.abs(self.rows_of(model.support).diagonal)
            size = float(np.abs(model.alpha) @ np.sqrt(own))
        terms = size * (size + steepness * longest)
        return sum_rounding(terms, max(self.X.n_rows, self.X.n_features))

    def improve(
        self, outcome: Outcome, free_bias: bool = False, losses: Losses | None = None
    ) -> Outcome:
        """A judged outcome that is not worse than the best constant; where the run was stopped and
        the kernel is definite, nor than the best multiple of its own function.

        free_bias: whether those have the best bias; losses: C R and the bias at scores without
        one, where R is not that of the rows. An original's file that met its rule stays.
        """
        stopped = outcome.stopped_by in STOPPED
        early = outcome.stopped_by not in ENDS and isinstance(self.vectors.risk, ExactLineRisk)
        if (self.settings.original and not stopped) or (self.is_definite and not early):
            return outcome
        if losses is None:
            C, risk = outcome.objective.C, self.vectors.risk
            losses = losses_of(risk, C, free_bias, _deliver)
        at_zero, b = losses(np.zeros(self.X.n_rows))
        most, model = outcome.written, outcome.model
        if self.is_definite and isinstance(model, KernelModel) and (stopped or most > at_zero):
            self._rescale(outcome, model, losses, most)
        if outcome.written <= at_zero * (1 + RELATIVE_TOLERANCE):
            return outcome
        remedy = Message("use {kernel=rbf}, or smaller parameters of the kernel")
        if self.is_definite:
            remedy = Message("scale the features or lower C")
        dual = outcome.dual if self.is_definite else math.nan
        zero = self.machine(np.zeros(self.X.n_rows), _deliver(b))
        return outcome.give_way(zero, at_zero, dual, remedy)

    def _rescale(self, outcome: Outcome, model: KernelModel, losses: Losses, most: float) -> None:
        """Puts the best multiple of a function in its place where that is better; the dual value
        is still that of the machine's own coefficients."""
        squared, s = self._evaluate(replace(model, b=0.0))
        if not (math.isfinite(squared) and np.isfinite(s).all()):
            return
        t, _, primal = best_function(squared, s, losses)
        if not primal < most * (1 - RELATIVE_TOLERANCE):
            return
        alpha = t * model.alpha
        used = np.flatnonzero(alpha)
        multiple = replace(model, support=model.support.take(used), alpha=alpha[used], b=0.0)
        squared, s = self._evaluate(multiple)  # products that cancel out round in their own way
        loss, best = losses(s)
        if not (primal := 0.5 * squared + loss) < most * (1 - RELATIVE_TOLERANCE):
            return
        outcome.model, outcome.norm = replace(multiple, b=_deliver(0.0 - best)), t * outcome.norm
        outcome.multipliers, outcome.apart = t * outcome.multipliers, None
        outcome.certificate = primal, outcome.dual
        if outcome.primal_of_file is not None:
            outcome.primal_of_file = primal
            if self.settings.original:
                read = model_read_back(outcome.model)
                outcome.primal_of_file = self._read_primal(read, outcome.objective.C)

    def _read_primal(self, read: LinearModel | KernelModel, C: float) -> float:
        """The primal of a model that was read back; of the linear kernel readers add the support
        vectors up."""
        squared, s = self.evaluate(read)
        return 0.5 * squared + C * self.vectors.risk.linearize(s).value

    def _own(self, model: KernelModel) -> KernelModel:
        """A model that was read back, in the columns of the rows."""
        if self.vectors.columns is None:
            return model
        support = model.support
        if model.columns is not None:
            wide = int(model.columns[-1]) + 1 if len(model.columns) else 0
            support = Csr(support.data, model.columns[support.indices], support.indptr, wide, True)
        return replace(
            model, support=renumber(support, self.vectors.columns), columns=self.vectors.columns
        )

    def _part(self, model: KernelModel) -> Part:
        """Some support vectors of a model."""
        rows, original = sample_nonzeros(model.alpha), self.settings.original
        part = replace(model, support=model.support.take(rows), alpha=model.alpha[rows])

        def holds(read: Any) -> bool:
            if isinstance(read, LinearModel):
                return self._is_sum(read, part)
            own, support = self._own(read), part.support
            same = is_close if original else np.array_equal
            return (
                np.array_equal(own.support.indptr, support.indptr - support.indptr[0])
                and np.array_equal(own.support.indices, support.indices[support.stored])
                and same(own.support.data, support.data[support.stored])
                and np.array_equal(own.alpha, part.alpha)
                and same(_numbers(own.kernel), _numbers(part.kernel))
                and is_close(own.b, part.b)
            )

        return Part(part, holds)

    def _is_sum(self, read: LinearModel, part: KernelModel) -> bool:
        """Check that a linear model read back is the sum of the support vectors."""
        support, d = part.support, self.X.n_features
        w = in_columns(read.w, read.columns, self.vectors.columns, d)
        products = np.repeat(part.alpha, np.diff(support.indptr)) * support.data[support.stored]
        places = support.indices[support.stored]
        trained, sizes = (np.bincount(places, each, d) for each in (products, np.abs(products)))
        return bool(np.all(np.abs(w - trained) <= KEPT * sizes)) and is_close(read.b, part.b)

    def _typical_change(self, model: KernelModel, kept: KernelModel) -> float:
        """Eight times the change of the losses if each were that of the worst of some SCREENED / 8
        rows."""
        n = self.X.n_rows
        rows = self.X.take(np.arange(0, n, 8 * n // SCREENED + 1))
        a, b = (
            each.kernel.expansion(rows, each.support, each.alpha, each.b, self.settings.threads)
            for each in (model, kept)
        )
        with np.errstate(invalid="ignore", over="ignore"):
            return float(8 * self.vectors.steepness * np.max(np.abs(a - b)))

    def is_small(self, values: int) -> bool:
        """Decide if this many kernel values are computed in float64."""
        return values * (8 + self.X.nnz / max(self.X.n_rows, 1)) <= self._exact_work

    def heaviest(self, points: NDArray, coef: NDArray) -> Csr:
        """Choose at most `basis` of the rows with the largest coefficients."""
        heavy = np.argsort(-np.abs(coef), kind="stable")[: max(20 * self.settings.basis, 2000)]
        return self.pivot_basis(np.sort(points[heavy]))

    def pivot_basis(self, candidates: NDArray) -> Csr:
        """Rows of these, at most `basis`, chosen by incomplete Cholesky factorisation."""
        from svmcut.spaces.subspace import pivoted_rows

        rows = self.rows_of(self.X.take(candidates))
        chosen = pivoted_rows(rows, self.settings.basis)
        self.extra += rows.evaluations
        return self.X.take(candidates[chosen])

    @property
    def _laid_out(self) -> bool:
        return "rows" in self.__dict__

    def _expand(
        self, X: Csr, Z: Csr, alpha: NDArray, kernel: Kernel | None = None
    ) -> NDArray[np.float64]:
        """sum_k alpha_k K(z_k, .) at the rows of X, in float64; K is the room's kernel unless one
        is given."""
        kernel = kernel or self.kernel
        values, own = X.n_rows * Z.n_rows, X is self.X and self._laid_out and kernel == self.kernel
        if not own or self.is_small(values):
            self.extra += values
        if self.is_small(values):
            return kernel.expansion(X, Z, alpha, 0.0, self.settings.threads)
        if own:
            return self.rows.accumulate_foreign(Z, alpha, exact=True)
        blocks = [
            X.rows(start, min(start + _BLOCK, X.n_rows)) for start in range(0, X.n_rows, _BLOCK)
        ]
        laid = (KernelRows(block, kernel, self.settings.threads) for block in blocks)
        return np.concatenate([rows.accumulate_foreign(Z, alpha, exact=True) for rows in laid])

    def rows_of(self, X: Csr) -> KernelRows:
        """Kernel rows of other points."""
        return KernelRows(X, self.kernel, self.settings.threads)


class KernelPlan(Plan):
    """A plan on kernel values of examples."""

    #: As KernelRoom's.
    exact_work: ClassVar[float] = 1e9
    #: As of Vectors.
    weights: ClassVar[bool] = True
    #: (N, N) kernel values of a set and the examples' rows of it, where several plans share them;
    #: see KernelProblem.
    shared: tuple[NDArray, NDArray[np.int64]] | None = None

    def __init__(self, examples: Examples, settings: Settings):
        vectors = Vectors(examples, settings, self.weights)
        self.room = self._room(vectors, settings)
        super().__init__(settings, vectors.path, vectors.units, self.room.warnings)
        if settings.initial is not None and settings.solver != SMO:
            raise UsageError(
                "{initial} is a start of solver '{}', and {} is taken for {:,} rows; give "
                "{solver=}",
                SMO,
                settings.solver,
                len(examples),
                SMO,
            )

    def _room(self, vectors: Vectors, settings: Settings) -> KernelRoom:
        return KernelRoom(vectors, settings, self.exact_work)

    def in_file(self, outcome: Outcome) -> Reading:
        """The reading of an outcome's model for the gate."""
        return self.room.reading(outcome, self.stop(outcome.objective))

    def failure(self, error: Exception) -> Exception:
        """The error for a user after a failure of compiled loops over kernel values."""
        from svmcut._native.expansion import NoLevel

        if isinstance(error, NoLevel):
            return TrainingError("{}: kernel values are not finite; scale the features", self.path)
        if isinstance(error, MemoryError) and not isinstance(error, SvmcutError):
            return MemoryLimitError("{}: {}", self.path, error)
        return error


def _numbers(kernel: Kernel) -> NDArray[np.float64]:
    """The parameters that have digits in a file."""
    return np.array([kernel.gamma, kernel.scale, kernel.offset])


def kernel_warnings(kernel: Kernel) -> list[str]:
    """Warnings about a kernel."""
    if kernel.is_definite or kernel.is_given:
        return []
    of = " of these parameters" if kernel.row.definite else ""
    return [
        f"the {kernel.name} kernel{of} need not be positive definite: training ends at a "
        "stationary point, and no dual "
        "bound is known"
    ]
