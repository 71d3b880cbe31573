// SPDX-License-Identifier: BSD-3-Clause
//
// The ABI of products with sparse rows, the linear trainers, the small QP; the rules of svmcut.h
// hold.
#ifndef SVMCUT_LINEAR_ABI_H
#define SVMCUT_LINEAR_ABI_H

#include "include/svmcut.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- sparse.cc: products with sparse rows

// s[i] = sum_j X[i][j] w[j] + constant; w has n_features entries.
int svmcut_scores(const svmcut_csr* X, const double* w, double constant, double* s, int threads);

// The same in the order of the features, one sum a row, and without the features from d on: the
// originals' predictions to the last digit.
int svmcut_predict(const svmcut_csr* X, const double* w, int64_t d, double constant, double* s,
                   int threads);

// Into how many ranges of columns the adjoint is cut over these threads: 1 where rows are few, or
// columns; the bounds take an eighth of the bytes of the rows at most.
int svmcut_adjoint_ranges(const svmcut_csr* X, int threads);

// Where the ranges of columns begin in each row, from the second on: bounds[(r - 1) n_rows + i],
// counted from the row's first entry. columns: ranges + 1 increasing bounds from 0 to n_features.
void svmcut_adjoint_bounds(const svmcut_csr* X, const int64_t* columns, int ranges,
                           int32_t* bounds);

// out[j] += sum_i coef[i] X[i][j]; rows with coef 0 are not read. bounds: of the ranges, null where
// there is one.
int svmcut_adjoint(const svmcut_csr* X, const double* coef, double* out, const int32_t* bounds,
                   int ranges, int threads);

// sum_i a[i] b[i]
double svmcut_dot(int64_t n, const double* a, const double* b, int threads);

// A vector of n numbers: all of them (indices null), or `count` that need not be 0 and their
// increasing indices.
typedef struct {
    const double* values;
    const int32_t* indices;
    int64_t count;
} svmcut_vector;

// The sums below are to the last bit the same whichever way a vector is given.

// out[k] = sum_i vectors[k][i] a[i]
int svmcut_dots(int64_t n, int64_t count, const svmcut_vector* vectors, const double* a,
                double* out, int threads);

// out[i] = sum_k weights[k] vectors[k][i]
void svmcut_combine(int64_t n, int64_t count, const double* weights, const svmcut_vector* vectors,
                    double* out, int threads);

// As svmcut_combine for vectors of float32; sums are float64.
void svmcut_combine_floats(int64_t n, int64_t count, const double* weights,
                           const float* const* vectors, double* out, int threads);

// The dot product of that sum with itself, as svmcut_dot gives it; the sum is not kept.
double svmcut_combined_square(int64_t n, int64_t count, const double* weights,
                              const svmcut_vector* vectors, int threads);

// How many numbers of a are not 0.
int64_t svmcut_count_nonzeros(int64_t n, const double* a);

// Those, and their indices, which int32 must hold.
void svmcut_take_nonzeros(int64_t n, const double* a, double* values, int32_t* indices);

// out[i][j] = x_i.x_j + constant, (n_rows, n_rows).
int svmcut_gram(const svmcut_csr* X, double constant, double* out);

// out[i] = p x[i] + q y[i]; out may be x or y.
void svmcut_blend(int64_t n, double p, const double* x, double q, const double* y, double* out,
                  int threads);

// squared[i] = |x_i|^2
void svmcut_row_norms(const svmcut_csr* X, double* squared, int threads);

// Copies rows to data and indices, row k to indptr[k] (count + 1 of them, sums of the rows'
// lengths).
void svmcut_take_rows(const svmcut_csr* X, const int64_t* rows, int64_t count,
                      const int64_t* indptr, float* data, int32_t* indices);

// ---- hinge.cc: the hinge risk

// Weights v of the rows: null for 1 each, as in all that follows.

// Scores s, labels y in {-1, +1}: coef[i] = -v[i] y[i] where y[i] s[i] < 1, else 0; *value = sum of
// the weighted hinge losses; *offset = sum of v over the rows with a loss, their number where v is
// null.
int svmcut_hinge(int64_t n, const double* y, const double* s, const double* v, double* coef,
                 double* value, double* offset, int threads);

