# SPDX-License-Identifier: BSD-3-Clause

from libc.stdint cimport int64_t


cdef class Saved:
    cdef str samples
    cdef void _save(self, int64_t* integers, double* reals, int64_t* counts) noexcept
    cdef int _load(self, const int64_t* integers, const double* reals, const int64_t* counts) noexcept
