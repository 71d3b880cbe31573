// SPDX-License-Identifier: BSD-3-Clause
//
// The ABI of kernel values and of exact kernel training; the rules of svmcut.h hold.
#ifndef SVMCUT_KERNELS_ABI_H
#define SVMCUT_KERNELS_ABI_H

#include "include/svmcut.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- kernels.cc: kernel evaluations

typedef struct {
    int32_t number;  // of its form in kernels/kernel_forms.h
    int32_t degree;
    double gamma;
    double scale;
    double offset;
} svmcut_kernel;

// out[i] = sum_k alpha[k] K(support_k, rows_i) - b. Columns of `rows` at or above
// support->n_features count in distances and nowhere else. Memory: the support
// vectors once more, and one float64 per support vector and thread.
int svmcut_kernel_scores(const svmcut_csr* rows, const svmcut_csr* support, const double* alpha,
                         const svmcut_kernel* kernel, double b, int threads, double* out);

// Several sums over the same support vectors: out[i * machines + j] = sum of alpha[e]
// K(support_places[e], rows_i) over starts[j] <= e < starts[j + 1], less b[j]. With narrow every
// product of two features is rounded to float32, and sums of products stay float64.
int svmcut_kernel_machines(const svmcut_csr* rows, const svmcut_csr* support, int64_t machines,
                           const int64_t* starts, const int32_t* places, const double* alpha,
                           const svmcut_kernel* kernel, const double* b, int narrow, int threads,
                           double* out);

// As svmcut_kernel_machines, for labels alone: where float32 sums and a bound of their error decide
// them, sums have that error. of_largest: the label is the machine of the largest sum; else the sign
// of every sum is that of svmcut_kernel_machines.
int svmcut_kernel_labels(const svmcut_csr* rows, const svmcut_csr* support, int64_t machines,
                         const int64_t* starts, const int32_t* places, const double* alpha,
                         const svmcut_kernel* kernel, const double* b, int of_largest, int threads,
                         double* out);

// ---- kernel_rows.cc: rows of kernel values in float32

// Points laid out for kernel rows; the arrays of X must outlive them. Null when there is no memory.
typedef struct svmcut_kernel_rows svmcut_kernel_rows;
// layout: -1 for the one that suits, or a number of svmcut_kernel_rows_layout.
svmcut_kernel_rows* svmcut_kernel_rows_new(const svmcut_csr* X, const svmcut_kernel* kernel,
                                           int layout, int instructions);
void svmcut_kernel_rows_delete(svmcut_kernel_rows* rows);

// 0 tiles and products, 1 tiles and differences, 2 lists by feature, 3 bits.
int svmcut_kernel_rows_layout(const svmcut_kernel_rows* rows);

// out[p] = K(x_p, x_p)
void svmcut_kernel_rows_diagonal(const svmcut_kernel_rows* rows, double* out);

// out[q * n + p] = K(queries[which[q]], x_p) for q below count; which null: 0 to count - 1. The rbf
// kernel counts columns the points do not have in the distance, the others pass over them.
int svmcut_kernel_rows_evaluate(const svmcut_kernel_rows* rows, const svmcut_csr* queries,
                                const int64_t* which, int64_t count, float* out, int threads);

// out[p * n + q] = K(x_p, x_q) of all pairs; X: the points. Each value is computed once.
int svmcut_kernel_rows_gram(const svmcut_kernel_rows* rows, const svmcut_csr* X, float* out,
                            int threads);
int svmcut_kernel_rows_gram_double(const svmcut_kernel_rows* rows, const svmcut_csr* X, double* out,
                                   int threads);

// out[p] += sum_q coef[q] K(queries[which[q]], x_p): float32 values, summed in float64 in the order
// of q.
int svmcut_kernel_rows_accumulate(const svmcut_kernel_rows* rows, const svmcut_csr* queries,
                                  const int64_t* which, int64_t count, const double* coef,
                                  double* out, int threads);

// As the two above, with kernel values in float64.
int svmcut_kernel_rows_evaluate_double(const svmcut_kernel_rows* rows, const svmcut_csr* queries,
                                       const int64_t* which, int64_t count, double* out,
                                       int threads);
int svmcut_kernel_rows_accumulate_double(const svmcut_kernel_rows* rows, const svmcut_csr* queries,
                                         const int64_t* which, int64_t count, const double* coef,
                                         double* out, int threads);

// out[i] = exp(x[i]) for x[i] <= 0: relative error below 1.2e-7 where x >= -87.336, 0 below.
void svmcut_kernel_exp(const float* x, int64_t n, float* out, int instructions);

// ---- smo.cc: exact kernel training

// max sum_i beta_i y_i - 1/2 beta'K beta with 0 <= beta_i y_i <= C_i = C weights[i], weights null
// for 1 each, and sum beta = 0 where the bias is free. With a tube of 0 or more y are targets:
// |beta_i| <= C_i, and tube sum |beta_i| is taken off.
typedef struct svmcut_smo svmcut_smo;

