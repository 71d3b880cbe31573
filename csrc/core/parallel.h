// SPDX-License-Identifier: BSD-3-Clause
//
// Fixed pieces of work over a few threads. The pieces do not depend on the number of threads, so
// neither do results. std::thread and not OpenMP: it needs no extra runtime on any platform and
// leaves no spinning workers behind.
#ifndef SVMCUT_PARALLEL_H
#define SVMCUT_PARALLEL_H

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace svmcut {

// Calls work(piece) once for every piece in [0, pieces), on up to `threads` threads, in any order.
// work must not throw. When the system gives no more threads, the ones there are do all the work.
template <class Work>
void for_pieces(int64_t pieces, int threads, Work&& work) {
    if (threads > pieces) threads = static_cast<int>(pieces);
    if (threads <= 1) {
        for (int64_t piece = 0; piece < pieces; ++piece) work(piece);
        return;
    }
    std::atomic<int64_t> next{0};
    auto run = [&]() {
        for (int64_t piece; (piece = next.fetch_add(1, std::memory_order_relaxed)) < pieces;)
            work(piece);
    };
    std::vector<std::thread> crew;
    try {
        crew.reserve(threads - 1);
        for (int i = 1; i < threads; ++i) crew.emplace_back(run);
    } catch (...) {
    }
    run();
    for (auto& member : crew) member.join();
}

}  // namespace svmcut
#endif
