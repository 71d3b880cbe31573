// SPDX-License-Identifier: BSD-3-Clause
//
// Greedy direction method of multipliers for label sets with pair weights (Yen, Huang, Zhong,
// Zhang, Dhillon and Ravikumar, NIPS 2016, Algorithm 4 with binary factors, section 3.2
// "Binary-Variable Interaction Factor").
//
//   a_k     alpha of node k for y_k = 1: in [0, C] where k is gold, in [-C, 0] where it is not;
//           W[k] = sum_n a_nk x_n; C that of the example
//   alpha_f of a pair factor: C (e_gold - q), q a distribution over 00, 01, 10, 11;
//           v[k][l] = sum_n alpha_f(11)
//   s_kf    = marginal_k(alpha_f) - a_k + lambda_kf, the scaled message; rho its weight
//   node    a_k <- clip(a_k - g / (|x|^2 + 2 rho deg_k)),  g = W[k].x -+ 1 - 2 rho sum_f
//           s_kf       exact
//   pair    projected gradient on the four states with exact line search
//   lambda  += marginal - node, after each visit
//
// (I1) W and v are those of the alphas after every visit. (I2) lambda = 0 and marginals = nodes
// where a factor enters.
//
// Deviations from the paper: the factors of one example are swept together, so that its features
// are read once to score and once to update all labels. A factor out of use carries q(11) = max(0,
// p_k + p_l - 1) and sends no message; it leaves where both labels are off and it is not attractive
// any more; one enters where it is attractive (v > 0 and both labels may be on by the bounds of
// roof_dual.h) or forced (p_k + p_l > 1), the worst of either kind at each visit. Every inactive
// factor of a moved label would otherwise hold the label back.

#include <cmath>
#include <memory>
#include <new>
#include <vector>

#include "core/project.h"
#include "labels/label_factors.h"
#include "labels/label_row.h"

using namespace svmcut;

namespace {

constexpr int64_t kPollEvery = 64;
constexpr double kIdle = 1e-14;
// what a label with p > 0 counts for when attractive factors are compared
constexpr double kInUse = 10;

}  // namespace

void svmcut_gdmm_labels::enter(int64_t n, int32_t k, int32_t l, double* v) {
    if (k > l) std::swap(k, l);
    if (in_use(k, l)) return;
    const double* row = a.data() + n * K;
    const double p = on(row, k), r = on(row, l),
                 both = gold[k] && gold[l] ? std::min(p, r) : std::max(0.0, p + r - 1);
    const double q[4] = {1 - p - r + both, r - both, p - both, both};
    LabelPair f{k, l, 2 * gold[k] + gold[l], {}, {0, 0}};
    for (int y = 0; y < 4; ++y) f.alpha[y] = C * ((y == f.gold) - q[y]);
    v[k * K + l] += f.alpha[3];
    v[l * K + k] = v[k * K + l];
    pairs[n].push_back(f);
    mark(f);
    degree[k] += 1;
    degree[l] += 1;
}

void svmcut_gdmm_labels::admit(int64_t n, double* v) {
    const double* row = a.data() + n * K;
    const int64_t first = sets.indptr[n], stop = sets.indptr[n + 1];
    if (pairs[n].empty())
        for (int64_t e = first; e < stop; ++e)
            for (int64_t d = e + 1; d < stop; ++d) enter(n, sets.labels[e], sets.labels[d], v);
    open.clear();
    for (int64_t k = 0; k < K; ++k)
        if (theta[k] + rise[k] > 0 || on(row, k) > 0) open.push_back(static_cast<int32_t>(k));
    double most = 1 + 1e-9, gain = 0;
    int32_t forced[2] = {-1, -1}, attractive[2] = {-1, -1};
    for (size_t i = 0; i < open.size(); ++i) {
        const int32_t k = open[i];
        for (int32_t l : friends[k]) {
            if (l <= k || v[k * K + l] <= 0) continue;
            const bool may = theta[l] + rise[l] > 0 || on(row, l) > 0;
            const double here =
                theta[k] + theta[l] + v[k * K + l] + kInUse * ((on(row, k) > 0) + (on(row, l) > 0));
            if (may && here > gain && !in_use(k, l)) {
                gain = here;
                attractive[0] = k;
                attractive[1] = l;
            }
        }
        const double p = on(row, k);
        if (p <= 0) continue;
        for (size_t j = i + 1; j < open.size(); ++j)
            if (p + on(row, open[j]) > most && !in_use(k, open[j])) {
                most = p + on(row, open[j]);
                forced[0] = k;
                forced[1] = open[j];
            }
    }
    if (forced[0] >= 0) enter(n, forced[0], forced[1], v);
    if (attractive[0] >= 0) enter(n, attractive[0], attractive[1], v);
}

