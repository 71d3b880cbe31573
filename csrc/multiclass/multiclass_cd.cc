// SPDX-License-Identifier: BSD-3-Clause
//
// Dual coordinate descent for the risk of Crammer and Singer, all classes of a row at once
// (Keerthi, Sundararajan, Chang, Hsieh and Lin, KDD 2008, section 3; Fan, Chang, Hsieh, Wang and
// Lin, JMLR 9, 2008, appendix E).
//
//   dual      min over alpha   1/2 |W|^2 - sum_i alpha_iy,   W_k = sum_i alpha_ik (x_i, bias),
//             alpha_ik <= C_i [k = y_i],   sum_k alpha_ik = 0
//   G_k       [k != y_i] + W_k.x_i;   the row's violation is max G - min {G_k: alpha_k below its
//             bound}
//   step      with A = |x_i|^2, B = G - A alpha, D_k = B_k + A C_i [k = y_i], all exactly: alpha_k
//             = min(C_i [k = y_i], (t - B_k) / A), the level t by the largest D (I1)
//   shrinking a class other than y with alpha_k = 0 whose G_k is below that minimum, by more than a
//             part of the mean violation of the last epoch; a row of y alone; one whose alpha is
//             C_i and -C_i, where G differs by more
//   rise      a step delta raises the dual by -delta.G - A |delta|^2 / 2
//
// (I1) sum_k alpha_ik = 0: alpha_iy is minus the sum of the others. (I2) The right class of a row
// stands first among its labels in use.
//
// Deviations from the papers: the step is no iteration; the gap over the visited rows is summed on
// the way, which tells the caller when an exact look is worth its pass; shrunk classes come back by
// exact scores (svmcut_multiclass_wake).

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/prefetch.h"
#include "core/stretches.h"
#include "include/multiclass.h"
#include "multiclass/class_scores.h"

namespace {

using svmcut::add_all;
using svmcut::draw_visits;
using svmcut::prefetch;
using svmcut::Random;
using svmcut::score_all;
using svmcut::score_some;
using svmcut::Stretch;

constexpr int32_t kShrunk = -1;
constexpr double kIdle = 1e-12;  // violations below this do not move a row
constexpr int64_t kPollEvery = 1 << 7;
// one changed class costs as much as so many where all are changed at once
constexpr int64_t kDense = 6;
// visits ahead whose weights are fetched now; entries and places twice, thrice that
constexpr int64_t kRowsAhead = 1;
constexpr double kShrinking = 0.2;  // of the mean violation
constexpr int64_t kPicked = 8;      // largest numbers picked one by one; the rest is sorted

struct Descent {
    const svmcut_csr* X;
    int64_t K;
    const double* norms;
    const double* v;
    double bias, C;
    double* alpha;
    double* W;
    int32_t* order;   // active rows, increasing
    int32_t* visits;  // places in `order`
    int32_t* labels;
    int32_t* counts;
    svmcut_multiclass_state* state;
    double dual;
    std::vector<double> all, G, a, B, D, change;
    std::vector<int32_t> changed;

    void reserve() {
        for (auto* room : {&all, &G, &a, &B, &D, &change}) room->resize(static_cast<size_t>(K));
        changed.resize(static_cast<size_t>(K));
    }

    // G of the m classes in use, without the losses.
    void score(int64_t i, const int32_t* used, int64_t m) {
        const int64_t start = X->indptr[i], count = X->indptr[i + 1] - start;
        const float* x = X->data + start;
        const int32_t* j = X->indices + start;
        switch (2 * m < K ? m : 0) {
            case 2:
                score_some<2>(x, j, count, W, K, used, G.data());
                break;
            case 3:
                score_some<3>(x, j, count, W, K, used, G.data());
                break;
            case 4:
                score_some<4>(x, j, count, W, K, used, G.data());
                break;
            case 5:
                score_some<5>(x, j, count, W, K, used, G.data());
                break;
            case 6:
                score_some<6>(x, j, count, W, K, used, G.data());
                break;
            default:
                score_all(x, j, count, W, K, all.data());
                for (int64_t t = 0; t < m; ++t) G[t] = all[used[t]];
        }
        if (bias == 0) return;
        const double* w = W + X->n_features * K;
        for (int64_t t = 0; t < m; ++t) G[t] += bias * w[used[t]];
    }

