# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/measures/two_classes.cc
# libraries: svmcut_rows
"""Text of examples to scores of a linear function, and what scores are worth to two classes.

A small file is scored sooner than NumPy is imported: nothing here needs it.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc, realloc

from abi.measures cimport *
from abi.text cimport *
from svmcut._native.status cimport served


cdef enum:
    PIECE = 4096


class Unusual(ValueError):
    """What is not done here."""


cdef dict worth_of(const double* scores, const uint8_t* positive, int64_t n, double precision,
                   double recall, int64_t first, int64_t last, int threads):
    cdef svmcut_two_classes_aims aims
    cdef svmcut_two_classes_worth worth
    cdef void* room = malloc(svmcut_two_classes_room(n))
    if room == NULL:
        raise MemoryError
    aims.precision, aims.recall, aims.first, aims.last = precision, recall, first, last
    with nogil:
        svmcut_two_classes(scores, positive, n, &aims, &worth, room, threads)
    free(room)
    return worth


def two_classes(const double[::1] scores, const uint8_t[::1] positive, double precision,
                double recall, int64_t first, int64_t last, int threads=1):
    """What scores (n,) are worth to rows that are positive or not; see csrc/include/measures.h,
    section two_classes.cc.

    Parameters
    ----------
    precision, recall : float
        Floors.
    first, last : int
        The negatives, by falling scores, of the partial area.

    Returns
    -------
    dict
        positives, predicted, hits, swapped, lost, top, average, recall and precision.
    """
    cdef int64_t n = scores.shape[0]
    if positive.shape[0] != n:
        raise ValueError("scores and positive differ in length")
    return worth_of(&scores[0] if n else NULL, &positive[0] if n else NULL, n, precision, recall,
                    first, last, threads)


cdef void free_rows(svmcut_rows* rows) noexcept:
    svmcut_array_free(&rows.values)
    svmcut_array_free(&rows.indices)
    svmcut_array_free(&rows.indptr)
    svmcut_array_free(&rows.labels)
    svmcut_array_free(&rows.qids)
    svmcut_array_free(&rows.costs)
    svmcut_array_free(&rows.skips)
    svmcut_array_free(&rows.label_ids)


cdef class TextRows:
    """Rows that come as text.

    Parameters
    ----------
    path : str
        Of the examples.
    threads : int

    Raises
    ------
    Unusual
        From `feed`, for a line that is refused.
    """

    def __cinit__(self, str path, *words):
        self.path, self.threads = path, words[len(words) - 1]
        self.scan = svmcut_scan_new(0, 0)
        if self.scan == NULL:
            raise MemoryError

    def __dealloc__(self):
        svmcut_scan_delete(self.scan)

    @property
    def nbytes(self):
        """As Scanner.nbytes."""
        return svmcut_scan_bytes(self.scan)

    def feed(self, text, *, bint last=False, int64_t bytes_left=-1):
        """As Scanner.feed, but that a line that is refused is Unusual."""
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
        if status == SVMCUT_BAD_INPUT:
            raise Unusual
        served(status)
        return used


cdef class LinearScorer(TextRows):
    """Scores of a linear function for rows that come as text, and the classes of these rows.

    Parameters
    ----------
    path : str
        Of the examples.
    vector : bytes
        The line of the weights in a model file.
    highest : int
        The highest index of a feature that the file announces.
    offset : float
        Subtracted from sums of weights.
    labels : (float, float) or None
        Of the negative and the positive class; None where labels above 0 are positive.
    threads : int

    Attributes
    ----------
    rows, positives : int
        So far.
    queries : bool
        Whether a row had one.

    Raises
    ------
    Unusual
        For weights that are no such line, or are few over many columns; from `score`, for labels of
        no class and scores that are not finite.
    """

    cdef readonly int64_t rows, positives
    cdef readonly bint queries
    cdef double* w
    cdef double* scores
    cdef uint8_t* positive
    cdef int64_t d, room, scored
    cdef double offset, low, high
    cdef bint named

    def __cinit__(self, str path, bytes vector, int64_t highest, double offset, labels,
                  int threads):
        self.offset = offset
        self.named = labels is not None
        if labels is not None:
            self.low, self.high = labels
        self._read(vector, highest)

    def __dealloc__(self):
        free(self.w)
        free(self.scores)
        free(self.positive)

    cdef _read(self, bytes vector, int64_t highest):
        """The weights: the values of the line, times its alpha."""
        cdef const char* text = vector
        cdef int64_t size = len(vector), lines, entries, where, k
        cdef int64_t bounds[2]
        cdef int32_t fault
        cdef int status
        cdef double alpha
        svmcut_count_expansion(text, size, &lines, &entries)
        cdef int32_t* columns = <int32_t*>malloc(4 * entries + 4)
        cdef float* values = <float*>malloc(4 * entries + 4)
        try:
            if columns == NULL or values == NULL:
                raise MemoryError
            if lines != 1:
                raise Unusual
            status = svmcut_parse_expansion(text, size, 1, highest, &alpha, bounds, columns, values,
                                            &fault, &where)
            if status != SVMCUT_OK:
                raise Unusual
            entries = bounds[1]
            self.d = columns[entries - 1] + 1 if entries else 0
            if self.d > 2 * size:
                raise Unusual
            self.w = <double*>calloc(self.d + 1, sizeof(double))
            if self.w == NULL:
                raise MemoryError
            for k in range(entries):
                self.w[columns[k]] = values[k] * alpha
                if not isfinite(self.w[columns[k]]):
                    raise Unusual
        finally:
            free(columns)
            free(values)

    def score(self):
        """Scores the rows that were fed since the last call."""
        cdef svmcut_rows rows
        cdef int status
        status = svmcut_scan_take(self.scan, &rows)
        served(status)
        try:
            self.scored = rows.labels.length
            self._grow(self.rows + self.scored)
            with nogil:
                status = self._predict(&rows)
            served(status)
            self.queries |= rows.qids.length > 0
            self._sort_out(<const double*>rows.labels.data)
            self.rows += self.scored
        finally:
            free_rows(&rows)

    cdef int _predict(self, const svmcut_rows* rows) noexcept nogil:
        cdef svmcut_csr X
        if self.scored == 0:
            return SVMCUT_OK
        X.data, X.indices = <const float*>rows.values.data, <const int32_t*>rows.indices.data
        X.indptr, X.n_rows = <const int64_t*>rows.indptr.data, self.scored
        X.n_features = rows.n_features
        return svmcut_predict(&X, self.w, self.d, -self.offset, self.scores + self.rows,
                              self.threads)

    cdef _grow(self, int64_t rows):
        """Room for so many rows in all."""
        cdef int64_t room = max(rows, 2 * self.room)
        cdef void* grown
        if rows <= self.room:
            return
        grown = realloc(self.scores, room * sizeof(double))
        if grown == NULL:
            raise MemoryError
        self.scores = <double*>grown
        grown = realloc(self.positive, room)
        if grown == NULL:
            raise MemoryError
        self.positive, self.room = <uint8_t*>grown, room

    cdef _sort_out(self, const double* labels):
        """The classes of the rows that were scored last."""
        cdef int64_t i
        cdef const double* scores = self.scores + self.rows
        cdef uint8_t* positive = self.positive + self.rows
        cdef bint usual = True
        for i in range(self.scored):
            positive[i] = labels[i] == self.high if self.named else labels[i] > 0
            usual &= isfinite(scores[i]) != 0
            usual &= not self.named or positive[i] or labels[i] == self.low
            self.positives += positive[i]
        if not usual:
            raise Unusual

    def lines(self):
        """The scores of the last call of `score` as ``%.8f`` lines, bytes."""
        cdef int64_t start, used
        cdef int64_t first = self.rows - self.scored
        cdef char* out = <char*>malloc(min(self.scored, PIECE) * SVMCUT_SCORE_WIDTH + 1)
        if out == NULL:
            raise MemoryError
        pieces = []
        for start in range(first, self.rows, PIECE):
            with nogil:
                used = svmcut_format_scores(self.scores + start, min(self.rows - start, PIECE), out)
            pieces.append(out[:used])
        free(out)
        return b"".join(pieces)

    def count(self, double score):
        """How many rows have exactly this score."""
        cdef int64_t i, found = 0
        for i in range(self.rows):
            found += self.scores[i] == score
        return found

    def worth(self, double precision, double recall, int64_t first, int64_t last):
        """As `two_classes`, of all rows."""
        return worth_of(self.scores, self.positive, self.rows, precision, recall, first, last,
                        self.threads)