// Kernel values that several runs share: that of rows i and j of X is values[place[i] * width +
// place[j]]. values are float64 where rows are (svmcut_smo_refresh), else float32, and outlive the
// run, as place does.
typedef struct {
    const void* values;
    const int64_t* place;
    int64_t width;
    int given;  // the kernel is these values: X is asked for nothing but its number of rows
    int bare;   // they are of the kernel, and X is asked for no more either
} svmcut_shared_values;

// What a nu machine has beside its boxes: v = linear - K beta in place of y - K beta, the sign of y
// being the side of the box alone, and where `apart` the sums of beta over each sign of y stay what
// they are, so that both of a pair are of one sign. beta begins at 0 as ever: a state that is
// loaded brings sums.
typedef struct {
    const double* linear;
    int apart;
} svmcut_nu;

typedef struct {
    int64_t iterations, evaluations, active, support;
    double dual;
    // of v over what may rise and what may fall, among the active; they meet at the optimum
    double highest, lowest;
} svmcut_smo_state;

// y: labels by sign, where tube < 0. Starts at beta = 0. cache_bytes of kernel rows are kept, two
// rows at least. The arrays of X must outlive the run. shared, nu: null for none. Null when there is
// no memory.
svmcut_smo* svmcut_smo_new(const svmcut_csr* X, const double* y, const double* weights,
                           const svmcut_kernel* kernel, double C, double tube, int free_bias,
                           double cache_bytes, int instructions, const svmcut_shared_values* shared,
                           const svmcut_nu* nu);
void svmcut_smo_delete(svmcut_smo* smo);

// Goes on for so many steps and seconds, or until no violation exceeds the tolerance, which
// *finished tells.
int svmcut_smo_run(svmcut_smo* smo, double tolerance, int64_t steps, double seconds, int threads,
                   int* finished);

// Brings v up to date for the points put aside, and makes all active.
int svmcut_smo_make_whole(svmcut_smo* smo, int threads);

// Goes to another C from the present beta times C_new / C; all must be active.
void svmcut_smo_rescale(svmcut_smo* smo, double C);

// Begins at beta = 0 again with other weights; no point is put aside from here on, and kernel rows
// stay in memory.
int svmcut_smo_again(svmcut_smo* smo, const double* weights, int threads);

void svmcut_smo_read(const svmcut_smo* smo, svmcut_smo_state* state);

// Counts, from here on, the seconds of a step's parts: rows of kernel values, the search for the
// partner, the step of two coefficients, v with the extremes that choose the next one.
void svmcut_smo_time(svmcut_smo* smo);
void svmcut_smo_spent(const svmcut_smo* smo, double seconds[4]);

// beta, and v = y - K beta (exact where all are active), by row of X.
void svmcut_smo_solution(const svmcut_smo* smo, double* beta, double* v);

// v = y - K beta anew in float64 for every point with beta != 0 or a loss that rounding may hide:
// y_i (v_i - b), or |v_i - b| - tube, above -4 e sum |beta|, e the largest error of a float32
// kernel value. All are active then, and the dual value is that of the new v. (Over at most 2,000
// points kernel rows are float64 throughout.) rho: of a nu machine, whose loss is y_i (v_i - b) +
// rho; else 0.
int svmcut_smo_refresh(svmcut_smo* smo, double b, double rho, int threads);

// What a refresh would change, from so many of the points it would look at: the largest change of
// v, and about the weighted sum of all. All must be active.
int svmcut_smo_probe(svmcut_smo* smo, double b, double rho, int64_t sample, int threads,
                     double* largest, double* total);

// When machines end: at violations up to the tolerance, or where gap >= 0 at a (P - D) / P up to
// that; most_steps is where they are given up.
typedef struct {
    double C, tolerance, gap;
    int64_t most_steps;
    int free_bias;
} svmcut_smo_rule;

// met: 1 where the rule is met by a v formed anew, of which primal, dual, risk and b are; -1 where
// it was given up; 0 where it has not begun.
typedef struct {
    double primal, dual, risk, b;
    int64_t iterations, evaluations, support, met;
} svmcut_smo_machine;

// Many machines of labels over up to 2,000 rows each: machine k has rows[e] of X on the side
// sides[e], 1 or -1, for starts[k] <= e < starts[k + 1], and beta[e] becomes its coefficient.
// values: the float64 kernel values of all rows of X, or null; weights: of all rows, or null.
// Machines are found with met 0; a cancelled call leaves those that have not ended so.
int svmcut_smo_machines(const svmcut_csr* X, const svmcut_kernel* kernel, const double* values,
                        const double* weights, const svmcut_smo_rule* rule, int64_t machines,
                        const int64_t* starts, const int64_t* rows, const int8_t* sides,
                        double cache_bytes, int instructions, int threads,
                        const volatile int* cancel, double* beta, svmcut_smo_machine* found);

// The whole state, kernel rows apart: n + 6 integers and 4 n + 5 reals. A run over the same points
// that has taken no step and loads them goes on to the same bytes; BAD_INPUT for a state no run can
// be in.
void svmcut_smo_save(const svmcut_smo* smo, int64_t* integers, double* reals);
int svmcut_smo_load(svmcut_smo* smo, const int64_t* integers, const double* reals);

#ifdef __cplusplus
}
#endif
#endif
