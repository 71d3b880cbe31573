# libraries: svmcut_rows
# SPDX-License-Identifier: BSD-3-Clause
"""Text of example files to arrays."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t

from abi.text cimport *

import numpy as np
from svmcut.base.errors import DataError
from svmcut.base.messages import Message


cdef class _Memory:
    """Owner of one array that the scanner allocated."""

    cdef svmcut_array array
    cdef int64_t bytes

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.array.data, self.bytes, 0, flags)

    def __dealloc__(self):
        svmcut_array_free(&self.array)


cdef _owned(svmcut_array* array, dtype, int itemsize):
    """An array on the scanner's memory, which dies with it."""
    if array.length == 0:
        svmcut_array_free(array)
        return np.empty(0, dtype)
    cdef _Memory memory = _Memory()
    memory.array = array[0]
    memory.bytes = array.length * itemsize
    return np.frombuffer(memory, dtype)


cdef class ScanPart:
    """Rows of some lines, not yet joined to the others."""

    cdef svmcut_scan_part* part

    def __cinit__(self):
        self.part = svmcut_scan_part_new()
        if self.part == NULL:
            raise MemoryError

    def __dealloc__(self):
        svmcut_scan_part_delete(self.part)


cdef class Scanner:
    """One example file, fed as bytes, taken as arrays.

    Parameters
    ----------
    path : str
        Named in errors.
    threads : int
        How many scan at once; the arrays and errors do not depend on it.
    piece_bytes : int
        Text per unit of parallel work; 0 for the default.
    force_portable : bool
        Without vector instructions; the arrays and errors do not depend on it.
    multilabel : bool
        Lines start with ``LABEL,LABEL,...``; y counts the labels of a row.
    zero_based : bool
        Feature indices of the file start at 0.
    unlabelled : bool
        Any word may stand in place of a label, or none; y is 0.
    """

    cdef svmcut_scan* scan
    cdef readonly str path
    cdef int threads
    cdef bint zero_based

    def __cinit__(self, str path, *, int threads=1, int64_t piece_bytes=0,
                  bint force_portable=False, bint multilabel=False, bint zero_based=False,
                  bint unlabelled=False):
        self.path = path
        self.threads = threads
        self.scan = svmcut_scan_new(force_portable, piece_bytes)
        if self.scan == NULL:
            raise MemoryError
        self.zero_based = zero_based
        svmcut_scan_format(self.scan, multilabel, zero_based)
        if unlabelled:
            svmcut_scan_unlabelled(self.scan)

    def __dealloc__(self):
        svmcut_scan_delete(self.scan)

    @property
    def nbytes(self):
        """Bytes of the rows so far; after MemoryError, with what could not be had."""
        return svmcut_scan_bytes(self.scan)

    def feed(self, text, *, bint last=False, int64_t bytes_left=-1):
        """Scans the whole lines of a text, all of it when it is the last.

        Parameters
        ----------
        text : bytes-like
            Goes on where the lines of the text before ended.
        last : bool
            Nothing follows, and the last line needs no newline.
        bytes_left : int
            About how many bytes follow, for the size of allocations; -1 if unknown.

        Returns
        -------
        int
            Bytes used; the rest is to be fed again with what follows.

        Raises
        ------
        DataError
            At the first line that is not ``LABEL [qid:N] [sid:N] [cost:F] INDEX:VALUE ... [#
            text]``.
        MemoryError
            When an allocation fails.
        """
        cdef Py_buffer view
        cdef svmcut_scan_fault fault
        cdef int64_t used = 0
        cdef int status
        PyObject_GetBuffer(text, &view, PyBUF_SIMPLE)
        try:
            with nogil:
                status = svmcut_scan_feed(self.scan, <const char*>view.buf, view.len, last,
                                          bytes_left, self.threads, NULL, &used, &fault)
        finally:
            PyBuffer_Release(&view)
        self._check(status, &fault)
        return used

    def scan_part(self, ScanPart part, text, *, bint first=False):
        """Scans whole lines apart from the rows; any number of threads may, each into a part of its
        own.

        Parameters
        ----------
        part : ScanPart
            What it held before is gone.
        text : bytes-like
            Ends in a newline unless the file ends there.
        first : bool
            The file begins with this text.
        """
        cdef Py_buffer view
        PyObject_GetBuffer(text, &view, PyBUF_SIMPLE)
        try:
            with nogil:
                svmcut_scan_part_scan(part.part, self.scan, <const char*>view.buf, view.len, first)
        finally:
            PyBuffer_Release(&view)

    def join(self, ScanPart part, *, int64_t bytes_left=-1):
        """Appends the rows of a part; parts come one after the other, in the order of the file.

        Parameters
        ----------
        bytes_left : int
            As in `feed`.

        Raises
        ------
        DataError, MemoryError
            As `feed` does.
        """
        cdef svmcut_scan_fault fault
        cdef int status
        with nogil:
            status = svmcut_scan_join(self.scan, part.part, bytes_left, &fault)
        self._check(status, &fault)

    cdef _check(self, int status, svmcut_scan_fault* fault):
        if status == SVMCUT_BAD_INPUT:
            message, _, hint = fault.message.decode("ascii").partition("\n")
            raise DataError(self.path, message, fault.line, fault.column, Message(hint))
        if status == SVMCUT_NO_MEMORY:
            raise MemoryError

    def take(self):
        """The rows since the last take; no copy is made.

        Returns
        -------
        dict
            values (nnz,) float32, indices (nnz,) int32 0-based, indptr (n + 1,) int64, y (n,)
            float64, qid (n,) int64 or None, cost (n,) float64 or None, skips (k, 2) int64 as in
            `svmcut.data.examples.Source`, label_ids int32, n_features int.
        """
        cdef svmcut_rows rows
        if svmcut_scan_take(self.scan, &rows) != SVMCUT_OK:
            raise MemoryError
        has_qid, has_cost = rows.qids.length > 0, rows.costs.length > 0
        arrays = dict(
            values=_owned(&rows.values, np.float32, 4),
            indices=_owned(&rows.indices, np.int32, 4),
            indptr=_owned(&rows.indptr, np.int64, 8),
            y=_owned(&rows.labels, np.float64, 8),
            qid=_owned(&rows.qids, np.int64, 8),
            cost=_owned(&rows.costs, np.float64, 8),
            skips=_owned(&rows.skips, np.int64, 8).reshape(-1, 2),
            label_ids=_owned(&rows.label_ids, np.int32, 4),
            n_features=rows.n_features,
        )
        if self.zero_based:
            arrays["indices"] += 1
            arrays["n_features"] += 1
        if not has_qid:
            arrays["qid"] = None
        if not has_cost:
            arrays["cost"] = None
        return arrays
