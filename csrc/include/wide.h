// SPDX-License-Identifier: BSD-3-Clause
//
// The part of the ABI that trains labels by the thousand, each against the rest; the rules of
// svmcut.h hold.
#ifndef SVMCUT_WIDE_ABI_H
#define SVMCUT_WIDE_ABI_H

#include "include/labels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SVMCUT_WIDE_LANES = 64 };

// Machines that are trained in step.
typedef struct {
    int64_t active;  // order[0] to order[active - 1] are visited
    int64_t at;      // visits of the epoch so far
    uint64_t random;
    int64_t epochs, looks;  // done so far; looks at sixteen machines each
    int64_t entries;        // nonzeros read so far, once for sixteen machines
    int64_t looked[4];      // the epoch of the last look at each sixteen
    int64_t whole[4];       // whether each sixteen visit all rows before a look
} svmcut_wide_group;

// min over W of sum_k [1/2 |W_k|^2 + C sum_i v_i l(y_ik W_k.(x_i, bias))] over `count` labels, l the
// hinge loss or, with `squared`, its square; y_ik = 1 where row i has label k, else -1; v null for
// 1 each. A machine ends when its gap is at most `relative` times its primal value, or at most
// `absolute` where that is not above 0; at twice that where the sums of its sixteen neighbours meet
// it; and SLOW where it stands still.
typedef struct {
    const svmcut_csr* X;
    const double* norms;  // |(x_i, bias)|^2
    const double* v;
    double bias, C, absolute, relative;
    int64_t squared;
    int64_t count, groups;  // groups = count / 64, rounded up
    // (groups, n): a bit for each machine of the group whose label row i has
    const uint64_t* positive;
    uint64_t* rows;  // (groups, n): a bit for each machine that visits row i
    // (groups, 2 n): rows that any machine visits, increasing; room for the visits
    int32_t* order;
    float* alpha;                    // (groups, n, 64)
    float* W;                        // (groups, dim, 64), dim = n_features + (bias != 0): of alpha
    float* best;                     // (groups, dim, 64): the best point of each machine
    svmcut_label_machine* machines;  // (groups, 64)
    svmcut_wide_group* states;       // (groups,)
} svmcut_wide_cd;

// Fills rows, order, machines and states for a start at alpha, W and best 0.
void svmcut_wide_cd_start(const svmcut_wide_cd* run, uint64_t seed);

// Every group goes on until it has had `epochs` epochs, or all its machines have ended. CANCELLED
// leaves a state that the same call goes on from as if nothing had been.
int svmcut_wide_cd_run(const svmcut_wide_cd* run, int64_t epochs, int threads,
                       const volatile int* cancel);

// The same of several runs side by side, each of its own rows; what comes of one does not depend on
// the others.
int svmcut_wide_cd_run_all(const svmcut_wide_cd* const* runs, int64_t count, int64_t epochs,
                           int threads, const volatile int* cancel);

// risk: (groups, 64), sum_i v_i l(y_ik W_k.(x_i, bias)) at weights W (groups, dim, 64).
int svmcut_wide_cd_risk(const svmcut_wide_cd* run, const float* W, double* risk, int threads);

// As svmcut_wide_cd_risk, at the weights of the constant feature that minimise the objective beside
// the others, to which those of W are set where that is lower. A bias of 0 changes nothing.
int svmcut_wide_cd_refit(const svmcut_wide_cd* run, float* W, double* risk, int threads);

// ---- label_index.cc

// Weights by feature: of feature j < d values[indptr[j]] to values[indptr[j + 1] - 1], each for the
// label of K at that place.
typedef struct {
    const int64_t* indptr;
    const int32_t* places;
    const float* values;
    const double* constant;  // (K,)
    int64_t d, K;
} svmcut_label_index;

// s: (n, K), s[i][k] = W[k].x_i + constant[k]; columns of X at or above d weigh nothing
void svmcut_label_index_scores(const svmcut_csr* X, const svmcut_label_index* index, double* s,
                               int threads);

// A tree of labels: node j has the children first[j] to first[j + 1] - 1, and weights of the
// features features[bounds[j]] to features[bounds[j + 1] - 1]; entry e of these has the weights
// values[indptr[e]] to values[indptr[e + 1] - 1], each for the child of the node at that place.
typedef struct {
    const int64_t *first, *bounds, *indptr;
    const int32_t* features;
    const uint8_t* places;
    const float* values;
    const double* constant;  // of every child
    int64_t d;               // above all features
} svmcut_label_tree;

// f[ends[p]] to f[ends[p + 1] - 1]: the scores of the children of nodes[p] at row rows[p], of all
// pairs p < count; order: the pairs by node.
int svmcut_label_tree_scores(const svmcut_csr* X, const svmcut_label_tree* tree,
                             const int64_t* rows, const int64_t* nodes, const int64_t* order,
                             int64_t count, const int64_t* ends, double* f, int threads);

// least[i]: the k-th largest of s[ends[i]] to s[ends[i + 1] - 1], of n rows; -inf where there are
// fewer
int svmcut_label_least(const double* s, const int64_t* ends, int64_t n, int64_t k, double* least,
                       int threads);

// Unit vectors along the sums of the rows of each label: label k of K is on at rows[indptr[k]] to
// rows[indptr[k + 1] - 1]. Of a sum the `most` largest values are kept, of equal ones the first
// columns: sizes[k] of them, at indices and values (K, most), columns increasing.
int svmcut_label_sums(const svmcut_csr* X, const int64_t* indptr, const int32_t* rows, int64_t K,
                      int64_t most, int32_t* indices, float* values, int64_t* sizes, int threads);

#ifdef __cplusplus
}
#endif
#endif
