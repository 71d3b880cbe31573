# SPDX-License-Identifier: BSD-3-Clause

from libc.stdint cimport int32_t, int64_t

from svmcut._native.sparse cimport Rows, svmcut_csr


cdef extern from "include/chain.h" nogil:
    ctypedef struct svmcut_chain:
        svmcut_csr X
        const int64_t* sequences
        const int32_t* tags
        int64_t n_sequences
        int64_t n_features
        int64_t K
        int64_t stride
        int32_t transition_order
        int32_t emission_order


cdef class Chains:
    cdef Rows X
    cdef const int64_t[::1] sequences
    cdef const int32_t[::1] tags
    cdef svmcut_chain chain
    cdef readonly int64_t n_tokens
    cdef readonly int64_t n_sequences
    cdef readonly int64_t node_size
    cdef readonly int64_t emissions
    cdef readonly int64_t dim
