// SPDX-License-Identifier: BSD-3-Clause
//
// The ABI of a whole linear run: rows and signs in, weights and their certificate out; the rules of
// svmcut.h hold. Every sum has the order that svmcut's solvers in Python have, so that the model
// files are the same.
#ifndef SVMCUT_JOB_ABI_H
#define SVMCUT_JOB_ABI_H

#include "include/linear.h"

#ifdef __cplusplus
extern "C" {
#endif

// min_w 1/2 |w|^2 + C sum_i l(y_i w.(x_i, bias)) by dual coordinate descent.
typedef struct {
    int loss;  // SVMCUT_HINGE, SVMCUT_SQUARED_HINGE or SVMCUT_LOGISTIC
    double C, bias;
    double gap;    // that ends the run, or
    int relative;  // the part of the primal that does
    uint64_t seed;
    int64_t block;  // epochs between looks, at least
    // What is predicted to be sooner done by other solvers: more epochs than this (Newton's method),
    // or epochs of more than so many seconds (steps on the Gram matrix); infinite for never.
    double most_epochs, most_seconds, epoch_seconds;
    int one_look;          // whether one look may foresee these epochs, and not two in a row
    double foreseen;       // by the look before the first
    int64_t most_entries;  // read by the descent
    int threads;
} svmcut_job;

// What a look at the gap found.
typedef struct {
    int64_t cuts, support;
    double primal, dual;
} svmcut_job_step;

typedef struct {
    int64_t steps;
    double risk, slack;
    double norm, longest_cut;
    double cut_gap, cut_distance;  // P(w) - D(v) and |w - v|, v of the last cuts
    // Where no weight changes by more than the part e, R does by e times this at most; of the squared
    // hinge to first order.
    double rise;
} svmcut_job_found;

// y: -1 and 1. w: n_features numbers, one more where bias is not 0. steps: room for `room`.
// NO_PROGRESS where another solver would go on, numbers are not finite, or the room or the entries
// do not suffice: nothing that is found then is of use.
int svmcut_job_train(const svmcut_csr* X, const double* y, const svmcut_job* job, double* w,
                     svmcut_job_step* steps, int64_t room, svmcut_job_found* found,
                     const volatile int* cancel);

// *primal of weights as a model file has them: float32 in eight digits; constant: that of the
// constant feature. BAD_INPUT where float32 does not hold one.
int svmcut_job_primal_of_file(const svmcut_csr* X, const double* y, const svmcut_job* job,
                              const double* w, double constant, double* primal);

// The smallest and the largest of the largest values of features with at least `often` entries,
// among rows evenly spaced, `enough` entries at least; low and high are their columns. *far is the
// largest |value| of all rows. low is -1 where there is no such feature.
typedef struct {
    int64_t low, high;
    float low_value, high_value, far;
} svmcut_job_scales;
int svmcut_job_scan_scales(const svmcut_csr* X, int64_t enough, int64_t often,
                           svmcut_job_scales* scales);

#ifdef __cplusplus
}
#endif
#endif
