// SPDX-License-Identifier: BSD-3-Clause
//
// The ABI of sums of losses under an l1 or elastic-net penalty; the rules of svmcut.h hold.
#ifndef SVMCUT_PENALTY_ABI_H
#define SVMCUT_PENALTY_ABI_H

#include "include/svmcut.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    float x;
    int32_t i;
} svmcut_entry;

// Columns of n rows: entries indptr[j] to indptr[j + 1] belong to column j, rows i increase.
typedef struct {
    const svmcut_entry* entries;
    const int64_t* indptr;
    int64_t count, n;
} svmcut_columns;

// Copies columns of X, all of them or the `wanted` ones (n_features marks): svmcut_column_places sets
// indptr, n_features + 1 places, others being empty, and returns how many entries that is;
// svmcut_copy_columns has them written.
int64_t svmcut_column_places(const svmcut_csr* X, const uint8_t* wanted, int64_t* indptr);
void svmcut_copy_columns(const svmcut_csr* X, const uint8_t* wanted, int64_t* indptr,
                         svmcut_entry* entries);

// out[j] = sum_i c_i x_ij^2, or with `means` sum_i c_i (x_ij - mean_j)^2, mean_j = sum_i c_i x_ij /
// sum_i c_i; room: 2 n_features numbers, with `means` alone.
void svmcut_column_squares(const svmcut_csr* X, const double* c, int means, double* out,
                           double* room);

// s[i] = constant + sum over the set of w_j x_ij.
void svmcut_column_scores(const svmcut_columns* columns, const int32_t* set, int64_t count,
                          const double* w, double constant, double* s);

// min over w of l1 |w|_1 + l2/2 |w|^2 + sum_i C_i loss(y_i, f_i), f = X w; with bias other than 0
// the last of w is the weight of a constant column of that value; with `free` instead of a constant
// column of 1, which costs nothing.
typedef struct {
    const svmcut_columns* columns;
    int64_t n;
    int loss;  // of linear.h, without corners, or the hinge less (u - centre)^2 / (2 tube), u = y g
    double tube;
    const double* y;
    const double* costs;    // C_i
    const double* centres;  // of the hinge: [0, 1]
    double l1, l2, bias;
    int free;
} svmcut_penalized;

typedef struct {
    double gap;       // of the problem of these columns alone, at the start of the last step
    int64_t steps;    // of Newton's method
    int64_t entries;  // of columns read
} svmcut_penalized_end;

// Newton steps over the columns of `set` alone, from w and its scores s, both changed in place: w
// is 0 elsewhere. They end where the gap is at most `enough`, where what the slopes miss of rest is
// at most this part of what it was, after `most` entries, or where no step helps (NO_PROGRESS). CANCELLED leaves w and s as they were before the step.
int svmcut_penalized_newton(const svmcut_penalized* problem, const int32_t* set, int64_t count,
                            double* w, double* s, double enough, double part, int64_t most,
                            svmcut_penalized_end* end, const volatile int* cancel);

// Dual coordinate descent for the hinge of such a problem, with l2 > 0 and no free constant, whose
// columns are not read: `epochs` visits of the rows X, or until the gaps that one of them met add up
// to at most `enough`. alpha (n) and v = sum_i alpha_i y_i x_i (n_features, one more with a bias)
// change in place, and are half made when CANCELLED; norms (n): |x_i|^2 + bias^2.
int svmcut_soft_descent(const svmcut_csr* X, const svmcut_penalized* problem, const double* norms,
                        uint64_t seed, int64_t epochs, double enough, double* alpha, double* v,
                        int64_t* entries, const volatile int* cancel);

#ifdef __cplusplus
}
#endif
#endif
