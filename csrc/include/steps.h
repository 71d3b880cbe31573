// SPDX-License-Identifier: BSD-3-Clause
//
// The ABI of the stochastic kernel trainers: expansions f = sum_i a_i y_i K(x_i, .) that keep their
// responses c_i = y_i f(x_i). Everything that changes is the caller's, so a copy of it is a
// checkpoint.
#ifndef SVMCUT_STEPS_ABI_H
#define SVMCUT_STEPS_ABI_H

#include "include/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- expansion.cc: points and their kernel rows

// n points: the first `positives` are of class +1, the next up to `trained` of class -1; the rest
// is watched only, and signs[i - trained] (+1 or -1) are their labels. The arrays must outlive the
// expansion. Null when there is no memory.
typedef struct svmcut_expansion svmcut_expansion;
svmcut_expansion* svmcut_expansion_new(const svmcut_csr* X, int64_t positives, int64_t trained,
                                       const int8_t* signs, const svmcut_kernel* kernel,
                                       int instructions);
void svmcut_expansion_delete(svmcut_expansion* expansion);

// out[i] = K(x_i, x_i)
void svmcut_expansion_diagonal(const svmcut_expansion* expansion, double* out);

// ---- water_level.cc: how high the slack fills the responses

// The largest min_i c_i + y_i b + xi_i over xi >= 0 with sum v_i xi_i = volume, and over b where
// the bias is free; the first `positives` of n responses have y = +1; v null for 1 each. covered,
// mass: points under water and the sum of their v, of each class where the bias is free (the last
// point of one may count in part). BAD_INPUT where the bias is free and a class empty or without
// weight, or responses are not finite.
int svmcut_water_level(const double* c, const double* v, int64_t positives, int64_t n,
                       double volume, int free_bias, double* level, double* bias, int64_t* covered,
                       double* mass);

// ---- sbp.cc: the stochastic batch perceptron

// w = scale sum_i a_i y_i phi(x_i). Sums over the iterates since the last restart are sum + a
// (total - since) for the coefficients and response_sum + total c - correction for the responses.
// All arrays have n entries.
typedef struct {
    double *a, *c, *sum, *since, *response_sum, *correction;
    const double* weights;  // (trained) v of the points; null for 1 each
    // sum of the distributions drawn from, every SVMCUT_SBP_SPARSE steps; null for none
    double* mass;
    double scale, squared;  // s, |w|^2
    double total;           // of the scales since the last flush
    double volume;          // n nu, or nu times the sum of the weights
    double first_step;      // eta_0
    double level, bias;     // at the last step, before it
    // of the windows around the level, by class and in units of c; width 0 for none yet
    double centre[2], width[2];
    int64_t steps, averaged, evaluations, covered;
    uint64_t random;
    int32_t free_bias;
} svmcut_sbp_state;

enum { SVMCUT_SBP_SPARSE = 16 };

// Goes on for so many steps, or fewer once so many seconds have passed; n kernel values a step.
// BAD_INPUT where responses are not finite or a class is empty.
int svmcut_sbp_run(const svmcut_expansion* expansion, svmcut_sbp_state* state, int64_t steps,
                   double seconds, int threads);

// Makes scale 1 and the sums whole: sum and response_sum hold everything.
void svmcut_sbp_flush(const svmcut_expansion* expansion, svmcut_sbp_state* state);

// Begins the averages anew.
void svmcut_sbp_restart(const svmcut_expansion* expansion, svmcut_sbp_state* state);

// ---- visits.cc: trainers that look at one response after the other

enum svmcut_visit_rule {
    // f = VC/(t - 1) sum h_i y_i K_i, V the sum of the weights; h_i += 1 where y_i f(x_i) < 1
    SVMCUT_PEGASOS = 0,
    SVMCUT_SDCA = 1,       // a_i <- clip(a_i + (1 - c_i) / K_ii, 0, C_i)
    SVMCUT_PERCEPTRON = 2  // h_i += 1 where c_i <= 0
};

typedef struct {
    double *a, *c;  // (n)
    // (trained): a permutation, shuffled at the start of every epoch; null to draw anew at every
    // visit
    int32_t* order;
    const double* weights;  // (trained): C_i = C weights[i]; null for 1 each
    // (trained): their running sums, to visit points as often as these say; null for all alike
    const double* sums;
    double C;  // weight of one example's loss
    int64_t visits, changes, evaluations;
    uint64_t random;
} svmcut_visits_state;

// As svmcut_sbp_run; a visit that changes nothing costs no kernel value.
int svmcut_visits_run(const svmcut_expansion* expansion, int rule, svmcut_visits_state* state,
                      int64_t visits, double seconds, int threads);

#ifdef __cplusplus
}
#endif
#endif
