# SPDX-License-Identifier: BSD-3-Clause
"""The names a saved model keeps, as `svmcut learn` writes them: words of classes, and the columns
of a DataFrame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.records import replace
from svmcut.base.typing import Any
from svmcut.spec.catalog import INPUTS
from svmcut.tables.encoding import Encoding, Number


def words_of(classes: NDArray) -> tuple[str, ...]:
    """Classes that are words; none where one is not."""
    names = classes.tolist()
    return tuple(names) if all(isinstance(name, str) for name in names) else ()


def column_means(X: Any) -> NDArray[np.float64]:
    """(d,) what stands for a missing cell of each column."""
    return np.asarray(X.mean(axis=0), np.float64).ravel()


def with_names(model: Any, estimator: Any, words: tuple[str, ...] = ()) -> Any:
    """The model with these words of its labels 1, 2, .. and the columns its estimator was fitted
    to."""
    names = getattr(estimator, "feature_names_in_", np.zeros(0)).tolist()
    means = getattr(estimator, "_column_means", None)
    columns: tuple[Number, ...] = ()
    if means is not None and len(set(names)) == len(names):
        pairs = zip(names, means.tolist(), strict=True)
        columns = tuple(Number(name, fill=mean) for name, mean in pairs)
    if not (columns or words):
        return model
    table = Encoding(columns, (), words, "csv" if columns else INPUTS[0])
    return replace(model, table=table)
