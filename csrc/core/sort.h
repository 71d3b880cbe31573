// SPDX-License-Identifier: BSD-3-Clause
//
// Stable order of scores: ascending value, ties by row. The order is unique, so it is the same for
// any number of threads.
//
// A double is mapped to an unsigned integer of the same order. Keys are its 32 highest bits (of its
// difference to the smallest, when all are near each other), sorted by counting passes of 11 bits
// over 8-byte items, least significant digit first. Rows whose keys agree are put right afterwards
// from the values, at the second level at the latest: what is left there fits in 32 bits.
// O(n) time; items and scratch of n each.
#ifndef SVMCUT_SORT_H
#define SVMCUT_SORT_H

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/parallel.h"

namespace svmcut {

// Asks for a cache line that is needed some rows ahead.
#define SVMCUT_PREFETCH(address) __builtin_prefetch(address)
#define SVMCUT_PREFETCH_WRITE(address) __builtin_prefetch(address, 1)
constexpr int64_t kAhead = 24;

struct Item {
    uint32_t key;
    uint32_t row;
};

constexpr int64_t kSmallSort = 192;         // below: comparison sort on the stack
constexpr int64_t kInsertion = 24;          // runs of equal keys up to this long
constexpr int64_t kParallelSort = 1 << 14;  // below: threads cost more than they bring
constexpr int kDigitBits = 11;
constexpr int kDigits = 1 << kDigitBits;
constexpr int kMaxPasses = 3;
constexpr int kNarrow = 58;  // images spanning fewer bits are keyed from their smallest
constexpr int kMaxSortBlocks = 4;

// Unsigned image of a double: a < b exactly when image(a) < image(b), for numbers; -0 and 0 have
// one image.
inline uint64_t order_image(double value) {
    value += 0.0;
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t{1} << 63);
}