void svmcut_gdmm_labels::leave(int64_t n, const double* v) {
    const double* row = a.data() + n * K;
    auto& all = pairs[n];
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&](const LabelPair& f) {
                                 const int32_t k = f.k, l = f.l;
                                 if (f.gold || f.alpha[3] != 0 || on(row, k) > 0 || on(row, l) > 0)
                                     return false;
                                 return v[k * K + l] <= 0 || theta[k] + rise[k] <= 0 ||
                                        theta[l] + rise[l] <= 0;
                             }),
              all.end());
}

void svmcut_gdmm_labels::move_node(int64_t k, double* row, double norm) {
    const double old = row[k], curve = norm + 2 * rho * degree[k];
    const double g = theta[k] - 2 * rho * message[k];
    const double low = gold[k] ? 0 : -C, high = gold[k] ? C : 0;
    const double wanted = curve > 0 ? old - g / curve : (g < 0 ? high : g > 0 ? low : old);
    const double value = std::min(std::max(wanted, low), high), change = value - old;
    if (!(std::fabs(change) > kIdle * C)) return;
    row[k] = value;
    theta[k] += norm * change;
    message[k] -= degree[k] * change;
}

void svmcut_gdmm_labels::move_pair(LabelPair& f, double* row, double* v) {
    double& weight = v[f.k * K + f.l];
    const double before = f.alpha[3], mk = f.marginal(0), ml = f.marginal(1);
    for (int step = 0; step < 3; ++step) {
        const double s = f.marginal(0) - row[f.k] + f.lambda[0],
                     t = f.marginal(1) - row[f.l] + f.lambda[1];
        const double g[4] = {-rho * (s + t), rho * (t - s), rho * (s - t), weight + rho * (s + t)};
        double target[4], sorted[4], d[4], slope = 0;
        for (int y = 0; y < 4; ++y) target[y] = f.alpha[y] - g[y] / (1 + 2 * rho);
        project(target, 4, f.gold, C, sorted, d);
        for (int y = 0; y < 4; ++y) {
            d[y] -= f.alpha[y];
            slope += g[y] * d[y];
        }
        const double di = d[2] + d[3], dj = d[1] + d[3],
                     curve = d[3] * d[3] + 2 * rho * (di * di + dj * dj);
        if (slope > -1e-16 * C * C || curve <= 0) break;
        const double gamma = std::min(1.0, -slope / curve);
        for (int y = 0; y < 4; ++y) f.alpha[y] += gamma * d[y];
        weight += gamma * d[3];
    }
    if (f.alpha[3] != before) v[f.l * K + f.k] = weight;
    message[f.k] += f.marginal(0) - mk;
    message[f.l] += f.marginal(1) - ml;
}

// One Frank-Wolfe step of every factor of an example towards the best state of each; multipliers
// stay 0.
void svmcut_gdmm_labels::soften(int64_t n, double* row, double* v, bool with_pairs) {
    const double norm = squared[n];
    for (int64_t k = 0; k < K; ++k) {
        const double g = theta[k] - 2 * rho * message[k], curve = norm + 2 * rho * degree[k];
        const double d = (gold[k] ? (g < 0 ? C : 0.0) : (g > 0 ? -C : 0.0)) - row[k];
        const double by = curve > 0 ? std::min(1.0, std::max(0.0, -g / (curve * d))) * d : d;
        if (d == 0) continue;
        row[k] += by;
        message[k] -= degree[k] * by;
    }
    if (!with_pairs) return;
    for (LabelPair& f : pairs[n]) {
        const double s = f.marginal(0) - row[f.k], t = f.marginal(1) - row[f.l];
        const double g[4] = {-rho * (s + t), rho * (t - s), rho * (s - t),
                             v[f.k * K + f.l] + rho * (s + t)};
        const auto best = static_cast<int>(std::max_element(g, g + 4) - g);
        double d[4], slope = 0;
        for (int y = 0; y < 4; ++y) {
            d[y] = C * ((y == f.gold) - (y == best)) - f.alpha[y];
            slope += g[y] * d[y];
        }
        const double di = d[2] + d[3], dj = d[1] + d[3],
                     curve = d[3] * d[3] + 2 * rho * (di * di + dj * dj);
        if (!(slope < 0)) continue;
        const double gamma = curve > 0 ? std::min(1.0, -slope / curve) : 1.0;
        for (int y = 0; y < 4; ++y) f.alpha[y] += gamma * d[y];
        message[f.k] += gamma * di;
        message[f.l] += gamma * dj;
        v[f.l * K + f.k] = v[f.k * K + f.l] += gamma * d[3];
    }
}

