// SPDX-License-Identifier: BSD-3-Clause
//
// Pairs of times: row i had its event before anything ended the observation of row j, so i is to
// have the higher score. With key = 2 rank of the time + whether the row is censored, these are the
// j with key_j > 2 rank_i, of every i with an event.
//
// Rows are visited by falling and by rising scores, and a Fenwick tree over the keys has the
// weights, and for the squared hinge sums of scores and squares, of those that are near enough:
// O(n log n). Scores are less their mean there. A tree over all keys would not fit into the caches:
// keys are cut into ranges, first a tree over ranges has the pairs of two of them, then a tree over
// the keys of a range those within it, of its rows alone.
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

constexpr int kRangeBits = 12;

struct Row {
    double s, v;
    int32_t key, row;

    bool event() const { return key % 2 == 0; }
};

// Rows by rising scores, and what their pairs add to coefficients and sums.
struct Sweep {
    double mean;
    bool squared;
    double* coef;
    double* out;  // over pairs of z, of z^2 and of 1, z = 1 - s_i + s_j

    Sums of(const Row& row) const {
        const double x = row.s - mean;
        return {row.v, row.v * x, row.v * x * x};
    }

    // Every event i and its j with s_j > s_i - 1.
    template <class Key>
    void of_events(const Row* rows, int64_t n, int64_t keys, Key key) const {
        Tree<Sums> tree(keys);
        Sums all;
        int64_t near = n;
        for (int64_t k = n - 1; k >= 0; --k) {
            const Row& i = rows[k];
            if (!i.event()) continue;
            for (; near > 0 && rows[near - 1].s > i.s - 1.0; --near) {
                tree.add(key(rows[near - 1]), of(rows[near - 1]));
                all += of(rows[near - 1]);
            }
            const Sums before = tree.below(key(i) + 1);
            const double count = all.weight - before.weight, first = all.first - before.first,
                         second = all.second - before.second, a = 1.0 - (i.s - mean),
                         z = count * a + first;
            out[0] += i.v * z;
            out[2] += i.v * count;
            out[1] += i.v * (count * a * a + 2.0 * a * first + second);
            coef[i.row] -= i.v * (squared ? 2.0 * z : count);
        }
    }

    // Every j and its events i with s_i < s_j + 1.
    template <class Key>
    void of_later(const Row* rows, int64_t n, int64_t keys, Key key) const {
        Tree<Sums> tree(keys);
        int64_t near = 0;
        for (int64_t k = 0; k < n; ++k) {
            const Row& j = rows[k];
            for (; near < n && j.s > rows[near].s - 1.0; ++near)
                if (rows[near].event()) tree.add(key(rows[near]), of(rows[near]));
            const Sums found = tree.below(key(j));
            const double z = found.weight * (1.0 + (j.s - mean)) - found.first;
            coef[j.row] += j.v * (squared ? 2.0 * z : found.weight);
        }
    }

    template <class Key>
    void pairs(const Row* rows, int64_t n, int64_t keys, Key key) const {
        of_events(rows, n, keys, key);
        of_later(rows, n, keys, key);
    }
};

// Rows by rising scores, and their mean.
struct Order {
    std::vector<Row> rows;
    double mean = 0.0;
};

Order sorted(const double* s, const int32_t* key, const double* weight, int64_t n, void* workspace,
             int threads) {
    Workspace w;
    lay_out(n, workspace, &w);
    sort_rows(s, n, w.items, w.scratch, w.sorted, threads);
    Order order{std::vector<Row>(static_cast<size_t>(n))};
    double sum = 0.0;
    for (int64_t k = 0; k < n; ++k) {
        const auto row = static_cast<int32_t>(w.items[k].row);
        order.rows[static_cast<size_t>(k)] = {w.sorted[k], weight ? weight[row] : 1.0, key[row],
                                              row};
        sum += s[k];
    }
    order.mean = n ? sum / static_cast<double>(n) : 0.0;
    return order;
}

// The rows of every range of keys, by rising scores, and where each range begins.
std::vector<int64_t> into_ranges(const std::vector<Row>& rows, int64_t ranges,
                                 std::vector<Row>* placed) {
    std::vector<int64_t> start(static_cast<size_t>(ranges + 1), 0);
    for (const Row& row : rows) ++start[static_cast<size_t>(row.key >> kRangeBits) + 1];
    for (size_t r = 1; r < start.size(); ++r) start[r] += start[r - 1];
    std::vector<int64_t> next(start.begin(), start.end() - 1);
    placed->resize(rows.size());
    for (const Row& row : rows)
        (*placed)[static_cast<size_t>(next[static_cast<size_t>(row.key >> kRangeBits)]++)] = row;
    return start;
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
        const Order order = sorted(s, key, weight, n, workspace, n < kParallelSort ? 1 : threads);
        const Sweep sweep{order.mean, squared != 0, coef, sums};
        const int64_t ranges = ((keys - 1) >> kRangeBits) + 1;
        if (ranges == 1) {
            sweep.pairs(order.rows.data(), n, keys, [](const Row& row) { return row.key; });
            return SVMCUT_OK;
        }
        sweep.pairs(order.rows.data(), n, ranges,
                    [](const Row& row) { return row.key >> kRangeBits; });
        std::vector<Row> placed;
        const std::vector<int64_t> start = into_ranges(order.rows, ranges, &placed);
        for (int64_t r = 0; r < ranges; ++r) {
            const int64_t first = start[static_cast<size_t>(r)],
                          end = start[static_cast<size_t>(r) + 1];
            sweep.pairs(placed.data() + first, end - first, int64_t{1} << kRangeBits,
                        [](const Row& row) { return row.key & ((1 << kRangeBits) - 1); });
        }
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
        const std::vector<Row> rows =
            sorted(s, key, nullptr, n, workspace, n < kParallelSort ? 1 : threads).rows;
        const auto at = [&](int64_t k) -> const Row& { return rows[static_cast<size_t>(k)]; };
        Tree<int64_t> lower(keys), all(keys);
        for (int64_t j = 0; j < n; ++j) all.add(key[j], 1);
        for (int64_t begin = 0, end; begin < n; begin = end) {
            const double score = at(begin).s;
            for (end = begin; end < n && at(end).s == score;) ++end;
            if (end == begin) end = begin + 1;  // a score that is no number
            for (int64_t k = begin; k < end; ++k) {
                const Row& i = at(k);
                if (i.event()) counts[0] += begin - lower.below(i.key + 1);
            }
            for (int64_t k = begin; k < end; ++k) lower.add(at(k).key, 1);
            for (int64_t k = begin; k < end; ++k) {
                const Row& i = at(k);
                if (!i.event()) continue;
                counts[1] += end - lower.below(i.key + 1);
                counts[2] += n - all.below(i.key + 1);
            }
        }
        counts[1] -= counts[0];
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}
