# SPDX-License-Identifier: BSD-3-Clause
"""Training of labels by the thousand, without weights of their pairs: block after block, in memory
that does not grow with all labels times all features."""

from __future__ import annotations

import math

import numpy as np

from svmcut._native import wide_cd
from svmcut.data.examples import MultilabelExamples
from svmcut.errors import MemoryLimitError
from svmcut.messages import Message
from svmcut.models import SparseLabelModel
from svmcut.resources import shortage
from svmcut.solvers.label_lanes import LabelLanes, LanesProblem
from svmcut.spaces.linear import LinearSpace
from svmcut.spec.catalog import AUTO, AUTO_PRUNE, BINARY, DUAL_CD
from svmcut.spec.parameters import Settings
from svmcut.training.checks import checked_weights
from svmcut.training.outcome import Objective, Outcome
from svmcut.training.stage import Ended, Plan, Stage
from svmcut.training.structured import units_of_structures
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.models import SetModel

#: Labels from which machines are trained in wide lanes unless told otherwise.
MANY = 256
#: Bytes that a block takes where no limit says less, and the most groups of labels in one.
ROOM, MOST_GROUPS = 128e6, 4
#: Weights from which a model is written as a binary file unless told otherwise.
LARGE = 1 << 20
#: Relative gap below which weights in single precision may stand still.
FINE = 1e-6


def squared_length(values: NDArray[np.float32]) -> float:
    """|values|^2 in double precision, without a copy of them in it."""
    return float(np.einsum("i,i->", values, values, dtype=np.float64))


def in_blocks(examples: MultilabelExamples, s: Settings) -> bool:
    """Whether there are many labels, or an option asks for what blocks alone have."""
    if s.pairs == "all" or s.solver not in (AUTO, DUAL_CD) or not len(examples.names):
        return False
    asked = s.prune is not None or s.label_block is not None or s.model_format == BINARY
    return asked or (len(examples.names) >= MANY and (s.gap is None or s.gap >= FINE))


class LabelBlockPlan(Plan):
    """One stage: all labels, block after block.

    Attributes
    ----------
    crew : callable or None
        As of LabelLanes.

    Raises
    ------
    MemoryLimitError
    """

    crew: Any = None

    def __init__(self, examples: MultilabelExamples, settings: Settings):
        self._examples = examples.checked()
        X, self._columns = self._examples.X.compact()
        self._weights, path = checked_weights(examples), examples.source.path
        units = units_of_structures(settings, len(examples), self._weights)
        super().__init__(settings, path, units, [])
        self._space = LinearSpace(X, settings.bias or 0.0, settings.threads)
        self._block = self._chosen_block()
        row, label = self._examples.entries()
        by_label = np.argsort(label, kind="stable")
        self._rows = row[by_label].astype(np.int32)
        self._counts = np.bincount(label, minlength=len(examples.names))
        self._indptr = np.concatenate([[0], np.cumsum(self._counts)]).astype(np.int64)

    def _chosen_block(self) -> int:
        """Labels of a block, a multiple of 64: as given, or as many as memory allows."""
        s, n, dim, lanes = self.settings, len(self._examples), self._space.dim, wide_cd.LANES
        # alphas, weights, the best and those that are kept; bits and order of rows; sums of a look
        group = lanes * (4.0 * n + 16.0 * dim) + 28.0 * n + 128.0 * dim
        groups = int(min(MOST_GROUPS, max(1, ROOM // group)))
        if s.label_block is not None:
            groups = math.ceil(s.label_block / lanes)
        elif s.max_memory is not None:
            while groups > 1 and shortage(1e-6 * group * groups, s.max_memory):
                groups //= 2
        groups = min(groups, math.ceil(len(self._examples.names) / lanes))
        if there := shortage(1e-6 * group * groups, s.max_memory):
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

    def _made(
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
            self._binary(len(kept.values)),
            self._columns,
        )
        return model, squared_length(kept.values)

    def _binary(self, weights: int) -> bool:
        """Whether a model of so many weights is written as a binary file."""
        format_ = self.settings.model_format
        return weights >= LARGE if format_ is None else format_ == BINARY

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        """The weights that are kept, and what pruning cost."""
        s, run, problem = self.settings, ended.run, ended.stage.problem
        pieces, constants = ended.progress.solution()
        offsets = self._space.bias * constants.astype(np.float64)
        model, squared = self._made(problem, pieces, offsets)
        squared += float(constants.astype(np.float64) @ constants)
        outcome = ended.outcome(ended.stage.name, model, squared)
        outcome.details |= self._told(model)
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

    def _told(self, model: Any) -> dict[str, Any]:
        """What the report says of the model."""
        return {"weights_kept": len(model.values)}
