// SPDX-License-Identifier: BSD-3-Clause
//
// The state of a run as one array of integers and one of reals, for runs that stop and go on. save
// writes what load reads, in the same order; with null arrays save counts.
#ifndef SVMCUT_SAVED_H
#define SVMCUT_SAVED_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "include/svmcut.h"

namespace svmcut {

// The largest of n weights, 1 where there are none: what a saved multiplier is held against.
inline double largest_weight(const double* v, int64_t n) {
    return v ? *std::max_element(v, v + n) : 1.0;
}

class Saver {
  public:
    Saver(int64_t* integers_, double* reals_) : integers(integers_), reals(reals_) {}

    void integer(int64_t value) {
        if (integers) integers[n_integers] = value;
        ++n_integers;
    }
    void real(double value) {
        if (reals) reals[n_reals] = value;
        ++n_reals;
    }
    template <class Items>
    void all_integers(const Items& items) {
        for (auto value : items) integer(value);
    }
    template <class Items>
    void all_reals(const Items& items) {
        for (auto value : items) real(value);
    }
    void count(int64_t* counts) const {
        counts[0] = n_integers;
        counts[1] = n_reals;
    }

  private:
    int64_t* integers;
    double* reals;
    int64_t n_integers = 0, n_reals = 0;
};

// Reads no further than the arrays go, and gives no number outside the bounds it is asked for and
// none but finite ones.
class Loader {
  public:
    Loader(const int64_t* integers_, const double* reals_, const int64_t* counts)
        : integers(integers_), reals(reals_), n_integers(counts[0]), n_reals(counts[1]) {}

    int64_t integer(int64_t low = INT64_MIN, int64_t high = INT64_MAX) {
        const bool there = n_integers > 0;
        const int64_t value = there ? *integers : low;
        if (there) ++integers, --n_integers;
        good = good && there && value >= low && value <= high;
        return good ? value : low;
    }
    double real(double low = -kAnyReal, double high = kAnyReal) {
        good = good && n_reals > 0 && *reals >= low && *reals <= high;
        if (!good) return std::fmin(std::fmax(0, low), high);
        --n_reals;
        return *reals++;
    }
    // As real, or infinity.
    double real_or_infinity(double low) {
        if (!good || n_reals == 0 || !(*reals == HUGE_VAL)) return real(low);
        --n_reals;
        return *reals++;
    }
    // How many things follow, each of which takes an integer at least.
    int64_t size() {
        const int64_t value = integer(0);
        good = good && value <= n_integers;
        return good ? value : 0;
    }
    template <class Items>
    void all_integers(Items& items, int64_t low, int64_t high) {
        for (auto& value : items)
            value = static_cast<std::remove_reference_t<decltype(value)>>(integer(low, high));
    }
    template <class Items>
    void all_reals(Items& items, double low = -kAnyReal, double high = kAnyReal) {
        for (auto& value : items)
            value = static_cast<std::remove_reference_t<decltype(value)>>(real(low, high));
    }
    // The numbers 0 to the length of the order less 1, each once.
    void permutation(std::vector<int32_t>& order) {
        const auto n = static_cast<int64_t>(order.size());
        all_integers(order, 0, n - 1);
        std::vector<bool> seen(order.size());
        for (const int32_t place : order) {
            require(!seen[static_cast<size_t>(place)]);
            seen[static_cast<size_t>(place)] = true;
        }
    }
    void require(bool holds) { good = good && holds; }
    // Whether all was there and nothing is left.
    int status() const {
        return good && n_integers == 0 && n_reals == 0 ? SVMCUT_OK : SVMCUT_BAD_INPUT;
    }
    bool ok() const { return good; }

  private:
    static constexpr double kAnyReal = 1e300;
    const int64_t* integers;
    const double* reals;
    int64_t n_integers, n_reals;
    bool good = true;
};

}  // namespace svmcut
#endif
