// SPDX-License-Identifier: BSD-3-Clause
//
// The water level of the stochastic batch perceptron (Cotter, Shalev-Shwartz and Srebro, ICML 2012,
// Appendix B).
//
//   one basin    g with sum_i max(0, g - c_i) = volume: Newton's method, which from the right of
//                the answer falls to it in finitely many passes
//   two basins   a_1 <= a_2 <= .. of the positives, b_1 <= .. of the negatives, as many of either
//                covered: F_k = k (a_k + b_k) - sum_{i<=k} (a_i + b_i), k the largest with F_k <=
//                volume, and what is left lifts both levels, neither beyond its next response
//   weights v    sum_i v_i max(0, g - c_i) = volume; of two basins as much weight is covered of
//                either, the last response of one perhaps in part
//
// Deviation: the listing of Algorithm 3 cannot be run as printed, and sorting costs more than a
// kernel row. Here the ranks near the last answer are known from a window of responses that one
// pass collects; a window that turns out not to hold the answer grows until it does, in the end to
// all responses.
#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>

#include "steps/expansion.h"

namespace svmcut {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// Responses the first window should hold. Later a window that missed the answer is wider at the
// next step, and any other narrower.
constexpr double kWanted = 96, kWiden = 1.5, kNarrow = 0.95;
// responses on either side whose mean move foretells that of the level
constexpr int64_t kNear = 24;

}  // namespace

WaterLevel::WaterLevel(const ExpansionCode& use, int64_t positives, int64_t trained, bool free_bias,
                       const double* weights)
    : code(use), v(weights), two(free_bias) {
    basin[0].count = free_bias ? positives : trained;
    basin[1].first = positives;
    basin[1].count = free_bias ? trained - positives : 0;
    for (Basin& side : basin) {
        side.before.resize(static_cast<size_t>((side.count + kStretch - 1) / kStretch));
        if (v) side.weights.resize(side.before.size());
    }
    if (two)
        room.resize(
            static_cast<size_t>(trained + 2 * (basin[0].before.size() + basin[1].before.size())));
}

bool WaterLevel::find(const double* c, double volume, Crew& crew) {
    if (!two) return find_one(c, volume, crew);
    return v ? find_two_weighted(c, volume, crew) : find_two(c, volume, crew);
}

double WaterLevel::lowest_of(const double* c) const {
    if (!v) return *std::min_element(c, c + basin[0].count);
    double lowest = kInfinite;
    for (int64_t i = 0; i < basin[0].count; ++i) lowest = v[i] > 0 && c[i] < lowest ? c[i] : lowest;
    return lowest;
}

Below WaterLevel::count_below(const double* c, double threshold, Crew& crew) {
    Basin& all = basin[0];
    const auto pieces = static_cast<int64_t>(all.before.size());
    std::vector<double>& sums = all.sums;
    sums.resize(all.before.size());
    crew.run(pieces, [&](int64_t piece) {
        const int64_t begin = piece * kStretch;
        const int64_t size = std::min(kStretch, all.count - begin);
        const Below found = v ? code.below_weighted(c + begin, v + begin, threshold, size)
                              : code.below(c + begin, threshold, size);
        all.before[piece] = found.count;
        sums[piece] = found.sum;
        if (v) all.weights[piece] = found.mass;
    });
    Below total{0, 0.0, 0.0};
    for (int64_t piece = 0; piece < pieces; ++piece) {
        total.count += all.before[piece];
        total.sum += sums[piece];
        if (v) total.mass += all.weights[piece];
    }
    if (!v) total.mass = static_cast<double>(total.count);
    return total;
}

bool WaterLevel::find_one(const double* c, double volume, Crew& crew) {
    const int64_t n = basin[0].count;
    if (n == 0) return false;
    double g = width[0] > 0 ? centre[0] : kInfinite;
    if (!(volume > 0)) {
        level = lowest_of(c);
        if (!std::isfinite(level)) return false;
        g = std::nextafter(level, kInfinite);
        const Below under = count_below(c, g, crew);
        covered = under.count;
        mass = under.mass;
    } else {
        bool right = false;  // of the answer, since the first step
        for (;;) {
            const Below under = count_below(c, g, crew);
            if (!std::isfinite(under.sum) || (g == kInfinite && under.count < n)) return false;
            if (!(under.mass > 0)) {
                const double lowest = lowest_of(c);
                if (!std::isfinite(lowest)) return false;
                if (right || !(lowest + volume > lowest)) {  // less water than rounding
                    level = lowest + volume;
                    g = std::nextafter(lowest, kInfinite);
                    const Below ties = count_below(c, g, crew);
                    covered = ties.count;
                    mass = ties.mass;
                    break;
                }
                g = lowest + volume;
                continue;
            }
            const double next = (volume + under.sum) / under.mass;
            level = next;
            covered = under.count;
            mass = under.mass;
            if (right && next >= g) break;
            if (next == g) break;
            right = true;
            g = next;
        }
    }
    edge[0] = basin[0].low = g;
    bias = 0;
    centre[0] = level;
    width[0] = 1;
    return std::isfinite(level);
}

