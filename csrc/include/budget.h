// SPDX-License-Identifier: BSD-3-Clause
//
// The C side of budgeted training; conventions as in svmcut.h.
#ifndef SVMCUT_BUDGET_ABI_H
#define SVMCUT_BUDGET_ABI_H

#include "include/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

// f = scale sum_k beta_k K(z_k, .) over at most `budget` centres z, moved by one example a step.
typedef struct svmcut_budget svmcut_budget;

enum svmcut_budget_maintenance { SVMCUT_MERGE = 0, SVMCUT_PROJECT = 1, SVMCUT_REMOVE = 2 };
enum svmcut_budget_sampling { SVMCUT_SHUFFLED = 0, SVMCUT_INDEPENDENT = 1, SVMCUT_ADAPTIVE = 2 };

typedef struct {
    // 1 coordinate ascent in the dual (BSCA), 0 stochastic gradient in the primal (BSGD)
    int dual;
    int maintenance;  // merging is for the rbf kernel
    int sampling;     // adaptive frequencies are for the dual
    int append;       // 1: a point that is a centre already becomes one more, as in the paper
    int64_t budget;
    double C;     // weight of one example's loss
    double tube;  // of targets; below 0 for labels
    uint64_t seed;
} svmcut_budget_options;

// All that changes in a run but the arrays below.
typedef struct {
    int64_t steps, moves, maintained, removed, evaluations;  // moves: steps that changed f
    int64_t epoch, position, scheduled;  // visits of this epoch done, and in all
    int64_t centres;
    double scale, sum_alpha, mean_gain;  // sum_alpha: of targets sum beta y - tube |beta|
} svmcut_budget_state;

typedef struct {
    float* centres;     // (centres, d)
    double* beta;       // (centres)
    int32_t* owner;     // (centres): the example a centre is, -1 where it is none
    float* alpha;       // (n), the dual's; of targets beta, with its sign
    float* preference;  // (n), adaptive frequencies'
    float* credit;      // (n), the same
    int32_t* schedule;  // (scheduled), the same
    double* factor;     // (centres (centres + 1) / 2), projection's
    int32_t* rank;      // (centres), the same
} svmcut_budget_arrays;

// y: labels by sign, or targets. weights: of the examples' losses, null for 1 each. The arrays of
// X, y and weights must outlive the run. Null when there is no memory.
svmcut_budget* svmcut_budget_new(const svmcut_csr* X, const double* y, const double* weights,
                                 const svmcut_kernel* kernel, const svmcut_budget_options* options,
                                 int threads, int instructions);
void svmcut_budget_delete(svmcut_budget* run);

// Goes on for so many steps, or until so many seconds have passed.
int svmcut_budget_run(svmcut_budget* run, int64_t steps, double seconds);

void svmcut_budget_read(const svmcut_budget* run, svmcut_budget_state* state);

// Copies the arrays out; null ones are passed over.
void svmcut_budget_save(const svmcut_budget* run, const svmcut_budget_arrays* arrays);
// Goes back to what was read and saved.
int svmcut_budget_restore(svmcut_budget* run, const svmcut_budget_state* state,
                          const svmcut_budget_arrays* arrays);

// out[k] = f(rows[which[k]]); which null: 0 to count - 1.
int svmcut_budget_scores(const svmcut_budget* run, const svmcut_csr* rows, const int64_t* which,
                         int64_t count, int threads, double* out);

// |f|^2
int svmcut_budget_norm(svmcut_budget* run, double* squared);

// table: (nodes, nodes) of csrc/budget/merge_table.h; returns nodes. place: h there.
int64_t svmcut_merge_table(float* table, int threads);
double svmcut_merge_place(double m, double kappa);

#ifdef __cplusplus
}
#endif
#endif