    // a <- the minimum over the row's m classes in use, a + the step; A = |x|^2 > 0.
    void solve(int64_t m, double A, double C_i) {
        for (int64_t t = 0; t < m; ++t) D[t] = B[t] = G[t] - A * a[t];
        D[0] += A * C_i;
        // the level: the mean of the r largest D, less A C_i spread over them
        double level = -std::numeric_limits<double>::infinity(), sum = -A * C_i;
        for (int64_t r = 0; r < m; ++r) {
            if (r == kPicked) {
                std::sort(D.begin() + r, D.begin() + m, [](double p, double q) { return p > q; });
            } else if (r < kPicked) {
                int64_t top = r;
                for (int64_t t = r + 1; t < m; ++t) top = D[t] > D[top] ? t : top;
                std::swap(D[r], D[top]);
            }
            if (r && !(level < D[r])) break;
            sum += D[r];
            level = sum / static_cast<double>(r + 1);
        }
        double others = 0;
        for (int64_t t = 1; t < m; ++t) {
            a[t] = std::min(0.0, (level - B[t]) / A);
            others += a[t];
        }
        a[0] = std::min(C_i, -others);
    }

    // The row's alpha where it has no features: the loss counts for itself.
    void solve_empty(int64_t m, double C_i) {
        std::fill_n(a.begin(), m, 0.0);
        a[0] = C_i;
        a[1] = -C_i;
    }

    // A visit of a row with one class beside the right one, whose alpha moves by the difference of
    // their G alone.
    bool visit_pair(int64_t i, double C_i, double tolerance, double& violation, double& gap,
                    int64_t& moved) {
        const int64_t start = X->indptr[i], count = X->indptr[i + 1] - start;
        const float* x = X->data + start;
        const int32_t* j = X->indices + start;
        const int64_t right = labels[i * K], other = labels[i * K + 1];
        double* alpha_other = alpha + i * K + other;
        const double old = *alpha_other;
        double p = 0, q = 0;
        int64_t e = 0;
        for (; e + 2 <= count; e += 2) {
            const double *w = W + j[e] * K, *u = W + j[e + 1] * K;
            p += x[e] * (w[other] - w[right]);
            q += x[e + 1] * (u[other] - u[right]);
        }
        for (; e < count; ++e) p += x[e] * (W[j[e] * K + other] - W[j[e] * K + right]);
        double* constant = W + X->n_features * K;
        double g = 1.0 + (p + q);
        if (bias != 0) g += bias * (constant[other] - constant[right]);
        gap += C_i * std::max(0.0, g) + old * g;
        double worst = old == 0.0 ? std::max(0.0, g) : std::fabs(g);
        if (old == 0.0 && g < -tolerance) {
            counts[i] = 1;
            return false;
        }
        if (old == -C_i && g > 0) {
            if (g > tolerance) return false;
            worst = 0;
        }
        violation += worst;
        if (!(worst > kIdle)) return true;
        const double wanted = norms[i] > 0 ? old - 0.5 * g / norms[i] : -C_i;
        const double value = std::min(0.0, std::max(-C_i, wanted)), d = value - old;
        if (d == 0.0) return true;
        *alpha_other = value;
        dual -= d * (g + norms[i] * d);
        alpha[i * K + right] = -value;
        ++moved;
        for (e = 0; e < count; ++e) {
            double* w = W + j[e] * K;
            w[other] += x[e] * d;
            w[right] -= x[e] * d;
        }
        if (bias != 0) {
            constant[other] += bias * d;
            constant[right] -= bias * d;
        }
        return true;
    }