void WaterLevel::scan(Basin& side, const double* c, Crew& crew) {
    const auto pieces = static_cast<int64_t>(side.before.size());
    std::vector<Below> found(side.before.size());
    std::vector<int64_t> taken(side.before.size());
    Response* out = room.data() + side.first + (&side == basin ? 0 : 2 * basin[0].before.size());
    crew.run(pieces, [&](int64_t piece) {
        const int64_t begin = piece * kStretch, first = side.first + begin;
        const int64_t size = std::min(kStretch, side.count - begin);
        found[piece] = v ? code.collect_weighted(c + first, v + first, side.low, side.high, first,
                                                 size, out + begin + piece, &taken[piece])
                         : code.collect(c + first, side.low, side.high, first, size,
                                        out + begin + piece, &taken[piece]);
        side.before[piece] = found[piece].count;
        if (v) side.weights[piece] = found[piece].mass;
    });
    side.below = {0, 0.0, 0.0};
    side.window.clear();
    for (int64_t piece = 0; piece < pieces; ++piece) {
        side.below.count += found[piece].count;
        side.below.sum += found[piece].sum;
        side.below.mass += found[piece].mass;
        const Response* part = out + piece * (kStretch + 1);
        side.window.insert(side.window.end(), part, part + taken[piece]);
    }
}

bool WaterLevel::find_two(const double* c, double volume, Crew& crew) {
    Basin &up = basin[0], &down = basin[1];
    const int64_t most = std::min(up.count, down.count);
    if (most == 0) return false;
    for (int side : {0, 1}) {
        Basin& one = basin[side];
        one.low = width[side] > 0 ? centre[side] - 0.5 * width[side] : -kInfinite;
        one.high = width[side] > 0 ? centre[side] + 0.5 * width[side] : kInfinite;
        scan(one, c, crew);
    }
    // Ranks k of both classes, with what is below them in the window set apart from what is above.
    struct Ranks {
        int64_t k;
        double value[2], sum[2], filled;
    };
    const auto place = [&](int64_t k, const Ranks* after, const Ranks* before) {
        Ranks ranks{k, {0, 0}, {0, 0}, 0};
        for (int side : {0, 1}) {
            Basin& one = basin[side];
            const auto begin = one.window.begin() - one.below.count - 1;  // of rank 0
            const auto from = after ? begin + after->k + 1 : one.window.begin();
            const auto to = before ? begin + before->k : one.window.end();
            std::nth_element(from, begin + k, to, earlier);
            ranks.value[side] = (begin + k)->value;
            ranks.sum[side] =
                std::accumulate(from, begin + k + 1, after ? after->sum[side] : one.below.sum,
                                [](double sum, const Response& x) { return sum + x.value; });
        }
        // F_1 is 0 whatever rounding says: nu = 0 must find the lowest of each class.
        if (k > 1)
            ranks.filled = static_cast<double>(k) * (ranks.value[0] + ranks.value[1]) -
                           (ranks.sum[0] + ranks.sum[1]);
        return ranks;
    };
    bool missed[2] = {false, false};
    Ranks at{}, above{};
    for (int look = 0;; ++look) {
        if (look == kLooks) return false;
        const int64_t first = std::max(up.below.count, down.below.count) + 1,
                      last = std::min(up.end(), down.end());
        bool lower[2] = {false, false}, higher[2] = {false, false};
        if (first > last) {
            for (int side : {0, 1}) {
                higher[side] = basin[side].end() < first && basin[side].end() < basin[side].count;
                lower[side] = basin[side].below.count >= last && basin[side].below.count > 0;
            }
        } else if (at = place(first, nullptr, nullptr); at.filled > volume) {
            for (int side : {0, 1}) lower[side] = basin[side].below.count + 1 == first;
        } else {
            above = last > first ? place(last, &at, nullptr) : at;
            if (above.filled <= volume) at = above;
            while (above.k - at.k > 1) {
                const Ranks middle = place(at.k + (above.k - at.k) / 2, &at, &above);
                (middle.filled <= volume ? at : above) = middle;
            }
            for (int side : {0, 1})
                higher[side] = at.k == basin[side].end() && at.k < basin[side].count;
            if (!higher[0] && !higher[1]) break;
        }
        for (int side : {0, 1}) {
            if (!lower[side] && !higher[side]) continue;
            missed[side] = true;
            widen(basin[side], lower[side], higher[side], look, c, crew);
        }
    }
    const int64_t k = at.k;
    const auto room_of = [&](int side) {  // to the next response of the class
        const Basin& one = basin[side];
        if (k == one.count) return kInfinite;
        if (above.k > k) return above.value[side] - at.value[side];
        return std::min_element(one.window.begin() + (k - one.below.count), one.window.end(),
                                earlier)
                   ->value -
               at.value[side];
    };
    const double rest = (volume - at.filled) / static_cast<double>(k);
    const double lift = std::min(room_of(0), std::max(rest / 2, rest - room_of(1)));
    const double g_up = at.value[0] + lift, g_down = at.value[1] + (rest - lift);
    covered = k;
    mass = static_cast<double>(k);
    level = (at.sum[0] + at.sum[1] + volume) / (2 * static_cast<double>(k));
    bias = (g_down - g_up) / 2;
    for (int side : {0, 1}) {
        basin[side].last = k - 1 - basin[side].below.count;
        remember(side, at.value[side], missed[side]);
    }
    return std::isfinite(level) && std::isfinite(bias);
}

