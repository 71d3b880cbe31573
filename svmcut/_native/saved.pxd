# SPDX-License-Identifier: BSD-3-Clause

from libc.stdint cimport int64_t


cdef class Saved:
    cdef str samples
    cdef const double[::1] _weights
    cdef const double* keep(self, str samples, const double[::1] weights, int64_t n) except? NULL
    cdef void _save(self, int64_t* integers, double* reals, int64_t* counts) noexcept
    cdef int _load(self, const int64_t* integers, const double* reals,
                   const int64_t* counts) noexcept
