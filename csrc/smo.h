/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of SMO and the vector loops it calls. Inside the C++ side only.
 */
#ifndef SVMCUT_SMO_H
#define SVMCUT_SMO_H

#include <algorithm>
#include <limits>
#include <vector>

#include "crew.h"
#include "kernel_points.h"
#include "row_cache.h"
#include "svmcut.h"

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
struct SmoCode {
    Extremes (*update)(double*, const float*, const float*, double, const int8_t*, const int8_t*, int64_t, int64_t);
    Candidate (*partner)(const double*, const float*, const float*, double, float, const int8_t*, int64_t, int64_t);
    Candidate (*companion)(const double*, const float*, const float*, double, float, const int8_t*, const int8_t*,
                           int64_t, int64_t);
    Extremes (*update_two)(double*, const float*, const float*, double, double, const float*, const int8_t*,
                           const int8_t*, int64_t, int64_t);
};
const SmoCode& smo_code(int instructions);

/* Points a thread takes at once. */
constexpr int64_t kPiece = 4096;

}  // namespace svmcut

struct svmcut_smo {
    svmcut_csr X;
    svmcut_kernel kernel;
    double C;
    bool free_bias, unshrunk = false;
    const svmcut::KernelCode* rows_code;
    const svmcut::SmoCode* code;
    svmcut::Points points;
    svmcut::RowCache cache;
    int64_t n, active, iterations = 0, evaluations = 0, until_shrinking;
    double dual = 0, highest = svmcut::kInfinity, lowest = -svmcut::kInfinity;
    svmcut::Candidate next{0, -1};
    /* By position; positions below `active` are laid out. Padded to whole tiles. */
    std::vector<int64_t> order;
    std::vector<double> v, beta, whole_v, whole_beta;
    std::vector<int8_t> y, up, low;
    std::vector<float> diagonal;
    std::vector<double> sums;

    bool open(const double* labels, double cache_bytes);
    void mark(int64_t p) {
        const double a = beta[p] * y[p];
        up[p] = y[p] > 0 ? -(a < C) : -(a > 0);
        low[p] = y[p] > 0 ? -(a > 0) : -(a < C);
    }
    bool lay_out() {
        if (!points.build(X, kernel, order.data(), active, layout)) return false;
        sums.resize(points.layout == svmcut::Layout::kColumns ? static_cast<size_t>(active) : 0);
        return true;
    }
    int layout = -1;

    const float* row(int64_t p, svmcut::Crew& crew, int* status);
    int step(svmcut::Crew& crew);
    /* The loops over the active points, cut into pieces that depend on their number alone. */
    int64_t piece() const { return std::max(svmcut::kPiece, svmcut::RowCache::padded(active / 256)); }
    int64_t pieces() const { return (active + piece() - 1) / piece(); }
    template <class Search>
    svmcut::Candidate search(svmcut::Crew& crew, Search&& part);
    template <class Update>
    svmcut::Extremes update(svmcut::Crew& crew, Update&& part);
    void move_two(int64_t i, int64_t j, const float* row_i, const float* row_j, double* moves);
    void select();
    void restart_counter() { until_shrinking = std::min<int64_t>(n, 1000); }
    int shrink();
    int make_whole(int threads);
    void permute(const std::vector<int64_t>& kept, const std::vector<int64_t>& aside);
};
#endif