// *step = the t >= 0 that minimises (t^2 dd + 2 t wd) / 2 + C sum_i v_i max(0, 1 - y_i (s_i + t
// e_i)); expected O(n).
int svmcut_hinge_line(int64_t n, const double* y, const double* s, const double* e, const double* v,
                      double wd, double dd, double C, double* step, int threads);

// values[k], slopes[k] of sum_i v_i max(0, margin - y_i s_i) at s + t (target - s), t = grid[k], 0 =
// grid[0] < grid[1] < ..., evenly spaced up to grid[even], the slope to the right; O(n + steps).
int svmcut_hinge_grid(int64_t n, double margin, const double* y, const double* s,
                      const double* target, const double* v, int64_t even, int64_t steps,
                      const double* grid, double* values, double* slopes, int threads);

// ---- one_class.cc: the one-class machine on features

// One pass of pairs over some rows (their numbers, each once): 0 <= alpha_i <= top_i, w = sum alpha
// x, sum alpha stays. scores: of these rows, null to form them. Returns the steps made.
int64_t svmcut_one_class_pairs(const svmcut_csr* X, const double* norms, const double* top,
                               const int32_t* rows, const double* scores, int64_t count,
                               double* alpha, double* w);

// ---- losses.cc: losses of one score

enum svmcut_loss {
    SVMCUT_HINGE = 0,
    SVMCUT_SQUARED_HINGE = 1,
    SVMCUT_LOGISTIC = 2,
    SVMCUT_EPSILON_INSENSITIVE = 3,
    SVMCUT_SQUARED_EPSILON_INSENSITIVE = 4
};

// Scores s, labels y in {-1, +1} or targets y: the sum of the losses lies nowhere below *offset +
// coef.s', and at s on it: *value = sum of v loss. coef[i] is v[i] times the slope of the loss;
// curvature[i], where there is room for it, v[i] times its second derivative. tube: of the
// epsilon-insensitive loss; with delta above 0 coef and curvature are those of that loss smoothed
// over this width, and the cut is one of the loss itself, below it. The hinge has svmcut_hinge.
int svmcut_losses(int loss, int64_t n, const double* y, const double* s, const double* v,
                  double tube, double delta, double* coef, double* curvature, double* value,
                  double* offset, int threads);

// Slope and curvature at t of the sum of v_i loss(s_i + t e_i).
int svmcut_losses_slope(int loss, int64_t n, const double* y, const double* s, const double* e,
                        const double* v, double tube, double delta, double t, double* slope,
                        double* curvature, int threads);

// ---- dual_cd.cc: dual coordinate descent for sums of losses

typedef struct {
    int64_t active;  // order[0] to order[active - 1] are visited; they increase
    // extremes of the projected gradient in the last epoch: beyond them a coordinate is shrunk
    double above, below;
    // sum of the gaps of the visited coordinates, each as it was found: an estimate
    double gap;
    uint64_t random;
    int64_t epochs, entries;  // done so far; nonzeros read so far
    int64_t moved;            // coordinates changed in the last epoch
} svmcut_dual_cd_state;

// order: 2 n int32, the first n filled here, the others room for the visits.
void svmcut_dual_cd_start(int64_t n, uint64_t seed, int32_t* order, svmcut_dual_cd_state* state);

// min over 0 <= alpha_i <= C v_i of 1/2 |w|^2 - sum alpha, from the alpha given and its w = sum_i
// alpha_i y_i (x_i, bias): up to `epochs` epochs, fewer when the estimated gap is at most `enough`
// or nothing moves. norms[i] = |(x_i, bias)|^2; w has n_features entries, one more where bias is
// not 0. Of other losses the dual of losses.h; the logistic loss keeps the logits of alpha_i / (C
// v_i) too, null for the others. CANCELLED leaves a consistent state.
int svmcut_dual_cd(const svmcut_csr* X, int loss, double tube, const double* y, const double* norms,
                   const double* v, double bias, double C, int64_t epochs, double enough,
                   double* alpha, double* logit, double* w, int32_t* order,
                   svmcut_dual_cd_state* state, const volatile int* cancel);

