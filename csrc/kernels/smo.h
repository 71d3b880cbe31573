// SPDX-License-Identifier: BSD-3-Clause
//
// The state of SMO and the vector loops it calls. Inside the C++ side only.
#ifndef SVMCUT_SMO_H
#define SVMCUT_SMO_H

#include <algorithm>
#include <chrono>
#include <cmath>
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
// Of the points of y > 0, and of the others.
struct Sides {
    Extremes of[2];
};
// The loops over rows of float or double.
template <class Row>
struct SmoLoops {
    Extremes (*update)(double*, const Row*, const Row*, double, double, const int8_t*,
                       const int8_t*, int64_t, int64_t);
    Sides (*update_sides)(double*, const Row*, const Row*, double, const int8_t*, const int8_t*,
                          int64_t, int64_t);
    Candidate (*partner)(const double*, const Row*, const float*, double, double, float,
                         const int8_t*, int8_t, int64_t, int64_t);
    Candidate (*companion)(const double*, const Row*, const float*, double, double, float,
                           const int8_t*, const int8_t*, int64_t, int64_t);
    Extremes (*update_two)(double*, const Row*, const Row*, double, double, double, const float*,
                           const int8_t*, const int8_t*, int64_t, int64_t);
};
// What the marks of a point mean: 0 for what may not rise or fall, else anything, the sign of the
// tube in v, or the side of the point, -1 for y > 0 and 1 for the others.
enum Marks { kPlain, kTube, kSides };
struct SmoCode {
    SmoLoops<float> narrow[3];  // by Marks
    SmoLoops<double> wide[3];
};
const SmoCode& smo_code(int instructions);

// Parts of a step whose seconds are counted where that was asked for.
enum Part { kKernel, kSelect, kOptimizer, kUpdate, kParts };

// Points a thread takes at once; more where there would be more than kMostPieces pieces.
constexpr int64_t kPiece = 4096, kMostPieces = 257;
// Up to so many points kernel rows are float64: they all fit, and steps towards a large C need the
// digits.
constexpr int64_t kExactPoints = 2000;

}  // namespace svmcut

struct svmcut_smo {
    svmcut_csr X;
    svmcut_kernel kernel;
    svmcut_shared_values shared{nullptr, nullptr, 0, 0, 0};
    std::vector<int64_t> columns;                      // of shared values, by position
    double C, tube;                                    // tube: 0 with the hinge
    bool free_bias, exact, targets, unshrunk = false;  // targets: y are numbers, not classes
    bool apart = false;                                // both of a pair have the same sign of y
    const svmcut::KernelCode* rows_code;
    const svmcut::SmoCode* code;
    svmcut::Points points;
    svmcut::RowCache<float> cache;
    svmcut::RowCache<double> exact_cache;  // in its place where `exact`
    int64_t n, active, iterations = 0, evaluations = 0, until_shrinking;
    double dual = 0, highest = svmcut::kInfinity, lowest = -svmcut::kInfinity;
    svmcut::Candidate next{0, -1};
    // By position; positions below `active` are laid out. Padded to whole tiles.
    std::vector<int64_t> order;
    std::vector<double> v, beta, whole_v, whole_beta;
    std::vector<double> y, weight;  // weight: empty where all are 1
    std::vector<double> linear;     // v where beta is 0; empty where that is y
    std::vector<int8_t> up, low;    // by the Marks of the loops
    std::vector<float> diagonal;
    std::vector<double> sums;

    bool timed = false;
    double spent[svmcut::kParts] = {};
    using Clock = std::chrono::steady_clock;
    Clock::time_point now() const { return timed ? Clock::now() : Clock::time_point{}; }
    // Counts what has passed since *lap as that part, and begins the next lap.
    void count(svmcut::Part part, Clock::time_point* lap) {
        if (!timed) return;
        const Clock::time_point time = Clock::now();
        spent[part] += std::chrono::duration<double>(time - *lap).count();
        *lap = time;
    }

