# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/linear/penalty.cc csrc/linear/columns.cc csrc/linear/soft_descent.cc
"""Thin wrappers of csrc/linear/penalty.cc, columns.cc and soft_descent.cc."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from abi.linear cimport *
from abi.penalty cimport *
from svmcut._native.interrupt cimport cancel_flag, serve
from svmcut._native.sparse cimport Rows
from svmcut._native.status cimport served


MOST_ROWS = 2**31 - 1
#: Part of all columns above which all are copied, and copies of a part that are made before that.
LARGE, COPIES = 0.25, 2


cdef class Columns:
    """The columns of rows X (n, d): copies of their entries, 8 bytes each, made of those that are
    asked for."""

    cdef Rows rows
    cdef uint8_t[::1] wanted
    cdef int64_t[::1] entries
    cdef int64_t[::1] indptr
    cdef svmcut_columns all
    cdef int copies
    cdef bint whole

    def __init__(self, Rows X):
        cdef int64_t n = X.csr.n_rows, d = X.csr.n_features
        if n > MOST_ROWS or d > MOST_ROWS:
            raise ValueError("columns are made of up to 2^31 - 1 rows and features")
        self.rows, self.wanted, self.copies, self.whole = X, np.zeros(d + 1, np.uint8), 0, False
        self.all.count, self.all.n = d, n

    @property
    def n_features(self):
        """d"""
        return self.all.count

    def has(self, const int32_t[::1] chosen):
        """Whether these columns are copied."""
        self.check(chosen)
        cdef int64_t k
        for k in range(chosen.shape[0]):
            if not self.wanted[chosen[k]]:
                return self.whole
        return True

    def keep(self, const int32_t[::1] chosen):
        """Copies these columns beside those that are, or all where that is quicker."""
        if self.has(chosen):
            return
        cdef const uint8_t* wanted = NULL
        cdef int64_t k, size
        self.copies += 1
        self.whole = self.copies > COPIES or chosen.shape[0] > LARGE * self.all.count
        if not self.whole:
            for k in range(chosen.shape[0]):
                self.wanted[chosen[k]] = 1
            wanted = &self.wanted[0]
        self.indptr = np.empty(self.all.count + 1, np.int64)
        with nogil:
            size = svmcut_column_places(&self.rows.csr, wanted, &self.indptr[0])
        self.entries = np.empty(size + 1, np.int64)
        cdef svmcut_entry* entries = <svmcut_entry*> &self.entries[0]  # 8 bytes each
        with nogil:
            svmcut_copy_columns(&self.rows.csr, wanted, &self.indptr[0], entries)
        self.all.entries, self.all.indptr = entries, &self.indptr[0]

    cdef int check(self, const int32_t[::1] chosen) except -1:
        cdef int64_t k
        for k in range(chosen.shape[0]):
            if chosen[k] < 0 or chosen[k] >= self.all.count:
                raise ValueError("a column number is out of range")
        return 0

    def squares(self, const double[::1] c, bint means=False):
        """(d,) sums of c x^2, or of c (x - mean)^2 with the mean weighted by c; c (n,)."""
        if c.shape[0] != self.all.n:
            raise ValueError("c has the wrong length")
        out, room = np.zeros(self.all.count), np.empty(2 * self.all.count if means else 0)
        cdef double[::1] squares = out, sums = room
        if squares.shape[0] and c.shape[0]:
            with nogil:
                svmcut_column_squares(&self.rows.csr, &c[0], means, &squares[0],
                                      &sums[0] if means else NULL)
        return out

    def scores(self, const int32_t[::1] chosen, const double[::1] w, double constant=0.0):
        """(n,) scores of w, (d,) or longer, that is 0 but in the chosen columns."""
        if w.shape[0] < self.all.count:
            raise ValueError("w has the wrong length")
        self.keep(chosen)
        out = np.full(self.all.n, constant)
        cdef double[::1] s = out
        if chosen.shape[0] and s.shape[0]:
            with nogil:
                svmcut_column_scores(&self.all, &chosen[0], chosen.shape[0], &w[0], constant, &s[0])
        return out


def newton(Columns columns, int loss, const double[::1] y, const double[::1] costs,
           const int32_t[::1] chosen, double[::1] w, double[::1] s, double enough, double part,
           int64_t most, *,
           double l1, double l2, double bias=0.0, bint free=False, double tube=0.0,
           const double[::1] centres=None):
    """Newton steps on l1 |w|_1 + l2/2 |w|^2 + sum costs loss over the chosen columns; w and its
    scores s (n,) change in place.

    Parameters
    ----------
    loss : int
        Of svmcut._native.losses, without corners; with centres the hinge.
    y, costs : (n,) float64
    chosen : (k,) int32
        w is 0 in other columns.
    w : (d,) float64, one more with a bias
        The last is the weight of a constant column: of the value `bias`, or, with `free`, of 1 and
        without penalty.
    centres : (n,) float64 in [0, 1] or None
        A row's hinge is then the greatest u (1 - y f) - (u - centre)^2 / (2 tube) of u in [0, 1].
    enough, part, most : float, float, int
        The gap of the problem of the chosen columns that ends it, or the part that is left of what
        the slopes miss of rest, or entries of columns read.

    Returns
    -------
    (float, int, int, bool)
        That gap before the last step, steps, entries, and whether a step did not help.
    """
    cdef svmcut_penalized_end end
    cdef svmcut_penalized problem
    cdef int64_t n = columns.all.n
    constant = free or bias != 0
    if centres is not None:
        if centres.shape[0] != n or not tube > 0:
            raise ValueError("centres have the wrong length, or tube is not above 0")
        loss = SVMCUT_HINGE
    elif loss not in (SVMCUT_SQUARED_HINGE, SVMCUT_LOGISTIC, SVMCUT_SQUARED_EPSILON_INSENSITIVE):
        raise ValueError(f"{loss} is no loss without corners")
    if y.shape[0] != n or costs.shape[0] != n or s.shape[0] != n or n == 0:
        raise ValueError("y, costs and s differ in length or are empty")
    if w.shape[0] != columns.all.count + constant or (free and bias):
        raise ValueError("w has the wrong length, or there are two constants")
    if not (l1 >= 0 and l2 >= 0 and l1 + l2 > 0):
        raise ValueError("l1 or l2 is to be above 0, and none below")
    columns.keep(chosen)
    problem.columns, problem.n, problem.loss, problem.tube = &columns.all, n, loss, tube
    problem.y, problem.costs, problem.l1, problem.l2 = &y[0], &costs[0], l1, l2
    problem.bias, problem.free = bias, free
    problem.centres = &centres[0] if centres is not None and n else NULL
    cdef int32_t none = 0
    cdef double nothing = 0
    cdef const int32_t* places = &chosen[0] if chosen.shape[0] else &none
    cdef double* weights = &w[0] if w.shape[0] else &nothing
    cdef const int* cancel = cancel_flag()
    cdef int status
    before = np.array(w), np.array(s)
    while True:
        with nogil:
            status = svmcut_penalized_newton(&problem, places, chosen.shape[0], weights, &s[0],
                                             enough, part, most, &end, cancel)
        if served(status) != SVMCUT_CANCELLED:
            break
        serve()  # a handler that raises nothing leaves no trace
        np.asarray(w)[:], np.asarray(s)[:] = before
    return end.gap, end.steps, end.entries, status == SVMCUT_NO_PROGRESS


def descend(Rows X, const double[::1] y, const double[::1] costs, const double[::1] norms,
            double[::1] alpha, double[::1] v, *, double l1, double l2, double bias, uint64_t seed,
            int64_t epochs, double enough):
    """Dual coordinate descent for the hinge under l1 |w|_1 + l2/2 |w|^2, l2 > 0: so many epochs, or
    until the gaps met in one add up to `enough`; the entries of rows it read.

    Parameters
    ----------
    y, costs, norms : (n,) float64
        norms: |x_i|^2 + bias^2.
    alpha, v : (n,) and (n_features,) float64, one more with a bias
        v = sum_i alpha_i y_i x_i; both change in place.
    """
    cdef svmcut_penalized problem
    cdef int64_t n = X.csr.n_rows, entries = 0
    if n == 0 or not y.shape[0] == costs.shape[0] == norms.shape[0] == alpha.shape[0] == n:
        raise ValueError("y, costs, norms and alpha differ in length or are empty")
    if v.shape[0] != X.csr.n_features + (bias != 0) or not (l1 >= 0 and l2 > 0):
        raise ValueError("v has the wrong length, or l2 is not above 0")
    problem.columns, problem.centres = <const svmcut_columns*> NULL, <const double*> NULL
    problem.n, problem.loss, problem.tube = n, SVMCUT_HINGE, 0
    problem.y, problem.costs = &y[0], &costs[0]
    problem.l1, problem.l2, problem.bias, problem.free = l1, l2, bias, 0
    cdef double nothing = 0
    cdef double* sums = &v[0] if v.shape[0] else &nothing
    cdef const int* cancel = cancel_flag()
    cdef int status
    before = np.array(alpha), np.array(v)
    while True:
        with nogil:
            status = svmcut_soft_descent(&X.csr, &problem, &norms[0], seed, epochs, enough,
                                         &alpha[0], sums, &entries, cancel)
        if served(status) != SVMCUT_CANCELLED:
            return entries
        serve()  # a handler that raises nothing leaves no trace
        np.asarray(alpha)[:], np.asarray(v)[:] = before