namespace sort_detail {

inline int sort_blocks(int64_t n, int threads) {
    return threads > 1 && n >= kParallelSort ? std::min(threads, kMaxSortBlocks) : 1;
}

struct Small {
    uint64_t image;
    uint32_t row;
};

inline void small_sort(const double* value, int64_t n, Item* items, double* sorted) {
    Small small[kSmallSort];
    for (int64_t k = 0; k < n; ++k) small[k] = {order_image(value[k]), static_cast<uint32_t>(k)};
    std::sort(small, small + n, [](const Small& a, const Small& b) {
        return a.image != b.image ? a.image < b.image : a.row < b.row;
    });
    for (int64_t k = 0; k < n; ++k) {
        items[k].row = small[k].row;
        sorted[k] = value[small[k].row];
    }
}

// Counting passes; the items stand in `items` when `passes` is even, in `scratch` when it is odd,
// and end in `items`. digits: per block, counts of every digit of its items as they stand at the
// start (right for the first pass only, and for all of them when there is one block).
struct Digits {
    uint32_t count[kMaxPasses][kDigits];
};

inline void radix(Item* items, Item* scratch, int64_t n, int passes, Digits* digits, int blocks,
                  int threads) {
    Item* from = passes % 2 ? scratch : items;
    Item* to = passes % 2 ? items : scratch;
    for (int pass = 0; pass < passes; ++pass, std::swap(from, to)) {
        const int shift = pass * kDigitBits;
        if (blocks > 1 && pass > 0)
            for_pieces(blocks, threads, [&](int64_t block) {
                uint32_t* count = digits[block].count[pass];
                std::fill(count, count + kDigits, 0u);
                for (int64_t k = n * block / blocks, end = n * (block + 1) / blocks; k < end; ++k)
                    ++count[(from[k].key >> shift) & (kDigits - 1)];
            });
        uint32_t sum = 0;
        for (int digit = 0; digit < kDigits; ++digit)
            for (int block = 0; block < blocks; ++block) {
                uint32_t& count = digits[block].count[pass][digit];
                const uint32_t own = count;
                count = sum;
                sum += own;
            }
        for_pieces(blocks, threads, [&](int64_t block) {
            uint32_t* next = digits[block].count[pass];
            for (int64_t k = n * block / blocks, end = n * (block + 1) / blocks; k < end; ++k)
                to[next[(from[k].key >> shift) & (kDigits - 1)]++] = from[k];
        });
    }
}

// Sorts the rows named in items, which ascend (identity: rows 0 to n - 1), and fills sorted.
inline void sort_subset(const double* value, int64_t n, Item* items, Item* scratch, double* sorted,
                        bool identity, int threads) {
    const int blocks = sort_blocks(n, threads);
    Digits digits[kMaxSortBlocks];
    uint64_t low[kMaxSortBlocks], high[kMaxSortBlocks], base = 0;
    int shift = 32, passes = kMaxPasses;
    auto make_keys = [&](int64_t block) {
        Item* start = passes % 2 ? scratch : items;
        auto& count = digits[block].count;
        std::memset(count, 0, sizeof count);
        uint64_t smallest = ~uint64_t{0}, largest = 0;
        for (int64_t k = n * block / blocks, end = n * (block + 1) / blocks; k < end; ++k) {
            const uint32_t row = identity ? static_cast<uint32_t>(k) : items[k].row;
            const uint64_t image = order_image(value[row]);
            const auto key = static_cast<uint32_t>((image - base) >> shift);
            smallest = std::min(smallest, image);
            largest = std::max(largest, image);
            start[k] = {key, row};
            for (int pass = 0; pass < kMaxPasses; ++pass)
                ++count[pass][(key >> (pass * kDigitBits)) & (kDigits - 1)];
        }
        low[block] = smallest;
        high[block] = largest;
    };
    for_pieces(blocks, threads, make_keys);
    int bits = 0;
    base = *std::min_element(low, low + blocks);
    for (uint64_t range = *std::max_element(high, high + blocks) - base; range; range >>= 1) ++bits;
    if (bits <= kNarrow) {  // the plain upper half would tell too few values apart
        if (!identity)
            for (int64_t k = 0; k < n; ++k) items[k] = scratch[k];
        shift = std::max(0, bits - 32);
        passes = (std::min(bits, 32) + kDigitBits - 1) / kDigitBits;
        for_pieces(blocks, threads, make_keys);
    }
    radix(items, scratch, n, passes, digits, blocks, threads);
    for_pieces(blocks, threads, [&](int64_t block) {
        for (int64_t k = n * block / blocks, end = n * (block + 1) / blocks; k < end; ++k)
            sorted[k] = value[items[k].row];
    });
    if (shift == 0) return;
    for (int64_t k = 1; k < n; ++k) {
        if (!(sorted[k] < sorted[k - 1])) continue;
        int64_t begin = k - 1, end = k + 1;
        while (begin > 0 && items[begin - 1].key == items[k].key) --begin;
        while (end < n && items[end].key == items[k].key) ++end;
        if (end - begin > kInsertion) {
            sort_subset(value, end - begin, items + begin, scratch + begin, sorted + begin, false,
                        1);
        } else {
            for (int64_t i = k; i < end; ++i)
                for (int64_t j = i; j > begin && sorted[j] < sorted[j - 1]; --j) {
                    std::swap(sorted[j], sorted[j - 1]);
                    std::swap(items[j], items[j - 1]);
                }
        }
        k = end - 1;
    }
}

}  // namespace sort_detail

// items[k].row is the row of the k-th smallest of value[0..n), sorted[k] its value. n < 2^32. Does
// not allocate.
inline void sort_rows(const double* value, int64_t n, Item* items, Item* scratch, double* sorted,
                      int threads) {
    if (n <= kSmallSort) sort_detail::small_sort(value, n, items, sorted);
    else sort_detail::sort_subset(value, n, items, scratch, sorted, true, threads);
}

}  // namespace svmcut
#endif
