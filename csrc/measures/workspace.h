// SPDX-License-Identifier: BSD-3-Clause
//
// How the constraint builders share one block of memory: regions per row, each starting on its own
// cache line.
#ifndef SVMCUT_WORKSPACE_H
#define SVMCUT_WORKSPACE_H

#include <cstdint>

#include "core/sort.h"

namespace svmcut {

// rows summed as one: partial sums do not depend on the number of threads
constexpr int64_t kBlock = 4096;

struct Workspace {
    Item* items;     // n
    Item* scratch;   // n
    double* sorted;  // n
    double* extra;   // n + 2 blocks + 64
    int32_t* grade;  // n
    int32_t* nodes;  // 4 n + 64
    double* blocks;  // 6 per block
};

constexpr int64_t padded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Memory dealt out in cache lines; without any, only counted.
class Regions {
  public:
    explicit Regions(void* memory) : base((reinterpret_cast<uintptr_t>(memory) + 63) / 64 * 64) {}
    void* operator()(int64_t bytes) {
        const uintptr_t place = base + static_cast<uintptr_t>(at);
        at += padded(bytes);
        return reinterpret_cast<void*>(place);
    }
    int64_t bytes() const { return at + 64; }

  private:
    uintptr_t base;
    int64_t at = 0;
};

inline int64_t lay_out(int64_t n, void* memory, Workspace* out) {
    const int64_t n_blocks = n / kBlock + 4;
    Regions region(memory);
    Workspace w;
    w.items = static_cast<Item*>(region(n * 8));
    w.scratch = static_cast<Item*>(region(n * 8));
    w.sorted = static_cast<double*>(region(n * 8));
    w.extra = static_cast<double*>(region((n + 2 * n_blocks + 64) * 8));
    w.grade = static_cast<int32_t*>(region(n * 4));
    w.nodes = static_cast<int32_t*>(region((4 * n + 64) * 4));
    w.blocks = static_cast<double*>(region(n_blocks * 6 * 8));
    if (out) *out = w;
    return region.bytes();
}

// What belongs to the rows of a query that begins at `first`; blocks belong to none.
inline Workspace from_row(const Workspace& w, int64_t first) {
    return {w.items + first, w.scratch + first,   w.sorted + first, w.extra + first,
            w.grade + first, w.nodes + 4 * first, nullptr};
}

}  // namespace svmcut
#endif
