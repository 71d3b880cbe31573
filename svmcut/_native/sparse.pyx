# SPDX-License-Identifier: BSD-3-Clause
# libraries: svmcut_linear svmcut_rows
"""Thin wrappers of csrc/linear/sparse.cc and hinge.cc: shapes and dtypes are checked here, sums are
formed there."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np
from abi.linear cimport *
from svmcut._native.status cimport served
from svmcut._native.weights cimport weights_of


cdef class Rows:
    """The arrays of a Csr, checked where they are not proven, and kept alive: no others come to the
    C++ side."""

    def __init__(self, X):
        X = X.validate()
        self.data, self.indices, self.indptr = X.data, X.indices, X.indptr
        cdef int64_t n = self.indptr.shape[0] - 1
        cdef int64_t size = self.data.shape[0]
        if n < 0 or self.indices.shape[0] != size or self.indptr[n] > size:
            raise ValueError("data, indices and indptr do not belong together")
        self.csr.data = &self.data[0] if self.data.shape[0] else NULL
        self.csr.indices = &self.indices[0] if self.indices.shape[0] else NULL
        self.csr.indptr = &self.indptr[0]
        self.csr.n_rows = n
        self.csr.n_features = X.n_features


cdef inline const double* first(const double[::1] v) noexcept nogil:
    return &v[0] if v.shape[0] else NULL


def scores(Rows X, const double[::1] w, double constant, double[::1] out, int threads):
    """out[i] = sum_j X[i][j] w[j] + constant; w has at least n_features entries."""
    if w.shape[0] < X.csr.n_features or out.shape[0] != X.csr.n_rows:
        raise ValueError("w or out has the wrong length")
    if X.csr.n_rows == 0:
        return
    cdef const double* weights = first(w)
    cdef double* s = &out[0]
    cdef int status
    with nogil:
        status = svmcut_scores(&X.csr, weights, constant, s, threads)
    served(status)


def predict(Rows X, const double[::1] w, double constant, double[::1] out, int threads):
    """out[i] = sum_j X[i][j] w[j] + constant in the order of j; features beyond w weigh nothing."""
    if out.shape[0] != X.csr.n_rows:
        raise ValueError("out has the wrong length")
    if X.csr.n_rows == 0:
        return
    cdef const double* weights = first(w)
    cdef int64_t d = w.shape[0]
    cdef int status
    cdef double* s = &out[0]
    with nogil:
        status = svmcut_predict(&X.csr, weights, d, constant, s, threads)
    served(status)


def ranges(Rows X, int threads):
    """Into how many Ranges of columns `adjoint` is cut over these threads."""
    return svmcut_adjoint_ranges(&X.csr, threads) if X.csr.n_rows else 1


cdef class Ranges:
    """Ranges of the columns of some rows, and where they begin in each row.

    Parameters
    ----------
    X : Rows
    columns : (ranges + 1,) int64
        Bounds, increasing from 0 to n_features.
    """

    cdef Rows X
    cdef int32_t[::1] bounds
    cdef int count

    def __init__(self, Rows X, const int64_t[::1] columns):
        cdef int64_t k
        self.X, self.count = X, <int>columns.shape[0] - 1
        if self.count < 1 or columns[0] != 0 or columns[self.count] != X.csr.n_features:
            raise ValueError("columns must run from 0 to n_features")
        for k in range(self.count):
            if columns[k] >= columns[k + 1]:
                raise ValueError("columns must increase")
        self.bounds = np.empty((self.count - 1) * X.csr.n_rows, np.int32)
        if self.bounds.shape[0]:
            with nogil:
                svmcut_adjoint_bounds(&X.csr, &columns[0], self.count, &self.bounds[0])


def adjoint(Rows X, const double[::1] coef, double[::1] out, Ranges ranges=None, int threads=1):
    """out[j] += sum_i coef[i] X[i][j]; ranges of columns go to a thread each where rows are many,
    and columns."""
    if coef.shape[0] != X.csr.n_rows or out.shape[0] < X.csr.n_features:
        raise ValueError("coef or out has the wrong length")
    if X.csr.n_rows == 0 or X.csr.n_features == 0:
        return
    cdef const int32_t* bounds = NULL
    cdef int status, count = 1
    if ranges is not None and ranges.count > 1:
        if ranges.X is not X:
            raise ValueError("ranges are of other rows")
        bounds, count = &ranges.bounds[0], ranges.count
    with nogil:
        status = svmcut_adjoint(&X.csr, &coef[0], &out[0], bounds, count, threads)
    served(status)


def dot(const double[::1] a, const double[::1] b, int threads=1):
    """sum_i a[i] b[i]"""
    if a.shape[0] != b.shape[0]:
        raise ValueError("a and b differ in length")
    cdef double value
    cdef const double* p = first(a)
    cdef const double* q = first(b)
    with nogil:
        value = svmcut_dot(a.shape[0], p, q, threads)
    return value


cdef class Nonzeros:
    """A vector that is mostly 0: the others and where they stand. `dots` and `combine` take it for
    the vector itself, to the last bit.

    Attributes
    ----------
    values : (k,) float64
    indices : (k,) int32
        Increasing.
    size : int
        Length of the vector.
    """

    _fields = ("values", "indices", "size")

    cdef readonly object values, indices
    cdef readonly int64_t size
    cdef svmcut_vector vector

    def __init__(self, values, indices, int64_t size):
        cdef const double[::1] v = values
        cdef const int32_t[::1] at = indices
        cdef int64_t k, before = -1
        if v.shape[0] != at.shape[0]:
            raise ValueError("values and indices differ in length")
        for k in range(at.shape[0]):
            if not before < at[k] < size:
                raise ValueError("indices must increase and lie below the size")
            before = at[k]
        self.values, self.indices, self.size = values, indices, size
        self.vector.values, self.vector.count = first(v), at.shape[0]
        self.vector.indices = &at[0] if at.shape[0] else &NOWHERE

    @property
    def nbytes(self):
        return self.values.nbytes + self.indices.nbytes


cdef int32_t NOWHERE = 0


def nonzeros(const double[::1] a, int64_t most):
    """The Nonzeros of a; None where there are more than `most`."""
    cdef int64_t count
    cdef const double* p = first(a)
    if a.shape[0] > 2147483647:
        return None
    with nogil:
        count = svmcut_count_nonzeros(a.shape[0], p)
    if count > most:
        return None
    values, indices = np.empty(count), np.empty(count, np.int32)
    cdef double[::1] v = values
    cdef int32_t[::1] at = indices
    if count:
        with nogil:
            svmcut_take_nonzeros(a.shape[0], p, &v[0], &at[0])
    return Nonzeros(values, indices, a.shape[0])


cdef svmcut_vector vector(object item, int64_t n) except *:
    """An array or Nonzeros of n numbers."""
    cdef svmcut_vector found
    cdef const double[::1] v
    if isinstance(item, Nonzeros):
        if (<Nonzeros>item).size != n:
            raise ValueError("vectors differ in length")
        return (<Nonzeros>item).vector
    v = item
    if v.shape[0] != n:
        raise ValueError("vectors differ in length")
    found.values, found.count = first(v), n
    found.indices = NULL
    return found


cdef class Vectors:
    """Arrays or Nonzeros of n numbers each, with a weight or a place each, while the C++ side reads
    them."""

    cdef svmcut_vector* table
    cdef int64_t count

    def __init__(self, const double[::1] each, list vectors, int64_t n):
        cdef int64_t k
        self.count = len(vectors)
        if each.shape[0] != self.count:
            raise ValueError("one number a vector is needed")
        self.table = <svmcut_vector*>malloc((self.count + 1) * sizeof(svmcut_vector))
        if self.table == NULL:
            raise MemoryError
        for k in range(self.count):
            self.table[k] = vector(vectors[k], n)

    def __dealloc__(self):
        free(self.table)


def dots(list vectors, const double[::1] a, double[::1] out, int threads=1):
    """out[k] = vectors[k] . a, arrays or Nonzeros."""
    cdef Vectors read = Vectors(out, vectors, a.shape[0])
    cdef int status
    if read.count:
        with nogil:
            status = svmcut_dots(a.shape[0], read.count, read.table, first(a), &out[0], threads)
        served(status)


def combine(const double[::1] weights, list vectors, double[::1] out, int threads=1):
    """out = sum_k weights[k] vectors[k], arrays or Nonzeros."""
    cdef Vectors read = Vectors(weights, vectors, out.shape[0])
    if out.shape[0]:
        with nogil:
            svmcut_combine(out.shape[0], read.count, first(weights), read.table, &out[0], threads)


def combine_floats(const double[::1] weights, list vectors, double[::1] out, int threads=1):
    """out = sum_k weights[k] vectors[k], float32 arrays of out's length; sums are float64."""
    cdef int64_t k, count = len(vectors)
    cdef const float[::1] vector
    if weights.shape[0] != count:
        raise ValueError("one weight a vector is needed")
    cdef const float** table = <const float**>malloc((count + 1) * sizeof(void*))
    if table == NULL:
        raise MemoryError
    try:
        for k in range(count):
            vector = vectors[k]
            if vector.shape[0] != out.shape[0]:
                raise ValueError("the vectors differ in length")
            table[k] = &vector[0] if vector.shape[0] else NULL
        if out.shape[0]:
            with nogil:
                svmcut_combine_floats(out.shape[0], count, first(weights), table, &out[0], threads)
    finally:
        free(table)


