// SPDX-License-Identifier: BSD-3-Clause
//
// Sequences shared out over threads in pieces of about so many tokens, which do not depend on the
// number of threads.
#ifndef SVMCUT_CHAIN_PIECES_H
#define SVMCUT_CHAIN_PIECES_H

#include <atomic>
#include <vector>

#include "core/parallel.h"
#include "include/chain.h"

namespace svmcut {

constexpr int64_t kTokensPerPiece = 256;

// Calls work(first, last) for all ranges of sequences; a work that throws has met the end of
// memory.
template <class Work>
int for_sequences(const svmcut_chain* chain, int threads, const volatile int* cancel, Work&& work) {
    std::atomic<int> status{SVMCUT_OK};
    try {
        std::vector<int64_t> bound{0};
        for (int64_t n = 0, start = 0; n < chain->n_sequences; ++n)
            if (chain->sequences[n + 1] - start >= kTokensPerPiece || n + 1 == chain->n_sequences) {
                bound.push_back(n + 1);
                start = chain->sequences[n + 1];
            }
        for_pieces(static_cast<int64_t>(bound.size()) - 1, threads, [&](int64_t p) {
            if (cancel && *cancel) {
                status = SVMCUT_CANCELLED;
                return;
            }
            try {
                work(bound[p], bound[p + 1]);
            } catch (...) {
                status = SVMCUT_NO_MEMORY;
            }
        });
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    return status;
}

}  // namespace svmcut
#endif
