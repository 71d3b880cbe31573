# SPDX-License-Identifier: BSD-3-Clause

from libc.stdint cimport int64_t

from svmcut._native.sparse cimport Rows


cdef class RowDescent:
    cdef Rows X
    cdef const double[::1] norms
    cdef const double[::1] weights
    cdef const double* v
    cdef double bias
    cdef int64_t n
    cdef int64_t dim
    cdef int bind(self, Rows X, const double[::1] norms, double bias,
                  const double[::1] weights) except -1


cdef class Descent(RowDescent):
    cdef const int* flag(self, const int[::1] cancel) noexcept
    cdef bint completed(self, int status, const int[::1] cancel) except -1
    cdef int check_numbers(self, state, extremes) except -1
