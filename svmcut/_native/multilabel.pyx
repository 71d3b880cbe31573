# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/labels/multilabel.cc csrc/labels/gdmm_labels.cc csrc/labels/gdmm_labels_state.cc
# sources: csrc/labels/label_blocks.cc
"""Thin wrapper of csrc/labels; see csrc/include/labels.h."""

import numpy as np

from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t

from abi.labels cimport *
from svmcut._native.saved cimport Saved
from svmcut._native.sparse cimport Rows
from svmcut._native.status cimport served
from svmcut._native.weights cimport weights_of


METHODS = {"lp": 0, "icm": 1, "greedy": 2}


cdef class Weights:
    """Weights of K labels: W (d + (bias != 0), K) and v (K, K) symmetric or None, float64; or W (d,
    K) and the constant feature's (K,) elsewhere."""

    cdef const double[:, ::1] W
    cdef const double[:, ::1] v
    cdef const double[::1] constant
    cdef svmcut_label_weights weights

    def __init__(self, const double[:, ::1] W, const double[:, ::1] v, double bias,
                 const double[::1] constant=None):
        cdef int64_t K = W.shape[1], behind = bias != 0 and constant is None
        if constant is not None and constant.shape[0] != K:
            raise ValueError("constant must have a weight for each label")
        if W.shape[0] < behind or (v is not None and (v.shape[0] != K or v.shape[1] != K)):
            raise ValueError("W must have a row for the constant feature, "
                             "v one row and column for each label")
        self.W, self.v, self.constant = W, v, constant
        self.weights.constant = NULL
        if constant is not None and K:
            self.weights.constant = &constant[0]
        self.weights.W = &W[0, 0] if W.shape[0] and K else NULL
        self.weights.v = &v[0, 0] if v is not None and K else NULL
        self.weights.d = W.shape[0] - behind
        self.weights.K = K
        self.weights.bias = bias


cdef class Sets:
    """Label sets of n rows: indptr (n + 1,) int64, labels int32."""

    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] labels
    cdef svmcut_label_sets sets

    def __init__(self, const int64_t[::1] indptr, const int32_t[::1] labels):
        self.indptr, self.labels = indptr, labels
        self.sets.indptr = &indptr[0]
        self.sets.labels = &labels[0] if labels.shape[0] else NULL


def scores(Rows X, Weights model, int threads, out=None):
    """(n, K) float64 scores of every label alone, in `out` where there is one."""
    out = np.empty((X.csr.n_rows, model.weights.K)) if out is None else out
    if out.shape != (X.csr.n_rows, model.weights.K):
        raise ValueError("out has the wrong shape")
    cdef double[:, ::1] s = out
    cdef int status
    if out.size == 0:
        return out
    with nogil:
        status = svmcut_label_scores(&X.csr, &model.weights, &s[0, 0], threads)
    served(status)
    return out


def relax(Rows X, Weights model, Sets gold, double loss, int threads):
    """Doubled maximisers (n, K) int8 and hinge (n,) float64; gold None for plain decoding."""
    doubled, hinge = np.zeros((X.csr.n_rows, model.weights.K), np.int8), np.zeros(X.csr.n_rows)
    cdef int8_t[:, ::1] p = doubled
    cdef double[::1] h = hinge
    cdef int status
    cdef const svmcut_label_sets* sets = NULL
    if doubled.size == 0:
        return doubled, hinge
    if gold is not None:
        if gold.indptr.shape[0] != X.csr.n_rows + 1:
            raise ValueError("gold must have one set a row")
        sets = &gold.sets
    with nogil:
        status = svmcut_label_relax(&X.csr, &model.weights, sets, loss, &p[0, 0], &h[0], threads)
    served(status)
    return doubled, hinge


