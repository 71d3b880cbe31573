// SPDX-License-Identifier: BSD-3-Clause
//
// Water levels of responses with weights: two basins, and draws of what is under water.
#include <algorithm>
#include <cmath>

#include "steps/expansion.h"

namespace svmcut {

// As find_two: the weight m covered of either class rises from one end of a response to the next.
// Between two ends the levels are the responses themselves; at an end a class may rise to its next
// response, which takes m times the way.
bool WaterLevel::find_two_weighted(const double* c, double volume, Crew& crew) {
    for (int side : {0, 1}) {
        Basin& one = basin[side];
        if (!std::any_of(v + one.first, v + one.first + one.count, [](double x) { return x > 0; }))
            return false;
        one.low = width[side] > 0 ? centre[side] - 0.5 * width[side] : -HUGE_VAL;
        one.high = width[side] > 0 ? centre[side] + 0.5 * width[side] : HUGE_VAL;
        scan(one, c, crew);
        std::sort(one.window.begin(), one.window.end(), earlier);
    }
    bool missed[2] = {false, false};
    double ends[2] = {0, 0}, room[2] = {0, 0}, filled = 0;
    for (int look = 0;; ++look) {
        if (look == kLooks) return false;
        bool lower[2] = {false, false}, higher[2] = {false, false};
        const double start = std::max(basin[0].below.mass, basin[1].below.mass);
        filled = 0;
        for (int side : {0, 1}) {
            Basin& one = basin[side];
            const auto size = static_cast<int64_t>(one.window.size());
            double sum = one.below.sum, weight = one.below.mass;
            for (one.last = 0; one.last < size; ++one.last) {
                const Response& x = one.window[static_cast<size_t>(one.last)];
                if (weight + v[x.at] > start) {
                    filled += start * x.value - (sum + (start - weight) * x.value);
                    ends[side] = weight + v[x.at];
                    break;
                }
                sum += v[x.at] * x.value;
                weight += v[x.at];
            }
            if (one.last < size) continue;
            if (one.end() < one.count) {
                higher[side] = true;
                continue;
            }
            // all of this class weighs no more than what is below the window of one
            for (int high : {0, 1}) lower[high] = lower[high] || basin[high].below.mass == start;
        }
        if (!lower[0] && !lower[1] && !higher[0] && !higher[1]) {
            if (start == 0) filled = 0;
            for (int side : {0, 1})
                lower[side] = filled > volume && basin[side].below.mass == start;
        }
        while (!lower[0] && !lower[1] && !higher[0] && !higher[1]) {
            mass = std::min(ends[0], ends[1]);
            for (int side : {0, 1}) {
                const Basin& one = basin[side];
                const auto next = static_cast<size_t>(one.last) + 1;
                room[side] = 0;
                if (ends[side] > mass) continue;
                if (next < one.window.size())
                    room[side] = one.window[next].value - one.window[next - 1].value;
                else if (one.end() < one.count) higher[side] = true;
                else room[side] = HUGE_VAL;
            }
            if (higher[0] || higher[1]) break;
            const double way = mass * (room[0] + room[1]);
            if (!(filled + way <= volume)) break;
            filled += way;
            for (int side : {0, 1}) {
                Basin& one = basin[side];
                if (ends[side] == mass)
                    ends[side] += v[one.window[static_cast<size_t>(++one.last)].at];
            }
        }
        if (!lower[0] && !lower[1] && !higher[0] && !higher[1]) break;
        for (int side : {0, 1}) {
            if (!lower[side] && !higher[side]) continue;
            missed[side] = true;
            widen(basin[side], lower[side], higher[side], look, c, crew);
            std::sort(basin[side].window.begin(), basin[side].window.end(), earlier);
        }
    }
    const double rest = (volume - filled) / mass;
    double value[2];
    for (int side : {0, 1})
        value[side] = basin[side].window[static_cast<size_t>(basin[side].last)].value;
    const double lift = std::min(room[0], std::max(rest / 2, rest - room[1]));
    const double g_up = value[0] + lift, g_down = value[1] + (rest - lift);
    covered =
        std::min(basin[0].below.count + basin[0].last, basin[1].below.count + basin[1].last) + 1;
    level = (g_up + g_down) / 2;
    bias = (g_down - g_up) / 2;
    for (int side : {0, 1}) remember(side, value[side], missed[side]);
    return std::isfinite(level) && std::isfinite(bias);
}

int64_t WaterLevel::point_at(const double* c, int side, double place) const {
    const Basin& one = basin[side];
    int64_t found = -1;  // where rounding leaves nothing, the last that has a weight
    size_t piece = 0;
    while (piece < one.before.size() && place >= one.weights[piece]) place -= one.weights[piece++];
    if (piece < one.before.size()) {
        const int64_t begin = one.first + static_cast<int64_t>(piece) * kStretch;
        const int64_t end = std::min(begin + kStretch, one.first + one.count);
        for (int64_t at = begin; at < end && place >= 0; ++at) {
            if (!(c[at] < one.low) || !(v[at] > 0)) continue;
            found = at;
            place -= v[at];
        }
        return found;
    }
    for (int64_t k = 0; two && k <= one.last && (place >= 0 || found < 0); ++k) {
        const int64_t at = one.window[static_cast<size_t>(k)].at;
        if (!(v[at] > 0)) continue;
        found = at;
        place -= v[at];
    }
    for (int64_t at = one.first + one.count; found < 0 && at-- > one.first;)
        if (c[at] < one.low && v[at] > 0) found = at;
    return found;
}

}  // namespace svmcut
