// SPDX-License-Identifier: BSD-3-Clause
//
// Most violated ranking for average precision, exact:
//   R = max over rankings of  L (1 - AP) - m sum over pairs ranked wrongly (s_p - s_n).
// Yue, Finley, Radlinski, Joachims (2007), "A support vector method for optimizing average
// precision", Algorithm 1, gives the shape of the argmax; here its O(P N) search is divide and
// conquer.
//
// Positives s_1 >= .. >= s_P, negatives t_1 >= .. >= t_N. Negative j stands just above positives
// i(j)..P (i = P + 1: below all). Raising it over positive i changes the objective by
//
//   gain(j, i) = (L/P) i / ((i + j - 1)(i + j)) - m (s_i - t_j)
//
// and i(j) maximises the sum of gain(j, i..P); ties: the largest i. Every gain falls in j, so i(j)
// does not fall. It lies between the first positive with s_i - t_j <= bound(j)/m (above it all
// gains are negative) and the first with s_i <= t_j (below it all are positive): only that window
// is searched. O((P + N) log N) time, mostly far less.
#include <algorithm>
#include <cstdint>

#include "include/measures.h"
#include "measures/queries.h"
#include "measures/workspace.h"

namespace svmcut {
namespace {

constexpr int64_t kAtOnce = 1024;  // subproblems from which threads take over

struct Ranking {
    const double* s;  // descending, P
    const double* t;  // descending, N
    int64_t P, N;
    double per_positive, m;  // L/P, weight of a pair
    const int32_t* window;   // first and last 0-based i of every j
    int32_t* place;          // 0-based i(j); P is below all

    int64_t best_place(int64_t j, int64_t low, int64_t high) const {
        int64_t last = std::clamp<int64_t>(window[2 * j + 1], low, high), best = last;
        const int64_t first = std::clamp<int64_t>(window[2 * j], low, last);
        double sum = 0.0, best_sum = 0.0;
        for (int64_t i = last - 1; i >= first; --i) {
            const double rank = static_cast<double>(i + j + 1);  // both 1-based: i + j - 1
            sum += per_positive * static_cast<double>(i + 1) / (rank * (rank + 1.0)) -
                   m * (s[i] - t[j]);
            if (sum > best_sum) {
                best_sum = sum;
                best = i;
            }
        }
        return best;
    }