def relax_scores(const double[:, ::1] s, const double[:, ::1] v, Sets gold, int threads,
                 const double[::1] weights=None):
    """Loss-augmented maximisers (n, K) int8, hinge (n,) and the sum of the examples' q - gold q,
    each times its weight, (K, K), upper part, of scores s (n, K)."""
    cdef int64_t n = s.shape[0], K = s.shape[1]
    cdef const double* own = weights_of(weights, n)
    doubled, hinge, pairs = np.zeros((n, K), np.int8), np.zeros(n), np.zeros((K, K))
    if n == 0 or K == 0:
        return doubled, hinge, pairs
    if gold.indptr.shape[0] != n + 1 or (v is not None and (v.shape[0] != K or v.shape[1] != K)):
        raise ValueError("gold must have one set a row, v one row and column for each label")
    cdef int8_t[:, ::1] p = doubled
    cdef double[::1] h = hinge
    cdef double[:, ::1] out = pairs
    cdef svmcut_label_weights model
    cdef int status
    model.W = NULL
    model.v = &v[0, 0] if v is not None else NULL
    model.d, model.K, model.bias = 0, K, 0
    model.constant = NULL
    with nogil:
        status = svmcut_label_relax_scores(n, &s[0, 0], &model, &gold.sets, 1.0, &p[0, 0], &h[0],
                                           threads)
        if status == SVMCUT_OK and model.v != NULL:
            status = svmcut_label_together(n, K, model.v, &p[0, 0], &gold.sets, own, &out[0, 0])
    served(status)
    return doubled, hinge, pairs


def adjoint(Rows X, const int64_t[::1] rows, const double[:, ::1] coef, double bias,
            double[:, ::1] W, int threads=1):
    """W (d + (bias != 0), K) += the sum over the rows of coef[r] times (x, bias)."""
    cdef int64_t count = rows.shape[0], K = coef.shape[1]
    if coef.shape[0] != count or W.shape[1] != K or W.shape[0] != X.csr.n_features + (bias != 0):
        raise ValueError("coef needs a row for every row, W one for every feature")
    if count and K:
        with nogil:
            svmcut_label_adjoint(&X.csr, &rows[0], count, &coef[0, 0], K, bias, &W[0, 0],
                                 threads)


def decode(const double[:, ::1] s, Weights model, str method, int threads):
    """y (n, K) int8 in {0, 1} and halves (n,) int32 for label scores s (n, K)."""
    cdef int64_t n = s.shape[0]
    if s.shape[1] != model.weights.K:
        raise ValueError("s must have one column a label")
    out, half = np.zeros((n, model.weights.K), np.int8), np.zeros(n, np.int32)
    cdef int8_t[:, ::1] y = out
    cdef int32_t[::1] h = half
    cdef int code = METHODS[method], status
    if out.size == 0:
        return out, half
    with nogil:
        status = svmcut_label_decode(n, &s[0, 0], &model.weights, code, &y[0, 0], &h[0], threads)
    served(status)
    return out, half