void svmcut_gdmm_labels::visit(int64_t n, double* W, double* v, bool with_pairs, int sweeps,
                               int part, int parts) {
    C = most(n);
    if (C == 0) return;
    if (weights) rho = unit_rho / weights[n];
    double* row = a.data() + n * K;
    std::copy_n(row, K, base.data());
    const svmcut_label_weights model{W, nullptr, X.n_features, K, bias, nullptr};
    for (int64_t e = sets.indptr[n]; e < sets.indptr[n + 1]; ++e) gold[sets.labels[e]] = 1;
    std::fill_n(degree.data(), K, 0.0);
    for (const LabelPair& f : pairs[n]) degree[f.k] += 1, degree[f.l] += 1;
    const int64_t from = part * K / parts, to = (part + 1) * K / parts;
    in_use_elsewhere.clear();
    if (parts == 1) {
        label_scores(X, n, model, theta.data());
    } else {
        for (int64_t k = 0; k < K; ++k)
            if ((k < from || k >= to) && (row[k] != 0 || gold[k] || degree[k] > 0))
                in_use_elsewhere.push_back(static_cast<int32_t>(k));
        std::fill_n(theta.data(), K, -HUGE_VAL);  // closed to pairs
        label_scores_of(X, n, model, from, to, in_use_elsewhere, theta.data());
    }
    augment(sets, n, K, 1.0, theta.data());
    if (with_pairs) {
        mark_all(n);
        if (!soft) admit(n, v);
        for (int32_t k = 0; soft && pairs[n].size() < static_cast<size_t>(K * (K - 1) / 2) && k < K;
             ++k)
            for (int32_t l = k + 1; l < K; ++l) enter(n, k, l, v);
        unmark_all(n);
    }
    std::fill_n(message.data(), K, 0.0);
    for (const LabelPair& f : pairs[n]) {
        message[f.k] += f.marginal(0) - row[f.k] + f.lambda[0];
        message[f.l] += f.marginal(1) - row[f.l] + f.lambda[1];
    }
    const double norm = squared[n];
    if (soft) soften(n, row, v, with_pairs);
    for (int64_t k = from; k < to && !soft; ++k) move_node(k, row, norm);
    for (int32_t k : in_use_elsewhere) move_node(k, row, norm);
    if (with_pairs && !soft && !pairs[n].empty()) {
        for (int sweep = 0; sweep < sweeps; ++sweep) {
            for (LabelPair& f : pairs[n]) move_pair(f, row, v);
            for (int64_t k = 0; k < K; ++k)
                if (degree[k] > 0) move_node(k, row, norm);
        }
        for (LabelPair& f : pairs[n]) {
            f.lambda[0] += f.marginal(0) - row[f.k];
            f.lambda[1] += f.marginal(1) - row[f.l];
        }
    }
    if (with_pairs && !soft) leave(n, v);
    // only the labels that moved: their number decides whether whole rows of W are worth streaming
    open.clear();
    for (int64_t k = 0; k < K; ++k) {
        base[k] = row[k] - base[k];
        if (base[k] != 0) open.push_back(static_cast<int32_t>(k));
    }
    const bool whole = 4 * static_cast<int64_t>(open.size()) > K;
    auto add = [&](double x, double* w) {
        if (whole) return add_scaled(K, x, base.data(), w);
        for (int32_t k : open) w[k] += x * base[k];
    };
    if (!open.empty()) {
        for (int64_t e = X.indptr[n]; e < X.indptr[n + 1]; ++e)
            add(X.data[e], W + X.indices[e] * K);
        if (bias != 0) add(bias, W + X.n_features * K);
    }
    for (int64_t e = sets.indptr[n]; e < sets.indptr[n + 1]; ++e) gold[sets.labels[e]] = 0;
}

int svmcut_gdmm_labels::run(double* W, double* v, bool with_pairs, int sweeps, int parts,
                            const volatile int* cancel) {
    shuffle(order.data(), X.n_rows, random);
    std::fill_n(rise.data(), K, 0.0);
    for (int64_t k = 0; with_pairs && k < K; ++k) {
        friends[k].clear();
        for (int64_t l = 0; l < K; ++l)
            if (v[k * K + l] > 0) {
                friends[k].push_back(static_cast<int32_t>(l));
                rise[k] += v[k * K + l];
            }
    }
    for (int64_t i = 0; i < X.n_rows; ++i) {
        if (cancel && i % kPollEvery == 0 && *cancel) return SVMCUT_CANCELLED;
        const int part =
            parts > 1 ? static_cast<int>(random.below(static_cast<uint32_t>(parts))) : 0;
        visit(order[i], W, v, with_pairs, sweeps, part, parts);
    }
    return SVMCUT_OK;
}

