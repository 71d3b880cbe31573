# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/labels/label_index.cc
"""Thin wrapper of csrc/labels/label_index.cc."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from svmcut._native.sparse cimport Rows, svmcut_csr


cdef extern from "include/wide.h" nogil:
    ctypedef struct svmcut_label_index:
        const int64_t* indptr
        const int32_t* places
        const float* values
        const double* constant
        int64_t d, K
    void svmcut_label_index_scores(const svmcut_csr* X, const svmcut_label_index* index, double* s,
                                   int threads)


def scores(Rows X, const int64_t[::1] indptr, const int32_t[::1] places, const float[::1] values,
           const double[::1] constant, int threads):
    """(n, K) float64 scores of every label; arrays as of svmcut.models.SparseLabelModel, checked by
    it."""
    cdef svmcut_label_index index
    cdef int64_t n = X.csr.n_rows, K = constant.shape[0]
    if places.shape[0] != values.shape[0] or indptr.shape[0] < 1 or (
            indptr[indptr.shape[0] - 1] != places.shape[0]):
        raise ValueError("the weights have the wrong shape")
    out = np.empty((n, K))
    cdef double[:, ::1] s = out
    if n == 0 or K == 0:
        return out
    index.d, index.K = indptr.shape[0] - 1, K
    index.indptr, index.constant = &indptr[0], &constant[0]
    index.places = &places[0] if places.shape[0] else NULL
    index.values = &values[0] if values.shape[0] else NULL
    with nogil:
        svmcut_label_index_scores(&X.csr, &index, &s[0, 0], threads)
    return out
