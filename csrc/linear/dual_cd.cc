// SPDX-License-Identifier: BSD-3-Clause
//
// Dual coordinate descent for sums of losses, each of one score (losses.h). Of the hinge (Hsieh,
// Chang, Lin, Keerthi and Sundararajan, ICML 2008, Algorithm 3):
//
//   dual      min over alpha, 0 <= alpha_i <= C_i   1/2 |w|^2 - sum alpha,
//             w = sum_i alpha_i y_i (x_i, bias)
//   step      alpha_i <- clip(alpha_i - G / |x_i|^2, 0, C_i),   G = y_i w.x_i - 1
//   shrinking a coordinate at a bound whose G lies beyond the extremes of the last epoch is left
//   out
//
// The squared hinge is of the same paper; the epsilon-insensitive loss of Ho and Lin, JMLR 2012,
// Algorithm 4; of the logistic loss (Yu, Huang and Lin, Machine Learning 2011) the logit is the
// variable, and nothing is left out.
//
// Deviations from the paper: the gap over the visited coordinates is summed on the way, which costs
// nothing and tells the caller when an exact look is worth its passes; shrunk coordinates come back
// by exact scores (svmcut_dual_cd_wake) and not by a pass of their own.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/prefetch.h"
#include "core/random.h"
#include "core/stretches.h"
#include "include/linear.h"
#include "linear/losses.h"
#include "linear/sparse_row.h"

namespace {

using svmcut::Coordinate;
using svmcut::draw_visits;
using svmcut::prefetch;
using svmcut::Random;
using svmcut::row_add;
using svmcut::row_dot;
using svmcut::Stretch;
using svmcut::Visit;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int32_t kShrunk = -1;
constexpr double kIdle = 1e-12;  // projected gradients below this do not move a coordinate
constexpr int64_t kPollEvery = 1 << 8;
constexpr int64_t kRowsAhead = 4;       // entries of the row so many visits ahead are fetched now
constexpr int64_t kPointersAhead = 12;  // and what belongs to the row itself before that
constexpr int64_t kLinesAhead = 12;     // cache lines fetched of one row; the rest streams

struct Descent {
    const svmcut_csr* X;
    const double* y;
    const double* norms;
    const double* v;  // C_i = C v_i; null: C
    double bias, C, tube;
    double* alpha;
    double* logit;
    double* w;
    int32_t* order;   // active rows, increasing
    int32_t* visits;  // places in `order`
    svmcut_dual_cd_state* state;

    void fetch_row(int64_t i) const {
        const int64_t start = X->indptr[i], count = X->indptr[i + 1] - start;
        const int64_t lines = std::min(kLinesAhead, (count + 15) / 16);
        for (int64_t k = 0; k < lines; ++k) {
            prefetch(X->indices + start + 16 * k);
            prefetch(X->data + start + 16 * k);
        }
    }

    // Row i, its score being f.
    Coordinate at(int64_t i, double f, double C_i) const {
        return {y[i], f, C_i, norms[i], alpha[i], tube, logit ? logit + i : nullptr};
    }

