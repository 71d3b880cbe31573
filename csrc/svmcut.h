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

/* One-dimensional memory of the library's own; svmcut_array_free gives it back. */
typedef struct {
    void* data; /* null when empty */
    int64_t length;
    int64_t mapped; /* bytes, when it is a mapping of its own */
} svmcut_array;

typedef struct {
    svmcut_array values;  /* (nnz,) float, correctly rounded */
    svmcut_array indices; /* (nnz,) int32_t, 0-based */
    svmcut_array indptr;  /* (n + 1,) int64_t */
    svmcut_array labels;  /* (n,) double */
    svmcut_array qids;    /* (n,) int64_t, 0 where a line has none; empty when no line has one */
    svmcut_array costs;   /* (n,) double, 1 where a line has none; empty when no line has one */
    svmcut_array skips;   /* (k, 2) int64_t: row, lines of the file before it that hold no row of this set */
    svmcut_array label_ids; /* int32_t, all labels of multilabel rows, as many a row as `labels` says; else empty */
    int64_t n_features;
} svmcut_rows;

typedef struct {
    int64_t line, column; /* 1-based; columns count bytes */
    char message[200];
} svmcut_scan_fault;

typedef struct svmcut_scan svmcut_scan;

/* The rows are the same with any instructions; what the machine does not have falls back. */
enum svmcut_instructions { SVMCUT_FASTEST = 0, SVMCUT_PORTABLE = 1, SVMCUT_AVX2 = 2 };

/* piece_bytes: text per unit of parallel work, 0 for the default. Null when there is no memory. */
svmcut_scan* svmcut_scan_new(int instructions, int64_t piece_bytes);
void svmcut_scan_delete(svmcut_scan* scan);

/* From here on lines start with LABEL,LABEL,... With zero_based, feature indices of the text start at 0; `indices` are
 * then one less than the columns. */
void svmcut_scan_multilabel(svmcut_scan* scan, int zero_based);

/* Reads the whole lines of the text; *used says how many bytes that was. The next call goes on behind them. With `last`
 * set the text ends here and the last line needs no newline. bytes_left estimates what follows (for the size of
 * allocations), -1 if unknown. *cancel may be set by another thread; null is allowed.
 * On BAD_INPUT *fault names the first fault of the file; on NO_MEMORY svmcut_scan_bytes says how much was wanted. */
int svmcut_scan_feed(svmcut_scan* scan, const char* text, int64_t bytes, int last, int64_t bytes_left, int threads,
                     const volatile int* cancel, int64_t* used, svmcut_scan_fault* fault);

/* Bytes of the rows read since the last take; after NO_MEMORY, of the allocation that failed and the rows. */
int64_t svmcut_scan_bytes(const svmcut_scan* scan);

/* Moves the rows out, which are the caller's from then on; the scan goes on with an empty set. */
int svmcut_scan_take(svmcut_scan* scan, svmcut_rows* rows);
void svmcut_array_free(svmcut_array* array);

/* ---- text.cc: numbers to text ------------------------------------------------------------------------------------- */

enum {
    SVMCUT_SCORE_WIDTH = 328, /* "-", 309 digits, ".", 8 digits, newline, with room */
    SVMCUT_PAIR_WIDTH = 32,   /* "2147483647:-1.2345678e-308 " with room */
    SVMCUT_INTEGER_WIDTH = 24
};

/* Each writes n items as printf would in the C locale and returns the bytes written; the caller sizes `out` by the
 * widths above. nan has no sign. Columns are 0-based, their text is 1-based. */
int64_t svmcut_format_scores(const double* scores, int64_t n, char* out);                      /* "%.8f\n" */
int64_t svmcut_format_pairs(const int32_t* columns, const float* values, int64_t n, char* out); /* "%d:%.8g " */
int64_t svmcut_format_integers(const int64_t* values, int64_t n, char* out);                   /* "%ld\n" */

/* Counts what bounds the arrays svmcut_parse_expansion fills: newline-terminated lines, and ':' characters. */
void svmcut_count_expansion(const char* text, int64_t size, int64_t* lines, int64_t* colons);

enum svmcut_expansion_fault {
    SVMCUT_EXPANSION_OK = 0,
    SVMCUT_EXPANSION_SHORT,    /* the text ends before n_lines lines */
    SVMCUT_EXPANSION_UNENDED,  /* the last line has no newline */
    SVMCUT_EXPANSION_ALPHA,    /* the line does not start with a finite number */
    SVMCUT_EXPANSION_PAIR,     /* neither index:value nor # */
    SVMCUT_EXPANSION_INDEX,    /* index 0 or above `highest` */
    SVMCUT_EXPANSION_ORDER,    /* indices do not increase */
    SVMCUT_EXPANSION_VALUE,    /* value is no number or not finite in float32 */
    SVMCUT_EXPANSION_TRAILING  /* text after the last line */
};

