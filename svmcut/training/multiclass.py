# SPDX-License-Identifier: BSD-3-Clause
"""Training of classes on features: all at once after Crammer and Singer, or one against the
rest.

Training of classes by functions of a kernel, all at once after Crammer and Singer.

    min  1/2 sum_k |f_k|^2 + C sum_i v_i max_k ([k != y_i] + f_k(x_i) - f_y(x_i)),        y = y_i

by dual ascent over blocks of rows, or as svmcut.training.emissions on sequences of one token,
without transitions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from svmcut.base.records import replace
from svmcut.base.resources import planned_memory
from svmcut.base.typing import Any, NamedTuple, Protocol
from svmcut.data.examples import Examples, Sequences
from svmcut.data.labels import distinct
from svmcut.models import JointKernelModel, MulticlassModel
from svmcut.risks import make_risk
from svmcut.risks.chain import ChainRisk, SequenceSum, SquaredSequences
from svmcut.risks.multiclass import (
    ClassCostRisk,
    CrammerSingerRisk,
    TokenCostRisk,
    squared_differences,
)
from svmcut.risks.one_vs_rest import OneVsRestRisk
from svmcut.risks.weights import total
from svmcut.solvers.class_blocks import ClassBlocks
from svmcut.solvers.one_vs_rest import (
    GroupSolver,
    JoinedRun,
    OneVsRest,
    OneVsRestRun,
    Piece,
    check_piece,
    lanes_of,
    waves_of,
)
from svmcut.solvers.protocol import Problem, Progress, StoppingRule
from svmcut.spaces.kernel import ClassFunctions
from svmcut.spaces.kernel_chain import CachedRows
from svmcut.spaces.structures import LabelSpace
from svmcut.spec import schemas
from svmcut.spec.catalog import AUTO, CUTTING_PLANE, DUAL_CD, JOINT, MULTICLASS, TASKS, losses
from svmcut.spec.entries import MARGIN, SLACK
from svmcut.spec.parameters import DEFAULTS, Settings
from svmcut.training.certificate import (
    in_columns,
    part_of_features,
    read_back_features,
    score_sensitivity,
    stack_constant,
    weights_reading,
)
from svmcut.training.checks import (
    check_class_memory,
    check_class_numbers,
    checked_weights,
    class_warnings,
)
from svmcut.training.driver import Ended, Plan, Stage, make_solver
from svmcut.training.emissions import BUDGET, FunctionsPlan
from svmcut.training.gate import Part, Reading
from svmcut.training.outcome import PERCENT, STOPS, Objective, Outcome, Units, class_units
from svmcut.training.settings import SMO_ROWS
from svmcut.training.vectors import BoundRows

#: What svm_multiclass asks of the margin of a wrong class, by rescaling and norm of the slack, and
#: so its weights: its C is the square of this times that of percent alone.
MARGINS = {(MARGIN, 1): PERCENT, (MARGIN, 2): math.sqrt(PERCENT), (SLACK, 1): 1.0, (SLACK, 2): 1.0}


def class_risk(
    s: Settings, y: NDArray, names: NDArray, threads: int, weights: NDArray | None
) -> Any:
    """The risk of classes y in 0 to K - 1 with these (K,) names, all at once or one against the
    rest."""
    K = len(names)
    if losses(s.task)[s.loss or ""].joint:
        from svmcut.risks.multiclass import ClassCostRisk, squared_differences

        return ClassCostRisk(y, squared_differences(names, y), s.rescaling, s.slack_norm, weights)
    if s.multiclass != MULTICLASS[0]:
        risk = make_risk(s)
        if s.free_bias:
            from svmcut.risks.free_bias import FreeBiasRisk

            risk = FreeBiasRisk(risk)
        return OneVsRestRisk.of_classes(risk, y, K, threads, weights)
    from svmcut.risks.multiclass import CrammerSingerRisk, SquaredCrammerSingerRisk

    return (CrammerSingerRisk if s.slack_norm == 1 else SquaredCrammerSingerRisk)(
        y, K, threads, weights
    )


class Unit(NamedTuple):
    """The weight of a loss in svm_multiclass: `margin`, see MARGINS; `scale`, see Units; `written`,
    the factor of the weights in a file; `loss`, the name in the model, None for the task's
    first."""

    margin: float
    scale: float
    written: float
    loss: str | None


def unit_of(s: Settings) -> Unit:
    """The unit for these settings, with classes trained at once or against the rest."""
    # -c is svm_multiclass's, whose weights the file has; the weight of one loss is that of a unit
    # loss, and so is C of the losses that svm_multiclass has not
    if s.loss != TASKS[s.task].loss:
        return Unit(1.0, 1.0 if losses(s.task)[s.loss or ""].joint else PERCENT, 1.0, s.loss)
    margin = MARGINS[s.rescaling, s.slack_norm]
    return Unit(margin, PERCENT, margin if s.cost is not None else 1.0, None)


def units_of(s: Settings, weight: float, n: int) -> Units:
    """The units of n examples of this weight."""
    margin, scale, _, _ = unit_of(s)
    return class_units(s.loss or "", s.epsilon or 0.0, weight, n, margin, scale)


def classes_of(examples: Examples, original: bool) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Names (K,) of the classes, and the place (n,) of every row's; by the originals' conventions
    classes are 1 to the largest, with rows or without."""
    names = distinct(examples.y)
    if original:
        names = np.arange(1.0, names[-1] + 1)
    return names, np.searchsorted(names, examples.y)