    // One visit of every active coordinate. False when cancelled.
    template <class Loss, bool kWeighted>
    bool epoch(Random& random, Stretch* stretches, const volatile int* cancel) {
        const double above = state->above, below = state->below;
        double highest = -kInfinity, lowest = kInfinity, gap = 0;
        int64_t entries = 0, moved = 0;
        const int64_t active = state->active;
        double* bias_weight = bias != 0 ? w + X->n_features : nullptr;
        draw_visits(visits, active, stretches, random);
        for (int64_t k = 0; k < active; ++k) {
            if (k + kPointersAhead < active) {
                const int64_t ahead = order[visits[k + kPointersAhead]];
                prefetch(X->indptr + ahead);
                prefetch(alpha + ahead);
                prefetch(norms + ahead);
                prefetch(y + ahead);
                if (kWeighted) prefetch(v + ahead);
            }
            if (k + kRowsAhead < active) fetch_row(order[visits[k + kRowsAhead]]);
            if (cancel && k % kPollEvery == 0 && *cancel) {
                state->active = std::remove(order, order + active, kShrunk) - order;
                return false;
            }
            const int64_t i = order[visits[k]];
            const double C_i = kWeighted ? C * v[i] : C;
            if (kWeighted && C_i == 0.0) {
                order[visits[k]] = kShrunk;
                continue;
            }
            const int64_t start = X->indptr[i], count = X->indptr[i + 1] - start;
            const float* x = X->data + start;
            const int32_t* j = X->indices + start;
            double f = row_dot(x, j, count, w);
            if (bias_weight) f += bias * *bias_weight;
            entries += count;
            const Coordinate here = at(i, f, C_i);
            const Visit visit = Loss::visit(here, above, below);
            gap += visit.gap;
            if (visit.shrunk) {
                order[visits[k]] = kShrunk;
                continue;
            }
            highest = std::max(highest, visit.projected);
            lowest = std::min(lowest, visit.projected);
            if (!(std::fabs(visit.projected) > kIdle)) continue;
            const double old = alpha[i], value = Loss::better(here);
            const double change = Loss::kSigned ? value - old : (value - old) * y[i];
            if (value == old) continue;
            alpha[i] = value;
            ++moved;
            row_add(x, j, count, change, w);
            if (bias_weight) *bias_weight += change * bias;
        }
        state->active = std::remove(order, order + active, kShrunk) - order;
        state->above = highest > 0 ? highest : kInfinity;
        state->below = lowest < 0 ? lowest : -kInfinity;
        state->gap = gap;
        state->entries += entries;
        state->moved = moved;
        return true;
    }
};

// Calls with(loss) for the loss of a number.
template <class With>
auto with_loss(int loss, With&& with) {
    switch (loss) {
        case SVMCUT_SQUARED_HINGE:
            return with(svmcut::SquaredHinge());
        case SVMCUT_LOGISTIC:
            return with(svmcut::Logistic());
        case SVMCUT_EPSILON_INSENSITIVE:
            return with(svmcut::EpsilonInsensitive());
        case SVMCUT_SQUARED_EPSILON_INSENSITIVE:
            return with(svmcut::SquaredEpsilonInsensitive());
        default:
            return with(svmcut::Hinge());
    }
}

template <class Loss>
int64_t wake(const Descent& descent, int64_t n, const double* s, int32_t* order,
             const svmcut_dual_cd_state* state) {
    int64_t front = 0;
    for (int64_t i = 0; i < n; ++i) {
        const double C_i = descent.v ? descent.C * descent.v[i] : descent.C;
        const Coordinate here = descent.at(i, s[i], C_i);
        if ((C_i == 0.0 && here.alpha == 0.0) ||
            Loss::visit(here, state->above, state->below).shrunk)
            continue;
        order[front++] = static_cast<int32_t>(i);
    }
    return front;
}

}  // namespace

extern "C" {

void svmcut_dual_cd_start(int64_t n, uint64_t seed, int32_t* order, svmcut_dual_cd_state* state) {
    for (int64_t i = 0; i < n; ++i) order[i] = static_cast<int32_t>(i);
    *state = {n, kInfinity, -kInfinity, kInfinity, seed, 0, 0, 0};
}

int svmcut_dual_cd(const svmcut_csr* X, int loss, double tube, const double* y, const double* norms,
                   const double* v, double bias, double C, int64_t epochs, double enough,
                   double* alpha, double* logit, double* w, int32_t* order,
                   svmcut_dual_cd_state* state, const volatile int* cancel) {
    Descent descent{X,    y, norms, v, bias, C, tube, alpha, logit, w, order, order + X->n_rows,
                    state};
    Random random{state->random};
    std::vector<Stretch> stretches;
    try {
        stretches.resize(svmcut::most_stretches(state->active));
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    return with_loss(loss, [&](auto kind) -> int {
        using Loss = decltype(kind);
        for (int64_t e = 0; e < epochs; ++e) {
            const bool whole = v ? descent.epoch<Loss, true>(random, stretches.data(), cancel)
                                 : descent.epoch<Loss, false>(random, stretches.data(), cancel);
            state->random = random.state;
            if (!whole) return SVMCUT_CANCELLED;
            ++state->epochs;
            if (state->gap <= enough || state->moved == 0) break;
        }
        return SVMCUT_OK;
    });
}

void svmcut_dual_cd_wake(int64_t n, int loss, double tube, const double* y, const double* s,
                         const double* v, double* alpha, double* logit, double C, int32_t* order,
                         svmcut_dual_cd_state* state) {
    // norms have no part in it
    const Descent descent{nullptr, y,     s,       v,     0,       C,    tube,
                          alpha,   logit, nullptr, order, nullptr, state};
    state->active = with_loss(
        loss, [&](auto kind) { return wake<decltype(kind)>(descent, n, s, order, state); });
}

}  // extern "C"