/* Lines "<alpha> [qid:<n>] <index>:<value> ... [#text]" of a model, numbers correctly rounded to their type.
 * Fills alpha (n_lines), indptr (n_lines + 1), columns and values (at most the colons counted above).
 * Returns SVMCUT_OK, or SVMCUT_BAD_INPUT with the kind of fault and its byte in `text`. */
int svmcut_parse_expansion(const char* text, int64_t size, int64_t n_lines, int64_t highest, double* alpha,
                           int64_t* indptr, int32_t* columns, float* values, int32_t* fault, int64_t* where);

/* ---- sparse.cc: products with sparse rows ------------------------------------------------------------------------- */

/* s[i] = sum_j X[i][j] w[j] + constant; w has n_features entries. */
int svmcut_scores(const svmcut_csr* X, const double* w, double constant, double* s, int threads);

/* The same in the order of the features, one sum a row, and without the features from d on: the originals' predictions to
 * the last digit. */
int svmcut_predict(const svmcut_csr* X, const double* w, int64_t d, double constant, double* s, int threads);

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

/* Copies rows to data and indices, row k to indptr[k] (count + 1 of them, sums of the rows' lengths). */
void svmcut_take_rows(const svmcut_csr* X, const int64_t* rows, int64_t count, const int64_t* indptr, float* data,
                      int32_t* indices);

/* ---- hinge.cc: the hinge risk --------------------------------------------------------------------------------------- */

/* Scores s, labels y in {-1, +1}: coef[i] = -y[i] where y[i] s[i] < 1, else 0; *value = sum of the hinge losses;
 * *violated = number of nonzero coefficients. */
int svmcut_hinge(int64_t n, const double* y, const double* s, double* coef, double* value, int64_t* violated,
                 int threads);

/* *step = the t >= 0 that minimises (t^2 dd + 2 t wd) / 2 + C sum_i max(0, 1 - y_i (s_i + t e_i)); expected O(n). */
int svmcut_hinge_line(int64_t n, const double* y, const double* s, const double* e, double wd, double dd, double C,
                      double* step, int threads);

/* ---- dual_cd.cc: dual coordinate descent for the hinge loss --------------------------------------------------------- */

typedef struct {
    int64_t active;      /* order[0] to order[active - 1] are visited; they increase */
    double above, below; /* extremes of the projected gradient in the last epoch: beyond them a coordinate is shrunk */
    double gap;          /* sum of the gaps of the visited coordinates, each as it was found: an estimate */
    uint64_t random;
    int64_t epochs, entries; /* done so far; nonzeros read so far */
    int64_t moved;           /* coordinates changed in the last epoch */
} svmcut_dual_cd_state;

/* order: 2 n int32, the first n filled here, the others room for the visits. */
void svmcut_dual_cd_start(int64_t n, uint64_t seed, int32_t* order, svmcut_dual_cd_state* state);

/* min over alpha in [0, C]^n of 1/2 |w|^2 - sum alpha, from the alpha given and its w = sum_i alpha_i y_i (x_i, bias):
 * up to `epochs` epochs, fewer when the estimated gap is at most `enough` or nothing moves. norms[i] = |(x_i, bias)|^2;
 * w has n_features entries, one more where bias is not 0. CANCELLED leaves a consistent state. */
int svmcut_dual_cd(const svmcut_csr* X, const double* y, const double* norms, double bias, double C, int64_t epochs,
                   double enough, double* alpha, double* w, int32_t* order, svmcut_dual_cd_state* state,
                   const volatile int* cancel);

/* Chooses the active coordinates afresh by the scores s of w. */
void svmcut_dual_cd_wake(int64_t n, const double* y, const double* s, const double* alpha, double C, int32_t* order,
                         svmcut_dual_cd_state* state);

/* ---- newton.cc: the smoothed hinge -------------------------------------------------------------------------------- */

/* With z = 1 - y s and u = clip(z / delta + 1/2, 0, 1) the smoothed loss is delta u^2 / 2 + max(0, z - delta / 2).
 * coef[i] = -y u; sums[0] = smoothed losses, [1] = hinge losses, [2] = u, [3] = max(0, z) - u z. *band counts the
 * examples with 0 < u < 1. */
int svmcut_smooth_hinge(int64_t n, const double* y, const double* s, double delta, double* coef, double* sums,
                        int64_t* band, int threads);

/* Slope and curvature at t of sum_i smoothed loss(s_i + t e_i). */
int svmcut_smooth_slope(int64_t n, const double* y, const double* s, const double* e, double t, double delta,
                        double* slope, double* curvature, int threads);

/* The rows with 0 < |coef| < 1, in order; rows: n + 1 int32. Returns how many. */
int64_t svmcut_band_rows(int64_t n, const double* coef, int32_t* rows);

