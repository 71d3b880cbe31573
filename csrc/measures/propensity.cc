// SPDX-License-Identifier: BSD-3-Clause
//
// Most violated constraint of clicks with propensities: sum over clicked rows i of c_i sum over the
// other rows j of its query of max(0, 1 - (s_i - s_j)). Joachims, Swaminathan, Schnabel (2017),
// section 5.
//
// With t_j = fl(s_j + 1), pair (i, j) is in the cut iff s_i < t_j, one comparison for both rows.
// The pair of a row and itself adds to neither coefficient, and is taken out of the offset.
//
//   i: -c_i times the rows with t_j > s_i        j: sum of c_i over s_i < t_j
#include <algorithm>
#include <cstdint>

#include "include/measures.h"
#include "measures/queries.h"
#include "measures/workspace.h"

namespace svmcut {
namespace {

struct Job {
    const double* s;
    const int64_t* start;
    const double* cost;
    double weight;
    double* coef;
    double* value;
    double* offset;
    Workspace work;
};

void cut_query(const Job& job, int64_t query, int threads) {
    const int64_t first = job.start[query], n = job.start[query + 1] - first;
    const Item* items = job.work.items + first;
    double* sorted = job.work.sorted + first;
    double* own = job.work.extra + first;
    sort_rows(job.s + first, n, job.work.items + first, job.work.scratch + first, sorted, threads);
    auto cost = [&](int64_t k) { return job.cost[first + items[k].row]; };
    auto in_cut = [&](int64_t i, int64_t j) { return sorted[j] + 1.0 > sorted[i]; };

    // `above` rows are too low to be in the cut with k; `below` rows are met by t_k
    double offset = 0.0, met = 0.0, run = 0.0, gaps = 0.0;
    for (int64_t k = 0, above = 0, below = 0; k < n; ++k) {
        while (above < n && !in_cut(k, above)) ++above;
        while (below < n && in_cut(below, k)) met += cost(below++);
        const auto others = static_cast<double>(n - above);
        offset += cost(k) * (others - (in_cut(k, k) ? 1.0 : 0.0));
        own[k] = met - cost(k) * others;
    }
    // coef.s = -sum of gaps s_k - s_(k-1) times the coefficients before them: no cancellation
    // between large scores
    for (int64_t k = 0; k < n; ++k) {
        if (k > 0) gaps += (sorted[k] - sorted[k - 1]) * run;
        run += own[k];
        job.coef[first + items[k].row] = job.weight * own[k];
    }
    job.value[query] = offset - gaps;
    job.offset[query] = offset;
}

}  // namespace
}  // namespace svmcut

using namespace svmcut;

extern "C" int svmcut_propensity_cut(const double* s, const int64_t* start, int64_t n_queries,
                                     const double* cost, double weight, double* coef, double* value,
                                     double* offset, void* workspace, int threads) {
    if (start[n_queries] >= INT32_MAX) return SVMCUT_BAD_INPUT;
    Job job{s, start, cost, weight, coef, value, offset, {}};
    lay_out(start[n_queries], workspace, &job.work);
    for_queries(start, n_queries, threads,
                [&](int64_t query, int inner) { cut_query(job, query, inner); });
    return SVMCUT_OK;
}
