# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/linear/job.cc
# libraries: svmcut_linear svmcut_rows
"""Text of examples to a linear machine of two classes, its certificate and its worth.

A small run ends sooner than NumPy is imported: nothing here needs it.
"""

from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from abi.job cimport *
from abi.text cimport *
from svmcut._native.interrupt cimport cancel_flag, serve
from svmcut._native.scored cimport TextRows, free_rows, worth_of
from svmcut._native.status cimport served
from svmcut._native.scored import Unusual


#: Numbers of the losses.
HINGE, SQUARED_HINGE, LOGISTIC = SVMCUT_HINGE, SVMCUT_SQUARED_HINGE, SVMCUT_LOGISTIC

cdef enum:
    STEPS = 399  # a run of more may be ended by the rule that watches progress


cdef class LinearJob(TextRows):
    """One training run, on rows that come as text.

    Parameters
    ----------
    path : str
        Of the examples.
    threads : int

    Attributes
    ----------
    n_rows, n_features, nnz : int
    low, high : float
        The smallest and the largest label.
    has_two : bool
        Whether every label is one of these.
    is_weighed : bool
        Whether a row has a query or a weight.
    positives : int
        Rows of the positive class.

    Raises
    ------
    Unusual
        For a run that is not done here.
    """

    cdef readonly int64_t n_rows, n_features, nnz, positives
    cdef readonly double low, high
    cdef readonly bint has_two, is_weighed
    cdef svmcut_rows rows
    cdef svmcut_csr X
    cdef svmcut_job job
    cdef double* y
    cdef double* w

    def __dealloc__(self):
        free_rows(&self.rows)
        free(self.y)
        free(self.w)

    def take(self):
        """Ends the reading of rows."""
        cdef int64_t i
        cdef const double* labels
        cdef int status = svmcut_scan_take(self.scan, &self.rows)
        served(status)
        labels = <const double*>self.rows.labels.data
        self.n_rows, self.n_features = self.rows.labels.length, self.rows.n_features
        self.nnz = self.rows.values.length
        if self.n_rows == 0 or self.nnz == 0:
            raise Unusual
        self.X.data, self.X.indices = (<const float*>self.rows.values.data,
                                       <const int32_t*>self.rows.indices.data)
        self.X.indptr = <const int64_t*>self.rows.indptr.data
        self.X.n_rows, self.X.n_features = self.n_rows, self.n_features
        self.is_weighed = self.rows.qids.length > 0 or self.rows.costs.length > 0
        self.low = self.high = labels[0]
        for i in range(self.n_rows):
            self.low, self.high = min(self.low, labels[i]), max(self.high, labels[i])
        self.has_two = isfinite(self.high - self.low) != 0
        for i in range(self.n_rows):
            self.has_two &= labels[i] == self.low or labels[i] == self.high

    def scales(self, int64_t enough, int64_t often):
        """Column and largest value of the features with the smallest and with the largest of these,
        columns -1 where there are none, and the largest value of all; see csrc/include/job.h."""
        cdef svmcut_job_scales found
        cdef int status = svmcut_job_scan_scales(&self.X, enough, often, &found)
        served(status)
        return found.low, found.low_value, found.high, found.high_value, found.far

    def train(self, bint above_zero, int loss, double C, double bias, double gap, bint relative, *,
              uint64_t seed, int64_t block, double most_epochs, double most_seconds,
              double epoch_seconds, bint one_look, double foreseen, int64_t most_entries):
        """Trains; the larger label is positive, or with `above_zero` all that are. loss: a number
        of HINGE, SQUARED_HINGE and LOGISTIC.

        Returns
        -------
        dict
            The fields of svmcut_job_found.
        list of (cuts, support, primal, dual)
            The steps.
        """
        cdef int64_t i
        cdef const double* labels = <const double*>self.rows.labels.data
        cdef svmcut_job_found found
        cdef svmcut_job_step[STEPS] steps
        cdef const int* cancel = cancel_flag()
        cdef int status
        self.y = <double*>malloc(self.n_rows * sizeof(double))
        self.w = <double*>calloc(self.n_features + 1, sizeof(double))
        if self.y == NULL or self.w == NULL:
            raise MemoryError
        for i in range(self.n_rows):
            self.y[i] = 1.0 if (labels[i] > 0 if above_zero else labels[i] == self.high) else -1.0
            self.positives += self.y[i] > 0
        if self.positives in (0, self.n_rows):
            raise Unusual
        self.job = svmcut_job(loss, C, bias, gap, relative, seed, block, most_epochs, most_seconds,
                              epoch_seconds, one_look, foreseen, most_entries, self.threads)
        with nogil:
            status = svmcut_job_train(&self.X, self.y, &self.job, self.w, steps, STEPS, &found,
                                      cancel)
        if status == SVMCUT_CANCELLED:
            serve()
        if status == SVMCUT_NO_MEMORY:
            raise MemoryError
        if status != SVMCUT_OK:
            raise Unusual
        return found, [(steps[i].cuts, steps[i].support, steps[i].primal, steps[i].dual)
                       for i in range(found.steps)]

    @property
    def constant(self):
        """The value of the constant feature, times its weight."""
        return self.job.bias * self.w[self.n_features] if self.job.bias else 0.0

    def primal_of_file(self, double constant):
        """The primal of the weights as a file has them, and this one of the constant feature."""
        cdef double primal
        if svmcut_job_primal_of_file(&self.X, self.y, &self.job, self.w, constant,
                                     &primal) != SVMCUT_OK:
            raise Unusual
        return primal

    def pairs(self):
        """The weights as a model file has them, bytes, and the highest index among them, 0 for
        none."""
        cdef int64_t j, used = 0, n = self.n_features
        cdef int32_t* columns = <int32_t*>malloc(4 * n + 4)
        cdef float* values = <float*>malloc(4 * n + 4)
        cdef char* text = NULL
        try:
            if columns == NULL or values == NULL:
                raise MemoryError
            for j in range(n):
                values[used] = <float>self.w[j]
                if not isfinite(values[used]):
                    raise Unusual
                if values[used] != 0:
                    columns[used] = <int32_t>j
                    used += 1
            text = <char*>malloc(used * SVMCUT_PAIR_WIDTH + 1)
            if text == NULL:
                raise MemoryError
            highest = columns[used - 1] + 1 if used else 0
            return text[:svmcut_format_pairs(columns, values, used, 0, text)], highest
        finally:
            free(columns)
            free(values)
            free(text)

    def worth(self, double offset, double precision, double recall, int64_t first, int64_t last):
        """As `two_classes` of svmcut._native.scored, of the scores of the rows less the offset."""
        cdef int64_t i, n = self.n_rows
        cdef int status
        cdef double* scores = <double*>malloc(n * sizeof(double))
        cdef uint8_t* positive = <uint8_t*>malloc(n)
        try:
            if scores == NULL or positive == NULL:
                raise MemoryError
            for i in range(n):
                positive[i] = self.y[i] > 0
            status = svmcut_predict(&self.X, self.w, self.n_features, -offset, scores, self.threads)
            served(status)
            return worth_of(scores, positive, n, precision, recall, first, last, self.threads)
        finally:
            free(scores)
            free(positive)