/* H += sum over the rows of (x, bias)(x, bias)', lower triangle, row-major with `dim` = n_features + (bias != 0). */
int svmcut_band_gram(const svmcut_csr* X, const int32_t* rows, int64_t count, double bias, int64_t dim, double* H,
                     int threads);

/* out += sum over the rows of ((x, bias).p) (x, bias); p and out have n_features + (bias != 0) entries. */
int svmcut_band_product(const svmcut_csr* X, const int32_t* rows, int64_t count, double bias, const double* p,
                        double* out, int threads);

/* Solves (identity + scale H) p = g by Cholesky's factors, in place: H is overwritten, g becomes p. BAD_INPUT when a
 * pivot is not positive. */
int svmcut_solve_shifted(int64_t dim, double* H, double scale, double* g);

/* ---- simplex_qp.cc: the small QP of the cutting planes ------------------------------------------------------------ */

/* Minimises C/2 beta'H beta - b'beta over the unit simplex, from the feasible beta given. H: k x k, row-major, symmetric
 * positive semidefinite up to rounding. Ends when max_i beta'g - g_i <= tol, with g the gradient: a bound on how far the
 * objective is from its minimum, written to *gap. work: k * (k + 4) doubles. */
int svmcut_simplex_qp(int64_t k, const double* H, const double* b, double C, double tol, int64_t max_steps,
                      double* beta, double* work, double* gap, int64_t* steps);

/* ---- kernels.cc: kernel evaluations ------------------------------------------------------------------------------- */

enum svmcut_kernel_type {
    SVMCUT_KERNEL_LINEAR = 0,     /* x.z */
    SVMCUT_KERNEL_POLYNOMIAL = 1, /* (scale x.z + offset)^degree */
    SVMCUT_KERNEL_RBF = 2,        /* exp(-gamma |x - z|^2) */
    SVMCUT_KERNEL_SIGMOID = 3     /* tanh(scale x.z + offset) */
};

typedef struct {
    int32_t type;
    int32_t degree;
    double gamma;
    double scale;
    double offset;
} svmcut_kernel;

/* out[i] = sum_k alpha[k] K(support_k, rows_i) - b. Columns of `rows` at or above support->n_features count in the
 * distance of the rbf kernel and nowhere else. Memory: the support vectors once more, and one float64 per support
 * vector and thread. */
int svmcut_kernel_scores(const svmcut_csr* rows, const svmcut_csr* support, const double* alpha,
                         const svmcut_kernel* kernel, double b, int threads, double* out);

/* ---- ordinal.cc contingency.cc averageprecision.cc: most violated constraints -------------------------------------- */

/* Bytes of workspace for the functions below; n rows in all (queries, or positives plus negatives), n < 2^31. */
int64_t svmcut_risk_workspace(int64_t n);

/* Grades of labels, query by query: query q is rows start[q] to start[q + 1]. grade: 0-based rank of y among the distinct
 * labels of its query; n_grades[q]; pairs[q]: pairs with different labels. */
int svmcut_ordinal_grades(const double* y, const int64_t* start, int64_t n_queries, int32_t* grade, int32_t* n_grades,
                          int64_t* pairs, void* workspace, int threads);

/* Pairs (i, j) of one query with grade[i] > grade[j] and s_j + 1 > s_i. coef = weight[q] (pairs below minus pairs above);
 * cut_pairs[q]: their number; value[q]: sum of 1 - s_i + s_j over them, unweighted. */
int svmcut_ordinal_cut(const double* s, const int64_t* start, int64_t n_queries, const int32_t* grade,
                       const int32_t* n_grades, const double* weight, double* coef, int64_t* cut_pairs, double* value,
                       void* workspace, int threads);

/* Losses of contingency tables; the numbers are svm_perf's. */
enum svmcut_table_loss {
    SVMCUT_ZERO_ONE = 0,
    SVMCUT_F1 = 1,
    SVMCUT_ERROR_RATE = 2,
    SVMCUT_PRBEP = 3,
    SVMCUT_PREC_AT_K = 4,
    SVMCUT_REC_AT_K = 5
};

/* The most violated labelling. positive, negative: rows of either class, increasing. value_offset: value and offset of
 * the cut (both 0, and coef all 0, when no labelling is violated). k serves the losses at k. */
int svmcut_contingency_cut(const double* s, const int32_t* positive, int64_t n_positive, const int32_t* negative,
                           int64_t n_negative, int loss, int slack_rescaling, int slack_norm, int64_t k, double* coef,
                           double value_offset[2], void* workspace, int threads);

/* The most violated ranking of  scale (1 - average precision) - weight sum over pairs ranked wrongly (s_p - s_n). */
int svmcut_average_precision_cut(const double* s, const int32_t* positive, int64_t n_positive, const int32_t* negative,
                                 int64_t n_negative, double scale, double weight, double* coef, double value_offset[2],
                                 void* workspace, int threads);

#ifdef __cplusplus
}
#endif
#endif
