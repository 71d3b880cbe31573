# SPDX-License-Identifier: BSD-3-Clause
# libraries: svmcut_rows
"""Numbers to text and back; see csrc/include/text.h, section text.cc."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

from abi.text cimport *


FAULTS = {
    SVMCUT_EXPANSION_SHORT: "short",
    SVMCUT_EXPANSION_UNENDED: "unended",
    SVMCUT_EXPANSION_ALPHA: "alpha",
    SVMCUT_EXPANSION_PAIR: "pair",
    SVMCUT_EXPANSION_INDEX: "index",
    SVMCUT_EXPANSION_ORDER: "order",
    SVMCUT_EXPANSION_VALUE: "value",
    SVMCUT_EXPANSION_TRAILING: "trailing",
}

cdef enum:
    PIECE = 4096


class ExpansionFault(ValueError):
    """Lines of a model are refused: ``kind`` is a value of FAULTS, ``where`` a byte of the text."""

    def __init__(self, kind, where):
        super().__init__(kind, where)
        self.kind, self.where = kind, where


cdef char* _buffer(int64_t n, int width) except NULL:
    cdef char* out = <char*>malloc(min(n, PIECE) * width + 1)
    if out == NULL:
        raise MemoryError
    return out


def format_scores(const double[::1] scores):
    """(n,) float64 as ``%.8f`` lines, bytes."""
    cdef int64_t n = scores.shape[0], start, count, used
    cdef char* out = _buffer(n, SVMCUT_SCORE_WIDTH)
    pieces = []
    try:
        for start in range(0, n, PIECE):
            count = min(n - start, PIECE)
            with nogil:
                used = svmcut_format_scores(&scores[start], count, out)
            pieces.append(out[:used])
    finally:
        free(out)
    return b"".join(pieces)


def format_pairs(const int32_t[::1] columns, const float[::1] values, bint exact=False):
    """(k,) 0-based columns and (k,) float32 values as ``index:%.8g `` pairs with 1-based indices,
    bytes.

    exact: nine digits where eight do not read back as the same float32.
    """
    cdef int64_t n = columns.shape[0], start, count, used
    if values.shape[0] != n:
        raise ValueError("columns and values differ in length")
    cdef char* out = _buffer(n, SVMCUT_PAIR_WIDTH)
    pieces = []
    try:
        for start in range(0, n, PIECE):
            count = min(n - start, PIECE)
            with nogil:
                used = svmcut_format_pairs(&columns[start], &values[start], count, exact, out)
            pieces.append(out[:used])
    finally:
        free(out)
    return b"".join(pieces)


def format_integers(const int64_t[::1] values):
    """(n,) int64, one per line, bytes."""
    cdef int64_t n = values.shape[0], start, count, used
    cdef char* out = _buffer(n, SVMCUT_INTEGER_WIDTH)
    pieces = []
    try:
        for start in range(0, n, PIECE):
            count = min(n - start, PIECE)
            with nogil:
                used = svmcut_format_integers(&values[start], count, out)
            pieces.append(out[:used])
    finally:
        free(out)
    return b"".join(pieces)


def parse_expansion(bytes text, int64_t n_lines, int64_t highest):
    """Support-vector lines of a model as arrays.

    Parameters
    ----------
    text : bytes
        The lines after the header.
    n_lines : int
        How many there must be.
    highest : int
        The largest 1-based index allowed, below 2^31.

    Returns
    -------
    alpha : (n_lines,) float64
    indptr : (n_lines + 1,) int64
    columns : (k,) int32, 0-based
    values : (k,) float32

    Raises
    ------
    ExpansionFault
        At the first byte that does not fit; before any allocation where the text has fewer lines
        than n_lines.
    """
    import numpy as np

    cdef const char* chars = text
    cdef int64_t size = len(text), lines, colons, where = 0
    cdef int32_t fault = 0
    with nogil:
        svmcut_count_expansion(chars, size, &lines, &colons)
    if lines < n_lines:
        ended = size == 0 or text.endswith(b"\n")
        raise ExpansionFault("short" if ended else "unended", size)
    cdef double[::1] alpha = np.empty(n_lines, np.float64)
    cdef int64_t[::1] indptr = np.empty(n_lines + 1, np.int64)
    cdef int32_t[::1] columns = np.empty(colons, np.int32)
    cdef float[::1] values = np.empty(colons, np.float32)
    cdef double* alpha_start = &alpha[0] if n_lines else NULL
    cdef int32_t* columns_start = &columns[0] if colons else NULL
    cdef float* values_start = &values[0] if colons else NULL
    cdef int status
    with nogil:
        status = svmcut_parse_expansion(chars, size, n_lines, highest, alpha_start, &indptr[0],
                                        columns_start, values_start, &fault, &where)
    if status:
        raise ExpansionFault(FAULTS[fault], where)
    used = int(indptr[n_lines])
    columns_used, values_used = np.asarray(columns)[:used], np.asarray(values)[:used]
    return np.asarray(alpha), np.asarray(indptr), columns_used, values_used
