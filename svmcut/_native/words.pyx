# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/text/words.cc
"""Words of texts and cells of tables as numbers, and rows of those; see csrc/include/words.h."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from abi.words cimport *

import unicodedata

import numpy as np


cdef enum:
    PAGE = 256
    MOST_BITS = 30

#: The version of Unicode whose letters and digits make words.
UNICODE = unicodedata.unidata_version


class CellFault(ValueError):
    """A cell is refused: ``kind`` is "encoding", "text", "overflow", "full" or "offsets", ``cell``
    its number."""

    def __init__(self, kind, cell):
        super().__init__(kind, cell)
        self.kind, self.cell = kind, cell


cdef dict _FAULTS = {
    SVMCUT_WORDS_ENCODING: "encoding",
    SVMCUT_WORDS_TEXT: "text",
    SVMCUT_WORDS_OVERFLOW: "overflow",
    SVMCUT_WORDS_FULL: "full",
    SVMCUT_WORDS_OFFSETS: "offsets",
}


cdef int _check(int status, int64_t cell) except -1:
    if status == SVMCUT_NO_MEMORY:
        raise MemoryError
    if status == SVMCUT_BAD_INPUT:
        raise ValueError("rows that a column does not have, or lengths that are none")
    if status != SVMCUT_OK:
        raise CellFault(_FAULTS[status], cell)
    return 0


cdef const char* _text(const unsigned char[::1] text):
    return <const char*>&text[0] if text.shape[0] else NULL


cdef int64_t _length(const int64_t[::1] offsets, const uint8_t[::1] missing) except -1:
    """How many cells there are."""
    cdef int64_t n = offsets.shape[0] - 1
    if n < 0 or (missing is not None and missing.shape[0] != n):
        raise ValueError("offsets are one more than cells, and as many flags as cells")
    return n


cdef const uint8_t* _flags(const uint8_t[::1] missing):
    return &missing[0] if missing is not None and missing.shape[0] else NULL


def _page(int page):
    """(256,) kinds of code points, (256,) their lower-case ones, as str.isalnum and str.lower have
    them."""
    kinds, lower = np.zeros(PAGE, np.uint8), np.zeros(PAGE, np.uint32)
    for k in range(PAGE):
        point = chr(page * PAGE + k)
        small = point.lower()
        lower[k] = ord(small) if len(small) == 1 else 0
        # a capital sigma is lowered by what stands around it
        special = len(small) != 1 or point == "\u03a3"
        word = SVMCUT_WORD if point.isalnum() or point == "_" else SVMCUT_NO_WORD
        kinds[k] = SVMCUT_SPECIAL if special else word
    return kinds, lower


cdef class Words:
    """Different words, numbered from 0 as they come.

    Parameters
    ----------
    hash_bits : int
        -1; else words have no numbers of their own but columns below 2^hash_bits, as
        HashingVectorizer has them; at most 30.
    """

    cdef svmcut_words* words

    def __cinit__(self, int hash_bits=-1):
        if hash_bits > MOST_BITS:
            raise ValueError("hashes have at most 30 bits")
        self.words = svmcut_words_new(hash_bits)
        if self.words == NULL:
            raise MemoryError

    def __dealloc__(self):
        svmcut_words_delete(self.words)

    def __len__(self):
        cdef int64_t n, size, cells, entries
        svmcut_words_sizes(self.words, &n, &size, &cells, &entries)
        return n

    def count(self, const unsigned char[::1] text, const int64_t[::1] offsets, int low, int high,
              bint grow):
        """Words of the cells of a column, and all low to high of them in a row.

        Parameters
        ----------
        text : (bytes,) uint8
        offsets : (n + 1,) int64
        grow : bool
            Whether words not met before are numbered; else they are left out.

        Returns
        -------
        ends : (n,) int64
            Where the entries of each cell end.
        ids : (k,) int32
        counts : (k,) float32

        Raises
        ------
        CellFault
            "encoding" for a cell that is no UTF-8, "full" for 2^31 words, "offsets" for one that
            ends before it begins, or outside of the text.
        """
        cdef int64_t n = _length(offsets, None), at = 0, what = 0, n_words, size, cells, entries
        cdef int status
        cdef const char* start = _text(text)
        while True:
            with nogil:
                status = svmcut_words_count(self.words, start, text.shape[0], &offsets[0], at,
                                            n, low, high, grow, &at, &what)
            if status == SVMCUT_WORDS_PAGE:
                self._learn(what)
            elif status == SVMCUT_WORDS_SPECIAL:
                self._lowered(bytes(text[offsets[at] : offsets[at + 1]]), low, high, grow, at)
                at += 1
                if at == n:
                    break
            else:
                _check(status, at)
                break
        svmcut_words_sizes(self.words, &n_words, &size, &cells, &entries)
        cdef int64_t[::1] ends = np.empty(cells, np.int64)
        cdef int32_t[::1] ids = np.empty(entries, np.int32)
        cdef float[::1] counts = np.empty(entries, np.float32)
        svmcut_words_take(self.words, &ends[0] if cells else NULL, &ids[0] if entries else NULL,
                          &counts[0] if entries else NULL)
        return np.asarray(ends), np.asarray(ids), np.asarray(counts)

    cdef int _learn(self, int64_t page) except -1:
        kinds, lower = _page(page)
        cdef const uint8_t[::1] kind = kinds
        cdef const uint32_t[::1] small = lower
        return _check(svmcut_words_page(self.words, <int>page, &kind[0], &small[0]), 0)

    cdef int _lowered(self, bytes cell, int low, int high, bint grow, int64_t number) except -1:
        """Counts a cell whose letters Python lowers."""
        try:
            cell = cell.decode().lower().encode()
        except UnicodeDecodeError:
            raise CellFault("encoding", number) from None
        cdef int64_t[2] offsets
        cdef int64_t at = 0, what = 0
        cdef int status
        offsets[0], offsets[1] = 0, len(cell)
        while True:
            status = svmcut_words_count(self.words, cell, len(cell), offsets, 0, 1, low, high,
                                        grow, &at, &what)
            if status != SVMCUT_WORDS_PAGE:
                return _check(status, number)
            self._learn(what)

    def cells(self, const unsigned char[::1] text, const int64_t[::1] offsets,
              const uint8_t[::1] missing, bint grow):
        """(n,) int32 the number of every cell as a whole, without blanks around; -1 where it is
        empty or missing, -2 where it was not met before and does not grow.

        Raises
        ------
        CellFault
            "encoding", "full" or "offsets".
        """
        cdef int64_t n = _length(offsets, missing), at = 0, what = 0
        cdef int status
        cdef int32_t[::1] ids = np.empty(n, np.int32)
        cdef const char* start = _text(text)
        cdef const uint8_t* flags = _flags(missing)
        if n:
            with nogil:
                status = svmcut_words_cells(self.words, start, text.shape[0], &offsets[0],
                                            flags, n, grow, &ids[0], &at, &what)
            _check(status, at)
        return np.asarray(ids)

    def texts(self):
        """The different words, list of bytes."""
        cdef int64_t n, size, cells, entries
        svmcut_words_sizes(self.words, &n, &size, &cells, &entries)
        cdef int64_t[::1] offsets = np.empty(n + 1, np.int64)
        text = bytearray(size)
        cdef unsigned char[::1] view = text
        svmcut_words_list(self.words, &offsets[0], <char*>&view[0] if size else NULL)
        bounds, found = np.asarray(offsets).tolist(), bytes(text)
        return [found[start:stop] for start, stop in zip(bounds, bounds[1:])]


def numbers(const unsigned char[::1] text, const int64_t[::1] offsets,
            const uint8_t[::1] missing=None):
    """(n,) float64 the cells of a column as numbers, nan where one is missing, empty, NA or the
    like.

    Raises
    ------
    CellFault
        "text" for a cell that is no number, as 00123 is none; "overflow" for one beyond float64;
        "offsets".
    """
    cdef int64_t n = _length(offsets, missing), at = 0
    cdef int status
    cdef double[::1] values = np.empty(n)
    cdef const char* start = _text(text)
    cdef const uint8_t* flags = _flags(missing)
    if n:
        with nogil:
            status = svmcut_words_numbers(start, text.shape[0], &offsets[0], flags, n,
                                          &values[0], &at)
        _check(status, at)
    return np.asarray(values)


def rows(list columns, int64_t begin, int64_t end):
    """Rows begin to end of a table as sparse rows.

    Parameters
    ----------
    columns : list of dict
        One a column, with fields of svmcut_column: arrays of their types.

    Returns
    -------
    indptr : (end - begin + 1,) int64
    indices : (nnz,) int32
    data : (nnz,) float32

    Raises
    ------
    ValueError
        Where a column lacks an array, or rows or entries that others of its arrays tell of.
    """
    cdef int n = len(columns), k
    cdef svmcut_column* made = <svmcut_column*>PyMem_Malloc(max(1, n) * sizeof(svmcut_column))
    cdef int64_t[::1] indptr = np.zeros(end - begin + 1, np.int64)
    cdef int32_t[::1] indices
    cdef float[::1] data
    cdef int status = SVMCUT_OK
    if made == NULL:
        raise MemoryError
    try:
        for k in range(n):
            _fill(&made[k], columns[k])
        if end > begin:
            with nogil:
                status = svmcut_words_sized(made, n, begin, end, &indptr[1])
            _check(status, 0)
        indptr = np.cumsum(indptr)
        nonzeros = int(indptr[end - begin])
        indices, data = np.empty(nonzeros, np.int32), np.empty(nonzeros, np.float32)
        if nonzeros:
            with nogil:
                status = svmcut_words_rows(made, n, begin, end, &indptr[0], &indices[0], &data[0])
            _check(status, 0)
        return np.asarray(indptr), np.asarray(indices), np.asarray(data)
    finally:
        PyMem_Free(made)


cdef int _fill(svmcut_column* made, dict column) except -1:
    cdef const double[::1] values = column.get("values"), weights = column.get("weights")
    cdef const int32_t[::1] ids = column.get("ids"), places = column.get("places")
    cdef const float[::1] counts = column.get("counts")
    cdef const int64_t[::1] ends = column.get("ends")
    made.kind, made.first, made.missing = column["kind"], column["first"], column.get("missing", -1)
    made.mean, made.scale = column.get("mean", 0.0), column.get("scale", 1.0)
    made.fill, made.width = column.get("fill", 0.0), column.get("width", 1)
    made.values = &values[0] if values is not None and values.shape[0] else NULL
    made.ids = &ids[0] if ids is not None and ids.shape[0] else NULL
    made.counts = &counts[0] if counts is not None and counts.shape[0] else NULL
    made.ends = &ends[0] if ends is not None and ends.shape[0] else NULL
    made.places = &places[0] if places is not None and places.shape[0] else NULL
    made.n_places = column.get("n_places", 0)
    made.weights = &weights[0] if weights is not None and weights.shape[0] else NULL
    made.log, made.normed = column.get("log", 0), column.get("normed", 0)
    parts = {0: (values,), 1: (ids,), 2: (ends, ids, counts)}[made.kind]
    if any(part is None for part in parts) or (
        places is not None and places.shape[0] != made.n_places
    ) or (weights is not None and weights.shape[0] != made.width):
        raise ValueError("arrays of a column are missing, or have other lengths")
    made.n = len(parts[0]) - (made.kind == 2)
    made.entries = 0 if counts is None or ids is None else min(counts.shape[0], ids.shape[0])
    return 0
