# SPDX-License-Identifier: BSD-3-Clause

from libc.stdint cimport int32_t, int64_t

from abi.chain cimport *
from svmcut._native.sparse cimport Rows


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