    void solve(int64_t j_begin, int64_t j_end, int64_t low, int64_t high) const {
        while (j_begin < j_end) {
            const int64_t j = j_begin + (j_end - j_begin) / 2, i = best_place(j, low, high);
            place[j] = static_cast<int32_t>(i);
            solve(j_begin, j, low, i);
            j_begin = j + 1;
            low = i;
        }
    }
};

// One query, both P and N above 0; coefficients are times `price` where the value has the weight of
// a pair.
void cut_ranking(const double* s, const int32_t* positive, int64_t P, const int32_t* negative,
                 int64_t N, double scale, double weight, double price, double* coef, double* value,
                 double* offset, const Workspace& w, int threads) {
    const int64_t n = P + N;
    if (n < kParallelSort) threads = 1;
    for (int64_t k = 0; k < P; ++k) w.extra[k] = -s[positive[k]];
    for (int64_t k = 0; k < N; ++k) w.extra[P + k] = -s[negative[k]];
    sort_rows(w.extra, P, w.items, w.scratch, w.sorted, threads);
    sort_rows(w.extra + P, N, w.items + P, w.scratch + P, w.sorted + P, threads);
    double* s_down = w.sorted;
    double* t_down = w.sorted + P;
    for (int64_t k = 0; k < n; ++k) w.sorted[k] = -w.sorted[k];

    int32_t* window = w.nodes;
    Ranking ranking{s_down, t_down, P, N, scale / static_cast<double>(P), weight, window, w.grade};
    int64_t first = 0, last = 0;
    for (int64_t j = 0; j < N; ++j) {
        // i/((i + j - 1)(i + j)) <= 1/(4 (j - 1)), and <= 1/2 for j = 1; the factor covers rounding
        const double bound =
            ranking.per_positive * (j == 0 ? 0.5 : 0.25 / static_cast<double>(j)) * (1.0 + 1e-9);
        while (last < P && s_down[last] > t_down[j]) ++last;
        while (first < last && weight * (s_down[first] - t_down[j]) > bound) ++first;
        window[2 * j] = static_cast<int32_t>(first);
        window[2 * j + 1] = static_cast<int32_t>(last);
    }
    // Every kAtOnce-th negative first, in the order of the search; what lies between them is
    // independent.
    const int64_t pieces = (N + kAtOnce - 1) / kAtOnce;
    struct Coarse {
        const Ranking& ranking;
        int64_t pieces;
        void solve(int64_t begin, int64_t end, int64_t low, int64_t high) const {
            if (begin >= end) return;
            const int64_t middle = begin + (end - begin) / 2, j = middle * kAtOnce;
            const int64_t i = ranking.best_place(j, low, high);
            ranking.place[j] = static_cast<int32_t>(i);
            solve(begin, middle, low, i);
            solve(middle + 1, end, i, high);
        }
    };
    Coarse{ranking, pieces}.solve(0, pieces, 0, P);
    for_pieces(pieces, threads, [&](int64_t piece) {
        const int64_t begin = piece * kAtOnce, end = std::min(N, begin + kAtOnce);
        ranking.solve(begin + 1, end, ranking.place[begin], end < N ? ranking.place[end] : P);
    });

    const int32_t* place = w.grade;
    int64_t above = 0;  // negatives above positive k
    double loss = 0.0, block = 0.0;
    auto* J = reinterpret_cast<int32_t*>(w.scratch);
    for (int64_t k = 0; k < P; ++k) {
        while (above < N && place[above] <= k) ++above;
        J[k] = static_cast<int32_t>(above);
        coef[positive[w.items[k].row]] = -price * static_cast<double>(above);
        block += static_cast<double>(above) / static_cast<double>(k + 1 + above);
        if (k % 512 == 511) {
            loss += block;
            block = 0.0;
        }
    }
    loss += block;
    for (int64_t j = 0; j < N; ++j)
        coef[negative[w.items[P + j].row]] = price * static_cast<double>(P - place[j]);

    // coef.s from gaps of the merged scores times exact sums of counts: no cancellation between
    // large scores.
    int64_t i = 0, j = 0, sum = 0;
    double pairs = 0.0, previous = 0.0;
    block = 0.0;
    for (int64_t k = 0; k < n; ++k) {
        const bool from_s = j == N || (i < P && s_down[i] > t_down[j]);
        const double score = from_s ? s_down[i] : t_down[j];
        if (sum != 0) block += (previous - score) * static_cast<double>(sum);
        previous = score;
        if (from_s) sum -= J[i++];
        else sum += P - place[j++];
        if (k % 512 == 511) {
            pairs += block;
            block = 0.0;
        }
    }
    pairs += block;
    *offset = scale / static_cast<double>(P) * loss;
    *value = *offset + weight * pairs;
}

}  // namespace
}  // namespace svmcut

using namespace svmcut;

extern "C" int svmcut_average_precision_cut(const double* s, const int32_t* positive,
                                            int64_t n_positive, const int32_t* negative,
                                            int64_t n_negative, double scale, double weight,
                                            double* coef, double value_offset[2], void* workspace,
                                            int threads) {
    if (n_positive < 1 || n_negative < 1 || n_positive + n_negative >= INT32_MAX)
        return SVMCUT_BAD_INPUT;
    Workspace work;
    lay_out(n_positive + n_negative, workspace, &work);
    cut_ranking(s, positive, n_positive, negative, n_negative, scale, weight, weight, coef,
                value_offset, value_offset + 1, work, threads);
    return SVMCUT_OK;
}

extern "C" int svmcut_map_cut(const double* s, const int64_t* start, int64_t n_queries,
                              const int32_t* rows, const int64_t* n_relevant, const double* weight,
                              double* coef, double* value, double* offset, void* workspace,
                              int threads) {
    if (start[n_queries] >= INT32_MAX) return SVMCUT_BAD_INPUT;
    Workspace work;
    lay_out(start[n_queries], workspace, &work);
    for_queries(start, n_queries, threads, [&](int64_t query, int inner) {
        const int64_t first = start[query], n = start[query + 1] - first, P = n_relevant[query],
                      N = n - P;
        value[query] = offset[query] = 0.0;
        std::fill(coef + first, coef + first + n, 0.0);
        if (P == 0 || N == 0) return;
        const double pair = 2.0 / (static_cast<double>(P) * static_cast<double>(N));
        cut_ranking(s, rows + first, P, rows + first + P, N, 1.0, pair, weight[query] * pair, coef,
                    value + query, offset + query, from_row(work, first), inner);
        if (value[query] < 0.0) value[query] = 0.0;  // by rounding alone; nan stays
    });
    return SVMCUT_OK;
}
