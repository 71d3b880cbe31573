# SPDX-License-Identifier: BSD-3-Clause
"""Classes of whole labels over parts, all at once or one against the rest: cutting planes over the
sum of the risks."""

from __future__ import annotations

import math

import numpy as np

from svmcut.data.labels import label_text
from svmcut.distributed.oracle import PartedOracle, PartedProblem
from svmcut.errors import DataError
from svmcut.spaces.linear import WeightSpace
from svmcut.training.checks import check_class_memory, check_class_numbers, class_warnings
from svmcut.training.multiclass import units_of
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from svmcut.distributed.parts import Found
    from svmcut.distributed.rows import Rows
    from svmcut.solvers.protocol import StoppingRule
    from svmcut.spec.parameters import Settings

NO_WEIGHT = "all weights are 0; give a weight above 0 to every row that counts"


class ClassSpace(WeightSpace):
    """Weights of K classes, those of a feature being neighbours; X: the numbers of rows, features
    and nonzeros."""

    def __init__(self, X: Any, K: int, bias: float, threads: int):
        super().__init__(K * (X.n_features + (bias != 0)), 0.0, threads)
        self.X = X


class PartedClasses:
    """Rows of several classes in parts; see svmcut.training.multiclass.BoundClasses.

    Parameters
    ----------
    rows, parted, settings
        As of PartedVectors.
    """

    apart = False

    def __init__(self, rows: Rows, parted: Any, settings: Settings):
        self.path, self.names, K = parted.source.path, parted.y, len(parted.y)
        self.examples, self.X, self.columns, s = parted, parted.X, None, settings
        check_class_numbers(self.path, K, self.X.n_features)
        check_class_memory(self.path, K, 0, self.X.n_features, s.max_memory)
        self.units = units_of(s, parted.sum("weight"), len(parted))
        self.warnings = class_warnings(self.path, len(parted), self.names)
        self._oracle = PartedOracle(rows, ClassSpace(self.X, K, s.bias or 0.0, s.threads))
        self.details, self._qp = rows.details, s.qp

    def space(self, cuts: bool) -> Any:
        return self._oracle.space

    def problem(self, space: Any, C: float, stop: StoppingRule) -> PartedProblem:
        return PartedProblem(self._oracle, C, stop, self._qp)

    def rise(self, space: Any, w: Any) -> float:
        return math.inf


def names_of(path: str, facts: Sequence[Found]) -> NDArray:
    """The labels of the rows that weigh above 0.

    Raises
    ------
    DataError
        For labels that are no names of classes.
    """
    names = np.unique(np.concatenate([part.labels[part.costs != 0] for part in facts]))
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
