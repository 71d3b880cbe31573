/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of the ABI that trains chains factor by factor; the rules of svmcut.h hold. Transition order 1, emission order 0.
 */
#ifndef SVMCUT_GDMM_CHAIN_H
#define SVMCUT_GDMM_CHAIN_H

#include "svmcut_chain.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct svmcut_gdmm_chain svmcut_gdmm_chain;

/* min_w 1/2 |w|^2 + C sum_n hinge_n. parts: a token tries the tags of one of so many parts at a visit. brute: pairs are
 * searched by all K^2 entries and not by their order. soft: multipliers stay 0 and factors take Frank-Wolfe steps. The chain's arrays must outlive the state. Null without memory. */
svmcut_gdmm_chain* svmcut_gdmm_chain_new(const svmcut_chain* chain, double C, double rho, int parts, int brute,
                                         int soft, uint64_t seed);
void svmcut_gdmm_chain_delete(svmcut_gdmm_chain* state);

/* One visit of every sequence in random order; w, in the layout of the chain, is 0 at first and the state's from then on. */
int svmcut_gdmm_chain_pass(svmcut_gdmm_chain* state, double* w, const volatile int* cancel);

/* A feasible point of the dual: pairs repaired to couplings of their tokens. V2 (K, stride): its transitions; its value is
 * *linear - |W|^2/2 - |V2|^2/2. *residual: sum |marginal - token|; *in_use: states with mass. */
int svmcut_gdmm_chain_repair(const svmcut_gdmm_chain* state, double* V2, double* linear, double* residual,
                             double* in_use);

/* The state between two passes as counts[0] integers and counts[1] reals; with null arrays only the counts are given. load
 * goes on from there in a new state of the same arguments, with the saved one's w; BAD_INPUT where they do not fit, and the
 * state is of no use then. */
void svmcut_gdmm_chain_save(const svmcut_gdmm_chain* state, int64_t* integers, double* reals, int64_t* counts);
int svmcut_gdmm_chain_load(svmcut_gdmm_chain* state, const double* w, const int64_t* integers, const double* reals,
                           const int64_t* counts);

/* max of V[k][l] + rho (a[k] + b[l]) over all pairs but the right one, by the order or by all entries; for tests. */
void svmcut_pair_max(const double* V, int64_t K, int64_t stride, const double* a, const double* b, double rho,
                     int32_t gold_left, int32_t gold_right, int brute, int32_t* left, int32_t* right, double* value);

#ifdef __cplusplus
}
#endif
#endif