def combined_square(const double[::1] weights, list vectors, int64_t n, int threads=1):
    """|sum_k weights[k] vectors[k]|^2 of n numbers each, to the last bit that of `combine` and
    `dot`."""
    cdef Vectors read = Vectors(weights, vectors, n)
    cdef double value
    with nogil:
        value = svmcut_combined_square(n, read.count, first(weights), read.table, threads)
    return value


def gram(Rows X, double constant):
    """(n, n) float64: dot products of the rows, each plus a constant."""
    out = np.empty((X.csr.n_rows, X.csr.n_rows))
    cdef double[:, ::1] products = out
    cdef int status = 0
    if X.csr.n_rows:
        with nogil:
            status = svmcut_gram(&X.csr, constant, &products[0, 0])
    served(status)
    return out


def blend(double p, const double[::1] x, double q, const double[::1] y, double[::1] out,
          int threads=1):
    """out = p x + q y; out may be x or y."""
    if x.shape[0] != out.shape[0] or y.shape[0] != out.shape[0]:
        raise ValueError("x, y and out differ in length")
    if out.shape[0]:
        with nogil:
            svmcut_blend(out.shape[0], p, &x[0], q, &y[0], &out[0], threads)


def row_norms(Rows X, double[::1] out, int threads=1):
    """out[i] = |x_i|^2"""
    if out.shape[0] != X.csr.n_rows:
        raise ValueError("out has the wrong length")
    if X.csr.n_rows:
        with nogil:
            svmcut_row_norms(&X.csr, &out[0], threads)


