# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/linear/newton.cc csrc/linear/small_machines.cc
"""Thin wrappers of csrc/linear/newton.cc and small_machines.cc."""

from libc.stdint cimport int32_t, int64_t

from abi.linear cimport *
from svmcut._native.interrupt cimport cancel_flag, serve
from svmcut._native.sparse cimport Rows
from svmcut._native.status cimport served
from svmcut._native.weights cimport weights_of


def smooth_hinge(const double[::1] y, const double[::1] s, double delta, double[::1] coef,
                 int threads=1, const double[::1] weights=None):
    """Fills coef = -v y u, v the weights; returns (smoothed losses, hinge losses, sum of u, sum of
    max(0, z) - u z), sums weighted by v, and the size of the band."""
    cdef double[4] sums
    cdef int64_t band = 0, n = y.shape[0]
    cdef int status
    if s.shape[0] != n or coef.shape[0] != n or n == 0:
        raise ValueError("y, s and coef differ in length or are empty")
    cdef const double* v = weights_of(weights, n)
    with nogil:
        status = svmcut_smooth_hinge(n, &y[0], &s[0], v, delta, &coef[0], sums, &band, threads)
    served(status)
    return sums[0], sums[1], sums[2], sums[3], band


def smooth_slope(const double[::1] y, const double[::1] s, const double[::1] e, double t,
                 double delta, int threads=1, const double[::1] weights=None):
    """(slope, curvature) at t of the weighted sum of the smoothed losses at scores s + t e."""
    cdef double slope = 0.0, curvature = 0.0
    cdef int status
    cdef int64_t n = y.shape[0]
    if s.shape[0] != n or e.shape[0] != n or n == 0:
        raise ValueError("y, s and e differ in length or are empty")
    cdef const double* v = weights_of(weights, n)
    with nogil:
        status = svmcut_smooth_slope(n, &y[0], &s[0], &e[0], v, t, delta, &slope, &curvature,
                                     threads)
    served(status)
    return slope, curvature


def band_rows(const double[::1] coef, int32_t[::1] rows, const double[::1] weights=None):
    """Writes the rows with 0 < |coef| < their weight to `rows`, one place more than coef has;
    returns how many."""
    cdef const double* v = weights_of(weights, coef.shape[0])
    if rows.shape[0] != coef.shape[0] + 1:
        raise ValueError("rows has the wrong length")
    cdef int64_t count = 0
    if coef.shape[0]:
        with nogil:
            count = svmcut_band_rows(coef.shape[0], &coef[0], v, &rows[0])
    return count


cdef check(Rows X, const int32_t[::1] rows):
    cdef int64_t k
    for k in range(rows.shape[0]):
        if rows[k] < 0 or rows[k] >= X.csr.n_rows:
            raise ValueError("a row number is out of range")


def band_gram(Rows X, const int32_t[::1] rows, double bias, double[:, ::1] H, int threads=1,
              const double[::1] weights=None):
    """H = sum over the rows of v (x, bias)(x, bias)', lower triangle; 0 elsewhere. weights: v of
    all rows of X."""
    cdef const double* v = weights_of(weights, X.csr.n_rows)
    cdef int64_t dim = X.csr.n_features + (bias != 0)
    if H.shape[0] != dim or H.shape[1] != dim:
        raise ValueError("H has the wrong shape")
    check(X, rows)
    cdef int status = SVMCUT_CANCELLED
    cdef const int* cancel = cancel_flag()
    H[:, :] = 0.0
    if not (rows.shape[0] and dim):
        return
    with nogil:
        status = svmcut_band_gram(&X.csr, &rows[0], rows.shape[0], v, bias, dim, &H[0, 0], threads,
                                  cancel)
    if status == SVMCUT_CANCELLED:
        serve()
        return band_gram(X, rows, bias, H, threads, weights)
    served(status)


def band_product(Rows X, const int32_t[::1] rows, double bias, const double[::1] p, double[::1] out,
                 int threads=1, const double[::1] weights=None):
    """out += sum over the rows of v ((x, bias).p) (x, bias); weights: v of all rows of X."""
    cdef const double* v = weights_of(weights, X.csr.n_rows)
    cdef int64_t dim = X.csr.n_features + (bias != 0)
    if p.shape[0] != dim or out.shape[0] != dim:
        raise ValueError("p or out has the wrong length")
    check(X, rows)
    cdef int status = 0
    if rows.shape[0] and dim:
        with nogil:
            status = svmcut_band_product(&X.csr, &rows[0], rows.shape[0], v, bias, &p[0], &out[0],
                                         threads)
    served(status)


def band_diagonal(Rows X, const int32_t[::1] rows, double bias, double[::1] out, int threads=1,
                  const double[::1] weights=None):
    """out += sum over the rows of v (x, bias)^2, by feature; weights: v of all rows of X."""
    cdef const double* v = weights_of(weights, X.csr.n_rows)
    if out.shape[0] != X.csr.n_features + (bias != 0):
        raise ValueError("out has the wrong length")
    check(X, rows)
    cdef int status = 0
    if rows.shape[0] and out.shape[0]:
        with nogil:
            status = svmcut_band_diagonal(&X.csr, &rows[0], rows.shape[0], v, bias, &out[0],
                                          threads)
    served(status)


def solve_shifted(double[:, ::1] H, double scale, double[::1] g):
    """Solves (I + scale H) p = g from H's lower triangle; H is overwritten, g becomes p. False
    where it overflows."""
    if H.shape[0] != H.shape[1] or g.shape[0] != H.shape[0]:
        raise ValueError("H or g has the wrong shape")
    cdef int status = 0
    if g.shape[0]:
        with nogil:
            status = svmcut_solve_shifted(g.shape[0], &H[0, 0], scale, &g[0])
    return status == 0


def small_machines(Rows X, double bias, const int32_t[::1] codes, int64_t first, double C,
                   bint squared, double gap, int64_t most, bint warm, double[:, ::1] W,
                   double[:, ::1] found, int threads=1, const double[::1] weights=None):
    """Trains machines of the codes `first`, `first` + 1, .. against the rest, as many as W has
    rows, from there where it is warm; found: (primal, dual, steps, met) of each."""
    cdef const double* v = weights_of(weights, X.csr.n_rows)
    cdef int64_t count = W.shape[0]
    if codes.shape[0] != X.csr.n_rows or not (codes.shape[0] and count):
        raise ValueError("codes has the wrong length, or there is nothing to train")
    if W.shape[1] != X.csr.n_features + (bias != 0) or not W.shape[1]:
        raise ValueError("W has the wrong shape")
    if found.shape[0] != count or found.shape[1] != 4:
        raise ValueError("found has the wrong shape")
    cdef const int* cancel = cancel_flag()
    cdef int status
    with nogil:
        status = svmcut_small_machines(&X.csr, bias, &codes[0], v, first, count, C, squared, gap,
                                       most, warm, &W[0, 0], &found[0, 0], threads, cancel)
    if status == SVMCUT_CANCELLED:
        serve()
        raise KeyboardInterrupt
    served(status)
