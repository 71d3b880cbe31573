# SPDX-License-Identifier: BSD-3-Clause

from libc.stdint cimport int32_t, int64_t, uint8_t


cdef extern from "include/svmcut.h" nogil:
    enum:
        SVMCUT_OK
        SVMCUT_BAD_INPUT
    ctypedef struct svmcut_csr:
        const float* data
        const int32_t* indices
        const int64_t* indptr
        int64_t n_rows
        int64_t n_features

cdef extern from "include/text.h" nogil:
    ctypedef struct svmcut_array:
        void* data
        int64_t length
    ctypedef struct svmcut_rows:
        svmcut_array values, indices, indptr, labels, qids, costs, skips, label_ids
        int64_t n_features
    ctypedef struct svmcut_scan_fault:
        pass
    ctypedef struct svmcut_scan:
        pass
    svmcut_scan* svmcut_scan_new(int portable, int64_t piece_bytes)
    void svmcut_scan_delete(svmcut_scan* scan)
    int svmcut_scan_feed(svmcut_scan* scan, const char* text, int64_t bytes, int last,
                         int64_t bytes_left, int threads, const int* cancel, int64_t* used,
                         svmcut_scan_fault* fault)
    int64_t svmcut_scan_bytes(const svmcut_scan* scan)
    int svmcut_scan_take(svmcut_scan* scan, svmcut_rows* rows)
    void svmcut_array_free(svmcut_array* array)

cdef extern from "include/linear.h" nogil:
    int svmcut_predict(const svmcut_csr* X, const double* w, int64_t d, double constant, double* s,
                       int threads)


cdef class TextRows:
    cdef readonly str path
    cdef svmcut_scan* scan
    cdef int threads


cdef void free_rows(svmcut_rows* rows) noexcept
cdef dict worth_of(const double* scores, const uint8_t* positive, int64_t n, double precision,
                   double recall, int64_t first, int64_t last, int threads)