cdef class Blocks(Saved):
    """Examples visited one at a time; see csrc/labels/label_blocks.cc. W (d + (bias != 0), K) and v
    (K, K) start at 0.

    weights, (n,) float64 or None for 1 each: an example's C is C weights_n.
    """

    cdef svmcut_label_blocks* state
    cdef Rows X
    cdef Sets gold
    cdef int64_t K, rows

    def __cinit__(self, Rows X, Sets gold, int64_t K, double bias, bint pairs, double C,
                  uint64_t seed, const double[::1] weights=None):
        if gold.indptr.shape[0] != X.csr.n_rows + 1 or K < 1:
            raise ValueError("gold must have one set a row, and there must be a label")
        self.X, self.gold, self.K, self.rows = X, gold, K, X.csr.n_features + (bias != 0)
        cdef const double* own = self.keep("examples", weights, X.csr.n_rows)
        self.state = svmcut_label_blocks_new(&X.csr, &gold.sets, K, bias, pairs, C, own, seed)
        if self.state == NULL:
            raise MemoryError

    def __dealloc__(self):
        svmcut_label_blocks_delete(self.state)

    cdef _check_shapes(self, double[:, ::1] W, double[:, ::1] v):
        if (W.shape[0] != self.rows or not W.shape[1] == v.shape[0] == v.shape[1] == self.K):
            raise ValueError("W needs a row for every feature, v one row and column for each label")

    def bcfw(self, double[:, ::1] W, double[:, ::1] v):
        """One pass of Frank-Wolfe steps; the linear part of the dual."""
        cdef double loss
        cdef int status
        self._check_shapes(W, v)
        with nogil:
            status = svmcut_label_bcfw(self.state, &W[0, 0], &v[0, 0], &loss)
        served(status)
        return loss

    def ssg(self, double[:, ::1] z, double[:, ::1] zv, double[:, ::1] weighted,
            double[:, ::1] weighted_v):
        """One pass of subgradients; the wrong labels of its argmaxes."""
        cdef double loss = 0
        cdef int status
        self._check_shapes(z, zv)
        self._check_shapes(weighted, weighted_v)
        with nogil:
            status = svmcut_label_ssg(self.state, &z[0, 0], &zv[0, 0], &weighted[0, 0],
                                      &weighted_v[0, 0], &loss)
        served(status)
        return loss

    cdef void _save(self, int64_t* integers, double* reals, int64_t* counts) noexcept:
        svmcut_label_blocks_save(self.state, integers, reals, counts)

    cdef int _load(self, const int64_t* integers, const double* reals,
                   const int64_t* counts) noexcept:
        return svmcut_label_blocks_load(self.state, integers, reals, counts)


cdef class Gdmm(Saved):
    """State of one run; W (d + (bias != 0), K) and v (K, K) are the caller's and start at 0.

    weights, (n,) float64 or None for 1 each: an example's C is C weights_n.
    """

    cdef svmcut_gdmm_labels* state
    cdef Rows X
    cdef Sets gold
    cdef double[:, ::1] W
    cdef double[:, ::1] v

    def __cinit__(self, Rows X, Sets gold, double[:, ::1] W, double[:, ::1] v, double bias,
                  double C, double rho, uint64_t seed, bint soft=False,
                  const double[::1] weights=None):
        cdef int64_t K = W.shape[1]
        if W.shape[0] != X.csr.n_features + (bias != 0) or v.shape[0] != K or v.shape[1] != K:
            raise ValueError("W needs a row for every feature, v one row and column for each label")
        if gold.indptr.shape[0] != X.csr.n_rows + 1:
            raise ValueError("gold must have one set a row")
        self.X, self.gold, self.W, self.v = X, gold, W, v
        cdef const double* own = self.keep("examples", weights, X.csr.n_rows)
        self.state = svmcut_gdmm_labels_new(&X.csr, &gold.sets, K, bias, C, own, rho, soft, seed)
        if self.state == NULL:
            raise MemoryError

    def __dealloc__(self):
        svmcut_gdmm_labels_delete(self.state)

    def run(self, bint pairs, int sweeps=2, int parts=1):
        """One pass over the examples."""
        cdef int status
        with nogil:
            status = svmcut_gdmm_labels_pass(self.state, &self.W[0, 0], &self.v[0, 0], pairs,
                                             sweeps, parts, NULL)
        served(status)

    def repair(self):
        """v2 (K, K), sum |alpha|, pair factors in use and the sum of residuals."""
        out = np.empty((self.v.shape[0], self.v.shape[1]))
        cdef double[:, ::1] v2 = out
        cdef double linear, residual
        cdef int64_t active
        cdef int status
        with nogil:
            status = svmcut_gdmm_labels_repair(self.state, &v2[0, 0], &linear, &active, &residual)
        served(status)
        return out, linear, active, residual

    cdef void _save(self, int64_t* integers, double* reals, int64_t* counts) noexcept:
        svmcut_gdmm_labels_save(self.state, integers, reals, counts)

    cdef int _load(self, const int64_t* integers, const double* reals,
                   const int64_t* counts) noexcept:
        return svmcut_gdmm_labels_load(self.state, integers, reals, counts)
