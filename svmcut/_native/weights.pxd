# SPDX-License-Identifier: BSD-3-Clause
# Weights of rows or structures, as the C++ side takes them.

from libc.stdint cimport int64_t


cdef inline const double* weights_of(const double[::1] weights, int64_t n) except? NULL:
    """Their address; NULL, 1 each, where there are none."""
    if weights is None:
        return NULL
    if weights.shape[0] != n:
        raise ValueError("the weights have the wrong length")
    return &weights[0] if n else NULL
