# SPDX-License-Identifier: BSD-3-Clause
# distutils: sources = csrc/kernels.cc
"""Kernel evaluations; see csrc/svmcut.h, section kernels.cc."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

cdef extern from "svmcut.h" nogil:
    int SVMCUT_OK
    ctypedef struct svmcut_csr:
        const float* data
        const int32_t* indices
        const int64_t* indptr
        int64_t n_rows
        int64_t n_features
    ctypedef struct svmcut_kernel:
        int32_t type
        int32_t degree
        double gamma
        double scale
        double offset
    int svmcut_kernel_scores(const svmcut_csr*, const svmcut_csr*, const double*, const svmcut_kernel*, double, int,
                             double*)


cdef class _Rows:
    """A Csr as the C side sees it; holds the arrays alive."""

    cdef const float[::1] data
    cdef const int32_t[::1] indices
    cdef const int64_t[::1] indptr
    cdef svmcut_csr csr

    def __init__(self, X):
        self.data, self.indices, self.indptr = X.data, X.indices, X.indptr
        if self.data.shape[0] != self.indices.shape[0] or self.indptr[self.indptr.shape[0] - 1] > self.data.shape[0]:
            raise ValueError("arrays of the rows do not fit together")
        self.csr.data = &self.data[0] if self.data.shape[0] else NULL
        self.csr.indices = &self.indices[0] if self.indices.shape[0] else NULL
        self.csr.indptr = &self.indptr[0]
        self.csr.n_rows = self.indptr.shape[0] - 1
        self.csr.n_features = X.n_features


def kernel_scores(X, support, const double[::1] alpha, kernel, double b, int threads, double[::1] out):
    """out[i] = sum_k alpha[k] K(support_k, X_i) - b; X and support are Csr, kernel a Kernel."""
    cdef _Rows rows = _Rows(X), vectors = _Rows(support)
    cdef svmcut_kernel K
    cdef int status
    if alpha.shape[0] != vectors.csr.n_rows or out.shape[0] != rows.csr.n_rows:
        raise ValueError("alpha or out does not fit the rows")
    K.type, K.degree = kernel.number, kernel.degree
    K.gamma, K.scale, K.offset = kernel.gamma, kernel.scale, kernel.offset
    cdef const double* alpha_start = &alpha[0] if alpha.shape[0] else NULL
    cdef double* out_start = &out[0] if out.shape[0] else NULL
    with nogil:
        status = svmcut_kernel_scores(&rows.csr, &vectors.csr, alpha_start, &K, b, threads, out_start)
    if status != SVMCUT_OK:
        raise MemoryError("no memory for the products with the support vectors")
