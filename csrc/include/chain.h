// SPDX-License-Identifier: BSD-3-Clause
//
// The ABI of chains: decoding, joint features, and the trainers that move one sequence at a time.
// The rules of svmcut.h hold here too.
#ifndef SVMCUT_CHAIN_ABI_H
#define SVMCUT_CHAIN_ABI_H

#include "include/svmcut.h"

#ifdef __cplusplus
extern "C" {
#endif

// Sequences of tokens. Weights are rows of `stride` numbers, one number a tag and zeros behind tag
// K - 1; stride is 4, 8 or a multiple of 16. First n_features * blocks rows of emissions, feature
// by feature: blocks = 1, or with emission order 1 blocks = K + 1, where row 1 + p adds to row 0
// behind a token of tag p. Then K rows for transitions of order 1, K^2 of order 2 and K^3 of order
// 3, the row of history (p_j, ..., p_1) at number (p_j K + ...) K + p_1. All orders up to
// transition_order count at every token that has so long a history.
typedef struct {
    svmcut_csr X;  // one row a token; features from n_features on weigh nothing
    // n_sequences + 1: sequence n is tokens sequences[n] to sequences[n + 1], at least one
    const int64_t* sequences;
    const int32_t* tags;  // right tags, 0 to K - 1
    int64_t n_sequences;
    int64_t n_features;  // of the weights
    int64_t K, stride;
    int32_t transition_order, emission_order;  // 0 to 3; 0, or 1 where transition_order is not 0
} svmcut_chain;

// Which losses a labelling is charged: none (decoding), one per wrong tag.
enum svmcut_chain_loss { SVMCUT_CHAIN_DECODE = 0, SVMCUT_CHAIN_HAMMING = 1 };

// node[i][b][c]: emission scores of token i, (tokens, blocks, stride); padding and, in the first
// token of a sequence, the rows of previous tags are 0.
int svmcut_chain_nodes(const svmcut_chain* chain, const double* w, double* nodes, int threads);

// The best labelling of every sequence: score + number of wrong tags with SVMCUT_CHAIN_HAMMING,
// where values[n] is what it is above the right labelling's score (at least 0) and losses[n] counts
// the wrong tags; with SVMCUT_CHAIN_DECODE values[n] is the score and losses may be null. beam:
// states kept a token, 0 for all. nodes: those of w, or null to compute them from w; of w only the
// transitions are read then. Ties go to the lowest last tag, then the one before it.
int svmcut_chain_argmax(const svmcut_chain* chain, const double* w, const double* nodes, int loss,
                        int64_t beam, int32_t* labels, double* values, double* losses, int threads,
                        const volatile int* cancel);

// What svmcut_chain_line found at t.
typedef struct {
    double t;
    const int32_t* labels;
    const double *values, *rates;
} svmcut_chain_point;

// As svmcut_chain_argmax with SVMCUT_CHAIN_HAMMING at the nodes and transitions of a point plus t
// times those of a direction; rates[n] is what a larger t adds to values[n] while the labelling
// stays the same. below and above, of smaller and larger t, or both null: where they name one
// labelling it is the best between them too, values being convex in t, and is not searched. Of
// below the labels alone are read.
int svmcut_chain_line(const svmcut_chain* chain, const double* nodes, const double* transitions,
                      const double* node_rates, const double* transition_rates, double t,
                      int64_t beam, const svmcut_chain_point* below,
                      const svmcut_chain_point* above, int32_t* labels, double* values,
                      double* losses, double* rates, int threads);

// Those rates for given labels.
void svmcut_chain_rates(const svmcut_chain* chain, const int32_t* labels, const double* node_rates,
                        const double* transition_rates, double* rates);

// chain_counts.cc: of every sequence the labelling, among those with a wrong tag, with the largest
//     losses[k] + prices[k] (score - score of the right one),   k = wrong tags, but at most `most`;
// values[n] is that number and counts[n] = k, both 0 with the right labelling where none is above
// 0. losses and prices have most + 1 numbers, prices none below 0; most is at least 1. Ties go to
// the least k, then as above, but first to a labelling that had reached `most` before the tag in
// question. Of a sequence of T tokens T min(T, most) sets of states are formed and kept, where
// decoding has T.
int svmcut_chain_counted(const svmcut_chain* chain, const double* nodes, const double* transitions,
                         int64_t most, const double* losses, const double* prices, int32_t* labels,
                         double* values, int64_t* counts, int threads, const volatile int* cancel);

// chain_sums.cc: nodes and transitions may be -infinity, and no labelling has such a score.
// The `count` best labellings of sequence n, best first, are rows of T tags from labels[count *
// sequences[n]] on, their scores values[count * n] and on; -1 and -infinity behind the last there
// is. Ties as in svmcut_chain_argmax for the first. `count` entries are kept for every state.
int svmcut_chain_best(const svmcut_chain* chain, const double* nodes, const double* transitions,
                      int64_t count, int32_t* labels, double* values, int threads);

// Of every sequence ln sum_y exp(scale score(y)), the mean score under these weights and, unless
// null, the part of every tag of every token, (tokens, K). -infinity and 0 where there is no
// labelling.
int svmcut_chain_sums(const svmcut_chain* chain, const double* nodes, const double* transitions,
                      double scale, double* log_sums, double* means, double* marginals,
                      int threads);

// Of every tag of every token, (tokens, K), the score of the best labelling that has it there;
// -infinity where there is none.
int svmcut_chain_highest(const svmcut_chain* chain, const double* nodes, const double* transitions,
                         double* highest, int threads);

// out += sum_n weights[n] (Psi(x_n, right) - Psi(x_n, labels)); out has the layout of the weights.
int svmcut_chain_joint(const svmcut_chain* chain, const int32_t* labels, const double* weights,
                       double* out);

// ---- chain_bcfw.cc: one sequence at a time

typedef struct svmcut_bcfw svmcut_bcfw;

// C_n = C v[n], v null for 1 each. Null when there is no memory. The chain's arrays and v must
// outlive it.
svmcut_bcfw* svmcut_bcfw_new(const svmcut_chain* chain, double C, const double* v, uint64_t seed);
void svmcut_bcfw_delete(svmcut_bcfw* run);

typedef struct {
    double gap;       // sum over the sequences of the gap each had when last visited
    double loss;      // l of the dual: sum over labellings of C_n times weight times wrong tags
    int64_t visits;   // so far
    int64_t cached;   // labellings kept
    int64_t support;  // labellings of positive weight
} svmcut_bcfw_state;

// Visits up to `count` sequences, in random order. CANCELLED leaves a consistent state.
int svmcut_bcfw_visit(svmcut_bcfw* run, int64_t count, svmcut_bcfw_state* state,
                      const volatile int* cancel);

// w as it stands, from the weights of the labellings when `afresh` (then the run goes on with that
// w).
int svmcut_bcfw_weights(svmcut_bcfw* run, int afresh, double* w);

// The state between two visits as counts[0] integers and counts[1] reals; with null arrays only the
// counts are given. load goes on from there in a new run of the same arguments; BAD_INPUT where
// they do not fit, and the run is of no use then.
void svmcut_bcfw_save(const svmcut_bcfw* run, int64_t* integers, double* reals, int64_t* counts);
int svmcut_bcfw_load(svmcut_bcfw* run, const int64_t* integers, const double* reals,
                     const int64_t* counts);

// ---- chain_ssg.cc: stochastic subgradients

// Visits the sequences order[0] to order[count - 1]. Before visit k, counted from 0 over all calls,
// w = C n z / k (0 where k = 0); then with v of the sequence, 1 where v is null, z += v (Psi(right)
// - Psi(labelling)), weighted += k v (Psi(right) - Psi(labelling)), *loss += v times wrong tags.
int svmcut_chain_ssg(const svmcut_chain* chain, double C, const double* v, const int32_t* order,
                     int64_t count, int64_t* visits, double* z, double* weighted, double* loss,
                     const volatile int* cancel);

// ---- gdmm_chain.cc soft_chain.cc: chains factor by factor; transition order 1, emission order 0

typedef struct svmcut_gdmm_chain svmcut_gdmm_chain;

// min_w 1/2 |w|^2 + C sum_n v_n hinge_n, v null for 1 each; rho is that of a sequence of weight 1.
// parts: a token tries the tags of one of so many parts at a visit. brute: pairs are searched by
// all K^2 entries and not by their order. soft: multipliers stay 0 and factors take Frank-Wolfe
// steps. The chain's arrays and v must outlive the state. Null without memory.
svmcut_gdmm_chain* svmcut_gdmm_chain_new(const svmcut_chain* chain, double C, const double* v,
                                         double rho, int parts, int brute, int soft, uint64_t seed);
void svmcut_gdmm_chain_delete(svmcut_gdmm_chain* state);

// One visit of every sequence in random order; w, in the layout of the chain, is 0 at first and the
// state's from then on.
int svmcut_gdmm_chain_pass(svmcut_gdmm_chain* state, double* w, const volatile int* cancel);

// A feasible point of the dual: pairs repaired to couplings of their tokens. V2 (K, stride): its
// transitions; its value is *linear - |W|^2/2 - |V2|^2/2. *residual: sum |marginal - token|;
// *in_use: states with mass.
int svmcut_gdmm_chain_repair(const svmcut_gdmm_chain* state, double* V2, double* linear,
                             double* residual, double* in_use);

// The state between two passes as counts[0] integers and counts[1] reals; with null arrays only the
// counts are given. load goes on from there in a new state of the same arguments, with the saved
// one's w; BAD_INPUT where they do not fit, and the state is of no use then.
void svmcut_gdmm_chain_save(const svmcut_gdmm_chain* state, int64_t* integers, double* reals,
                            int64_t* counts);
int svmcut_gdmm_chain_load(svmcut_gdmm_chain* state, const double* w, const int64_t* integers,
                           const double* reals, const int64_t* counts);

// max of V[k][l] + rho (a[k] + b[l]) over all pairs but the right one, by the order or by all
// entries; for tests.
void svmcut_pair_max(const double* V, int64_t K, int64_t stride, const double* a, const double* b,
                     double rho, int32_t gold_left, int32_t gold_right, int brute, int32_t* left,
                     int32_t* right, double* value);

#ifdef __cplusplus
}
#endif
#endif