    // One visit; whether the row stays in use.
    bool visit(int64_t i, double tolerance, double& violation, double& gap, int64_t& moved) {
        const double C_i = v ? C * v[i] : C;
        int32_t* used = labels + i * K;
        double* own = alpha + i * K;
        int64_t m = counts[i];
        if (C_i == 0.0 || m < 2) return false;
        if (m == 2) return visit_pair(i, C_i, tolerance, violation, gap, moved);
        score(i, used, m);
        double most = G[0], least = std::numeric_limits<double>::infinity();
        a[0] = own[used[0]];
        if (a[0] < C_i) least = G[0];
        for (int64_t t = 1; t < m; ++t) {
            a[t] = own[used[t]];
            G[t] += 1.0;
            most = std::max(most, G[t]);
            if (a[t] < 0.0) least = std::min(least, G[t]);
        }
        double row_gap = C_i * (most - G[0]);
        for (int64_t t = 0; t < m; ++t) row_gap += a[t] * G[t];
        gap += row_gap;
        int64_t kept = 1;
        for (int64_t t = 1; t < m; ++t) {
            if (a[t] == 0.0 && G[t] < least - tolerance) continue;
            std::swap(used[kept], used[t]);
            G[kept] = G[t];
            a[kept++] = a[t];
        }
        counts[i] = static_cast<int32_t>(m = kept);
        if (m < 2) return false;
        const double worst = most - least;
        if (m == 2 && a[0] == C_i && G[1] - G[0] > tolerance) return false;
        violation += worst;
        if (!(worst > kIdle)) return true;
        if (norms[i] > 0) solve(m, norms[i], C_i);
        else solve_empty(m, C_i);
        int64_t many = 0;
        for (int64_t t = 0; t < m; ++t) {
            const double d = a[t] - own[used[t]];
            if (d == 0.0) continue;
            own[used[t]] = a[t];
            dual -= d * (G[t] + 0.5 * norms[i] * d);
            change[many] = d;
            changed[many++] = used[t];
        }
        if (!many) return true;
        ++moved;
        const int64_t start = X->indptr[i], count = X->indptr[i + 1] - start;
        if (kDense * many > K) {
            std::fill(all.begin(), all.end(), 0.0);
            for (int64_t t = 0; t < many; ++t) all[changed[t]] = change[t];
            add_all(X->data + start, X->indices + start, count, all.data(), K, W);
        } else {
            for (int64_t e = start; e < start + count; ++e) {
                double* w = W + X->indices[e] * K;
                const double x = X->data[e];
                for (int64_t t = 0; t < many; ++t) w[changed[t]] += x * change[t];
            }
        }
        if (bias != 0) {
            double* w = W + X->n_features * K;
            for (int64_t t = 0; t < many; ++t) w[changed[t]] += bias * change[t];
        }
        return true;
    }

    // Fetches what the visits soon to come read: a row's places, its entries, its weights.
    void look_ahead(int64_t k, int64_t active) const {
        if (k + 3 * kRowsAhead < active) {
            const int64_t i = order[visits[k + 3 * kRowsAhead]];
            prefetch(X->indptr + i);
            prefetch(labels + i * K);
            prefetch(alpha + i * K);
            prefetch(counts + i);
            prefetch(norms + i);
        }
        if (k + 2 * kRowsAhead < active) {
            const int64_t start = X->indptr[order[visits[k + 2 * kRowsAhead]]];
            const int64_t count = X->indptr[order[visits[k + 2 * kRowsAhead]] + 1] - start;
            for (int64_t e = 0; e < std::min<int64_t>(count, 192); e += 16) {
                prefetch(X->indices + start + e);
                prefetch(X->data + start + e);
            }
        }
        if (k + kRowsAhead >= active) return;
        const int64_t i = order[visits[k + kRowsAhead]], m = counts[i];
        const int32_t* used = labels + i * K;
        for (int64_t e = X->indptr[i]; e < X->indptr[i + 1]; ++e) {
            const double* w = W + X->indices[e] * K;
            if (2 * m < K)
                for (int64_t t = 0; t < m; ++t) prefetch(w + used[t]);
            else
                for (int64_t t = 0; t < K; t += 8) prefetch(w + t);
        }
    }

