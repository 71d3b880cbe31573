# SPDX-License-Identifier: BSD-3-Clause

from libc.stdint cimport int64_t, uint8_t

from abi.linear cimport *
from abi.text cimport *


cdef class TextRows:
    cdef readonly str path
    cdef svmcut_scan* scan
    cdef int threads


cdef void free_rows(svmcut_rows* rows) noexcept
cdef dict worth_of(const double* scores, const uint8_t* positive, int64_t n, double precision,
                   double recall, int64_t first, int64_t last, int threads)
