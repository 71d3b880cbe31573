# SPDX-License-Identifier: BSD-3-Clause

from libc.stdint cimport int32_t, int64_t


cdef extern from "include/svmcut.h" nogil:
    ctypedef struct svmcut_csr:
        const float* data
        const int32_t* indices
        const int64_t* indptr
        int64_t n_rows
        int64_t n_features


cdef class Rows:
    cdef const float[::1] data
    cdef const int32_t[::1] indices
    cdef const int64_t[::1] indptr
    cdef svmcut_csr csr