    bool open(const double* labels, const double* weights, double cache_bytes);
    // C_i
    double most(int64_t p) const { return weight.empty() ? C : C * weight[static_cast<size_t>(p)]; }
    double bottom(int64_t p) const { return targets || !(y[p] > 0) ? -most(p) : 0.0; }
    double top(int64_t p) const { return targets || y[p] > 0 ? most(p) : 0.0; }
    double origin(int64_t p) const { return linear.empty() ? y[p] : linear[p]; }
    svmcut::Marks marks() const {
        return targets ? svmcut::kTube : apart ? svmcut::kSides : svmcut::kPlain;
    }
    int8_t side(int64_t p) const { return apart && !(y[p] > 0) ? 1 : -1; }
    void mark(int64_t p) {
        up[p] = beta[p] < top(p) ? (targets && beta[p] < 0 ? 1 : side(p)) : 0;
        low[p] = beta[p] > bottom(p) ? (targets && beta[p] <= 0 ? 1 : side(p)) : 0;
    }
    // What the dual gains by a small rise of beta_p, and what it loses by a small fall, where there
    // can be one.
    double rise(int64_t p) const { return v[p] + tube * up[p]; }
    double fall(int64_t p) const { return v[p] + tube * low[p]; }
    // The loss of p is this where it is above 0.
    double excess(int64_t p, double b, double rho) const {
        return targets ? std::abs(v[p] - b) - tube : y[p] * (v[p] - b) + rho;
    }
    // 1/2 sum beta (origin + v) - tube sum |beta|, the dual value where v is whole
    double dual_value() const {
        double sum = 0, size = 0;
        for (int64_t p = 0; p < n; ++p) {
            sum += 0.5 * beta[p] * (origin(p) + v[p]);
            size += std::abs(beta[p]);
        }
        return tube > 0 ? sum - tube * size : sum;
    }
    bool lay_out() {
        if (shared.values) {
            columns.resize(static_cast<size_t>(n));
            for (int64_t p = 0; p < n; ++p) columns[p] = shared.place[order[p]];
            if (layout >= 0) return true;  // what stands there serves bounds of errors alone
        }
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
        return exact ? step(exact_cache, code->wide[marks()], crew)
                     : step(cache, code->narrow[marks()], crew);
    }
    void forget_rows(int64_t points) { exact ? exact_cache.resize(points) : cache.resize(points); }
    int sum_rows(const svmcut::Points& at, const std::vector<int64_t>& rows, const double* coef,
                 double* out, int threads) const;
    template <class Row>
    void sum_shared(const std::vector<int64_t>& rows, const std::vector<double>& coef);
    template <class Row>
    double shared_sum(int64_t p, const std::vector<int64_t>& rows, const std::vector<double>& coef,
                      double sum) const;
    int known_sums(const std::vector<double>& coef, double* sums);
    int refresh(double b, double rho, int threads);
    int fresh_values(double b, double rho, int64_t sample, int threads, std::vector<int64_t>* at,
                     std::vector<double>* sums, int64_t* matter);
    // The loops over the active points, cut into pieces that depend on their number alone.
    int64_t piece() const {
        return std::max(svmcut::kPiece, svmcut::padded_row(active / (svmcut::kMostPieces - 1)));
    }
    int64_t pieces() const { return (active + piece() - 1) / piece(); }
    template <class Search>
    svmcut::Candidate search(svmcut::Crew& crew, Search&& part);
    template <class Update>
    svmcut::Extremes update(svmcut::Crew& crew, Update&& part);
    template <class Update>
    svmcut::Extremes update_sides(svmcut::Crew& crew, Update&& part);
    double walk(int64_t i, int64_t j, double b, double a);
    template <class Row>
    void move_two(int64_t i, int64_t j, const Row* row_i, const Row* row_j, double* moves);
    void select();
    void restart_counter() { until_shrinking = std::min<int64_t>(n, 1000); }
    int shrink();
    int make_whole(int threads);
    void permute(const std::vector<int64_t>& kept, const std::vector<int64_t>& aside);
};
#endif
