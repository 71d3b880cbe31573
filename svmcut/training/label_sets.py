# SPDX-License-Identifier: BSD-3-Clause
"""Training of label sets: weights of labels and of their pairs.

Training of labels by the thousand, without weights of their pairs: block after block, in memory
that does not grow with all labels times all features.

Training of sets of labels: the way that many take, and that of a tree of them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from svmcut._native import wide_cd
from svmcut.base.errors import MemoryLimitError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.resources import describe_shortage
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.data.examples import MultilabelExamples
from svmcut.data.label_clusters import LabelTree, build_label_tree
from svmcut.models import LabelTreeModel, MultilabelModel, SparseLabelModel
from svmcut.risks.hinge import HingeRisk
from svmcut.risks.multilabel import LabelRisk
from svmcut.risks.one_vs_rest import OneVsRestRisk
from svmcut.solvers.auto import DUAL_CD, choose_labels
from svmcut.solvers.label_lanes import LabelLanes, LanesProblem
from svmcut.solvers.label_tree import LabelTreeLanes, NodePieces, TreeProblem
from svmcut.solvers.one_vs_rest import OneVsRest, OneVsRestRun
from svmcut.solvers.protocol import Problem
from svmcut.spaces.linear import LinearSpace
from svmcut.spaces.structures import LabelSpace
from svmcut.spec.catalog import AUTO, AUTO_PRUNE, BINARY, SOLVERS
from svmcut.spec.parameters import Settings
from svmcut.structured.multilabel import LabelSets
from svmcut.training.certificate import in_columns, part_of_features, score_sensitivity
from svmcut.training.chains import Structured, units_of_structures
from svmcut.training.checks import check_label_memory, check_parts, checked_weights
from svmcut.training.driver import Ended, Plan, Stage, make_solver
from svmcut.training.gate import Part
from svmcut.training.outcome import Objective, Outcome

if TYPE_CHECKING:
    from svmcut.models import SetModel


class LabelSetPlan(Structured):
    """Label sets; without pairs every label is a support vector machine of its own. Raises
    MemoryLimitError."""

    warm = False

    def __init__(self, examples: MultilabelExamples, settings: Settings):
        self._examples, s = examples.validate(), settings
        path, pairs = examples.source.path, s.pairs == "all"
        X, self._columns = self._examples.X.compact()
        check_parts(path, s.parts, len(examples.names), "labels")
        check_label_memory(examples, X.n_features, pairs, s.max_memory)
        none = Message("no example of {} has a label; the model will predict none", path)
        warnings: list[str] = [] if len(examples.names) else [none]
        rows = replace(self._examples, X=X, weights=checked_weights(examples))
        model = LabelSets(rows, s.bias or 0.0, pairs, s.threads)
        super().__init__(s, path, model, warnings)

    def choose(self) -> str:
        return choose_labels(self.model.n_labels)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        """The solver of two classes for labels without pairs, else that of Structured."""
        s, model = self.settings, self.model
        name = DUAL_CD if s.solver == AUTO and not model.pairs else s.solver
        if name == AUTO or s.task not in SOLVERS[name].binary or not model.n_labels:
            return super().next(objective, handed)
        risk = OneVsRestRisk(HingeRisk(), self._examples.gold(), s.threads, model.weights)
        space = LabelSpace(model.examples.X, model.n_labels, 0, model.bias, s.threads)
        problem = Problem(risk, space, objective.C, self.stop(objective), s.qp)
        return Stage(name, OneVsRest(make_solver(name, s)), problem, objective)

    def cuts(self) -> tuple[LabelRisk, LabelSpace]:
        model, threads = self.model, self.settings.threads
        n_pairs = model.dim - model.n_rows * model.n_labels
        space = LabelSpace(model.examples.X, model.n_labels, n_pairs, model.bias, threads)
        return LabelRisk(self._examples.gold(), model.pairs, threads, model.weights), space

    def make_model(self, w) -> MultilabelModel:
        W, v = self.model.split(w)
        constant = np.zeros(self.model.n_labels)
        if self.model.bias:
            W, constant = W[:-1], self.model.bias * W[-1]
        first, second = (
            np.nonzero(np.triu(v, 1)) if v is not None else (np.zeros(0, int), np.zeros(0, int))
        )
        weights = v[first, second] if v is not None else np.zeros(0)
        return MultilabelModel(
            W,
            constant,
            first.astype(np.int32),
            second.astype(np.int32),
            weights,
            self._examples.names,
            self._columns,
            counts=np.bincount(self._examples.labels, minlength=len(self._examples.names)),
            n_rows=len(self._examples),
        )

    def weights(self, model: MultilabelModel) -> NDArray[np.float64]:
        """The weights of a model in the columns of training."""
        own, v = self.model, None
        W = in_columns(model.W, model.columns, self._columns, own.examples.X.n_features)
        if own.bias:
            W = np.vstack([W, model.constant / own.bias])
        if own.pairs:
            v = np.zeros((own.n_labels, own.n_labels))
            v[model.first, model.second] = model.v
        return own.join(W, v)

    def part(self, model: MultilabelModel) -> Part:
        """The weights of some features."""
        return part_of_features(model, self.model.n_labels)

    def sensitivity(self, w, problem: Problem) -> float:
        """Known if labels are machines of their own."""
        if not isinstance(problem.risk, OneVsRestRisk):
            return super().sensitivity(w, problem)
        return problem.risk.steepest * score_sensitivity(
            problem.space, w, self.model.n_labels, self.model.weights, True
        )

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        """See Structured.finish; warns if a model lacks the weights of pairs it was to have."""
        outcome = super().finish(objective, handed, ended)
        if isinstance(ended.run, OneVsRestRun):
            outcome.radii = ended.run.radii()
        v = self.model.split(ended.progress.solution())[1]
        if v is not None and len(v) > 1 and not v.any():
            outcome.warnings.append(
                Message(
                    "the best model met has no weights of pairs; lower {gap}, give more time, or "
                    "{pairs=none} for a "
                    "run without them"
                )
            )
        return outcome


#: Labels from which machines are trained in wide lanes unless told otherwise.
MIN_LANE_LABELS = 256
#: Bytes that a block takes where no limit says less, and the most groups of labels in one.
BLOCK_BYTES, MAX_GROUPS = 128e6, 4
#: Weights from which a model is written as a binary file unless told otherwise.
MIN_BINARY_WEIGHTS = 1 << 20
#: Relative gap below which weights in single precision may stand still.
MIN_LANE_GAP = 1e-6


def squared_length(values: NDArray[np.float32]) -> float:
    """|values|^2 in double precision, without a copy of them in it."""
    return float(np.einsum("i,i->", values, values, dtype=np.float64))


def should_train_in_blocks(examples: MultilabelExamples, s: Settings) -> bool:
    """Decide if there are many labels, or if an option needs blocks."""
    if s.pairs == "all" or s.solver not in (AUTO, DUAL_CD) or not len(examples.names):
        return False
    asked = s.prune is not None or s.label_block is not None or s.model_format == BINARY
    return asked or (
        len(examples.names) >= MIN_LANE_LABELS and (s.gap is None or s.gap >= MIN_LANE_GAP)
    )


class LabelBlockPlan(Plan):
    """One stage: all labels, block after block. Raises MemoryLimitError."""

    #: As of LabelLanes.
    crew: Any = None

    def __init__(self, examples: MultilabelExamples, settings: Settings):
        self._examples = examples.validate()
        X, self._columns = self._examples.X.compact()
        self._weights, path = checked_weights(examples), examples.source.path
        units = units_of_structures(settings, len(examples), self._weights)
        super().__init__(settings, path, units, [])
        self._space = LinearSpace(X, settings.bias or 0.0, settings.threads)
        self._block = self._choose_block()
        row, label = self._examples.entries()
        by_label = np.argsort(label, kind="stable")
        self._rows = row[by_label].astype(np.int32)
        self._counts = np.bincount(label, minlength=len(examples.names))
        self._indptr = np.concatenate([[0], np.cumsum(self._counts)]).astype(np.int64)

    def _choose_block(self) -> int:
        """Labels of a block, a multiple of 64: as given, or as many as memory allows."""
        s, n, dim, lanes = self.settings, len(self._examples), self._space.dim, wide_cd.LANES
        # alphas, weights, the best and those that are kept; bits and order of rows; sums of a look
        group = lanes * (4.0 * n + 16.0 * dim) + 28.0 * n + 128.0 * dim
        groups = int(min(MAX_GROUPS, max(1, BLOCK_BYTES // group)))
        if s.label_block is not None:
            groups = math.ceil(s.label_block / lanes)
        elif s.max_memory is not None:
            while groups > 1 and describe_shortage(1e-6 * group * groups, s.max_memory):
                groups //= 2
        groups = min(groups, math.ceil(len(self._examples.names) / lanes))
        if there := describe_shortage(1e-6 * group * groups, s.max_memory):
            raise MemoryLimitError(
                "{}: training {} labels at once on {} features and {} examples needs about "
                "{:,.0f} MB and {}; give a smaller {label_block}",
                self.path,
                groups * lanes,
                dim,
                n,
                1e-6 * group * groups,
                there,
            )
        return groups * lanes

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        """Dual coordinate descent in lanes."""
        s = self.settings
        solver = LabelLanes(self._block, s.prune or 0.0, s.seed, self.crew)
        # labels of like frequency need like numbers of epochs
        order = np.argsort(-self._counts, kind="stable").astype(np.int32)
        problem = LanesProblem(
            self._space,
            self._indptr,
            self._rows,
            order,
            self._weights,
            objective.C,
            self.stop(objective),
        )
        return Stage(DUAL_CD, solver, problem, objective)

    def _make_model(
        self, problem: Any, kept: Any, constants: NDArray[np.float64]
    ) -> tuple[SetModel, float]:
        """The model, and |w|^2 of its features."""
        model = SparseLabelModel(
            kept.indptr,
            kept.places,
            kept.values,
            constants,
            self._examples.names,
            self._counts.astype(np.int64),
            len(self._examples),
            self._is_binary(len(kept.values)),
            self._columns,
        )
        return model, squared_length(kept.values)

    def _is_binary(self, weights: int) -> bool:
        """Decide if a model of so many weights is written as a binary file."""
        format_ = self.settings.model_format
        return weights >= MIN_BINARY_WEIGHTS if format_ is None else format_ == BINARY

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        """The weights that are kept, and what pruning cost."""
        s, run, problem = self.settings, ended.run, ended.stage.problem
        pieces, constants = ended.progress.solution()
        offsets = self._space.bias * constants.astype(np.float64)
        model, squared = self._make_model(problem, pieces, offsets)
        squared += float(constants.astype(np.float64) @ constants)
        outcome = ended.outcome(ended.stage.name, model, squared)
        outcome.details |= self._report_details(model)
        stopped_by = ended.stopped_by
        if s.prune:
            before = float(run.trained.sum())
            outcome.details["pruning"] = {
                "threshold": s.prune,
                "primal_before": before,
                "rise": outcome.primal - before,
            }
            if stopped_by is None and problem.stop.met(before, outcome.dual):
                stopped_by = "pruned"
        outcome = outcome.judge(problem.stop, stopped_by)
        if outcome.stopped_by == "pruned" and s.prune != AUTO_PRUNE:
            outcome.warnings.append(
                Message(
                    "without the weights below {:g} the objective is {:.2g} % higher, more than "
                    "{gap} allows; {prune=auto} prunes as far as it does",
                    s.prune,
                    100 * (outcome.primal / max(1e-300, before) - 1),
                )
            )
        return outcome

    def _report_details(self, model: Any) -> dict[str, Any]:
        """Details of the model for the report."""
        return {"weights_kept": len(model.values)}


def plan_label_sets(examples: MultilabelExamples, settings: Settings) -> Plan:
    """The plan of examples in memory."""
    if settings.tree and len(examples.names):
        return LabelTreePlan(examples, settings)
    return (LabelBlockPlan if should_train_in_blocks(examples, settings) else LabelSetPlan)(
        examples, settings
    )


class LabelTreePlan(LabelBlockPlan):
    """One stage: all nodes of a tree of labels, level after level. Raises MemoryLimitError."""

    def __init__(self, examples: MultilabelExamples, settings: Settings):
        super().__init__(examples, settings)
        s, X = settings, self._space.X
        self._tree = build_label_tree(X, self._indptr, self._rows, s.seed, s.threads)
        self._machines = machine_rows(self._tree, self._indptr, self._rows, X.n_rows)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        """Dual coordinate descent in lanes, node after node."""
        s, tree, (indptr, rows) = self.settings, self._tree, self._machines
        problem = TreeProblem(
            self._space,
            indptr,
            rows,
            np.arange(len(tree.leads), dtype=np.int32),
            self._weights,
            objective.C,
            self.stop(objective),
            tree.first,
            tree.parents(),
        )
        solver = LabelTreeLanes(self._block, s.prune or 0.0, s.seed, self.crew)
        return Stage(DUAL_CD, solver, problem, objective)

    def _make_model(
        self, problem: Any, kept: list[NodePieces], constants: NDArray[np.float64]
    ) -> tuple[SetModel, float]:
        sizes, features, indptr, at = [0], [], [np.zeros(1, np.int64)], 0
        for piece in kept:
            used = np.flatnonzero(np.diff(piece.indptr))
            sizes.append(len(used))
            features.append(piece.columns[used])
            indptr.append(at + piece.indptr[used + 1])
            at += len(piece.values)
        values = np.concatenate([piece.values for piece in kept])
        model = LabelTreeModel(
            self._tree.first,
            self._tree.leads,
            np.cumsum(sizes),
            np.concatenate(features),
            np.concatenate(indptr),
            np.concatenate([piece.places for piece in kept], dtype=np.uint8, casting="unsafe"),
            values,
            constants,
            self._examples.names,
            self._counts.astype(np.int64),
            len(self._examples),
            self._space.X.n_features,
            self._is_binary(len(values)),
            self._columns,
        )
        return model, squared_length(values)

    def _report_details(self, model: Any) -> dict[str, Any]:
        tree = {"nodes": len(self._tree.first) - 1, "machines": len(self._tree.leads)}
        return super()._report_details(model) | {"tree": tree}


def machine_rows(
    tree: LabelTree, bounds: NDArray[np.int64], rows: NDArray[np.int32], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Increasing rows that have a label below each child of each node, from the rows of labels."""
    M, parents = len(tree.leads), tree.parents()
    machine = np.full(len(bounds) - 1, -1)
    leaves = np.flatnonzero(tree.leads < 0)
    machine[~tree.leads[leaves]] = leaves
    above = parents[np.repeat(np.arange(len(parents)), np.diff(tree.first))]  # of a machine
    keys = np.repeat(machine, np.diff(bounds)) * n + rows
    levels = [np.unique(keys)]
    while True:
        machine = above[levels[-1] // n]
        inner = machine >= 0
        if not inner.any():
            break
        levels.append(np.unique(machine[inner] * n + levels[-1][inner] % n))
    keys = np.sort(np.concatenate(levels))
    counts = np.bincount(keys // n, minlength=M)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return indptr, (keys % n).astype(np.int32)
