# SPDX-License-Identifier: BSD-3-Clause

from libc.stdint cimport int32_t, int64_t

from abi.svmcut cimport *


cdef class Rows:
    cdef const float[::1] data
    cdef const int32_t[::1] indices
    cdef const int64_t[::1] indptr
    cdef svmcut_csr csr
