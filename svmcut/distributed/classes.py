# SPDX-License-Identifier: BSD-3-Clause
"""Classes of whole labels over parts, all at once or one against the rest: cutting planes over the
sum of the risks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut.data.labels import label_text
from svmcut.distributed.oracle import PartedOracle, PartedProblem
from svmcut.errors import DataError
from svmcut.spaces.linear import WeightSpace
from svmcut.spec.catalog import CUTTING_PLANE, MULTICLASS
from svmcut.training.checks import check_class_memory, check_class_numbers, class_warnings
from svmcut.training.multiclass import MulticlassPlan
from svmcut.training.stage import Plan, Stage, make_solver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from svmcut.distributed.parts import Found
    from svmcut.distributed.rows import Rows
    from svmcut.spec.parameters import Settings

NO_WEIGHT = "all weights are 0; give a weight above 0 to every row that counts"


class ClassSpace(WeightSpace):
    """Weights of K classes, those of a feature being neighbours; X: the numbers of rows, features
    and nonzeros."""

    def __init__(self, X: Any, K: int, bias: float, threads: int):
        super().__init__(K * (X.n_features + (bias != 0)), 0.0, threads)
        self.X = X


class PartedClasses(MulticlassPlan):
    """Cutting planes over the sums of the parts.

    Parameters
    ----------
    rows, parted, settings
        As of PartedPlan.
    names : (K,) float64
        The labels of the classes, increasing.
    """

    def __init__(self, rows: Rows, parted: Any, settings: Settings, names: NDArray):
        s, path, K = settings, parted.source.path, len(names)
        self.rows = rows
        self.bias = s.bias or 0.0
        self.names = names
        self._examples = parted
        self._columns = None
        self._rest = s.multiclass != MULTICLASS[0]
        check_class_numbers(path, K, parted.X.n_features)
        check_class_memory(path, K, 0, parted.X.n_features, s.max_memory)
        self.space: Any = ClassSpace(parted.X, K, self.bias, s.threads)
        units = self._units(s, parted.sum("weight"), len(parted))
        Plan.__init__(self, s, path, units, class_warnings(path, len(parted), names))

    def next(self, objective, found):
        """Cutting planes."""
        s, oracle = self.settings, PartedOracle(self.rows, self.space)
        problem = PartedProblem(
            lambda carry: oracle, oracle.risk, self.space, objective.C, self.stop(objective), s.qp
        )
        return Stage(CUTTING_PLANE, make_solver(CUTTING_PLANE, s), problem, objective, warm=True)

    def finish(self, objective, found, ended):
        """As MulticlassPlan's, with what the parts say."""
        outcome = super().finish(objective, found, ended)
        outcome.details |= self.rows.details()
        return outcome

    def _rise(self, w) -> float:
        return math.inf


def names_of(path: str, found: Sequence[Found]) -> NDArray:
    """The labels of the rows that weigh above 0.

    Raises
    ------
    DataError
        For labels that are no names of classes.
    """
    names = np.unique(np.concatenate([part.labels[part.costs != 0] for part in found]))
    if not len(names):
        raise DataError(path, NO_WEIGHT)
    fraction = names[names != names.round()]
    if len(fraction):
        message = (
            f"label {label_text(float(fraction[0]))} is not whole; expected whole numbers as names "
            "of classes"
        )
        raise DataError(path, message)
    return names
