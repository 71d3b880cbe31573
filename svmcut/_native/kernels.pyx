# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/kernels/kernels.cc csrc/kernels/kernel_sums.cc
# libraries: svmcut_kernel_rows
"""Kernel evaluations; see csrc/include/kernels.h, sections kernels.cc and kernel_rows.cc."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from abi.kernels cimport *
from svmcut._native.sparse cimport Rows


def kernel_scores(X, support, const double[::1] alpha, kernel, double b, int threads,
                  double[::1] out):
    """out[i] = sum_k alpha[k] K(support_k, X_i) - b; X and support are Csr, kernel a Kernel."""
    cdef Rows rows = Rows(X), vectors = Rows(support)
    cdef svmcut_kernel K = kernel_of(kernel)
    cdef int status
    if alpha.shape[0] != vectors.csr.n_rows or out.shape[0] != rows.csr.n_rows:
        raise ValueError("alpha or out does not fit the rows")
    cdef const double* alpha_start = &alpha[0] if alpha.shape[0] else NULL
    cdef double* out_start = &out[0] if out.shape[0] else NULL
    with nogil:
        status = svmcut_kernel_scores(&rows.csr, &vectors.csr, alpha_start, &K, b, threads,
                                      out_start)
    if status != SVMCUT_OK:
        raise MemoryError("no memory for the products with the support vectors")


def machine_scores(X, support, const int64_t[::1] starts, const int32_t[::1] places,
                   const double[::1] alpha, kernel, const double[::1] b, int threads,
                   bint narrow=False, labels=None):
    """(n, M) sums over the support vectors places[e] with alpha[e], starts[j] <= e < starts[j + 1],
    less b[j].

    narrow: every product of two features is rounded to float32. labels: "signs" or "largest" where
    no more than those matter, see svmcut_kernel_labels.
    """
    cdef Rows rows = Rows(X), vectors = Rows(support)
    cdef svmcut_kernel K = kernel_of(kernel)
    cdef int64_t machines = b.shape[0], n = rows.csr.n_rows, j
    cdef bint are_labels = labels is not None, of_largest = labels == "largest"
    cdef const int32_t* place
    cdef const double* weight
    cdef int status = 0
    if starts.shape[0] != machines + 1 or alpha.shape[0] != places.shape[0] or starts[0] != 0:
        raise ValueError("starts, places, alpha or b do not fit each other")
    for j in range(machines):
        if starts[j] > starts[j + 1]:
            raise ValueError("starts fall")
    if starts[machines] != alpha.shape[0]:
        raise ValueError("starts do not end with alpha")
    for j in range(places.shape[0]):
        if not 0 <= places[j] < vectors.csr.n_rows:
            raise ValueError("places are no rows of the support vectors")
    cdef double[:, ::1] out = np.empty((n, machines))
    if n and machines:
        place = &places[0] if places.shape[0] else NULL
        weight = &alpha[0] if alpha.shape[0] else NULL
        with nogil:
            if are_labels:
                status = svmcut_kernel_labels(&rows.csr, &vectors.csr, machines, &starts[0], place,
                                              weight, &K, &b[0], of_largest, threads, &out[0, 0])
            else:
                status = svmcut_kernel_machines(&rows.csr, &vectors.csr, machines, &starts[0],
                                                place, weight, &K, &b[0], narrow, threads,
                                                &out[0, 0])
        if status != SVMCUT_OK:
            raise MemoryError("no memory for the products with the support vectors")
    return np.asarray(out)


INSTRUCTIONS = {"fastest": 0, "portable": 1, "avx2": 2}
LAYOUTS = ("products", "differences", "columns", "bits")


cdef class KernelRows:
    """Rows of K(x_i, .) in float32 over the points of a set, laid out once.

    Parameters
    ----------
    X : Csr
        (n, d) points; their arrays are shared and must not change.
    kernel : Kernel
    threads : int
        Results have the same bytes for any number.
    instructions : {"fastest", "portable", "avx2"}
        What the machine lacks falls back.
    layout : {"products", "differences", "columns", "bits"} or None
        None for the one that suits; "bits" is "products" where a value is neither 0 nor 1.

    Attributes
    ----------
    n : int
    evaluations : int
        Kernel values computed so far.
    layout : str
        "products" and "differences" hold all features of 64 points together, 4 n d bytes;
        "columns", for text, the points of every feature, 8 nnz bytes; "bits", for features of zeros
        and ones, the same values as "products" from n d / 8 bytes.

    Raises
    ------
    MemoryError

    Notes
    -----
    exp has a relative error below 1.2e-7. With "products", chosen while gamma |x|^2 allows it, the
    exponent of the rbf kernel is exact to 4e-6; the other layouts have no cancellation. K(x, z) and
    K(z, x) have the same bytes.
    """

    cdef readonly int64_t n, evaluations
    cdef readonly object X, kernel, instructions
    cdef public int threads
    cdef Rows _rows
    cdef svmcut_kernel_rows* _points

    def __cinit__(self, X, kernel, int threads=1, instructions="fastest", layout=None):
        self.X, self.kernel, self.threads = X, kernel, threads
        self._rows = Rows(X)
        self.n = self._rows.csr.n_rows
        cdef svmcut_kernel K = kernel_of(kernel)
        cdef int code = INSTRUCTIONS[instructions]
        cdef int wanted = -1 if layout is None else LAYOUTS.index(layout)
        self.instructions = instructions
        with nogil:
            self._points = svmcut_kernel_rows_new(&self._rows.csr, &K, wanted, code)
        if self._points == NULL:
            raise MemoryError(
                f"no memory for kernel rows over {self.n} points of {X.n_features} features")

    def __dealloc__(self):
        if self._points != NULL:
            svmcut_kernel_rows_delete(self._points)

    @property
    def layout(self):
        return LAYOUTS[svmcut_kernel_rows_layout(self._points)]

    @property
    def diagonal(self):
        """(n,) float64 K(x_i, x_i)."""
        cdef double[::1] out = np.empty(self.n)
        if self.n:
            svmcut_kernel_rows_diagonal(self._points, &out[0])
        return np.asarray(out)

    cdef _evaluate(self, Rows queries, const int64_t[::1] which, int64_t count, out):
        cdef float[:, ::1] values = np.empty((count, self.n), np.float32) if out is None else out
        cdef const int64_t* start = &which[0] if which is not None and count else NULL
        cdef int status
        if values.shape[0] != count or values.shape[1] != self.n:
            raise ValueError(f"out has shape {out.shape}; expected ({count}, {self.n})")
        if count and self.n:
            with nogil:
                status = svmcut_kernel_rows_evaluate(self._points, &queries.csr, start, count,
                                                     &values[0, 0], self.threads)
            if status != SVMCUT_OK:
                raise MemoryError(f"no memory for {count} kernel queries")
            self.evaluations += count * self.n
        return np.asarray(values)

    cdef const int64_t[::1] _which(self, rows):
        which = np.ascontiguousarray(rows, np.int64)
        if which.ndim != 1 or (len(which) and not (which.min() >= 0 and which.max() < self.n)):
            raise IndexError(f"rows must be numbers from 0 to {self.n - 1}")
        return which

    def block(self, rows, out=None):
        """K(x_r, .) of the points named.

        Parameters
        ----------
        rows : (q,) int64
        out : (q, n) float32, contiguous, or None

        Returns
        -------
        (q, n) float32
        """
        cdef const int64_t[::1] which = self._which(rows)
        return self._evaluate(self._rows, which, which.shape[0], out)

    def block_double(self, rows):
        """(q, n) float64 K(x_r, .) of the points named, from float64 sums."""
        cdef const int64_t[::1] which = self._which(rows)
        return self._evaluate_double(self._rows, which, which.shape[0])

    def against_double(self, Z):
        """(m, n) float64 K(z, .) of foreign rows, from float64 sums."""
        cdef Rows queries = Rows(Z)
        return self._evaluate_double(queries, None, queries.csr.n_rows)

    cdef _evaluate_double(self, Rows queries, const int64_t[::1] which, int64_t count):
        cdef double[:, ::1] values = np.empty((count, self.n))
        cdef const int64_t* start = &which[0] if which is not None and count else NULL
        cdef int status
        if count and self.n:
            with nogil:
                status = svmcut_kernel_rows_evaluate_double(self._points, &queries.csr, start,
                                                            count, &values[0, 0], self.threads)
            if status != SVMCUT_OK:
                raise MemoryError(f"no memory for {count} kernel queries")
            self.evaluations += count * self.n
        return np.asarray(values)

    def gram(self, bint exact=False):
        """(n, n) K of all pairs, float32 or where exact float64; every value is computed once."""
        cdef float[:, ::1] narrow
        cdef double[:, ::1] wide
        cdef int status = 0
        values = np.empty((self.n, self.n), np.float64 if exact else np.float32)
        if self.n == 0:
            return values
        if exact:
            wide = values
            with nogil:
                status = svmcut_kernel_rows_gram_double(self._points, &self._rows.csr, &wide[0, 0],
                                                        self.threads)
        else:
            narrow = values
            with nogil:
                status = svmcut_kernel_rows_gram(self._points, &self._rows.csr, &narrow[0, 0],
                                                 self.threads)
        if status != SVMCUT_OK:
            raise MemoryError(f"no memory for kernel queries of {self.n} points")
        self.evaluations += self.n * (self.n + 1) // 2
        return values

    def block_between(self, rows, columns):
        """(q, m) float32 K(x_r, x_c); the columns are laid out anew, O(their nonzeros + m d)."""
        cdef const int64_t[::1] which = self._which(rows)
        columns = np.asarray(self._which(columns))
        cdef KernelRows part = KernelRows(self.X.take(columns), self.kernel, self.threads,
                                          self.instructions, self.layout)
        values = part._evaluate(self._rows, which, which.shape[0], None)
        self.evaluations += part.evaluations
        return values

    def against(self, Z, out=None):
        """(m, n) float32 K(z, .) of foreign rows; features the points do not have count in the rbf
        distance only."""
        cdef Rows queries = Rows(Z)
        return self._evaluate(queries, None, queries.csr.n_rows, out)

    def accumulate(self, rows, coef, out=None):
        """sum_q coef_q K(x_rows[q], .) without the block of values.

        Parameters
        ----------
        rows : (q,) int64
        coef : (q,) float64
        out : (n,) float64 or None
            Added to where given.

        Returns
        -------
        (n,) float64
            float32 values, summed in float64 in the order of the rows.
        """
        cdef const int64_t[::1] which = self._which(rows)
        return self._accumulate(self._rows, which, which.shape[0], coef, out)

    def accumulate_foreign(self, Z, coef, out=None, bint exact=False):
        """(n,) float64 sum_q coef_q K(z_q, .) over foreign rows; exact: with float64 kernel
        values."""
        cdef Rows queries = Rows(Z)
        return self._accumulate(queries, None, queries.csr.n_rows, coef, out, exact)

    cdef _accumulate(self, Rows queries, const int64_t[::1] which, int64_t count, coef, out,
                     bint exact=False):
        cdef const double[::1] weights = np.ascontiguousarray(coef, np.float64)
        cdef double[::1] sums = np.zeros(self.n) if out is None else out
        cdef const int64_t* start = &which[0] if which is not None and count else NULL
        cdef int status
        if weights.shape[0] != count or sums.shape[0] != self.n:
            raise ValueError("coef or out does not fit the rows")
        if count and self.n:
            with nogil:
                if exact:
                    status = svmcut_kernel_rows_accumulate_double(self._points, &queries.csr, start,
                                                                  count, &weights[0], &sums[0],
                                                                  self.threads)
                else:
                    status = svmcut_kernel_rows_accumulate(self._points, &queries.csr, start, count,
                                                           &weights[0], &sums[0], self.threads)
            if status != SVMCUT_OK:
                raise MemoryError(f"no memory for {count} kernel queries")
            self.evaluations += count * self.n
        return np.asarray(sums)


def exp_float32(const float[::1] x, float[::1] out, instructions="fastest"):
    """out = exp(x) for x <= 0; see svmcut_kernel_exp."""
    cdef int code = INSTRUCTIONS[instructions]
    if x.shape[0] != out.shape[0]:
        raise ValueError("x and out differ in length")
    if x.shape[0]:
        svmcut_kernel_exp(&x[0], x.shape[0], &out[0], code)
