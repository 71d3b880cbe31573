/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of SMO and the vector loops it calls. Inside the C++ side only.
 */
#ifndef SVMCUT_SMO_H
#define SVMCUT_SMO_H

#include <algorithm>
#include <limits>
#include <vector>

#include "core/crew.h"
#include "include/kernels.h"
#include "kernels/kernel_points.h"
#include "kernels/row_cache.h"

namespace svmcut {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Candidate {
    double value;
    int64_t at;
};
struct Extremes {
    Candidate highest;
    double lowest;
};
/* The loops over rows of float or double. */
template <class Row>
struct SmoLoops {
    Extremes (*update)(double*, const Row*, const Row*, double, const int8_t*, const int8_t*, int64_t, int64_t);
    Candidate (*partner)(const double*, const Row*, const float*, double, float, const int8_t*, int64_t, int64_t);
    Candidate (*companion)(const double*, const Row*, const float*, double, float, const int8_t*, const int8_t*,
                           int64_t, int64_t);
    Extremes (*update_two)(double*, const Row*, const Row*, double, double, const float*, const int8_t*,
                           const int8_t*, int64_t, int64_t);
};
struct SmoCode {
    SmoLoops<float> narrow;
    SmoLoops<double> wide;
};
const SmoCode& smo_code(int instructions);

/* Points a thread takes at once. */
constexpr int64_t kPiece = 4096;
/* Up to so many points kernel rows are float64: they all fit, and steps towards a large C need the digits. */
constexpr int64_t kExactPoints = 2000;

}  // namespace svmcut

struct svmcut_smo {
    svmcut_csr X;
    svmcut_kernel kernel;
    double C;
    bool free_bias, exact, unshrunk = false;
    const svmcut::KernelCode* rows_code;
    const svmcut::SmoCode* code;
    svmcut::Points points;
    svmcut::RowCache<float> cache;
    svmcut::RowCache<double> exact_cache; /* in its place where `exact` */
    int64_t n, active, iterations = 0, evaluations = 0, until_shrinking;
    double dual = 0, highest = svmcut::kInfinity, lowest = -svmcut::kInfinity;
    svmcut::Candidate next{0, -1};
    /* By position; positions below `active` are laid out. Padded to whole tiles. */
    std::vector<int64_t> order;
    std::vector<double> v, beta, whole_v, whole_beta;
    std::vector<double> weight; /* empty where all are 1 */
    std::vector<int8_t> y, up, low;
    std::vector<float> diagonal;
    std::vector<double> sums;

    bool open(const double* labels, const double* weights, double cache_bytes);
    /* C_i */
    double most(int64_t p) const { return weight.empty() ? C : C * weight[static_cast<size_t>(p)]; }
    void mark(int64_t p) {
        const double a = beta[p] * y[p], C_p = most(p);
        up[p] = y[p] > 0 ? -(a < C_p) : -(a > 0);
        low[p] = y[p] > 0 ? -(a > 0) : -(a < C_p);
    }
    bool lay_out() {
        if (!points.build(X, kernel, order.data(), active, layout)) return false;
        sums.resize(points.layout == svmcut::Layout::kColumns ? static_cast<size_t>(active) : 0);
        return true;
    }
    int layout = -1;

    template <class Row>
    const Row* row(svmcut::RowCache<Row>& rows, int64_t p, svmcut::Crew& crew, int* status);
    template <class Row>
    int step(svmcut::RowCache<Row>& rows, const svmcut::SmoLoops<Row>& loops, svmcut::Crew& crew);
    int step(svmcut::Crew& crew) {
        return exact ? step(exact_cache, code->wide, crew) : step(cache, code->narrow, crew);
    }
    void forget_rows(int64_t points) { exact ? exact_cache.resize(points) : cache.resize(points); }
    int sum_rows(const svmcut::Points& at, const std::vector<int64_t>& rows, const double* coef, double* out,
                 int threads) const;
    int refresh(double b, int threads);
    int fresh_values(double b, int64_t sample, int threads, std::vector<int64_t>* at, std::vector<double>* sums,
                     int64_t* matter);
    /* The loops over the active points, cut into pieces that depend on their number alone. */
    int64_t piece() const { return std::max(svmcut::kPiece, svmcut::padded_row(active / 256)); }
    int64_t pieces() const { return (active + piece() - 1) / piece(); }
    template <class Search>
    svmcut::Candidate search(svmcut::Crew& crew, Search&& part);
    template <class Update>
    svmcut::Extremes update(svmcut::Crew& crew, Update&& part);
    template <class Row>
    void move_two(int64_t i, int64_t j, const Row* row_i, const Row* row_j, double* moves);
    void select();
    void restart_counter() { until_shrinking = std::min<int64_t>(n, 1000); }
    int shrink();
    int make_whole(int threads);
    void permute(const std::vector<int64_t>& kept, const std::vector<int64_t>& aside);
};
#endif
