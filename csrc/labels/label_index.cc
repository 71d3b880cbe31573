// SPDX-License-Identifier: BSD-3-Clause
//
// Scores of very many labels by weights that are kept by feature: a row meets the weights of its
// own features alone. The same of trees of labels, node by node; the mean rows of labels, by which
// they are grouped.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <new>
#include <vector>

#include "core/parallel.h"
#include "include/wide.h"

using namespace svmcut;

namespace {

// The sum of the rows of one label; V (d,) is 0 and no column met before and after.
class Sum {
  public:
    explicit Sum(int64_t d) : V_(static_cast<size_t>(d)), met_(static_cast<size_t>(d)) {}

    void add(const svmcut_csr& X, int64_t i) {
        for (int64_t e = X.indptr[i]; e < X.indptr[i + 1]; ++e) {
            const int32_t column = X.indices[e];
            const auto j = static_cast<size_t>(column);
            if (!met_[j]) entries_.push_back({0.0, column});
            met_[j] = 1;
            V_[j] += static_cast<double>(X.data[e]);
        }
    }

    // The largest values, over their norm; clears the sum.
    int64_t take(int64_t most, int32_t* indices, float* values) {
        for (Entry& entry : entries_) entry.value = take(entry.column);
        const auto begin = entries_.begin(),
                   end = begin + std::min(most, static_cast<int64_t>(entries_.size()));
        if (end != entries_.end())
            std::nth_element(begin, end, entries_.end(), [](const Entry& a, const Entry& b) {
                const double left = std::fabs(a.value), right = std::fabs(b.value);
                return left != right ? left > right : a.column < b.column;
            });
        std::sort(begin, end, [](const Entry& a, const Entry& b) { return a.column < b.column; });
        double squared = 0;
        for (auto entry = begin; entry != end; ++entry) squared += entry->value * entry->value;
        const double inverse = squared > 0 ? 1 / std::sqrt(squared) : 0.0;
        for (auto entry = begin; entry != end; ++entry) {
            *indices++ = entry->column;
            *values++ = static_cast<float>(inverse * entry->value);
        }
        const int64_t taken = end - begin;
        entries_.clear();
        return taken;
    }

  private:
    struct Entry {
        double value;
        int32_t column;
    };

    double take(int32_t column) {
        const auto j = static_cast<size_t>(column);
        const double value = V_[j];
        V_[j] = 0;
        met_[j] = 0;
        return value;
    }

    std::vector<double> V_;
    std::vector<char> met_;
    std::vector<Entry> entries_;
};

// Scores of the children of nodes; a row finds the weights of its features by a table.
class NodeScores {
  public:
    NodeScores(const svmcut_csr& X, const svmcut_label_tree& tree)
        : X_(X), tree_(tree), table_(static_cast<size_t>(tree.d), -1) {}

    // Of the node of the pairs that follow; `leave` before the next.
    void enter(int64_t node) {
        node_ = node;
        for (int64_t e = tree_.bounds[node]; e < tree_.bounds[node + 1]; ++e) place_of(e) = e;
    }
    void leave() {
        for (int64_t e = tree_.bounds[node_]; e < tree_.bounds[node_ + 1]; ++e) place_of(e) = -1;
    }
    void score(int64_t i, double* f) const {
        const int64_t first = tree_.first[node_], last = tree_.first[node_ + 1];
        std::copy(tree_.constant + first, tree_.constant + last, f);
        for (int64_t a = X_.indptr[i]; a < X_.indptr[i + 1]; ++a) {
            if (X_.indices[a] >= tree_.d) continue;
            const int64_t e = table_[static_cast<size_t>(X_.indices[a])];
            if (e < 0) continue;
            const auto x = static_cast<double>(X_.data[a]);
            for (int64_t m = tree_.indptr[e]; m < tree_.indptr[e + 1]; ++m)
                f[tree_.places[m]] += x * static_cast<double>(tree_.values[m]);
        }
    }

  private:
    int64_t& place_of(int64_t e) { return table_[static_cast<size_t>(tree_.features[e])]; }

