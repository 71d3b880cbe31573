// SPDX-License-Identifier: BSD-3-Clause
//
// Random numbers whose whole state is one word: a run is resumed from it, and two words make two
// independent streams.
#ifndef SVMCUT_RANDOM_H
#define SVMCUT_RANDOM_H

#include <algorithm>
#include <cstdint>
#include <utility>

namespace svmcut {

struct Random {  // splitmix64
    uint64_t state;
    uint64_t next() {
        uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    uint32_t below(uint32_t bound) { return static_cast<uint32_t>(((next() >> 32) * bound) >> 32); }
};

template <class Item>
void shuffle(Item* items, int64_t count, Random& random) {
    for (int64_t k = count - 1; k > 0; --k)
        std::swap(items[k], items[random.below(static_cast<uint32_t>(k + 1))]);
}

// Draws below: in proportion to weights, of which `sums` holds the n running sums.

inline int64_t draw_one(const double* sums, int64_t n, Random& random) {
    // whatever rounding says, of no weight of 0
    const double* last = std::lower_bound(sums, sums + n, sums[n - 1]);
    return std::upper_bound(sums, last, random.uniform() * sums[n - 1]) - sums;
}

// `count` places in rising order by one random number: each as often as is due to it, rounded down
// or up.
template <class Item>
void draw_evenly(const double* sums, int64_t n, int64_t count, Random& random, Item* out) {
    const int64_t last = std::lower_bound(sums, sums + n, sums[n - 1]) - sums;
    const double start = random.uniform(), apart = sums[n - 1] / static_cast<double>(count);
    for (int64_t k = 0, i = 0; k < count; ++k) {
        const double at = (static_cast<double>(k) + start) * apart;
        while (i < last && sums[i] <= at) ++i;
        out[k] = static_cast<Item>(i);
    }
}

}  // namespace svmcut
#endif
