// SPDX-License-Identifier: BSD-3-Clause
//
// Which example a step of budgeted training visits. The epoch and the place in it say all there is
// to know, but for the adaptive frequencies: Glasmachers and Dogan, Accelerated coordinate descent
// with adaptive coordinate frequencies, 2013, Algorithms 2 and 3.
#include <algorithm>
#include <cmath>

#include "budget/budget.h"
#include "core/prefetch.h"

namespace {

using svmcut::prefetch;
using svmcut::Random;

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;
constexpr double kRate = 0.3, kRarest = 0.05, kMostOften = 20;  // of preferences
constexpr int64_t kRowsAhead = 4, kPointersAhead = 10, kLinesAhead = 4;

uint64_t stream(uint64_t seed, int64_t epoch) {
    Random random{seed};
    random.state = random.next() + static_cast<uint64_t>(epoch) * 0xd1342543de82ef95u;
    return random.next();
}

}  // namespace

int64_t svmcut_budget::visit(int64_t position) const {
    if (options.sampling != SVMCUT_INDEPENDENT) return schedule[position];
    Random random{stream(options.seed, state.epoch) + static_cast<uint64_t>(position) * kGolden};
    if (!sums.empty()) return svmcut::draw_one(sums.data(), X.n_rows, random);
    return random.below(static_cast<uint32_t>(X.n_rows));
}

void svmcut_budget::begin_epoch() {
    const int64_t n = X.n_rows;
    ++state.epoch;
    state.position = 0;
    state.scheduled = n;
    if (options.sampling == SVMCUT_INDEPENDENT) return;
    Random random{stream(options.seed, state.epoch)};
    if (options.sampling == SVMCUT_ADAPTIVE && state.epoch > 0) {
        double sum = 0;
        for (int64_t i = 0; i < n; ++i) sum += preference[i];
        schedule.clear();
        while (schedule.empty()) {
            for (int64_t i = 0; i < n; ++i) {
                const double due = credit[i] + static_cast<double>(n) * preference[i] / sum;
                const double visits = std::floor(due);
                credit[i] = static_cast<float>(due - visits);
                schedule.insert(schedule.end(), static_cast<size_t>(visits),
                                static_cast<int32_t>(i));
            }
        }
    } else {
        schedule.resize(n);
        for (int64_t i = 0; i < n; ++i) schedule[i] = static_cast<int32_t>(i);
        if (!sums.empty()) svmcut::draw_evenly(sums.data(), n, n, random, schedule.data());
    }
    state.scheduled = static_cast<int64_t>(schedule.size());
    svmcut::shuffle(schedule.data(), state.scheduled, random);
}

void svmcut_budget::fetch(int64_t position) const {
    if (position + kPointersAhead < state.scheduled) {
        const int64_t i = visit(position + kPointersAhead);
        prefetch(X.indptr + i);
        prefetch(y + i);
        if (options.dual) prefetch(alpha.data() + i);
    }
    if (position + kRowsAhead < state.scheduled) {
        const int64_t start = X.indptr[visit(position + kRowsAhead)];
        for (int64_t k = 0; k < kLinesAhead; ++k) {
            prefetch(X.data + start + 16 * k);
            prefetch(X.indices + start + 16 * k);
        }
    }
}

// In the first epoch mean_gain is a sum, and all are alike.
void svmcut_budget::prefer(int64_t i, double gain) {
    const auto n = static_cast<double>(X.n_rows);
    if (state.epoch == 0) {
        state.mean_gain += gain / n;
        return;
    }
    if (state.mean_gain > 0) {
        const double p =
            preference[i] * std::exp(std::min(kRate * (gain / state.mean_gain - 1), 10.0));
        preference[i] = static_cast<float>(std::min(std::max(p, kRarest), kMostOften));
    }
    state.mean_gain += (gain - state.mean_gain) / n;
}
