# SPDX-License-Identifier: BSD-3-Clause
# libraries: svmcut_linear
"""Thin wrappers of csrc/linear/losses.cc."""

from libc.math cimport log, log1p
from libc.stdint cimport int64_t

from abi.linear cimport *
from svmcut._native.status cimport served
from svmcut._native.weights cimport weights_of


#: Numbers of the losses.
SQUARED_HINGE, LOGISTIC, TUBE = SVMCUT_SQUARED_HINGE, SVMCUT_LOGISTIC, SVMCUT_EPSILON_INSENSITIVE
SQUARED_TUBE = SVMCUT_SQUARED_EPSILON_INSENSITIVE


cdef check(int loss, int64_t n, int64_t m):
    if not SVMCUT_SQUARED_HINGE <= loss <= SVMCUT_SQUARED_EPSILON_INSENSITIVE:
        raise ValueError(f"{loss} is no loss")
    if m != n:
        raise ValueError("y and what belongs to it differ in length")


def losses(int loss, const double[::1] y, const double[::1] s, double tube, double[::1] coef,
           double[::1] curvature=None, int threads=1, const double[::1] weights=None,
           double delta=0.0):
    """Fills coef with the weighted slopes at scores s, and curvature, where there is room, with
    their derivatives; returns (value, offset) of the weighted sum. delta: the width a loss with
    corners is smoothed over, for slopes and curvatures."""
    cdef double value = 0.0, offset = 0.0
    cdef int status = 0
    cdef int64_t n = y.shape[0]
    check(loss, n, s.shape[0])
    check(loss, n, coef.shape[0])
    cdef const double* v = weights_of(weights, n)
    cdef double* bent = NULL
    if curvature is not None and n:
        check(loss, n, curvature.shape[0])
        bent = &curvature[0]
    if n:
        with nogil:
            status = svmcut_losses(loss, n, &y[0], &s[0], v, tube, delta, &coef[0], bent, &value,
                                   &offset, threads)
    served(status)
    return value, offset


def slope(int loss, const double[::1] y, const double[::1] s, const double[::1] e, double tube,
          double t, int threads=1, const double[::1] weights=None, double delta=0.0):
    """(slope, curvature) at t of the weighted sum of the losses at scores s + t e."""
    cdef double rise = 0.0, curvature = 0.0
    cdef int status = 0
    cdef int64_t n = y.shape[0]
    check(loss, n, s.shape[0])
    check(loss, n, e.shape[0])
    cdef const double* v = weights_of(weights, n)
    if n:
        with nogil:
            status = svmcut_losses_slope(loss, n, &y[0], &s[0], &e[0], v, tube, delta, t, &rise,
                                         &curvature, threads)
    served(status)
    return rise, curvature


def logits(const double[::1] fractions, double most, double[::1] out):
    """out[i] = log u - log(1 - u) of u = fractions[i] in [0, 1], from -most to most; out may be the
    same array."""
    cdef int64_t i, n = fractions.shape[0]
    if out.shape[0] != n:
        raise ValueError("fractions and out differ in length")
    cdef double found
    for i in range(n):
        found = log(fractions[i]) - log1p(-fractions[i])
        out[i] = -most if found < -most else most if found > most else found
