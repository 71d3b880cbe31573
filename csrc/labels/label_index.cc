// SPDX-License-Identifier: BSD-3-Clause
//
// Scores of very many labels by weights that are kept by feature: a row meets the weights of its
// own features alone. And the mean rows of labels, by which they are grouped.

#include <algorithm>
#include <cmath>
#include <cstdint>
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
    constexpr int64_t kRowsPerPiece = 64;
    const int64_t n = X->n_rows, K = index->K;
    for_pieces((n + kRowsPerPiece - 1) / kRowsPerPiece, threads, [&](int64_t piece) {
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

}  // extern "C"
