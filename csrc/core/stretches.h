// SPDX-License-Identifier: BSD-3-Clause
//
// A random order of rows that costs half the time of a shuffle once the rows do not fit the caches,
// and as few epochs.
#ifndef SVMCUT_STRETCHES_H
#define SVMCUT_STRETCHES_H

#include <algorithm>
#include <cstdint>

#include "core/random.h"

namespace svmcut {

constexpr int64_t kStretch = 256;  // neighbours met in order
constexpr int64_t kOpen = 32;      // stretches open at once

struct Stretch {
    int32_t next, end;
};

// Room for the stretches of so many places.
inline int64_t most_stretches(int64_t count) { return count / kStretch + 2; }

// Places 0 to count - 1, drawn from many open stretches of neighbours at once, each met in order:
// memory is read in streams, and consecutive visits lie far apart, as neighbours in a file are
// often alike.
inline void draw_visits(int32_t* visits, int64_t count, Stretch* stretches, Random& random) {
    const int64_t offset = random.below(static_cast<uint32_t>(kStretch));
    const int64_t total = (count + offset + kStretch - 1) / kStretch;
    for (int64_t b = 0; b < total; ++b)
        stretches[b] = {static_cast<int32_t>(std::max<int64_t>(0, b * kStretch - offset)),
                        static_cast<int32_t>(std::min(count, (b + 1) * kStretch - offset))};
    shuffle(stretches, total, random);
    int64_t open = std::min(kOpen, total), unopened = open;
    for (int64_t k = 0; k < count; ++k) {
        Stretch& from = stretches[random.below(static_cast<uint32_t>(open))];
        visits[k] = from.next++;
        if (from.next < from.end) continue;
        if (unopened < total) from = stretches[unopened++];
        else from = stretches[--open];
    }
}

}  // namespace svmcut
#endif
