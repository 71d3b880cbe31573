// SPDX-License-Identifier: BSD-3-Clause
//
// The stochastic batch perceptron (Cotter, Shalev-Shwartz and Srebro, ICML 2012, Algorithm 1): one
// point under water is drawn, its row is added to the responses, w goes back to the unit ball.
// Scaling w is one number; the averages of the iterates follow from the total of these numbers, so
// a step has one pass over the responses and the search of the level.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>

#include "core/random.h"
#include "steps/expansion.h"

namespace svmcut {
namespace {

// Below this scale the sums would lose digits.
constexpr double kSmallScale = 1e-3;
constexpr int64_t kRecompute = 1024;  // steps between two looks at |w|^2 against drift

int step(svmcut_expansion& expansion, svmcut_sbp_state& state, WaterLevel& water, Crew& crew) {
    if (!water.find(state.c, state.volume / state.scale, crew)) return SVMCUT_BAD_INPUT;
    state.level = state.scale * water.level;
    state.bias = state.scale * water.bias;
    state.covered = water.covered;
    Random random{state.random};
    const int side = state.free_bias ? static_cast<int>(random.below(2)) : 0;
    const int64_t j =
        state.weights
            ? water.point_at(state.c, side, random.uniform() * water.mass)
            : water.point(state.c, side, random.below(static_cast<uint32_t>(water.covered)));
    state.random = random.state;
    if (state.mass && state.steps % SVMCUT_SBP_SPARSE == 0) {
        const int64_t ends[3] = {0, state.free_bias ? expansion.positives : expansion.trained,
                                 expansion.trained};
        const double share = (state.free_bias ? 0.5 : 1.0) / water.mass;
        for (int k = 0; k <= state.free_bias; ++k)
            if (state.weights)
                expansion.code->weigh_weighted(state.c + ends[k], state.weights + ends[k],
                                               water.threshold(k), share, state.mass + ends[k],
                                               ends[k + 1] - ends[k]);
            else
                expansion.code->weigh(state.c + ends[k], water.threshold(k), share,
                                      state.mass + ends[k], ends[k + 1] - ends[k]);
    }
    const double eta = state.first_step / std::sqrt(static_cast<double>(++state.steps));
    const double change = eta / state.scale;
    state.squared += eta * (2 * state.scale * state.c[j] + eta * expansion.points.diagonal(j));
    state.sum[j] += state.a[j] * (state.total - state.since[j]);
    state.since[j] = state.total;
    state.a[j] += change;
    double means[2];
    const int status =
        expansion.add(j, change, state.total * change, state.c, state.correction, crew, means);
    if (status) return status;
    state.evaluations += expansion.n;
    const double up =
        static_cast<double>(expansion.positives) / static_cast<double>(expansion.trained);
    water.follow(state.c, expansion.sign(j) * change * (up * means[0] - (1 - up) * means[1]));
    if (state.squared > 1) {
        state.scale /= std::sqrt(state.squared);
        state.squared = 1;
    }
    state.total += state.scale;
    ++state.averaged;
    return SVMCUT_OK;
}

}  // namespace
}  // namespace svmcut

extern "C" void svmcut_sbp_flush(const svmcut_expansion* expansion, svmcut_sbp_state* state) {
    const double scale = state->scale, total = state->total;
    for (int64_t p = 0; p < expansion->n; ++p) {
        state->sum[p] += state->a[p] * (total - state->since[p]);
        state->response_sum[p] += total * state->c[p] - state->correction[p];
        state->since[p] = state->correction[p] = 0;
        state->a[p] *= scale;
        state->c[p] *= scale;
    }
    for (int side : {0, 1}) {
        state->centre[side] *= scale;
        state->width[side] *= scale;
    }
    state->scale = 1;
    state->total = 0;
    double squared = 0;
    for (int64_t p = 0; p < expansion->trained; ++p) squared += state->a[p] * state->c[p];
    state->squared = std::max(0.0, squared);
}

extern "C" void svmcut_sbp_restart(const svmcut_expansion* expansion, svmcut_sbp_state* state) {
    svmcut_sbp_flush(expansion, state);
    std::fill_n(state->sum, expansion->n, 0.0);
    std::fill_n(state->response_sum, expansion->n, 0.0);
    if (state->mass) std::fill_n(state->mass, expansion->n, 0.0);
    state->averaged = 0;
}

extern "C" int svmcut_sbp_run(const svmcut_expansion* expansion, svmcut_sbp_state* state,
                              int64_t steps, double seconds, int threads) {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    auto& own = *const_cast<svmcut_expansion*>(expansion);
    try {
        svmcut::Crew crew(threads);
        svmcut::WaterLevel water(*own.code, own.positives, own.trained, state->free_bias,
                                 state->weights);
        int status = SVMCUT_OK;
        for (int64_t k = 0; k < steps && status == SVMCUT_OK; ++k) {
            std::copy_n(state->centre, 2, water.centre);
            std::copy_n(state->width, 2, water.width);
            status = svmcut::step(own, *state, water, crew);
            std::copy_n(water.centre, 2, state->centre);
            std::copy_n(water.width, 2, state->width);
            if (state->scale < svmcut::kSmallScale || state->steps % svmcut::kRecompute == 0)
                svmcut_sbp_flush(expansion, state);
            if (std::chrono::duration<double>(Clock::now() - began).count() > seconds) break;
        }
        return status;
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}
