// SPDX-License-Identifier: BSD-3-Clause
//
// Dual coordinate descent for the hinge loss (Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008, Algorithm 3).
//
//   dual      min over alpha, 0 <= alpha_i <= C_i   1/2 |w|^2 - sum alpha,   w = sum_i alpha_i y_i (x_i, bias)
//   step      alpha_i <- clip(alpha_i - G / |x_i|^2, 0, C_i),   G = y_i w.x_i - 1
//   shrinking a coordinate at a bound whose G lies beyond the extremes of the last epoch is left out
//
// Deviations from the paper: the gap over the visited coordinates is summed on the way, which costs nothing and tells
// the caller when an exact look is worth its passes; shrunk coordinates come back by exact scores (svmcut_dual_cd_wake)
// and not by a pass of their own. The random order is drawn from stretches of neighbours, many open at once: half the
// time of a shuffle of all rows once they do not fit the caches, and as few epochs.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/random.h"
#include "include/linear.h"
#include "linear/sparse_row.h"

namespace {

using svmcut::Random;
using svmcut::row_add;
using svmcut::row_dot;
using svmcut::shuffle;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int32_t kShrunk = -1;
constexpr double kIdle = 1e-12;        // projected gradients below this do not move a coordinate
constexpr int64_t kPollEvery = 1 << 8;
constexpr int64_t kStretch = 256;      // neighbours met in order
constexpr int64_t kOpen = 32;          // stretches open at once
constexpr int64_t kRowsAhead = 4;      // entries of the row so many visits ahead are fetched now
constexpr int64_t kPointersAhead = 12; // and what belongs to the row itself before that
constexpr int64_t kLinesAhead = 12;    // cache lines fetched of one row; the rest streams

struct Stretch {
    int32_t next, end;
};

// Places 0 to count - 1, drawn from many open stretches of neighbours at once, each met in order: memory is read in
// streams, and consecutive visits lie far apart, as neighbours in a file are often alike.
void draw_visits(int32_t* visits, int64_t count, Stretch* stretches, Random& random) {
    const int64_t offset = random.below(static_cast<uint32_t>(kStretch));
    const int64_t total = (count + offset + kStretch - 1) / kStretch;
    for (int64_t b = 0; b < total; ++b)
        stretches[b] = {static_cast<int32_t>(std::max<int64_t>(0, b * kStretch - offset)),
                        static_cast<int32_t>(std::min(count, (b + 1) * kStretch - offset))};
    shuffle(stretches, total, random);
    int64_t open = std::min(kOpen, total), unopened = open;
    for (int64_t k = 0; k < count; ++k) {
        Stretch& from = stretches[random.below(static_cast<uint32_t>(open))];
        visits[k] = from.next++;
        if (from.next < from.end) continue;
        if (unopened < total) from = stretches[unopened++];
        else from = stretches[--open];
    }
}

#if defined(__GNUC__)
inline void fetch(const void* p) { __builtin_prefetch(p, 0, 2); }
#else
inline void fetch(const void*) {}
#endif

struct Descent {
    const svmcut_csr* X;
    const double* y;
    const double* norms;
    const double* v;  // C_i = C v_i; null: C
    double bias, C;
    double* alpha;
    double* w;
    int32_t* order;   // active rows, increasing
    int32_t* visits;  // places in `order`
    svmcut_dual_cd_state* state;

    void fetch_row(int64_t i) const {
        const int64_t start = X->indptr[i], count = X->indptr[i + 1] - start;
        const int64_t lines = std::min(kLinesAhead, (count + 15) / 16);
        for (int64_t k = 0; k < lines; ++k) {
            fetch(X->indices + start + 16 * k);
            fetch(X->data + start + 16 * k);
        }
    }

    // One visit of every active coordinate. False when cancelled.
    template <bool kWeighted>
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
                fetch(X->indptr + ahead);
                fetch(alpha + ahead);
                fetch(norms + ahead);
                fetch(y + ahead);
                if (kWeighted) fetch(v + ahead);
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
            const double G = y[i] * f - 1.0, old = alpha[i];
            gap += C_i * std::max(0.0, -G) + old * G;
            double projected = G;
            if (old == 0.0) {
                if (G > above) {
                    order[visits[k]] = kShrunk;
                    continue;
                }
                projected = std::min(G, 0.0);
            } else if (old == C_i) {
                if (G < below) {
                    order[visits[k]] = kShrunk;
                    continue;
                }
                projected = std::max(G, 0.0);
            }
            highest = std::max(highest, projected);
            lowest = std::min(lowest, projected);
            if (!(std::fabs(projected) > kIdle)) continue;
            const double wanted = norms[i] > 0 ? old - G / norms[i] : C_i;
            const double value = std::min(std::max(wanted, 0.0), C_i), change = (value - old) * y[i];
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

}  // namespace

extern "C" {

void svmcut_dual_cd_start(int64_t n, uint64_t seed, int32_t* order, svmcut_dual_cd_state* state) {
    for (int64_t i = 0; i < n; ++i) order[i] = static_cast<int32_t>(i);
    *state = {n, kInfinity, -kInfinity, kInfinity, seed, 0, 0, 0};
}

int svmcut_dual_cd(const svmcut_csr* X, const double* y, const double* norms, const double* v, double bias, double C,
                   int64_t epochs, double enough, double* alpha, double* w, int32_t* order,
                   svmcut_dual_cd_state* state, const volatile int* cancel) {
    Descent descent{X, y, norms, v, bias, C, alpha, w, order, order + X->n_rows, state};
    Random random{state->random};
    std::vector<Stretch> stretches;
    try {
        stretches.resize(state->active / kStretch + 2);
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    for (int64_t e = 0; e < epochs; ++e) {
        const bool whole = v ? descent.epoch<true>(random, stretches.data(), cancel)
                             : descent.epoch<false>(random, stretches.data(), cancel);
        state->random = random.state;
        if (!whole) return SVMCUT_CANCELLED;
        ++state->epochs;
        if (state->gap <= enough || state->moved == 0) break;
    }
    return SVMCUT_OK;
}

void svmcut_dual_cd_wake(int64_t n, const double* y, const double* s, const double* v, const double* alpha,
                         double C, int32_t* order, svmcut_dual_cd_state* state) {
    int64_t front = 0;
    for (int64_t i = 0; i < n; ++i) {
        const double G = y[i] * s[i] - 1.0;
        const double C_i = v ? C * v[i] : C;
        if ((alpha[i] == 0.0 && (G > state->above || C_i == 0.0)) || (alpha[i] == C_i && G < state->below)) continue;
        order[front++] = static_cast<int32_t>(i);
    }
    state->active = front;
}

}  // extern "C"
