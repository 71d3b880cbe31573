// SPDX-License-Identifier: BSD-3-Clause
//
// Projection on what a distribution over states can be worth to a dual.
#ifndef SVMCUT_PROJECT_H
#define SVMCUT_PROJECT_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

namespace svmcut {

// out: the point of {C (e_gold - q) : q a distribution over m states} next to target; O(m log m).
// sorted: room for m numbers. The three do not overlap.
inline void project(const double* target, int64_t m, int64_t gold, double C, double* sorted,
                    double* out) {
    constexpr double kFar = 1e4;  // of C
    for (int64_t y = 0; y < m; ++y) sorted[y] = (y == gold) - target[y] / C;
    std::sort(sorted, sorted + m, std::greater<double>());
    // Far from the simplex, which a shift of all does not change, q would not sum to 1.
    const double top = std::fabs(sorted[0]) > kFar ? sorted[0] : 0.0;
    double sum = 0, shift = 0;
    for (int64_t y = 0; y < m; ++y) {
        sorted[y] -= top;
        sum += sorted[y];
        const double t = (sum - 1) / static_cast<double>(y + 1);
        if (sorted[y] > t) shift = t;
    }
    for (int64_t y = 0; y < m; ++y) {
        const double q = std::max(0.0, (y == gold) - target[y] / C - top - shift);
        out[y] = C * ((y == gold) - q);
    }
}

}  // namespace svmcut

#endif