class BoundClasses(BoundRows, Protocol):
    """Rows of several classes."""

    #: (K,) float64 Of the classes, increasing.
    names: NDArray[np.float64]
    #: True if machines against the rest are trained one by one.
    apart: bool


class Classes:
    """Examples of several classes in memory; see BoundClasses. Raises UsageError when a model file
    could not number its weights, and MemoryLimitError."""

    def __init__(self, examples: Examples, settings: Settings):
        self.examples, s, path = examples.validate(), settings, examples.source.path
        self._settings, self.path = settings, path
        self.names, y = classes_of(self.examples, s.original)
        K, n = len(self.names), len(examples)
        check_class_numbers(path, K, examples.X.n_features)
        self.X, self.columns = self.examples.X.compact()
        check_class_memory(path, K, n, self.X.n_features, s.max_memory)
        weights, self.apart = checked_weights(examples), s.multiclass != MULTICLASS[0]
        self.units, self.warnings = (
            units_of(s, total(weights, n), n),
            class_warnings(path, n, self.names),
        )
        self.risk: Any = class_risk(s, y, self.names, s.threads, weights)

    def space(self, cuts: bool) -> LabelSpace:
        s = self._settings
        return LabelSpace(self.X, len(self.names), 0, s.bias or 0.0, s.threads)

    def problem(self, space: Any, C: float, stop: StoppingRule) -> Problem:
        return Problem(self.risk, space, C, stop, self._settings.qp, *self._settings.l1_l2)

    def sensitivity(self, space: Any, w: Any) -> float:
        """The bound for scores of a row that change by e |x|.|W_k|: all of them one against the
        rest, else two. It is unknown for squared slack."""
        if self._settings.slack_norm == 2:
            return math.inf
        rise = score_sensitivity(space, w, len(self.names), self.risk.weights, self.apart)
        return getattr(self.risk, "steepest", 2.0) * rise

    def details(self) -> dict[str, Any]:
        return {}


def plan_classes(examples: Examples, settings: Settings) -> MulticlassPlan:
    """The plan of examples in memory."""
    return MulticlassPlan(Classes(examples, settings), settings)


