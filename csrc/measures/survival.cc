// SPDX-License-Identifier: BSD-3-Clause
//
// Pairs of times: row i had its event before anything ended the observation of row j, so i is to
// have the higher score. With key = 2 rank of the time + whether the row is censored, these are the
// j with key_j > 2 rank_i, of every i with an event.
//
// Rows are visited by falling and by rising scores, and a Fenwick tree over the keys has the
// weights, and for the squared hinge sums of scores and squares, of those that are near enough:
// O(n log n). Scores are less their mean there.
//
// Evers, Messow (2008), Sparse kernel methods for high-dimensional survival data; Poelsterl, Navab,
// Katouzian (2015), Fast training of support vector machines for survival analysis, have the pairs.
#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

#include "include/measures.h"
#include "measures/workspace.h"

namespace svmcut {
namespace {

struct Sums {
    double weight = 0.0, first = 0.0, second = 0.0;
    void operator+=(const Sums& other) {
        weight += other.weight;
        first += other.first;
        second += other.second;
    }
};

// Sums of the rows whose keys are below a bound.
template <class Value>
class Tree {
  public:
    explicit Tree(int64_t keys) : nodes(static_cast<size_t>(keys + 1)) {}
    void add(int64_t key, const Value& value) {
        for (int64_t k = key + 1; k < static_cast<int64_t>(nodes.size()); k += k & -k)
            nodes[static_cast<size_t>(k)] += value;
    }
    Value below(int64_t key) const {
        Value sum{};
        for (int64_t k = key; k > 0; k -= k & -k) sum += nodes[static_cast<size_t>(k)];
        return sum;
    }

  private:
    std::vector<Value> nodes;
};

struct Rows {
    const double* s;
    const int32_t* key;
    const double* weight;  // null: 1 each
    int64_t n, keys;
    double mean;
    std::vector<int64_t> order;  // by rising scores

    double v(int64_t i) const { return weight ? weight[i] : 1.0; }
    bool event(int64_t i) const { return key[i] % 2 == 0; }
    Sums of(int64_t i) const {
        const double x = s[i] - mean;
        return {v(i), v(i) * x, v(i) * x * x};
    }
};

Rows sorted(const double* s, const int32_t* key, const double* weight, int64_t n, int64_t keys,
            void* workspace, int threads) {
    Workspace w;
    lay_out(n, workspace, &w);
    sort_rows(s, n, w.items, w.scratch, w.sorted, threads);
    Rows rows{s, key, weight, n, keys, 0.0, std::vector<int64_t>(static_cast<size_t>(n))};
    double sum = 0.0;
    for (int64_t k = 0; k < n; ++k) {
        rows.order[static_cast<size_t>(k)] = w.items[k].row;
        sum += s[k];
    }
    rows.mean = n ? sum / static_cast<double>(n) : 0.0;
    return rows;
}

// Every event i and its j with s_j > s_i - 1. out: sums over pairs of z, of z^2 and of 1, z = 1 -
// s_i + s_j.
void of_events(const Rows& rows, bool squared, double* coef, double out[3]) {
    Tree<Sums> tree(rows.keys);
    Sums all;
    int64_t near = rows.n;
    for (int64_t k = rows.n - 1; k >= 0; --k) {
        const int64_t i = rows.order[static_cast<size_t>(k)];
        if (!rows.event(i)) continue;
        for (; near > 0; --near) {
            const int64_t j = rows.order[static_cast<size_t>(near - 1)];
            if (!(rows.s[j] > rows.s[i] - 1.0)) break;
            tree.add(rows.key[j], rows.of(j));
            all += rows.of(j);
        }
        const Sums before = tree.below(rows.key[i] + 1);
        const double count = all.weight - before.weight, first = all.first - before.first,
                     second = all.second - before.second, v = rows.v(i),
                     a = 1.0 - (rows.s[i] - rows.mean), z = count * a + first;
        out[0] += v * z;
        out[2] += v * count;
        out[1] += v * (count * a * a + 2.0 * a * first + second);
        coef[i] -= v * (squared ? 2.0 * z : count);
    }
}

// Every j and its events i with s_i < s_j + 1.
void of_later(const Rows& rows, bool squared, double* coef) {
    Tree<Sums> tree(rows.keys);
    int64_t near = 0;
    for (int64_t k = 0; k < rows.n; ++k) {
        const int64_t j = rows.order[static_cast<size_t>(k)];
        for (; near < rows.n; ++near) {
            const int64_t i = rows.order[static_cast<size_t>(near)];
            if (!(rows.s[j] > rows.s[i] - 1.0)) break;
            if (rows.event(i)) tree.add(rows.key[i], rows.of(i));
        }
        const Sums found = tree.below(rows.key[j]);
        const double z = found.weight * (1.0 + (rows.s[j] - rows.mean)) - found.first;
        coef[j] += rows.v(j) * (squared ? 2.0 * z : found.weight);
    }
}

}  // namespace
}  // namespace svmcut

using namespace svmcut;

extern "C" int svmcut_survival_cut(const double* s, const int32_t* key, const double* weight,
                                   int64_t n, int64_t keys, int squared, double* coef,
                                   double sums[3], void* workspace, int threads) {
    if (n < 1 || n >= INT32_MAX) return SVMCUT_BAD_INPUT;
    std::fill(coef, coef + n, 0.0);
    sums[0] = sums[1] = sums[2] = 0.0;
    try {
        const Rows rows =
            sorted(s, key, weight, n, keys, workspace, n < kParallelSort ? 1 : threads);
        of_events(rows, squared != 0, coef, sums);
        of_later(rows, squared != 0, coef);
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}

extern "C" int svmcut_survival_pairs(const double* s, const int32_t* key, int64_t n, int64_t keys,
                                     int64_t counts[3], void* workspace, int threads) {
    if (n < 1 || n >= INT32_MAX) return SVMCUT_BAD_INPUT;
    counts[0] = counts[1] = counts[2] = 0;
    try {
        const Rows rows =
            sorted(s, key, nullptr, n, keys, workspace, n < kParallelSort ? 1 : threads);
        Tree<int64_t> lower(keys), all(keys);
        for (int64_t j = 0; j < n; ++j) all.add(key[j], 1);
        for (int64_t begin = 0, end; begin < n; begin = end) {
            const double score = s[rows.order[static_cast<size_t>(begin)]];
            for (end = begin; end < n && s[rows.order[static_cast<size_t>(end)]] == score;) ++end;
            if (end == begin) end = begin + 1;  // a score that is no number
            for (int64_t k = begin; k < end; ++k) {
                const int64_t i = rows.order[static_cast<size_t>(k)];
                if (rows.event(i)) counts[0] += begin - lower.below(key[i] + 1);
            }
            for (int64_t k = begin; k < end; ++k)
                lower.add(key[rows.order[static_cast<size_t>(k)]], 1);
            for (int64_t k = begin; k < end; ++k) {
                const int64_t i = rows.order[static_cast<size_t>(k)];
                if (!rows.event(i)) continue;
                counts[1] += end - lower.below(key[i] + 1);
                counts[2] += n - all.below(key[i] + 1);
            }
        }
        counts[1] -= counts[0];
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}