// Chooses the active coordinates afresh by the scores s of w; alpha is not changed.
void svmcut_dual_cd_wake(int64_t n, int loss, double tube, const double* y, const double* s,
                         const double* v, double* alpha, double* logit, double C, int32_t* order,
                         svmcut_dual_cd_state* state);

// ---- newton.cc: the smoothed hinge

// With z = 1 - y s and u = clip(z / delta + 1/2, 0, 1) the smoothed loss is delta u^2 / 2 + max(0,
// z - delta / 2). coef[i] = -v y u; sums over the rows, weighted by v: sums[0] = smoothed losses,
// [1] = hinge losses, [2] = u, [3] = max(0, z) - u z. *band counts the rows with 0 < u < 1 and v >
// 0.
int svmcut_smooth_hinge(int64_t n, const double* y, const double* s, const double* v, double delta,
                        double* coef, double* sums, int64_t* band, int threads);

// Slope and curvature at t of sum_i v_i smoothed loss(s_i + t e_i).
int svmcut_smooth_slope(int64_t n, const double* y, const double* s, const double* e,
                        const double* v, double t, double delta, double* slope, double* curvature,
                        int threads);

// The rows with 0 < |coef| < v, in order; rows: n + 1 int32. Returns how many.
int64_t svmcut_band_rows(int64_t n, const double* coef, const double* v, int32_t* rows);

// H += sum over the rows of v (x, bias)(x, bias)', v by row of X, lower triangle, row-major with
// `dim` = n_features + (bias != 0). CANCELLED leaves a part of the sum.
int svmcut_band_gram(const svmcut_csr* X, const int32_t* rows, int64_t count, const double* v,
                     double bias, int64_t dim, double* H, int threads, const volatile int* cancel);

// out += sum over the rows of v ((x, bias).p) (x, bias); p and out have n_features + (bias != 0)
// entries.
int svmcut_band_product(const svmcut_csr* X, const int32_t* rows, int64_t count, const double* v,
                        double bias, const double* p, double* out, int threads);

// out += sum over the rows of v (x, bias)^2, by feature; as svmcut_band_product.
int svmcut_band_diagonal(const svmcut_csr* X, const int32_t* rows, int64_t count, const double* v,
                         double bias, double* out, int threads);

// Solves (identity + scale H) p = g by Cholesky's factors, in place: H is overwritten, g becomes p.
// BAD_INPUT when a pivot is not positive.
int svmcut_solve_shifted(int64_t dim, double* H, double scale, double* g);

// ---- small_machines.cc: machines of classes on few rows

// Machines of the codes first to first + count - 1, each against the rest, of the hinge or with
// `squared` its square: min_w 1/2 |w|^2 + C sum v_i l(y_i w.x_i), to primal - dual <= gap primal or
// up to `most` steps; with `warm` from the W given. codes: of the rows. W: (count, n_features +
// (bias != 0)); found: (count, 4) primal, dual, steps, 1 where the rule is met. Takes 8 (n_rows + 3
// dim) dim bytes, dim being a row of W, and for each thread 16 dim^2.
int svmcut_small_machines(const svmcut_csr* X, double bias, const int32_t* codes, const double* v,
                          int64_t first, int64_t count, double C, int squared, double gap,
                          int64_t most, int warm, double* W, double* found, int threads,
                          const volatile int* cancel);

// ---- simplex_qp.cc: the small QP of the cutting planes

// Minimises C/2 beta'H beta - b'beta over the unit simplex, from the feasible beta given. H: k x k,
// row-major, symmetric positive semidefinite up to rounding. Ends when max_i beta'g - g_i <= tol,
// with g the gradient: a bound on how far the objective is from its minimum, written to *gap. work:
// k * (k + 4) doubles.
int svmcut_simplex_qp(int64_t k, const double* H, const double* b, double C, double tol,
                      int64_t max_steps, double* beta, double* work, double* gap, int64_t* steps,
                      const volatile int* cancel);

#ifdef __cplusplus
}
#endif
#endif
