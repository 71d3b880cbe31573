# sources: csrc/text/strict_rows.cc
# SPDX-License-Identifier: BSD-3-Clause
"""Text to rows as LIBSVM and LIBLINEAR have them; see csrc/include/text.h, section
strict_rows.cc."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from abi.text cimport *


def strict_rows(bytes text, int64_t first):
    """Rows of lines ``LABEL INDEX:VALUE ...``.

    Parameters
    ----------
    text : bytes
    first : int
        The least index.

    Returns
    -------
    labels : (n,) float64
    indptr : (n + 1,) int64
    indices : (nnz,) int32
        As they stand in the text.
    values : (nnz,) float64
    fault : int
        The first line, from 1, that is no row, where reading ended; 0 for none.
    """
    cdef int64_t lines = text.count(b"\n") + 1, entries = text.count(b":"), rows = 0, fault
    cdef double[::1] labels = np.empty(lines), values = np.empty(entries + 1)
    cdef int64_t[::1] indptr = np.empty(lines + 1, np.int64)
    cdef int32_t[::1] indices = np.empty(entries + 1, np.int32)
    cdef const char* start = text
    cdef int64_t size = len(text)
    with nogil:
        fault = svmcut_strict_rows(start, size, first, &labels[0], &indptr[0], &indices[0],
                                   &values[0], &rows)
    used = indptr[rows]
    return (np.asarray(labels)[:rows], np.asarray(indptr)[:rows + 1], np.asarray(indices)[:used],
            np.asarray(values)[:used], fault)