    // One visit of every active row. False when cancelled.
    bool epoch(Random& random, Stretch* stretches, const volatile int* cancel) {
        const double tolerance = kShrinking * state->violation;
        double violation = 0, gap = 0;
        int64_t entries = 0, moved = 0;
        const int64_t active = state->active;
        draw_visits(visits, active, stretches, random);
        for (int64_t k = 0; k < active; ++k) {
            if (cancel && k % kPollEvery == 0 && *cancel) {
                state->active = std::remove(order, order + active, kShrunk) - order;
                return false;
            }
            look_ahead(k, active);
            const int64_t i = order[visits[k]];
            entries += (X->indptr[i + 1] - X->indptr[i]) * counts[i];
            if (!visit(i, tolerance, violation, gap, moved)) order[visits[k]] = kShrunk;
        }
        state->active = std::remove(order, order + active, kShrunk) - order;
        state->violation = violation > 0 ? violation / static_cast<double>(active)
                                         : std::numeric_limits<double>::infinity();
        state->gap = gap;
        state->entries += entries;
        state->moved = moved;
        return true;
    }
};

}  // namespace

extern "C" {

int svmcut_multiclass_cd(const svmcut_csr* X, int64_t K, const double* norms, const double* v,
                         double bias, double C, int64_t epochs, double enough, double share,
                         double dual, double* alpha, double* W, int32_t* order, int32_t* labels,
                         int32_t* counts, svmcut_multiclass_state* state,
                         const volatile int* cancel) {
    Descent descent{X,      K,      norms, v,    bias, C,  alpha, W,  order, order + X->n_rows,
                    labels, counts, state, dual, {},   {}, {},    {}, {},    {},
                    {}};
    Random random{state->random};
    std::vector<Stretch> stretches;
    try {
        descent.reserve();
        stretches.resize(svmcut::most_stretches(state->active));
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    for (int64_t e = 0; e < epochs; ++e) {
        const bool whole = descent.epoch(random, stretches.data(), cancel);
        state->random = random.state;
        if (!whole) return SVMCUT_CANCELLED;
        ++state->epochs;
        if (state->gap <= enough + share * descent.dual || state->moved == 0) break;
    }
    return SVMCUT_OK;
}

void svmcut_multiclass_wake(int64_t n, int64_t K, const int32_t* y, const double* s,
                            const double* v, const double* alpha, double C, int32_t* order,
                            int32_t* labels, int32_t* counts, svmcut_multiclass_state* state) {
    int64_t front = 0;
    for (int64_t i = 0; i < n; ++i) {
        const double C_i = v ? C * v[i] : C;
        const double *row = s + i * K, *own = alpha + i * K;
        double least = own[y[i]] < C_i ? row[y[i]] : std::numeric_limits<double>::infinity();
        for (int64_t k = 0; k < K; ++k)
            if (k != y[i] && own[k] < 0.0) least = std::min(least, 1.0 + row[k]);
        int32_t* used = labels + i * K;
        int64_t m = 0;
        used[m++] = y[i];
        for (int64_t k = 0; k < K; ++k)
            if (k != y[i] && (own[k] < 0.0 || 1.0 + row[k] >= least - state->violation))
                used[m++] = static_cast<int32_t>(k);
        counts[i] = static_cast<int32_t>(m);
        const bool settled =
            m == 2 && own[y[i]] == C_i && 1.0 + row[used[1]] - row[y[i]] > state->violation;
        if (m > 1 && C_i > 0.0 && !settled) order[front++] = static_cast<int32_t>(i);
    }
    state->active = front;
}

}  // extern "C"
