// SPDX-License-Identifier: BSD-3-Clause
//
// The part of the ABI that concerns sets of labels; the rules of svmcut.h hold.
//
//     score(x, y) = sum_k y_k W[k].x + sum_{k<l} v[k][l] y_k y_l,   y in {0, 1}^K
#ifndef SVMCUT_LABELS_ABI_H
#define SVMCUT_LABELS_ABI_H

#include "include/svmcut.h"

#ifdef __cplusplus
extern "C" {
#endif

// W: (d + (bias != 0), K) row-major, so that one feature touches K neighbours; the last row is the
// constant feature's. Columns of X at or above d weigh nothing. v: (K, K) symmetric with a diagonal
// of 0, or null for none.
typedef struct {
    const double* W;
    const double* v;
    int64_t d, K;
    double bias;
    const double* constant;  // (K,) weights of the constant feature; null: they are row d of W
} svmcut_label_weights;

// Gold labels: row i has labels[indptr[i]] to labels[indptr[i + 1] - 1], increasing.
typedef struct {
    const int64_t* indptr;
    const int32_t* labels;
} svmcut_label_sets;

// s: (n, K), s[i][k] = W[k].(x_i, bias)
int svmcut_label_scores(const svmcut_csr* X, const svmcut_label_weights* model, double* s,
                        int threads);

// For every row the maximum over the local polytope of
//
//     sum_k theta_k p_k + sum_{k<l} v[k][l] q_kl,   max(0, p_k + p_l - 1) <= q_kl <= min(p_k, p_l)
//
// with theta = s, plus `loss` where k is not gold and minus `loss` where it is: the relaxed
// loss-augmented argmax, or with loss 0 and gold null plain decoding. doubled: (n, K), 2 p, which
// is 0, 1 or 2. hinge[i], where not null: the maximum plus loss times the number of gold labels,
// minus the gold score. Exact, by the roof dual: labels that can be settled by bounds are, a
// maximum flow settles the rest.
int svmcut_label_relax(const svmcut_csr* X, const svmcut_label_weights* model,
                       const svmcut_label_sets* gold, double loss, int8_t* doubled, double* hinge,
                       int threads);

// The same for scores s (n, K) that are known already; of the model only v is read.
int svmcut_label_relax_scores(int64_t n, const double* s, const svmcut_label_weights* model,
                              const svmcut_label_sets* gold, double loss, int8_t* doubled,
                              double* hinge, int threads);

// out[k][l] = sum_n weights[n] (q_kl - gold q_kl) for k < l, with the q of doubled maximisers at
// pair weights v; weights null for 1 each.
int svmcut_label_together(int64_t n, int64_t K, const double* v, const int8_t* doubled,
                          const svmcut_label_sets* gold, const double* weights, double* out);

// W += sum_r coef[r] (outer) (x_rows[r], bias); coef: (count, K).
void svmcut_label_adjoint(const svmcut_csr* X, const int64_t* rows, int64_t count,
                          const double* coef, int64_t K, double bias, double* W, int threads);

enum svmcut_label_decoding {
    // the relaxation, halves to 0, then single and pair flips while the score grows
    SVMCUT_DECODE_LP = 0,
    SVMCUT_DECODE_ICM = 1,    // from y_k = [s_k > 0], single and pair flips while the score grows
    SVMCUT_DECODE_GREEDY = 2  // from nothing, the label that adds most while one adds anything
};

// y: (n, K), 0 or 1. halves[i]: labels the relaxation left at 1/2 (0 with other methods). s: (n, K)
// scores of labels alone, from svmcut_label_scores.
int svmcut_label_decode(int64_t n, const double* s, const svmcut_label_weights* model, int method,
                        int8_t* y, int32_t* halves, int threads);

// ---- label_blocks.cc: one example at a time by its relaxed argmax

typedef struct svmcut_label_blocks svmcut_label_blocks;

// An example's C is C weights[n], null for 1 each. X, gold and weights must outlive the run. Null
// without memory.
svmcut_label_blocks* svmcut_label_blocks_new(const svmcut_csr* X, const svmcut_label_sets* gold,
                                             int64_t K, double bias, int pairs, double C,
                                             const double* weights, uint64_t seed);
void svmcut_label_blocks_delete(svmcut_label_blocks* run);

// One pass of Frank-Wolfe steps in random order; W and v are 0 at first and the run's from then on.
// The dual is *loss - |W|^2/2 - |v|^2/2.
int svmcut_label_bcfw(svmcut_label_blocks* run, double* W, double* v, double* loss);

// One pass of subgradients in random order: z (W and v) += psi, weighted += visits so far times
// psi, *loss += wrong labels, psi and wrong labels times the example's weight. After T visits w = C
// n z / T, and its average weighted by the visit is 2 C n (T z - weighted) / (T (T + 1)). After
// whole passes C n *loss / T - |w|^2/2 is a dual value: every example has been visited as often.
int svmcut_label_ssg(svmcut_label_blocks* run, double* z, double* zv, double* weighted,
                     double* weighted_v, double* loss);

// The state between two passes as counts[0] integers and counts[1] reals; with null arrays only the
// counts are given. load goes on from there in a new run of the same arguments, with the W and v of
// the saved one; BAD_INPUT where they do not fit, and the run is of no use then.
void svmcut_label_blocks_save(const svmcut_label_blocks* run, int64_t* integers, double* reals,
                              int64_t* counts);
int svmcut_label_blocks_load(svmcut_label_blocks* run, const int64_t* integers, const double* reals,
                             const int64_t* counts);

// ---- label_cd.cc: dual coordinate descent of labels side by side

enum svmcut_label_end { SVMCUT_LABEL_OPEN = 0, SVMCUT_LABEL_MET = 1, SVMCUT_LABEL_SLOW = 2 };

// One machine: a label against all others.
typedef struct {
    // extremes of the projected gradient in the last epoch: beyond them a row is left out
    double above, below;
    double estimate, moved;     // sum of the gaps met in the last epoch; rows that moved
    double primal, risk, dual;  // of the best point, the best bound
    double ratio;               // gap over the estimate at the last look
    // at the last look; the least that counted as progress, looks since
    double gap, least, idle;
    double end;                                  // of svmcut_label_end
    double highest, lowest, sum, moves, visits;  // of the epoch so far
} svmcut_label_machine;

// Machines that are trained together, `lanes` of them.
typedef struct {
    int64_t active;  // order[0] to order[active - 1] are visited
    int64_t at;      // visits of the epoch so far
    uint64_t random;
    int64_t epochs, looks, looked;  // done so far; the epoch of the last look
    int64_t entries;                // nonzeros read so far, once for all machines
} svmcut_label_group;

// min over W of sum_k [1/2 |W_k|^2 + C sum_i v_i max(0, 1 - y_ik W_k.(x_i, bias))] over the labels
// first to first + count - 1, y_ik = 1 where row i has label k, else -1, v null for 1 each. A
// machine ends when its gap is at most `relative` times its primal value, or at most `absolute`
// where that is not above 0.
typedef struct {
    const svmcut_csr* X;
    const double* norms;  // |(x_i, bias)|^2
    const double* v;
    double bias, C, absolute, relative;
    // epochs of all rows a machine may be predicted to need yet; inf for any number
    double patience;
    // lanes: 4 or 8; groups = count / lanes, rounded up, group g from g count / groups on
    int64_t count, lanes, groups;
    // (groups, n): a bit for each machine of the group whose label row i has
    const uint8_t* positive;
    uint8_t* rows;  // (groups, n): a bit for each machine that visits row i
    // (groups, 2 n): rows that any machine visits, increasing; room for the visits
    int32_t* order;
    double* alpha;  // (groups, n, lanes)
    double* W;      // (groups, dim, lanes), dim = n_features + (bias != 0): of alpha
    // (dim, stride) from the first label on: the best point of each machine
    double* best;
    int64_t stride;
    svmcut_label_machine* machines;  // (groups, lanes)
    svmcut_label_group* states;      // (groups,)
} svmcut_label_cd;

// Fills rows, order, machines and states for a start at alpha, W and best 0.
void svmcut_label_cd_start(const svmcut_label_cd* run, uint64_t seed);

// Every group goes on until it has had `looks` looks, or all its machines have ended. CANCELLED
// leaves a state that the same call goes on from as if nothing had been.
int svmcut_label_cd_run(const svmcut_label_cd* run, int64_t looks, int threads,
                        const volatile int* cancel);

// ---- gdmm_labels.cc: greedy direction method of multipliers

typedef struct svmcut_gdmm_labels svmcut_gdmm_labels;

// min over W, v of 1/2 |W|^2 + 1/2 |v|^2 + C sum_n weights[n] hinge_n, weights null for 1 each; rho
// is that of an example of weight 1. X, gold and weights must outlive the state. With `soft`
// multipliers stay 0, every pair is a factor, and factors take Frank-Wolfe steps: the problem with
// soft constraints of Meshi, Srebro and Hazan (2015). Null without memory.
svmcut_gdmm_labels* svmcut_gdmm_labels_new(const svmcut_csr* X, const svmcut_label_sets* gold,
                                           int64_t K, double bias, double C, const double* weights,
                                           double rho, int soft, uint64_t seed);
void svmcut_gdmm_labels_delete(svmcut_gdmm_labels* state);

// One visit of every example in random order, which changes W and v (given with the state's values:
// 0 at first). With `pairs` 0 pair factors stay as they are. `sweeps`: inner sweeps over the
// factors of an example. parts: a visit scores the labels of one of so many parts, drawn, and those
// in use already, and moves them alone; 1 with `soft`.
int svmcut_gdmm_labels_pass(svmcut_gdmm_labels* state, double* W, double* v, int pairs, int sweeps,
                            int parts, const volatile int* cancel);

// A feasible point of the dual from the state: v2 (K, K) its pair weights, *linear = sum |alpha|;
// its value is *linear - |W|^2/2 - |v2|^2/2. *active: pair factors in use; *residual: sum |marginal
// - node|.
int svmcut_gdmm_labels_repair(const svmcut_gdmm_labels* state, double* v2, double* linear,
                              int64_t* active, double* residual);

// As svmcut_label_blocks_save and _load.
void svmcut_gdmm_labels_save(const svmcut_gdmm_labels* state, int64_t* integers, double* reals,
                             int64_t* counts);
int svmcut_gdmm_labels_load(svmcut_gdmm_labels* state, const int64_t* integers, const double* reals,
                            const int64_t* counts);

#ifdef __cplusplus
}
#endif
#endif
