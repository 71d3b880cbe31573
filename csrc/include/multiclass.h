// SPDX-License-Identifier: BSD-3-Clause
//
// The part of the ABI that concerns classes; the rules of svmcut.h hold.
//
//     R(s) = sum_i v_i max_k ([k != y_i] + s_ik - s_iy)          (Crammer and Singer)
//
// Scores s are (n, K) row-major, y[i] in 0 to K - 1 is the right class, v the weights of the rows,
// null for 1 each.
#ifndef SVMCUT_MULTICLASS_ABI_H
#define SVMCUT_MULTICLASS_ABI_H

#include "include/svmcut.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- crammer_singer.cc: the risk

// *value = R(s); coef (n, K), where it is not null: a subgradient, v at the first class that is
// most violated and -v at y; *offset: the sum of v over the rows that have one.
int svmcut_crammer_singer(int64_t n, int64_t K, const int32_t* y, const double* s, const double* v,
                          double* coef, double* value, double* offset, int threads);

// *step = the t >= 0 that minimises (t^2 dd + 2 t wd) / 2 + C R(s + t e), to a thousandth of what
// it gains; s null for 0.
int svmcut_crammer_singer_line(int64_t n, int64_t K, const int32_t* y, const double* s,
                               const double* e, const double* v, double wd, double dd, double C,
                               double* step, int threads);

// ---- multiclass_cd.cc: dual coordinate descent over all classes of a row

typedef struct {
    int64_t active;    // order[0] to order[active - 1] are visited; they increase
    double violation;  // the mean of the last epoch
    double gap;        // sum of the gaps of the visited rows, each as it was found: an estimate
    uint64_t random;
    int64_t epochs, entries;  // done so far; weights read so far
    int64_t moved;            // rows changed in the last epoch
} svmcut_multiclass_state;

// min over alpha, alpha_ik <= C_i [k = y_i] and sum_k alpha_ik = 0, of 1/2 |W|^2 - sum_i alpha_iy,
// C_i = C v_i, from the alpha (n, K) given and its W (n_features + (bias != 0), K) = sum_i (x_i,
// bias) alpha_i': up to `epochs` epochs, fewer when the estimated gap is at most `enough` + `share`
// times the dual value, `dual` at this alpha, or nothing moves. norms[i] = |(x_i, bias)|^2. order:
// 2 n int32, the second half room for the visits; labels (n, K) and counts (n,): the classes in use
// of every row, the right one first. All three are set by svmcut_multiclass_wake. CANCELLED leaves
// a consistent state.
int svmcut_multiclass_cd(const svmcut_csr* X, int64_t K, const double* norms, const double* v,
                         double bias, double C, int64_t epochs, double enough, double share,
                         double dual, double* alpha, double* W, int32_t* order, int32_t* labels,
                         int32_t* counts, svmcut_multiclass_state* state,
                         const volatile int* cancel);

// Chooses rows and classes afresh by the scores s of W.
void svmcut_multiclass_wake(int64_t n, int64_t K, const int32_t* y, const double* s,
                            const double* v, const double* alpha, double C, int32_t* order,
                            int32_t* labels, int32_t* counts, svmcut_multiclass_state* state);

// ---- dense_scores.cc: rows without a sparse form

// out[i][k] = sum_j X[i][j] W[j][k] + constants[k] in the order of j, X (n, d) rounded to float32;
// the same bytes as sparse rows have, and for any number of rows. BAD_INPUT where a value is not
// finite then.
int svmcut_dense_scores(const double* X, int64_t n, int64_t d, const double* W, int64_t K,
                        const double* constants, double* out, int threads);
int svmcut_dense_scores_of_floats(const float* X, int64_t n, int64_t d, const double* W, int64_t K,
                                  const double* constants, double* out, int threads);

// ---- class_blocks.cc: dual ascent over kernel values, a block of rows at a time

// C (n,): of every row; losses (K, K): of class y for k, 0 at y, null for 1 each; alpha (n, K), C_i
// at most at y_i and 0 elsewhere, of sum 0 in every row; s (K, n) its scores, class by class.
// gain[i]: about what the best step of row i alone raises the dual, 0 where there is none; gap[i]:
// the part of the row in primal less dual of alpha.
void svmcut_class_gains(int64_t n, int64_t K, const int32_t* y, const double* C,
                        const double* losses, const double* diagonal, const double* alpha,
                        const double* s, double* gain, double* gap, int threads);

// Steps on the rows of a block alone, with its kernel values (q, q), alpha (q, K) and its scores s
// (q, K), until their gap is `part` of the first or after so many sweeps; *steps rises by those
// taken.
int svmcut_class_block(int64_t q, int64_t K, const int32_t* y, const double* C,
                       const double* losses, const double* values, double part, int64_t sweeps,
                       double* alpha, double* s, int64_t* steps);

// s[k, p] += sum_r change[r, k] values[places[r], p], in the order of r; values (, n), change (q,
// K), s (K, n).
void svmcut_class_add(int64_t n, int64_t q, int64_t K, const double* values, const int64_t* places,
                      const double* change, double* s, int threads);

#ifdef __cplusplus
}
#endif
#endif
