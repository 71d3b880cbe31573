// SPDX-License-Identifier: BSD-3-Clause
//
// Work per query over a few threads.
#ifndef SVMCUT_QUERIES_H
#define SVMCUT_QUERIES_H

#include <algorithm>
#include <cstdint>

#include "core/parallel.h"

namespace svmcut {

constexpr int64_t kGiantQuery = 1 << 15;  // rows from which threads share one query
constexpr int64_t kQueriesPerPiece = 32;

// work(query, threads): giant queries one after another with all threads inside, the others in
// pieces of several.
template <class Work>
void for_queries(const int64_t* start, int64_t n_queries, int threads, Work&& work) {
    if (start[n_queries] < kGiantQuery / 2) threads = 1;
    auto giant = [&](int64_t query) {
        return threads > 1 && start[query + 1] - start[query] >= kGiantQuery;
    };
    for_pieces((n_queries + kQueriesPerPiece - 1) / kQueriesPerPiece, threads, [&](int64_t piece) {
        const int64_t end = std::min(n_queries, (piece + 1) * kQueriesPerPiece);
        for (int64_t query = piece * kQueriesPerPiece; query < end; ++query)
            if (!giant(query)) work(query, 1);
    });
    for (int64_t query = 0; query < n_queries; ++query)
        if (giant(query)) work(query, threads);
}

}  // namespace svmcut
#endif
