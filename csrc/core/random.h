/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random numbers whose whole state is one word: a run is resumed from it, and two words make two independent streams.
 */
#ifndef SVMCUT_RANDOM_H
#define SVMCUT_RANDOM_H

#include <cstdint>
#include <utility>

namespace svmcut {

struct Random { /* splitmix64 */
    uint64_t state;
    uint64_t next() {
        uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    uint32_t below(uint32_t bound) { return static_cast<uint32_t>(((next() >> 32) * bound) >> 32); }
};

template <class Item>
void shuffle(Item* items, int64_t count, Random& random) {
    for (int64_t k = count - 1; k > 0; --k) std::swap(items[k], items[random.below(static_cast<uint32_t>(k + 1))]);
}

}  // namespace svmcut
#endif
