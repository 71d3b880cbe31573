# SPDX-License-Identifier: BSD-3-Clause
# libraries: svmcut_linear
"""Thin wrapper of csrc/linear/simplex_qp.cc."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from abi.linear cimport *
from svmcut._native.interrupt cimport cancel_flag, serve


def simplex_qp(const double[:, ::1] H, const double[::1] b, double C, double tol, int64_t max_steps,
               double[::1] beta):
    """Minimises C/2 beta'H beta - b'beta over the unit simplex in place; returns (gap, steps)."""
    cdef int64_t k = b.shape[0], steps = 0
    cdef double gap = 0.0
    if k < 1 or H.shape[0] != k or H.shape[1] != k or beta.shape[0] != k:
        raise ValueError("H, b and beta differ in size")
    cdef double* work = <double*>malloc(k * (k + 4) * sizeof(double))
    if work == NULL:
        raise MemoryError
    cdef int status
    cdef const int* cancel = cancel_flag()
    with nogil:
        status = svmcut_simplex_qp(k, &H[0, 0], &b[0], C, tol, max_steps, &beta[0], work, &gap,
                                   &steps, cancel)
    free(work)
    if status == SVMCUT_NO_MEMORY:
        raise MemoryError
    if status == SVMCUT_CANCELLED:
        serve()
    return gap, steps
