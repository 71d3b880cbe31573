# SPDX-License-Identifier: BSD-3-Clause
"""Columns of data in a model's own numbering."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.data.examples import Csr


def renumber(X: Csr, columns: NDArray[np.int32] | None) -> Csr:
    """X in a model's own numbering; columns that the model does not have all become
    ``len(columns)``. O(nnz log d).

    Rows keep their values and norms; if unknown columns repeat, rows are good for products only.
    """
    X = X.validate()
    if columns is None:
        return X
    places = np.searchsorted(columns, X.indices).astype(np.int32)
    known = places < len(columns)
    known[known] = columns[places[known]] == X.indices[known]
    places[~known] = len(columns)
    return Csr(X.data, places, X.indptr, len(columns) + 1, True)


def drop_columns(X: Csr, n_features: int) -> Csr:
    """The rows without the columns from n_features on; X itself if there are none."""
    columns = X.indices[X.stored]
    kept = columns < n_features
    if kept.all():
        return X
    ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr - X.indptr[0]]
    return Csr(X.data[X.stored][kept], columns[kept], ends.astype(np.int64), n_features, X.proven)