class MulticlassPlan(Plan):
    """Weights of several classes, in one stage, see svmcut.training.linear.Linear."""

    def __init__(self, classes: BoundClasses, settings: Settings):
        super().__init__(settings, classes.path, classes.units, classes.warnings)
        self.classes, self.names, self.space = classes, classes.names, classes.space(False)
        self.bias, (_, _, self._written, self._loss) = settings.bias or 0.0, unit_of(settings)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        """The solver of that name; of "auto" dual coordinate descent, of other losses the fastest
        on two classes."""
        s, space, apart = self.settings, self.space, self.classes.apart
        name = s.solver
        if name == AUTO and apart:
            from svmcut.solvers.auto import choose

            mean = objective.C * (self.units.samples / space.X.n_rows)
            name = (
                choose(space.X.n_rows, space.X.n_features + 1, space.X.nnz, mean)
                if self._loss
                else DUAL_CD
            )
        elif name == AUTO:
            name = DUAL_CD if s.is_usual else CUTTING_PLANE
        problem = self.classes.problem(space, objective.C, self.stop(objective))
        if apart:
            solver = make_solver(name, s, DEFAULTS["task"])
            return Stage(name, OneVsRest(solver), problem, objective)
        return Stage(name, make_solver(name, s), problem, objective, warm=True)

    @property
    def splits(self) -> bool:
        """See svmcut.training.pieces.Splits: pieces are groups of machines against the rest."""
        return self.classes.apart

    def _groups(self, stage: Any) -> list[list[range]]:
        return waves_of(stage.solver, self.space.X.n_rows, len(self.names))

    def _group(self, objective: Objective, k: int) -> tuple[Stage, range]:
        stage = self.next(objective, None)
        return stage, [labels for wave in self._groups(stage) for labels in wave][k]

    def pieces(self, objective: Objective) -> int:
        return sum(map(len, self._groups(self.next(objective, None))))

    def piece(self, objective: Objective, k: int) -> tuple[Plan, tuple[None, float]]:
        stage, labels = self._group(objective, k)
        space = LabelSpace(self.space.X, len(labels), 0, self.bias, self.settings.threads)
        machine: Any = stage.solver
        solver = GroupSolver(machine.machine, lanes_of(len(self.names)))
        problem = solver.of_group(stage.problem, space, labels)
        return GroupPlan(self, Stage(stage.name, solver, problem, objective)), (None, objective.C)

    def check_piece(self, objective: Objective, k: int, outcome: Outcome) -> None:
        schemas.require("piece" in outcome.details, "details", "a piece")
        labels = self._group(objective, k)[1]
        check_piece(outcome.details["piece"], self.space.dim // len(self.names), len(labels))

    def sums(self, objective: Objective, done: Mapping[int, Outcome]) -> Progress:
        return self._together(objective, done)[1]

    def whole(self, objective: Objective, done: Mapping[int, Outcome], ended: Ended) -> Outcome:
        stage, progress, run = self._together(objective, done)
        stopped = [one.stopped_by for one in done.values() if one.stopped_by in STOPS[:2]]
        stopped_by = ended.stopped_by or next(iter(stopped), None)
        progress = progress._replace(seconds=ended.progress.seconds)
        return self.finish(objective, None, Ended(stage, run, progress, stopped_by))

    def _together(
        self, objective: Objective, done: Mapping[int, Outcome]
    ) -> tuple[Stage, Progress, Any]:
        """A run of all machines, as it stands after these pieces."""
        stage = self.next(objective, None)
        run = stage.solver.start(stage.problem)
        pieces = {k: Piece(**outcome.details["piece"]) for k, outcome in done.items()}

        def again(k: int, looks: int) -> NDArray[np.float64]:
            plan, _ = self.piece(objective, k)
            part: Any = plan.next(objective, None)
            group = part.solver.start(part.problem)
            return group.so_far(looks)

        progress = JoinedRun(run, self._groups(stage), pieces, again).take()
        return stage, progress, run

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        """The weights, with their primal as a reader of the model file computes it."""
        problem = ended.stage.problem
        if ended.stopped_by is not None:
            from svmcut.training.fallback import improve_stopped

            ended = ended._replace(progress=improve_stopped(problem, ended.progress))
        w = ended.progress.solution()
        outcome = ended.outcome(ended.stage.name, self._model(w), self.space.dot(w, w))
        if (
            self.settings.original and ended.run.bundle is None
        ):  # the descent makes no cut; the one at w = 0 is the longest
            zero = np.zeros(self.space.X.n_rows * len(self.names))
            cut = self.space.adjoint(problem.risk.linearize(zero).coef)
            outcome.longest_cut = math.sqrt(self.space.dot(cut, cut))
        outcome.multipliers = self.units.original * outcome.multipliers
        outcome.details |= self.classes.details()
        outcome.scale = self._written
        below = getattr(ended.run, "below", None)  # of Crammer and Singer's descent alone
        if below is not None and (known := below()) is not None:
            v, lower = known
            apart = self.space.blend(1.0, w, -1.0, v)
            square = max(0.0, self.space.dot(apart, apart))
            outcome.apart = outcome.primal - lower, math.sqrt(square)
        if isinstance(ended.run, OneVsRestRun) and not self.settings.free_bias:
            outcome.radii = ended.run.radii()
        if problem.l1:
            W = w.reshape(-1, len(self.names))[: self.space.X.n_features]
            outcome.details["features_used"] = int(W.any(axis=1).sum())
        model: Any = outcome.model
        original = self.settings.original
        rise = self.classes.sensitivity(self.space, w)
        if self.settings.free_bias:
            machines = map(problem.risk.machine, range(len(self.names)))
            rise += sum(
                one.bias_sensitivity(b) for one, b in zip(machines, model.constant, strict=True)
            )
        reading = weights_reading(
            self._weights,
            problem,
            outcome,
            rise,
            original,
            lambda: part_of_features(model, len(self.names)),
        )
        reading = reading._replace(whole=lambda: read_back_features(model))
        if self.settings.free_bias:
            reading = reading._replace(value=lambda kept: self._at_own_bias(kept, problem))
        return outcome.judge(problem.stop, ended.stopped_by, reading=reading)

    def _at_own_bias(self, model: Any, problem: Problem) -> float:
        """The primal of a model whose biases are free, at those it has."""
        w, b, K = self._weights(model), model.constant / self._written, len(self.names)
        S = self.space.scores(w).reshape(-1, K) + model.bias * b
        values = [problem.risk.machine(k).risk.linearize(S[:, k]).value for k in range(K)]
        return problem.penalty(w) + problem.C * math.fsum(values)

    def _weights(self, model: Any) -> NDArray[np.float64]:
        """The weights of a model in the unit and the columns of training."""
        W = in_columns(model.W, model.columns, self.classes.columns, self.space.X.n_features)
        w = (stack_constant(W, model.constant) if self.bias else W).ravel()
        return w if self._written == 1 else w / self._written

    def _model(self, w) -> MulticlassModel:
        W = w.reshape(-1, len(self.names))
        W = W if self._written == 1 else self._written * W
        constant, bias = W[-1] if self.bias else np.zeros(len(self.names)), self.bias
        if self.settings.free_bias:
            classes: Any = self.classes
            risk, S = classes.risk, self.space.scores(w).reshape(-1, len(self.names))
            biases = [risk.machine(k).bias(S[:, k]) for k in range(len(self.names))]
            constant, bias = self._written * np.array(biases), 1.0
        features, classes = W[: self.space.X.n_features], self.classes
        shape = classes.examples.X.n_features, len(classes.examples)
        known = self.names, classes.columns, *shape, self._loss
        return MulticlassModel(features, constant, bias, *known)


class GroupPlan(Plan):
    """One stage: some machines against the rest."""

    def __init__(self, plan: MulticlassPlan, stage: Stage):
        super().__init__(plan.settings, plan.path, plan.units, [])
        self._plan, self._stage = plan, stage

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        return self._stage

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        """The result of the run, with a model that has no features."""
        K, none = self._stage.problem.risk.n_classes, np.zeros(0, np.int32)
        model = MulticlassModel(np.zeros((0, K)), np.zeros(K), 0.0, np.arange(1.0, K + 1), none)
        outcome = ended.outcome(self._stage.name, model, 0.0)
        outcome.stopped_by = ended.stopped_by
        outcome.details["piece"] = ended.run.piece()._asdict()
        return outcome


#: Support vectors that the gate writes and reads back where the digits of the file cannot matter.
_MAX_SAMPLED = 100
#: Tables of alphas or scores that dual ascent holds at its looks.
_N_TABLES = 12
#: No score that a reader forms differs from that of training by more than this part of the sizes it
#: adds up.
_SUM_ROUNDING = 1e-12


class JointPlan(FunctionsPlan):
    """One stage, as of FunctionsPlan, which raises what that does."""

    objects = "examples", "classes"

    def __init__(self, examples: Examples, settings: Settings):
        rows, s, path, n = examples.validate(), settings, examples.source.path, len(examples)
        self.names, classes = classes_of(rows, s.original)
        K, places, v = len(self.names), classes.astype(np.int32), checked_weights(rows)
        check_class_numbers(path, K, rows.X.n_features)
        tokens = Sequences(rows.X, np.arange(n + 1), places, rows.source, v)
        _, _, self._written, self._loss = unit_of(s)
        super().__init__(tokens, s, units_of(s, total(v, n), n))
        self.warnings = class_warnings(path, n, self.names) + self.warnings
        if not s.is_usual:
            self._risk = self._make_cost_risk(places)
        if self.solver == JOINT[0]:
            self._classes = CrammerSingerRisk(places, K, s.threads, tokens.weights)
            self.space = ClassFunctions(self._cache_rows(), K)

    def _make_cost_risk(self, places: NDArray[np.int32]) -> SequenceSum:
        """The risk where it is not the plain one of a loss of 1 for every mistake."""
        s, v = self.settings, self._risk.weights
        risk: SequenceSum = ChainRisk(self._labellings.chains, 0, s.threads, v)
        if self._loss is not None:
            costs = ClassCostRisk(
                places, squared_differences(self.names, places), s.rescaling, s.slack_norm
            )
            risk = TokenCostRisk(self._labellings.chains, costs, v)
        return risk if s.slack_norm == 1 else SquaredSequences(risk)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        if self.solver != JOINT[0]:
            return super().next(objective, handed)
        problem = Problem(
            self._classes, self.space, objective.C, self.stop(objective), self.settings.qp
        )
        return Stage(self.solver, ClassBlocks(), problem, objective, warm=True)

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        if self.solver == JOINT[0] and (
            ended.stopped_by is not None or ended.run.bundle is not None
        ):
            ended = ended._replace(progress=ended.run.settle(ended.progress))
        outcome = super().finish(objective, handed, ended)
        outcome.multipliers = self.units.original * outcome.multipliers
        return outcome

    def reading(self, outcome: Outcome, objective: Objective) -> Reading:
        """The model's reading: eight digits in files of the original programs, and all of them in
        svmcut's, where only sums round."""
        model: Any = outcome.model
        original = self.settings.original
        largest = float(np.max(np.abs(self._values.diagonal), initial=0.0))
        size = np.abs(model.alpha).sum() / self._written * largest
        change = _SUM_ROUNDING * size * (2 * objective.C * self._tokens + size)
        return Reading(
            lambda kept: self._value(kept, objective.C),
            np.inf if original else float(change),
            lambda: self._part(model),
            original,
            coarse=original,
        )

    def _value(self, model: Any, C: float) -> float:
        kept, threads = replace(model, alpha=model.alpha / self._written), self.settings.threads
        kind = type(kept)
        decisions = kind.scores_in_float32 if self.settings.original else kind.decisions
        s = np.zeros((len(self._examples), self._shape.stride))
        s[:, : len(self.names)] = decisions(kept, self._examples.X, threads)
        own = decisions(replace(kept, columns=None), kept.support, threads)
        classes = np.repeat(np.arange(len(kept.b)), np.diff(kept.starts))
        return (
            0.5 * float(kept.alpha @ own[kept.places, classes])
            + C * self._risk.linearize(s.ravel()).value
        )

    def _part(self, model: Any) -> Part:
        """Some of the support vectors, by their scores at some of the rows."""
        m, n = model.support.n_rows, len(self._examples)
        used, rows = (
            distinct(np.linspace(0, count - 1, min(count, _MAX_SAMPLED)).astype(np.int64))
            for count in (m, n)
        )
        alpha = np.zeros((m, len(self.names)))
        alpha[model.places, np.repeat(np.arange(len(model.b)), np.diff(model.starts))] = model.alpha
        part, X = self._of(alpha[used], used, model.support), self._examples.X.take(rows)
        expected, size = part.decisions(X), float(np.abs(part.alpha).sum())

        def holds(kept: Any) -> bool:
            largest = float(np.max(np.abs(expected), initial=0.0))
            return bool(
                np.allclose(kept.decisions(X), expected, rtol=0, atol=1e-9 * max(largest, size))
            )

        return Part(part, holds)

    def _model(self, w: Any) -> JointKernelModel:
        """The rows whose coefficients are not all 0, each once."""
        alpha: NDArray[np.float64] = w.coefficients().reshape(len(self._examples), -1)[
            :, : len(self.names)
        ]
        used = np.flatnonzero(alpha.any(axis=1))
        return self._of(self._written * alpha[used], used, self._X)

    def _needs(self, n: int) -> dict[str, float]:
        needs, size = super()._needs(n), 1e-6 * n * self._shape.n_tags
        return needs | {
            JOINT[0]: 8 * _N_TABLES * size + min(self.settings.cache_size, 8e-6 * n * n)
        }

    def _prefer(self, n: int, needs: dict[str, float], memory: float) -> str:
        if not self.settings.is_usual:
            return CUTTING_PLANE
        if n <= SMO_ROWS and self._kernel.is_definite and needs[JOINT[0]] <= memory:
            return JOINT[0]
        return super()._prefer(n, needs, memory)

    def _cache_rows(self) -> CachedRows:
        """All kernel values where the memory is there, else those used last."""
        n, memory = self._values.n, planned_memory(self.settings.max_memory)
        room = min(BUDGET, memory) / 2
        return CachedRows(
            self._values, room if 8e-6 * n * n <= room else self.settings.cache_size, True
        )

    def _of(self, alpha: NDArray, used: NDArray, X: Any) -> JointKernelModel:
        K = len(self.names)
        classes, places = np.nonzero(alpha.T)
        starts = np.searchsorted(classes, np.arange(K + 1)).astype(np.int64)
        return JointKernelModel(
            self._kernel,
            X.take(used),
            starts,
            places.astype(np.int32),
            alpha[places, classes],
            np.zeros(K),
            self.names,
            False,
            self._columns,
            self._examples.X.n_features,
            len(self._examples),
            self._loss,
        )
