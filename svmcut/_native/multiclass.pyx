# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/multiclass/crammer_singer.cc csrc/multiclass/multiclass_cd.cc
# sources: csrc/multiclass/class_blocks.cc csrc/multiclass/dense_scores.cc
"""Thin wrapper of csrc/multiclass."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t

from svmcut._native cimport descent
from abi.multiclass cimport *
from svmcut._native.sparse cimport Rows
from svmcut._native.status cimport served
from svmcut._native.weights cimport weights_of


cdef check_classes(const int32_t[::1] y, int64_t K):
    cdef int64_t i
    cdef bint known = K >= 1
    for i in range(y.shape[0]):
        known &= 0 <= y[i] < K
    if not known:
        raise ValueError("a class is none of the K")


def crammer_singer(const int32_t[::1] y, const double[:, ::1] s, double[:, ::1] coef, int threads,
                   const double[::1] weights=None):
    """Value and offset of the risk at scores s (n, K), whose subgradient goes to coef (n, K), where
    there is one."""
    cdef int64_t n = y.shape[0], K = s.shape[1]
    cdef const double* v = weights_of(weights, n)
    cdef double value = 0, offset = 0
    cdef int status
    check_classes(y, K)
    if s.shape[0] != n or (coef is not None and (coef.shape[0] != n or coef.shape[1] != K)):
        raise ValueError("s and coef need a row for every row and a column for every class")
    if n == 0:
        return 0.0, 0.0
    cdef double* out = NULL
    if coef is not None:
        out = &coef[0, 0]
    with nogil:
        status = svmcut_crammer_singer(n, K, &y[0], &s[0, 0], v, out, &value, &offset, threads)
    served(status)
    return value, offset


def crammer_singer_line(const int32_t[::1] y, const double[:, ::1] s, const double[:, ::1] e,
                        double wd, double dd, double C, int threads,
                        const double[::1] weights=None):
    """The t >= 0 that minimises (t^2 dd + 2 t wd) / 2 + C R(s + t e); s None for 0."""
    cdef int64_t n = y.shape[0], K = e.shape[1]
    cdef const double* v = weights_of(weights, n)
    cdef double step = 0
    cdef int status
    check_classes(y, K)
    if e.shape[0] != n or (s is not None and (s.shape[0] != n or s.shape[1] != K)):
        raise ValueError("s and e need a row for every row and a column for every class")
    if n == 0:
        return 0.0
    cdef const double* here = NULL
    if s is not None:
        here = &s[0, 0]
    with nogil:
        status = svmcut_crammer_singer_line(n, K, &y[0], here, &e[0, 0], v, wd, dd, C, &step,
                                            threads)
    served(status)
    return step


cdef class Descent(descent.Descent):
    """The state of a descent: alpha (n, K), W (n_features, one more with a bias, by K), both
    float64 and the caller's.

    `wake` comes before the first `run`. weights, where given, are (n,) float64: a row's C is C
    weights_i.

    Attributes
    ----------
    violation : float
        The mean violation of the last epoch. Others as of svmcut._native.descent.Descent.
    """

    cdef const int32_t[::1] y
    cdef double[:, ::1] alpha
    cdef double[:, ::1] W
    cdef int32_t[::1] order
    cdef int32_t[:, ::1] labels
    cdef int32_t[::1] counts
    cdef svmcut_multiclass_state now

    def __init__(self, Rows X, const int32_t[::1] y, const double[::1] norms, double bias,
                 double[:, ::1] alpha, double[:, ::1] W, uint64_t seed,
                 const double[::1] weights=None):
        self.bind(X, norms, bias, weights)
        cdef int64_t n = self.n, K = alpha.shape[1]
        check_classes(y, K)
        if y.shape[0] != n or alpha.shape[0] != n:
            raise ValueError("y or alpha has the wrong length")
        if W.shape[0] != self.dim or W.shape[1] != K:
            raise ValueError("W needs a row for every feature and a column for every class")
        self.y, self.alpha, self.W = y, alpha, W
        self.order, self.labels = np.empty(2 * n, np.int32), np.empty((n, K), np.int32)
        self.counts = np.zeros(n, np.int32)
        self.now = svmcut_multiclass_state(0, np.inf, np.inf, seed, 0, 0, 0)

    violation = property(lambda self: self.numbers()["violation"])

    def numbers(self):
        """Counts and extremes of the last epoch, by name."""
        return self.now

    def run(self, double C, int64_t epochs, double enough, const int[::1] cancel=None,
            double share=0, double dual=0):
        """Up to `epochs` epochs, until the estimated gap is at most `enough` + `share` times the
        dual value, which is `dual` now; False when cancel[0] became nonzero, or, without `cancel`,
        where a signal came whose handler raised nothing."""
        cdef const int* flag = self.flag(cancel)
        cdef double* W = &self.W[0, 0] if self.W.shape[0] else NULL
        cdef int64_t K = self.W.shape[1]
        cdef int status
        with nogil:
            status = svmcut_multiclass_cd(&self.X.csr, K, &self.norms[0], self.v, self.bias, C,
                                          epochs, enough, share, dual, &self.alpha[0, 0], W,
                                          &self.order[0], &self.labels[0, 0], &self.counts[0],
                                          &self.now, flag)
        return self.completed(status, cancel)

    def state(self):
        """What it goes on from beside alpha and W; rows and classes in use come back by `wake`."""
        return self.numbers()

    def restore(self, state):
        """Goes on from a `state`.

        Raises
        ------
        StateError
        """
        self.check_numbers(state, ("violation",))
        self.now = state
        self.now.active = 0

    def wake(self, double C, const double[:, ::1] s):
        """Chooses rows and classes in use by the scores s (n, K) of W."""
        cdef int64_t n = self.n, K = self.alpha.shape[1]
        if s.shape[0] != n or s.shape[1] != K:
            raise ValueError("s needs a row for every row and a column for every class")
        with nogil:
            svmcut_multiclass_wake(n, K, &self.y[0], &s[0, 0], self.v, &self.alpha[0, 0], C,
                                   &self.order[0], &self.labels[0, 0], &self.counts[0], &self.now)


cdef class Blocks:
    """Dual ascent over kernel values: alpha (n, K) and its scores s (K, n), class by class, both
    float64 and the caller's.

    Parameters
    ----------
    y : (n,) int32
    boxes : (n,) float64
        C of every row.
    diagonal : (n,) float64
        K(x_i, x_i).
    losses : (K, K) float64 or None
        losses[y, k] of class y for k, 0 for k = y; None for 1 each.
    """

    cdef const int32_t[::1] y
    cdef const double[::1] boxes
    cdef const double[::1] diagonal
    cdef const double[:, ::1] losses
    cdef const double* lost
    cdef double[:, ::1] alpha
    cdef double[:, ::1] s
    cdef int threads
    cdef readonly int64_t steps

    def __init__(self, const int32_t[::1] y, const double[::1] boxes, const double[::1] diagonal,
                 double[:, ::1] alpha, double[:, ::1] s, int threads=1,
                 const double[:, ::1] losses=None):
        cdef int64_t n = y.shape[0], K = alpha.shape[1]
        if n < 1:
            raise ValueError("there are no rows")
        check_classes(y, K)
        if (not boxes.shape[0] == diagonal.shape[0] == alpha.shape[0] == s.shape[1] == n
                or s.shape[0] != K):
            raise ValueError("boxes, the diagonal, alpha or s has the wrong shape")
        if losses is not None and not losses.shape[0] == losses.shape[1] == K:
            raise ValueError("losses need a row and a column for every class")
        self.y, self.boxes, self.diagonal, self.alpha, self.s = y, boxes, diagonal, alpha, s
        self.losses, self.threads, self.steps = losses, threads, 0
        self.lost = &losses[0, 0] if losses is not None else NULL

    def gains(self):
        """(n,) about what the best step of every row gains, and (n,) its part of the gap."""
        cdef double[::1] gain = np.empty(self.y.shape[0]), gap = np.empty(self.y.shape[0])
        with nogil:
            svmcut_class_gains(self.y.shape[0], self.s.shape[0], &self.y[0], &self.boxes[0],
                               self.lost, &self.diagonal[0], &self.alpha[0, 0], &self.s[0, 0],
                               &gain[0], &gap[0], self.threads)
        return np.asarray(gain), np.asarray(gap)

    def ascend(self, const int64_t[::1] rows, const double[:, ::1] values,
               const int64_t[::1] places, double part, int64_t sweeps):
        """Steps on these rows, K(x_rows[r], .) being values[places[r]], until their gap alone is
        `part` of what it was or after so many sweeps; s follows."""
        cdef int64_t q = rows.shape[0], K = self.s.shape[0], n = self.s.shape[1]
        if places.shape[0] != q or values.shape[1] != n:
            raise ValueError("places or values do not fit the rows")
        if q == 0:
            return
        if not (0 <= np.min(rows) and np.max(rows) < n and 0 <= np.min(places)
                and np.max(places) < values.shape[0]):
            raise IndexError("a row or a place is none there is")
        which, places_ = np.asarray(rows), np.asarray(places)
        before = np.asarray(self.alpha)[which]
        square_ = np.asarray(values)[places_[:, None], which]
        cdef double[:, ::1] square = np.ascontiguousarray(square_), own = before.copy()
        cdef double[:, ::1] scores = np.ascontiguousarray(np.asarray(self.s)[:, which].T)
        cdef const int32_t[::1] y = np.asarray(self.y)[which]
        cdef const double[::1] boxes = np.asarray(self.boxes)[which]
        cdef int status
        with nogil:
            status = svmcut_class_block(q, K, &y[0], &boxes[0], self.lost, &square[0, 0], part,
                                        sweeps, &own[0, 0], &scores[0, 0], &self.steps)
        served(status)
        np.asarray(self.alpha)[which] = own
        add_functions(values, places, np.asarray(own) - before, self.s, self.threads)


def add_functions(const double[:, ::1] values, const int64_t[::1] places, change, double[:, ::1] s,
                  int threads):
    """s (K, n) takes in change (q, K) of alpha: s[k] += sum_r change[r, k] values[places[r]]."""
    cdef const double[:, ::1] moved = np.ascontiguousarray(change, np.float64)
    cdef int64_t q = places.shape[0], K = s.shape[0], n = s.shape[1]
    if moved.shape[0] != q or moved.shape[1] != K or values.shape[1] != n:
        raise ValueError("the change or the values do not fit")
    if q and not (0 <= np.min(places) and np.max(places) < values.shape[0]):
        raise IndexError("a place is none of the values")
    if q and n:
        with nogil:
            svmcut_class_add(n, q, K, &values[0, 0], &places[0], &moved[0, 0], &s[0, 0], threads)


def dense_scores(X, const double[:, ::1] W, const double[::1] constants, int threads=1):
    """(n, K) float64 sum_j X[i][j] W[j][k] + constants[k] of a C-ordered matrix of floats of 32 or
    64 bits; None where a value is none of 32 bits."""
    cdef int64_t n = X.shape[0], d = W.shape[0], K = W.shape[1]
    if X.shape[1] != d or constants.shape[0] != K:
        raise ValueError("X, W and constants do not fit")
    found = np.empty((n, K))
    if not found.size or not d:
        found[:] = constants
        return found
    cdef double[:, ::1] out = found
    cdef const double[:, ::1] wide
    cdef const float[:, ::1] single
    cdef int status
    if X.dtype == np.float32:
        single = X
        with nogil:
            status = svmcut_dense_scores_of_floats(&single[0, 0], n, d, &W[0, 0], K, &constants[0],
                                                   &out[0, 0], threads)
    else:
        wide = X
        with nogil:
            status = svmcut_dense_scores(&wide[0, 0], n, d, &W[0, 0], K, &constants[0], &out[0, 0],
                                         threads)
    if status == SVMCUT_BAD_INPUT:
        return None
    served(status)
    return found