extern "C" {

svmcut_gdmm_labels* svmcut_gdmm_labels_new(const svmcut_csr* X, const svmcut_label_sets* gold,
                                           int64_t K, double bias, double C, const double* weights,
                                           double rho, int soft, uint64_t seed) {
    try {
        auto state = std::make_unique<svmcut_gdmm_labels>();
        const auto n = static_cast<size_t>(X->n_rows), k = static_cast<size_t>(K);
        state->X = *X;
        state->sets = *gold;
        state->K = K;
        state->bias = bias;
        state->unit = state->C = C;
        state->weights = weights;
        state->unit_rho = state->rho = rho;
        state->soft = soft != 0;
        state->random.state = seed;
        state->a.assign(n * k, 0);
        state->squared.assign(n, bias * bias);
        state->pairs.resize(n);
        state->friends.resize(k);
        for (auto* array :
             {&state->rise, &state->theta, &state->base, &state->message, &state->degree})
            array->assign(k, 0);
        state->gold.assign(k, 0);
        state->order.resize(n);
        for (size_t i = 0; i < n; ++i) {
            state->order[i] = static_cast<int32_t>(i);
            for (int64_t e = X->indptr[i]; e < X->indptr[i + 1]; ++e)
                state->squared[i] += static_cast<double>(X->data[e]) * X->data[e];
        }
        return state.release();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void svmcut_gdmm_labels_delete(svmcut_gdmm_labels* state) { delete state; }

int svmcut_gdmm_labels_pass(svmcut_gdmm_labels* state, double* W, double* v, int pairs, int sweeps,
                            int parts, const volatile int* cancel) {
    try {
        return state->run(W, v, pairs != 0, sweeps, parts, cancel);
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}

int svmcut_gdmm_labels_repair(const svmcut_gdmm_labels* state, double* v2, double* linear,
                              int64_t* active, double* residual) {
    const int64_t K = state->K;
    double C = state->unit;
    std::fill_n(v2, K * K, 0.0);
    *linear = *residual = 0;
    *active = 0;
    try {
        std::vector<char> gold(static_cast<size_t>(K), 0);
        std::vector<double> p(static_cast<size_t>(K));
        std::vector<int32_t> on;
        auto carry = [&](int32_t k, int32_t l, double q) {
            v2[k * K + l] += C * ((gold[k] && gold[l]) - q);
        };
        for (int64_t n = 0; n < state->X.n_rows; ++n) {
            C = state->most(n);
            if (C == 0) continue;
            const double* row = state->a.data() + n * K;
            const int32_t *first = state->sets.labels + state->sets.indptr[n],
                          *stop = state->sets.labels + state->sets.indptr[n + 1];
            for (const int32_t* k = first; k < stop; ++k) gold[*k] = 1;
            on.clear();
            for (int64_t k = 0; k < K; ++k) {
                p[k] = std::min(1.0, std::max(0.0, gold[k] ? 1 - row[k] / C : -row[k] / C));
                *linear += std::fabs(row[k]);
                if (p[k] > 0 || gold[k]) on.push_back(static_cast<int32_t>(k));
            }
            for (const LabelPair& f : state->pairs[n]) {
                const double q = (f.gold == 3) - f.alpha[3] / C,
                             low = std::max(0.0, p[f.k] + p[f.l] - 1);
                carry(f.k, f.l, std::min(std::max(q, low), std::min(p[f.k], p[f.l])));
                *residual +=
                    std::fabs(f.marginal(0) - row[f.k]) + std::fabs(f.marginal(1) - row[f.l]);
            }
            *active += static_cast<int64_t>(state->pairs[n].size());
            state->mark_all(n);
            for (size_t i = 0; i < on.size(); ++i)
                for (size_t j = i + 1; j < on.size(); ++j) {
                    const double forced = p[on[i]] + p[on[j]] - 1;
                    const bool both = gold[on[i]] && gold[on[j]];
                    if ((forced > 0 || both) && !state->in_use(on[i], on[j]))
                        carry(on[i], on[j], both ? std::min(p[on[i]], p[on[j]]) : forced);
                }
            state->unmark_all(n);
            for (const int32_t* k = first; k < stop; ++k) gold[*k] = 0;
        }
        for (int64_t k = 0; k < K; ++k)
            for (int64_t l = k + 1; l < K; ++l) v2[l * K + k] = v2[k * K + l];
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}

}  // extern "C"
