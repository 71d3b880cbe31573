# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/text/scaling.cc
"""The two passes of scaling; see csrc/include/scaling.h."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t

from abi.scaling cimport *

import numpy as np

from svmcut.base.errors import DataError


cdef enum:
    ENOUGH = 1 << 20
    FIRST = 10


cdef class _Pass:
    """One pass over a file: fed as `svmcut._native.scan.Scanner` is.

    `libsvm`: index 0 is a feature, and comments are left out.
    """

    cdef svmcut_scaling* scaling
    cdef readonly str path

    def __cinit__(self, str path, *args, bint libsvm=False):
        self.path = path
        self.scaling = svmcut_scaling_new(libsvm)
        if self.scaling == NULL:
            raise MemoryError

    def __dealloc__(self):
        svmcut_scaling_delete(self.scaling)

    cdef svmcut_scaling_counts counts(self):
        cdef svmcut_scaling_counts counts
        svmcut_scaling_count(self.scaling, &counts)
        return counts

    @property
    def nbytes(self):
        """Bytes of tables and text."""
        return self.counts().bytes

    @property
    def rows(self):
        """Examples so far."""
        return self.counts().rows

    cdef _check(self, int status, svmcut_scan_fault* fault):
        if status == SVMCUT_BAD_INPUT:
            message = fault.message.decode("ascii", "replace").partition("\n")[0]
            raise DataError(self.path, message, fault.line, fault.column)
        if status == SVMCUT_NO_MEMORY:
            raise MemoryError


cdef class Measure(_Pass):
    """The first pass: the ranges of a file.

    Parameters
    ----------
    path : str
        Named in errors.
    """

    def feed(self, text, *, bint last=False, int64_t bytes_left=-1):
        """Takes the whole lines of a text, all of it when it is the last; returns the bytes used.

        Raises
        ------
        DataError
            At the first line that is no example.
        MemoryError
        """
        cdef Py_buffer view
        cdef svmcut_scan_fault fault
        cdef int64_t used = 0
        cdef int status
        PyObject_GetBuffer(text, &view, PyBUF_SIMPLE)
        try:
            with nogil:
                status = svmcut_scaling_measure(self.scaling, <const char*>view.buf, view.len, last,
                                                &used, &fault)
        finally:
            PyBuffer_Release(&view)
        self._check(status, &fault)
        return used

    @property
    def labels(self):
        """The lowest and the highest label."""
        return self.counts().lowest_label, self.counts().highest_label

    def features(self):
        """Indices as in the file, lowest and highest values of the features that are not constant.

        Returns
        -------
        indices : (k,) int32, increasing
        low, high : (k,) float64
        """
        cdef int64_t n = svmcut_scaling_varying(self.scaling)
        indices, low, high = np.empty(n, np.int32), np.empty(n), np.empty(n)
        cdef int32_t[::1] i = indices
        cdef double[::1] a = low, b = high
        if n:
            svmcut_scaling_ranges(self.scaling, &i[0], &a[0], &b[0])
        return indices, low, high


cdef class Scale(_Pass):
    """The second pass: scaled rows.

    Parameters
    ----------
    path : str
        Named in errors.
    write : callable
        Takes the text of rows, bytes.
    limits : (float, float)
        Where the lowest and the highest value of a feature go.
    features : tuple
        As `Measure.features` gives them.
    labels : (float, float, float, float) or None
        Where the lowest and the highest label go, and these; None leaves labels as they are.
    checked : bool
        The text has passed a `Measure`.

    Raises
    ------
    OverflowError
        With the index of a feature whose scale is beyond doubles.
    """

    cdef object write

    def __init__(
        self, str path, write, limits, features, labels, bint checked, *, bint libsvm=False
    ):
        cdef svmcut_scaling_range label
        cdef svmcut_scaling_range* of_labels = NULL
        cdef double lower = limits[0], upper = limits[1]
        cdef const int32_t[::1] i = features[0]
        cdef const double[::1] a = features[1], b = features[2]
        cdef int64_t n = i.shape[0], where = 0
        cdef int status
        self.write = write
        if a.shape[0] != n or b.shape[0] != n:
            raise ValueError("indices and ranges differ in length")
        if labels is not None:
            label.lower, label.upper, label.low, label.high = labels
            of_labels = &label
        with nogil:
            status = svmcut_scaling_start(self.scaling, lower, upper, &i[0] if n else NULL,
                                          &a[0] if n else NULL, &b[0] if n else NULL, n, of_labels,
                                          checked, &where)
        if status == SVMCUT_BAD_INPUT:
            raise OverflowError(where)
        if status != SVMCUT_OK:
            raise MemoryError

    def feed(self, text, *, bint last=False, int64_t bytes_left=-1):
        """Writes the whole lines of a text, all of it when it is the last; returns the bytes used.

        Raises
        ------
        DataError
            At the first line that is no example, or whose scaled values are beyond doubles.
        MemoryError
        """
        cdef Py_buffer view
        cdef svmcut_scan_fault fault
        cdef int64_t used = 1, done = 0, length = 0
        cdef const char* out = NULL
        cdef int status
        PyObject_GetBuffer(text, &view, PyBUF_SIMPLE)
        try:
            while used and done < view.len:
                with nogil:
                    status = svmcut_scaling_write(self.scaling, <const char*>view.buf + done,
                                                  view.len - done, last, ENOUGH, &used, &out,
                                                  &length, &fault)
                self._check(status, &fault)
                self.write(out[:length])
                done += used
        finally:
            PyBuffer_Release(&view)
        return done

    @property
    def entries(self):
        """Features that the rows name, as they were."""
        return self.counts().entries

    @property
    def written(self):
        """Features that the scaled rows name."""
        return self.counts().written

    @property
    def zeros(self):
        """Entries at index 0."""
        return self.counts().zeros

    @property
    def missing(self):
        """How many features have no range, and the first of them."""
        cdef int32_t first[FIRST]
        cdef int64_t i, count = svmcut_scaling_missing(self.scaling, first, FIRST)
        return self.counts().missing, [first[i] for i in range(count)]


def format_general(double value, int digits):
    """A finite number as ``%.6g`` or ``%.17g``, bytes."""
    cdef char out[SVMCUT_GENERAL_WIDTH]
    cdef int64_t length = svmcut_scaling_format(value, digits, out)
    return out[:length]
