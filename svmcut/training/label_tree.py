# SPDX-License-Identifier: BSD-3-Clause
"""Training of sets of labels: the way that many take, and that of a tree of them."""

from __future__ import annotations

import numpy as np

from svmcut.data.label_clusters import LabelTree, label_tree
from svmcut.models import LabelTreeModel
from svmcut.solvers.label_tree import LabelTreeLanes, NodePieces, TreeProblem
from svmcut.spec.catalog import DUAL_CD
from svmcut.training.label_lanes import LabelBlockPlan, in_blocks, squared_length
from svmcut.training.label_sets import LabelSetPlan
from svmcut.training.stage import Plan, Stage
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data.examples import MultilabelExamples
    from svmcut.models import SetModel
    from svmcut.spec.parameters import Settings
    from svmcut.training.outcome import Objective


def plan_label_sets(examples: MultilabelExamples, settings: Settings) -> Plan:
    """The plan of examples in memory."""
    if settings.tree and len(examples.names):
        return LabelTreePlan(examples, settings)
    return (LabelBlockPlan if in_blocks(examples, settings) else LabelSetPlan)(examples, settings)


class LabelTreePlan(LabelBlockPlan):
    """One stage: all nodes of a tree of labels, level after level.

    Raises
    ------
    MemoryLimitError
    """

    def __init__(self, examples: MultilabelExamples, settings: Settings):
        super().__init__(examples, settings)
        s, X = settings, self._space.X
        self._tree = label_tree(X, self._indptr, self._rows, s.seed, s.threads)
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

    def _made(
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
            self._binary(len(values)),
            self._columns,
        )
        return model, squared_length(values)

    def _told(self, model: Any) -> dict[str, Any]:
        tree = {"nodes": len(self._tree.first) - 1, "machines": len(self._tree.leads)}
        return super()._told(model) | {"tree": tree}


def machine_rows(
    tree: LabelTree, bounds: NDArray[np.int64], rows: NDArray[np.int32], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Of every child of every node the rows that have a label below it, increasing; from those of
    labels."""
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
