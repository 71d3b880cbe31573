// SPDX-License-Identifier: BSD-3-Clause
//
// What a run of SMO tells of itself, its state at another C, and all of it as two arrays, for runs
// that stop and go on. Rows in the cache are not part of those: they are the same numbers when they
// are evaluated again.
#include <algorithm>
#include <cmath>
#include <new>

#include "kernels/smo.h"

namespace {

constexpr int64_t kIntegers = 6, kReals = 5;  // before the n integers and 4 n reals by position
constexpr int64_t kLongestWait = INT32_MAX;   // steps to the next shrinking

}  // namespace

extern "C" void svmcut_smo_rescale(svmcut_smo* smo, double C) {
    const double factor = C / smo->C;
    smo->C = C;
    for (int64_t p = 0; p < smo->n; ++p) {
        smo->beta[p] = !smo->up[p]    ? smo->top(p)
                       : !smo->low[p] ? smo->bottom(p)
                                      : smo->beta[p] * factor;
        smo->v[p] = smo->origin(p) - factor * (smo->origin(p) - smo->v[p]);
        smo->mark(p);
    }
    smo->dual = smo->dual_value();
    smo->unshrunk = false;
    smo->whole_v = smo->v;
    smo->whole_beta = smo->beta;
    smo->select();
}

extern "C" void svmcut_smo_read(const svmcut_smo* smo, svmcut_smo_state* state) {
    state->iterations = smo->iterations;
    state->evaluations = smo->evaluations;
    state->active = smo->active;
    state->support = 0;
    for (int64_t p = 0; p < smo->n; ++p) state->support += smo->beta[p] != 0;
    state->dual = smo->dual;
    state->highest = smo->highest;
    state->lowest = smo->lowest;
}

extern "C" void svmcut_smo_time(svmcut_smo* smo) { smo->timed = true; }

extern "C" void svmcut_smo_spent(const svmcut_smo* smo, double* seconds) {
    std::copy(smo->spent, smo->spent + svmcut::kParts, seconds);
}

extern "C" void svmcut_smo_solution(const svmcut_smo* smo, double* beta, double* v) {
    for (int64_t p = 0; p < smo->n; ++p) {
        beta[smo->order[p]] = smo->beta[p];
        v[smo->order[p]] = smo->v[p];
    }
}

extern "C" void svmcut_smo_save(const svmcut_smo* smo, int64_t* integers, double* reals) {
    const int64_t n = smo->n;
    const int64_t head[kIntegers] = {smo->active,          smo->iterations, smo->evaluations,
                                     smo->until_shrinking, smo->unshrunk,   smo->next.at};
    const double front[kReals] = {smo->C, smo->dual, smo->highest, smo->lowest, smo->next.value};
    integers = std::copy(head, head + kIntegers, integers);
    std::copy(smo->order.begin(), smo->order.end(), integers);
    reals = std::copy(front, front + kReals, reals);
    for (const auto* values : {&smo->v, &smo->beta, &smo->whole_v, &smo->whole_beta})
        reals = std::copy(values->begin(), values->begin() + n, reals);
}

extern "C" int svmcut_smo_load(svmcut_smo* smo, const int64_t* integers, const double* reals) {
    const int64_t n = smo->n;
    const int64_t* const order = integers + kIntegers;
    std::vector<int64_t> kept(order, order + n);
    std::vector<int64_t> sorted(kept);
    std::sort(sorted.begin(), sorted.end());
    for (int64_t p = 0; p < n; ++p)
        if (sorted[static_cast<size_t>(p)] != p) return SVMCUT_BAD_INPUT;
    std::vector<int64_t>& home = sorted;  // where every row is now
    for (int64_t p = 0; p < n; ++p) home[smo->order[p]] = p;
    if (integers[0] < 1 || integers[0] > n || integers[5] < -1 || integers[5] >= integers[0])
        return SVMCUT_BAD_INPUT;
    if (integers[1] < 0 || integers[2] < 0 || integers[3] > kLongestWait || !(reals[0] > 0) ||
        !std::isfinite(reals[0]))
        return SVMCUT_BAD_INPUT;
    // the extremes of nothing are infinite, and so is the gain of no next step
    if (std::isnan(reals[2]) || std::isnan(reals[3]) || std::isnan(reals[4]))
        return SVMCUT_BAD_INPUT;
    for (int64_t k = 0; k < kReals + 4 * n; ++k) {
        const bool may_be_infinite = k == 2 || k == 3 || (k == 4 && integers[5] < 0);
        if (!may_be_infinite && !std::isfinite(reals[k])) return SVMCUT_BAD_INPUT;
    }
    for (int64_t p = 0; p < n; ++p)
        for (const double* beta : {reals + kReals + n, reals + kReals + 3 * n})
            if (std::fabs(beta[p]) >
                reals[0] * (smo->weight.empty() ? 1 : smo->weight[home[kept[p]]]) * (1 + 1e-9))
                return SVMCUT_BAD_INPUT;
    try {
        smo->permute(home, {});  // positions are rows again
        smo->permute(kept, {});  // y and the diagonal go with the order
        smo->active = integers[0];
        smo->iterations = integers[1];
        smo->evaluations = integers[2];
        smo->until_shrinking = integers[3];
        smo->unshrunk = integers[4] != 0;
        smo->C = reals[0];
        smo->dual = reals[1];
        smo->highest = reals[2];
        smo->lowest = reals[3];
        smo->next = {reals[4], integers[5]};
        reals += kReals;
        for (auto* values : {&smo->v, &smo->beta, &smo->whole_v, &smo->whole_beta}) {
            std::copy(reals, reals + n, values->begin());
            reals += n;
        }
        std::fill(smo->up.begin(), smo->up.end(), int8_t{0});
        std::fill(smo->low.begin(), smo->low.end(), int8_t{0});
        for (int64_t p = 0; p < smo->active; ++p) smo->mark(p);
        if (!smo->lay_out()) return SVMCUT_NO_MEMORY;
        smo->forget_rows(smo->active);
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}

extern "C" int svmcut_smo_make_whole(svmcut_smo* smo, int threads) {
    try {
        return smo->make_whole(threads);
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}

extern "C" void svmcut_smo_delete(svmcut_smo* smo) { delete smo; }
