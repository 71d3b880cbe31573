/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The whole ABI of the C++ side. No Python, no globals, no I/O; nothing throws; the caller allocates unless a function
 * says otherwise. Threads are an argument, and every result has the same bytes for any number of them.
 */
#ifndef SVMCUT_H
#define SVMCUT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum svmcut_status {
    SVMCUT_OK = 0,
    SVMCUT_NO_MEMORY = 1,
    SVMCUT_CANCELLED = 2,  /* *cancel became nonzero (set by a signal handler) */
    SVMCUT_BAD_INPUT = 3,  /* details in the function's own out-arguments */
    SVMCUT_NO_PROGRESS = 4 /* an iteration limit was met; the best answer so far is in place */
};

/* Sparse rows: entries indptr[i] to indptr[i+1] belong to row i; 0-based, increasing columns. */
typedef struct {
    const float* data;
    const int32_t* indices;
    const int64_t* indptr;
    int64_t n_rows;
    int64_t n_features;
} svmcut_csr;

/* ---- scan.cc: text to rows ---------------------------------------------------------------------------------------- */

/* ---- text.cc: numbers to text ------------------------------------------------------------------------------------- */

/* ---- sparse.cc: products with sparse rows ------------------------------------------------------------------------- */

/* s[i] = sum_j X[i][j] w[j] + constant; w has n_features entries. */
int svmcut_scores(const svmcut_csr* X, const double* w, double constant, double* s, int threads);

/* out[j] += sum_i coef[i] X[i][j]; rows with coef 0 are not read. columns: ranges + 1 increasing column bounds from 0 to
 * n_features, one range a thread where there are many columns. */
int svmcut_adjoint(const svmcut_csr* X, const double* coef, double* out, const int64_t* columns, int ranges,
                   int threads);

/* sum_i a[i] b[i] */
double svmcut_dot(int64_t n, const double* a, const double* b, int threads);

/* out[i] = sum_k weights[k] vectors[k][i] */
void svmcut_combine(int64_t n, int64_t count, const double* weights, const double* const* vectors, double* out,
                    int threads);

/* out[i] = p x[i] + q y[i]; out may be x or y. */
void svmcut_blend(int64_t n, double p, const double* x, double q, const double* y, double* out, int threads);

/* squared[i] = |x_i|^2 */
void svmcut_row_norms(const svmcut_csr* X, double* squared);

/* ---- hinge.cc: the hinge risk --------------------------------------------------------------------------------------- */

/* Scores s, labels y in {-1, +1}: coef[i] = -y[i] where y[i] s[i] < 1, else 0; *value = sum of the hinge losses;
 * *violated = number of nonzero coefficients. */
int svmcut_hinge(int64_t n, const double* y, const double* s, double* coef, double* value, int64_t* violated,
                 int threads);

/* *step = the t >= 0 that minimises (t^2 dd + 2 t wd) / 2 + C sum_i max(0, 1 - y_i (s_i + t e_i)); expected O(n). */
int svmcut_hinge_line(int64_t n, const double* y, const double* s, const double* e, double wd, double dd, double C,
                      double* step, int threads);

/* ---- simplex_qp.cc: the small QP of the cutting planes ------------------------------------------------------------ */

/* Minimises C/2 beta'H beta - b'beta over the unit simplex, from the feasible beta given. H: k x k, row-major, symmetric
 * positive semidefinite up to rounding. Ends when max_i beta'g - g_i <= tol, with g the gradient: a bound on how far the
 * objective is from its minimum, written to *gap. work: k * (k + 4) doubles. */
int svmcut_simplex_qp(int64_t k, const double* H, const double* b, double C, double tol, int64_t max_steps,
                      double* beta, double* work, double* gap, int64_t* steps);

/* ---- kernels.cc: kernel evaluations ------------------------------------------------------------------------------- */

/* ---- ordinal.cc contingency.cc averageprecision.cc: most violated constraints -------------------------------------- */

#ifdef __cplusplus
}
#endif
#endif
