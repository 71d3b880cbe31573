// SPDX-License-Identifier: BSD-3-Clause
//
// Kernel trainers that visit one point after the other and read its response: Pegasos
// (Shalev-Shwartz, Singer, Srebro and Cotter, Math. Prog. 127, 2011), dual coordinate ascent (Hsieh
// et al., ICML 2008) and the perceptron. Only a visit that changes a coefficient computes a kernel
// row.
//
// With weights of the points Pegasos and the perceptron visit a point as often as its weight says,
// an epoch being as many visits as there are points; the box of dual coordinate ascent is C v_i,
// and every point has its turn.
#include <algorithm>
#include <chrono>
#include <new>

#include "core/random.h"
#include "steps/expansion.h"

namespace svmcut {
namespace {

// What the visit adds to a_i.
double change_of(const svmcut_expansion& expansion, int rule, const svmcut_visits_state& state,
                 int64_t i) {
    const double c = state.c[i], C = state.weights ? state.C * state.weights[i] : state.C;
    if (rule == SVMCUT_PERCEPTRON) return c <= 0 ? 1.0 : 0.0;
    if (rule == SVMCUT_PEGASOS) {
        const auto before = static_cast<double>(state.visits);
        const double all =
            state.sums ? state.sums[expansion.trained - 1] : static_cast<double>(expansion.trained);
        return all * state.C * c < before || before == 0 ? 1.0 : 0.0;
    }
    const double own = expansion.points.diagonal(i);
    const double best = own > 0 ? state.a[i] + (1 - c) / own : (c < 1 ? C : 0.0);
    return std::min(std::max(best, 0.0), C) - state.a[i];
}

int64_t next_of(const svmcut_expansion& expansion, svmcut_visits_state& state) {
    Random random{state.random};
    int64_t i;
    if (state.order) {
        const int64_t at = state.visits % expansion.trained;
        if (at == 0 && state.sums)
            draw_evenly(state.sums, expansion.trained, expansion.trained, random, state.order);
        if (at == 0) shuffle(state.order, expansion.trained, random);
        i = state.order[at];
    } else if (state.sums) {
        i = draw_one(state.sums, expansion.trained, random);
    } else {
        i = random.below(static_cast<uint32_t>(expansion.trained));
    }
    state.random = random.state;
    return i;
}

}  // namespace
}  // namespace svmcut

extern "C" int svmcut_visits_run(const svmcut_expansion* expansion, int rule,
                                 svmcut_visits_state* state, int64_t visits, double seconds,
                                 int threads) {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    auto& own = *const_cast<svmcut_expansion*>(expansion);
    try {
        svmcut::Crew crew(threads);
        for (int64_t k = 0; k < visits; ++k) {
            const int64_t i = svmcut::next_of(own, *state);
            const double change = svmcut::change_of(own, rule, *state, i);
            ++state->visits;
            if (change != 0) {
                if (const int status = own.add(i, change, 0.0, state->c, nullptr, crew, nullptr))
                    return status;
                state->a[i] += change;
                ++state->changes;
                state->evaluations += own.n;
            } else if (k % 64 != 63) {
                continue;
            }
            if (std::chrono::duration<double>(Clock::now() - began).count() > seconds) break;
        }
        return SVMCUT_OK;
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}
