// SPDX-License-Identifier: BSD-3-Clause
//
// The root of a rising piecewise linear function, which slopes of hinge losses along a line are.
#ifndef SVMCUT_SLOPE_ROOT_H
#define SVMCUT_SLOPE_ROOT_H

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace svmcut {

struct Breakpoint {
    double t;     // where example i enters or leaves the margin
    double jump;  // by how much the slope of sum_i hinge_i rises there
};

// Smallest t with slope + t * curvature + C * (jumps at breakpoints <= t) >= 0, by selection:
// expected O(count). On entry slope < 0; `candidates` is reordered.
inline double root_of_slope(std::vector<Breakpoint>& candidates, double slope, double curvature,
                            double C) {
    int64_t begin = 0, end = static_cast<int64_t>(candidates.size());
    uint64_t lcg = 88172645463325252u;
    double passed = 0.0;  // jumps at breakpoints below the interval [begin, end)
    while (begin < end) {
        lcg = lcg * 6364136223846793005u + 1442695040888963407u;
        const int64_t pick =
            begin + static_cast<int64_t>((lcg >> 33) % static_cast<uint64_t>(end - begin));
        const double pivot = candidates[pick].t;
        double below = 0.0, at = 0.0;
        int64_t low = begin, scan = begin, high = end;
        while (scan < high) {
            const Breakpoint here = candidates[scan];
            if (here.t < pivot) {
                below += here.jump;
                std::swap(candidates[low++], candidates[scan++]);
            } else if (here.t > pivot) {
                std::swap(candidates[scan], candidates[--high]);
            } else {
                at += here.jump;
                ++scan;
            }
        }
        const double before = slope + pivot * curvature + C * (passed + below);
        if (before >= 0) {
            end = low;
        } else if (before + C * at >= 0) {
            return pivot;
        } else {
            passed += below + at;
            begin = high;
        }
    }
    const double level = slope + C * passed;
    return curvature > 0 ? std::max(0.0, -level / curvature) : 0.0;
}

}  // namespace svmcut
#endif