    const svmcut_csr& X_;
    const svmcut_label_tree& tree_;
    std::vector<int64_t> table_;  // the entry of a feature; -1 where the node has none
    int64_t node_ = 0;
};

// The k-th largest of some numbers; -inf where there are fewer. heap: room.
double least_of(const double* begin, const double* end, int64_t k, std::vector<double>& heap) {
    if (end - begin < k) return -std::numeric_limits<double>::infinity();
    const std::greater<double> above;
    heap.assign(begin, begin + k);
    std::make_heap(heap.begin(), heap.end(), above);
    for (const double* s = begin + k; s < end; ++s) {
        if (*s <= heap.front()) continue;
        std::pop_heap(heap.begin(), heap.end(), above);
        heap.back() = *s;
        std::push_heap(heap.begin(), heap.end(), above);
    }
    return heap.front();
}

constexpr int64_t kRowsPerPiece = 64;

int64_t pieces_of(int64_t n) { return (n + kRowsPerPiece - 1) / kRowsPerPiece; }

}  // namespace

extern "C" {

int svmcut_label_sums(const svmcut_csr* X, const int64_t* indptr, const int32_t* rows, int64_t K,
                      int64_t most, int32_t* indices, float* values, int64_t* sizes, int threads) {
    const int64_t crew = std::max<int64_t>(1, std::min<int64_t>(threads, K));
    std::atomic<bool> failed{false};
    for_pieces(crew, threads, [&](int64_t piece) {
        try {
            Sum sum(X->n_features);
            for (int64_t k = piece; k < K; k += crew) {
                for (int64_t m = indptr[k]; m < indptr[k + 1]; ++m) sum.add(*X, rows[m]);
                sizes[k] = sum.take(most, indices + k * most, values + k * most);
            }
        } catch (const std::bad_alloc&) {
            failed = true;
        }
    });
    return failed ? SVMCUT_NO_MEMORY : SVMCUT_OK;
}

void svmcut_label_index_scores(const svmcut_csr* X, const svmcut_label_index* index, double* s,
                               int threads) {
    const int64_t n = X->n_rows, K = index->K;
    for_pieces(pieces_of(n), threads, [&](int64_t piece) {
        const int64_t stop = std::min(n, (piece + 1) * kRowsPerPiece);
        for (int64_t i = piece * kRowsPerPiece; i < stop; ++i) {
            double* own = s + i * K;
            std::copy(index->constant, index->constant + K, own);
            for (int64_t e = X->indptr[i]; e < X->indptr[i + 1]; ++e) {
                const int64_t j = X->indices[e];
                if (j >= index->d) continue;
                const auto x = static_cast<double>(X->data[e]);
                for (int64_t m = index->indptr[j]; m < index->indptr[j + 1]; ++m)
                    own[index->places[m]] += x * static_cast<double>(index->values[m]);
            }
        }
    });
}

int svmcut_label_tree_scores(const svmcut_csr* X, const svmcut_label_tree* tree,
                             const int64_t* rows, const int64_t* nodes, const int64_t* order,
                             int64_t count, const int64_t* ends, double* f, int threads) {
    const int64_t crew = std::max<int64_t>(1, std::min<int64_t>(threads, count));
    std::atomic<bool> failed{false};
    for_pieces(crew, threads, [&](int64_t piece) {
        try {
            NodeScores scores(*X, *tree);
            const int64_t stop = (piece + 1) * count / crew;
            for (int64_t at = piece * count / crew; at < stop;) {
                const int64_t node = nodes[order[at]];
                scores.enter(node);
                for (; at < stop && nodes[order[at]] == node; ++at)
                    scores.score(rows[order[at]], f + ends[order[at]]);
                scores.leave();
            }
        } catch (const std::bad_alloc&) {
            failed = true;
        }
    });
    return failed ? SVMCUT_NO_MEMORY : SVMCUT_OK;
}

int svmcut_label_least(const double* s, const int64_t* ends, int64_t n, int64_t k, double* least,
                       int threads) {
    std::atomic<bool> failed{false};
    for_pieces(pieces_of(n), threads, [&](int64_t piece) {
        try {
            std::vector<double> heap;
            const int64_t stop = std::min(n, (piece + 1) * kRowsPerPiece);
            for (int64_t i = piece * kRowsPerPiece; i < stop; ++i)
                least[i] = least_of(s + ends[i], s + ends[i + 1], k, heap);
        } catch (const std::bad_alloc&) {
            failed = true;
        }
    });
    return failed ? SVMCUT_NO_MEMORY : SVMCUT_OK;
}

}  // extern "C"