def hinge(const double[::1] y, const double[::1] s, double[::1] coef, int threads=1,
          const double[::1] weights=None):
    """Fills coef with the subgradient of the hinge risk at s; returns (value, offset)."""
    cdef double value = 0.0, offset = 0.0
    cdef int status = 0
    cdef int64_t n = y.shape[0]
    if s.shape[0] != n or coef.shape[0] != n:
        raise ValueError("y, s and coef differ in length")
    cdef const double* v = weights_of(weights, n)
    if n:
        with nogil:
            status = svmcut_hinge(n, &y[0], &s[0], v, &coef[0], &value, &offset, threads)
    served(status)
    return value, offset


def hinge_line(const double[::1] y, const double[::1] s, const double[::1] e, double wd, double dd,
               double C, int threads=1, const double[::1] weights=None):
    """The step t >= 0 that minimises the primal along scores s + t e."""
    cdef double step = 0.0
    cdef int status = 0
    cdef int64_t n = y.shape[0]
    if s.shape[0] != n or e.shape[0] != n:
        raise ValueError("y, s and e differ in length")
    cdef const double* v = weights_of(weights, n)
    if n:
        with nogil:
            status = svmcut_hinge_line(n, &y[0], &s[0], &e[0], v, wd, dd, C, &step, threads)
    served(status)
    return step


def hinge_grid(const double[::1] y, const double[::1] s, const double[::1] target,
               const double[::1] grid, int64_t even, int threads=1, const double[::1] weights=None,
               double margin=1.0):
    """(2, steps): values and slopes of the hinge risk at s + t (target - s), t on the grid, even up
    to grid[even]; margin: in place of the 1 of the hinge."""
    cdef int status = 0
    cdef int64_t n = y.shape[0], steps = grid.shape[0]
    if s.shape[0] != n or target.shape[0] != n or not 0 <= even < steps:
        raise ValueError("y, s and target differ in length, or even is no place of the grid")
    found = np.zeros((2, steps))
    cdef double[:, ::1] out = found
    cdef const double* v = weights_of(weights, n)
    if n:
        with nogil:
            status = svmcut_hinge_grid(
                n, margin, &y[0], &s[0], &target[0], v, even, steps, &grid[0], &out[0, 0],
                &out[1, 0], threads)
    served(status)
    return found


def spread_rows(int64_t count, int64_t every):
    """(count,) int64: one row of every so many, at most 8, at a place that follows no period of the
    file."""
    cdef int64_t k
    cdef uint64_t place
    out = np.zeros(count, np.int64)
    cdef int64_t[::1] rows = out
    for k in range(count):
        place = (<uint64_t>k * <uint64_t>0x9E3779B97F4A7C15) >> 61
        rows[k] = k * every + <int64_t>(place % <uint64_t>every)
    return out


def take_rows(Rows X, const int64_t[::1] rows, const int64_t[::1] indptr, float[::1] data,
              int32_t[::1] indices):
    """Copies the rows one behind the other; indptr holds the running sums of their lengths."""
    cdef int64_t k, count = rows.shape[0]
    if indptr.shape[0] != count + 1 or not (
            data.shape[0] == indices.shape[0] == indptr[count]):
        raise ValueError("indptr, data and indices do not fit the rows")
    for k in range(count):
        if rows[k] < 0 or rows[k] >= X.csr.n_rows:
            raise ValueError("a row number is out of range")
        if indptr[k + 1] - indptr[k] != X.indptr[rows[k] + 1] - X.indptr[rows[k]]:
            raise ValueError("indptr does not hold the lengths of the rows")
    if data.shape[0]:
        with nogil:
            svmcut_take_rows(&X.csr, &rows[0], count, &indptr[0], &data[0], &indices[0])
