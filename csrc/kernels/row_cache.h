// SPDX-License-Identifier: BSD-3-Clause
//
// Kernel rows of one length, of float or double, in a fixed amount of memory; the row used longest
// ago makes room.
#ifndef SVMCUT_ROW_CACHE_H
#define SVMCUT_ROW_CACHE_H

#include <algorithm>
#include <vector>

#include "kernels/kernel_points.h"

namespace svmcut {

// Entries of a row with room for whole tiles.
inline int64_t padded_row(int64_t n) { return (n + kTile - 1) / kTile * kTile; }

template <class T>
class RowCache {
  public:
    // False when there is no memory. At least two rows always fit.
    bool open(int64_t n, double bytes) {
        const int64_t shortest = 2 * padded(n);
        room = std::max(shortest, static_cast<int64_t>(std::min(
                                      bytes / sizeof(T), static_cast<double>(n) * padded(n))));
        pool = lines<T>(room);
        if (!pool) return false;
        resize(n);
        return true;
    }
    static int64_t padded(int64_t n) { return padded_row(n); }

    // Forgets every row; rows have n entries from here on.
    void resize(int64_t n) {
        stride = std::max<int64_t>(padded(n), kTile);
        slot_of.assign(static_cast<size_t>(n), -1);
        slots.clear();
        newest = oldest = -1;
        limit = std::min(room / stride, std::max<int64_t>(n, 2));
    }

    // The row of point p; *missing says that the caller has to fill it. It stands until two other
    // rows were asked for.
    T* row(int64_t p, bool* missing) {
        int32_t s = slot_of[p];
        *missing = s < 0;
        if (s >= 0) {
            unlink(s);
        } else if (static_cast<int64_t>(slots.size()) < limit) {
            s = static_cast<int32_t>(slots.size());
            slots.push_back({});
        } else {
            s = oldest;
            unlink(s);
            if (slots[s].owner >= 0) slot_of[slots[s].owner] = -1;
        }
        slots[s].owner = p;
        slot_of[p] = s;
        link(s);
        return pool.get() + s * stride;
    }

    // The row of point p where there is one; it counts as not used.
    const T* known(int64_t p) const {
        const int32_t s = slot_of[p];
        return s < 0 ? nullptr : pool.get() + s * stride;
    }

    // Keeps points keep[0] < keep[1] < ... alone, which become points 0, 1, ...
    void shrink(const std::vector<int64_t>& keep) {
        const auto n = static_cast<int64_t>(keep.size());
        const int64_t old_stride = stride;
        std::vector<int32_t> now(slot_of.size(), -1);
        for (int64_t k = 0; k < n; ++k) now[keep[k]] = static_cast<int32_t>(k);
        stride = std::max<int64_t>(padded(n), kTile);
        slot_of.assign(static_cast<size_t>(n), -1);
        for (size_t s = 0; s < slots.size(); ++s) {
            Slot& slot = slots[s];
            if (slot.owner >= 0) slot.owner = now[slot.owner];
            if (slot.owner < 0) continue;
            slot_of[slot.owner] = static_cast<int32_t>(s);
            const T* from = pool.get() + static_cast<int64_t>(s) * old_stride;
            T* to = pool.get() + static_cast<int64_t>(s) * stride;
            for (int64_t k = 0; k < n; ++k) to[k] = from[keep[k]];
            std::fill(to + n, to + stride, T{0});
        }
        limit = std::max(static_cast<int64_t>(slots.size()),
                         std::min(room / stride, std::max<int64_t>(n, 2)));
    }

  private:
    struct Slot {
        int64_t owner = -1;
        int32_t older = -1, newer = -1;
    };
    Lines<T> pool;
    int64_t room = 0, stride = 0, limit = 0;
    std::vector<int32_t> slot_of;
    std::vector<Slot> slots;
    int32_t newest = -1, oldest = -1;

    void unlink(int32_t s) {
        const Slot& slot = slots[s];
        (slot.newer < 0 ? newest : slots[slot.newer].older) = slot.older;
        (slot.older < 0 ? oldest : slots[slot.older].newer) = slot.newer;
    }
    void link(int32_t s) {
        slots[s].older = newest;
        slots[s].newer = -1;
        (newest < 0 ? oldest : slots[newest].newer) = s;
        newest = s;
    }
};

}  // namespace svmcut
#endif
