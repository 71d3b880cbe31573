// SPDX-License-Identifier: BSD-3-Clause
//
// Scores of very many labels by weights that are kept by feature: a row meets the weights of its
// own features alone.

#include <algorithm>
#include <cstdint>

#include "core/parallel.h"
#include "include/wide.h"

using namespace svmcut;

extern "C" {

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