// A window that missed the answer, larger where it may be.
void WaterLevel::widen(Basin& one, bool lower, bool higher, int look, const double* c, Crew& crew) {
    const double reach = one.high - one.low;
    if (look >= kLooks / 2) {
        one.low = -kInfinite;
        one.high = kInfinite;
    } else {
        if (lower) one.low -= reach;
        if (higher) one.high += reach;
    }
    scan(one, c, crew);
}

// The last covered response of a class, and how wide the window around it should be at the next
// step.
void WaterLevel::remember(int side, double value, bool missed) {
    const Basin& one = basin[side];
    edge[side] = centre[side] = value;
    if (width[side] > 0) {
        width[side] *= missed ? kWiden : kNarrow;
    } else {
        const double held = static_cast<double>(one.window.size());
        const auto ends = std::minmax_element(one.window.begin(), one.window.end(), earlier);
        width[side] = (ends.second->value - ends.first->value) * std::min(1.0, kWanted / held);
    }
    width[side] = std::max(width[side], 1e-13 * std::fabs(centre[side]) + 1e-290);
}

void WaterLevel::follow(const double* c, double shift) {
    if (!two) centre[0] += shift;
    for (int side = 0; side < 2 && two; ++side) {
        const Basin& one = basin[side];
        const int64_t at = one.last, size = static_cast<int64_t>(one.window.size());
        const int64_t first = std::max<int64_t>(0, at - kNear),
                      last = std::min(size, at + kNear + 1);
        double sum = 0;
        for (int64_t k = first; k < last; ++k) sum += c[one.window[k].at] - one.window[k].value;
        centre[side] += sum / static_cast<double>(last - first);
    }
}

int64_t WaterLevel::point(const double* c, int side, int64_t rank) const {
    const Basin& one = basin[side];
    if (two && rank >= one.below.count)
        return one.window[static_cast<size_t>(rank - one.below.count)].at;
    size_t piece = 0;
    while (rank >= one.before[piece]) rank -= one.before[piece++];
    int64_t at = one.first + static_cast<int64_t>(piece) * kStretch;
    for (;; ++at)
        if (c[at] < one.low && rank-- == 0) return at;
}

}  // namespace svmcut

extern "C" int svmcut_water_level(const double* c, const double* v, int64_t positives, int64_t n,
                                  double volume, int free_bias, double* level, double* bias,
                                  int64_t* covered, double* mass) {
    try {
        svmcut::Crew alone(1);
        svmcut::WaterLevel water(svmcut::expansion_code(SVMCUT_FASTEST), positives, n, free_bias,
                                 v);
        if (!water.find(c, volume, alone)) return SVMCUT_BAD_INPUT;
        *level = water.level;
        *bias = water.bias;
        *covered = water.covered;
        *mass = water.mass;
        return SVMCUT_OK;
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}
