# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/labels/label_index.cc
"""Thin wrapper of csrc/labels/label_index.cc."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from svmcut._native.sparse cimport Rows, svmcut_csr
from svmcut._native.status cimport served


cdef extern from "include/wide.h" nogil:
    ctypedef struct svmcut_label_index:
        const int64_t* indptr
        const int32_t* places
        const float* values
        const double* constant
        int64_t d, K
    void svmcut_label_index_scores(const svmcut_csr* X, const svmcut_label_index* index, double* s,
                                   int threads)
    int svmcut_label_sums(const svmcut_csr* X, const int64_t* indptr, const int32_t* rows,
                          int64_t K, int64_t most, int32_t* indices, float* values,
                          int64_t* sizes, int threads)


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


def sums(Rows X, const int64_t[::1] indptr, const int32_t[::1] rows, int64_t most, int threads):
    """Unit vectors along the sums of the rows of each label, which is on at
    rows[indptr[k]:indptr[k + 1]]: columns (K, most), values and how many of them there are, the
    `most` largest ones.

    Raises
    ------
    ValueError
        For rows that X does not have.
    """
    cdef int64_t K = indptr.shape[0] - 1, m
    if indptr[0] != 0 or indptr[K] != rows.shape[0] or most < 1:
        raise ValueError("the labels have the wrong shape")
    for m in range(K):
        if indptr[m] > indptr[m + 1]:
            raise ValueError("the labels have the wrong shape")
    for m in range(rows.shape[0]):
        if not 0 <= rows[m] < X.csr.n_rows:
            raise ValueError("a label is on at a row that is not there")
    found = np.zeros((K, most), np.int32)
    held = np.zeros((K, most), np.float32)
    counts = np.zeros(K, np.int64)
    cdef int32_t[:, ::1] indices = found
    cdef float[:, ::1] values = held
    cdef int64_t[::1] sizes = counts
    cdef int status
    if K:
        with nogil:
            status = svmcut_label_sums(&X.csr, &indptr[0], &rows[0] if rows.shape[0] else NULL, K,
                                       most, &indices[0, 0], &values[0, 0], &sizes[0], threads)
        served(status)
    return found, held, counts
