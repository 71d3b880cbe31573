# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/linear/one_class.cc
"""Thin wrapper of csrc/linear/one_class.cc."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from abi.linear cimport *
from svmcut._native.sparse cimport Rows


def pairs(Rows X, const double[::1] norms, const double[::1] top, const int32_t[::1] rows,
          double[::1] alpha, double[::1] w, const double[::1] scores=None):
    """One pass of pairs over these rows; the steps made.

    norms, top and alpha are (n,), w has n_features entries, scores those of `rows`, None to form
    them. rows are numbers below n, each once.
    """
    cdef int64_t n = X.csr.n_rows, count = rows.shape[0]
    if norms.shape[0] != n or top.shape[0] != n or alpha.shape[0] != n:
        raise ValueError("norms, top or alpha has the wrong length")
    if w.shape[0] < X.csr.n_features or (scores is not None and scores.shape[0] != count):
        raise ValueError("w or scores has the wrong length")
    if count == 0:
        return 0
    numbers = np.asarray(rows)
    if numbers.min() < 0 or numbers.max() >= n:
        raise ValueError("a row that is none")
    cdef const double* given = &scores[0] if scores is not None else NULL
    cdef double* weights = &w[0] if w.shape[0] else NULL
    cdef int64_t done
    with nogil:
        done = svmcut_one_class_pairs(&X.csr, &norms[0], &top[0], &rows[0], given, count, &alpha[0],
                                      weights)
    return done
