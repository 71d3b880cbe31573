// SPDX-License-Identifier: BSD-3-Clause
//
// What the headers of this folder have in common; they are the whole ABI of the C++ side. No
// Python, no globals, no I/O; nothing throws; the caller allocates unless a function says
// otherwise. Threads are an argument, and every result has the same bytes for any number of them.
#ifndef SVMCUT_H
#define SVMCUT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum svmcut_status {
    SVMCUT_OK = 0,
    SVMCUT_NO_MEMORY = 1,
    SVMCUT_CANCELLED = 2,   // *cancel became nonzero (set by a signal handler)
    SVMCUT_BAD_INPUT = 3,   // details in the function's own out-arguments
    SVMCUT_NO_PROGRESS = 4  // an iteration limit was met; the best answer so far is in place
};

// Sparse rows: entries indptr[i] to indptr[i+1] belong to row i; 0-based, increasing columns.
typedef struct {
    const float* data;
    const int32_t* indices;
    const int64_t* indptr;
    int64_t n_rows;
    int64_t n_features;
} svmcut_csr;

// What the machine does not have falls back.
enum svmcut_instructions { SVMCUT_FASTEST = 0, SVMCUT_PORTABLE = 1, SVMCUT_AVX2 = 2 };

#ifdef __cplusplus
}
#endif
#endif
