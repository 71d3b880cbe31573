// SPDX-License-Identifier: BSD-3-Clause
//
// Greedy direction method of multipliers for chains (Yen, Huang, Zhong, Zhang, Dhillon and
// Ravikumar, NIPS 2016, Algorithm 4, section 3.2 "Indicator Factor" and "Inner-Product Factor").
//
//   alpha_t, alpha_f  C (e_gold - q) of a token and of a pair of neighbours, kept for the few
//                     states in use; C that of the sequence
//   W[k] = sum_t alpha_t(k) x_t,   V[k][l] = sum_f alpha_f(k, l)
//   m(k)   = marginal(alpha_f)(k) - alpha_t(k) + lambda(k): one sparse message for each end of a
//          pair
//   token  g(k) = W[k].x + [k != gold] - rho sum m(k);
//          alpha <- projection of alpha - g / (|x|^2 + rho deg), which is exact
//   pair   g(k, l) = V[k][l] + rho (m_left(k) + m_right(l));  a few pairwise Frank-Wolfe steps
//   lambda += marginal - token, after each visit
//
// The states tried beside those in use are the maximisers of g: for a token over one random part of
// the tags, for a pair over all, by ordered rows, columns and entries of V (pair_order.h). No step
// costs K^2.
//
// (I1) w is that of the alphas after every visit. (I2) Messages of states never in use are 0 and
// not stored.

#include <cmath>
#include <memory>
#include <new>
#include <vector>

#include "chain/chain_factors.h"
#include "core/add_scaled.h"
#include "core/project.h"

using namespace svmcut;

namespace {

constexpr int64_t kPollEvery = 16;
constexpr int kPairSteps = 3;
constexpr double kIdle = 1e-12;  // of C: alphas below are 0

}  // namespace

// scores[k - from] = W[k].x_t for a range of tags
double* svmcut_gdmm_chain::scan(int64_t t, int64_t from, int64_t to) {
    double* out = scores.data();
    std::fill_n(out, to - from, 0.0);
    for (int64_t e = chain.X.indptr[t]; e < chain.X.indptr[t + 1]; ++e) {
        if (chain.X.indices[e] >= chain.n_features) continue;
        add_scaled(to - from, chain.X.data[e], w + chain.X.indices[e] * chain.stride + from, out);
    }
    return out;
}

void svmcut_gdmm_chain::visit_token(int64_t t, bool first, bool last) {
    auto& states = tokens[t].states;
    const int32_t gold = chain.tags[t];
    Messages* sides[2] = {first ? nullptr : &links[t - 1].message[1],
                          last ? nullptr : &links[t].message[0]};
    const double curve = squared[t] + rho * (!first + !last);
    if (curve <= 0) return;
    for (Messages* side : sides)
        if (side) left.put(*side);
    // 1. the greedy tag of one part
    const int64_t K = chain.K, size = (K + parts - 1) / parts;
    const int64_t from =
        std::min(K - 1, size * static_cast<int64_t>(random.below(static_cast<uint32_t>(parts))));
    const int64_t to = std::min(K, from + size);
    double* s = scan(t, from, to);
    for (Messages* side : sides)
        if (side)
            for (const Message& m : side->entries)
                if (m.tag >= from && m.tag < to) s[m.tag - from] -= rho * m.value;
    if (gold >= from && gold < to) s[gold - from] = -HUGE_VAL;
    const int64_t best = std::max_element(s, s + (to - from)) - s;
    const auto tag = static_cast<int32_t>(from + best);
    bool known = to - from == 1 && tag == gold;
    for (const TokenState& state : states) known = known || state.tag == tag;
    // 2. the exact minimum over the tags in use and this one
    if (!known) states.push_back({tag, 0.0});
    const size_t m = states.size();
    auto clear = [&] {
        for (Messages* side : sides)
            if (side) left.take(*side);
    };
    if (m == 1) return clear();
    target.assign(m, 0);
    moved.assign(m, 0);
    for (int64_t e = chain.X.indptr[t]; e < chain.X.indptr[t + 1]; ++e) {
        if (chain.X.indices[e] >= chain.n_features) continue;
        const double* row = w + chain.X.indices[e] * chain.stride;
        for (size_t i = 0; i < m; ++i) target[i] += chain.X.data[e] * row[states[i].tag];
    }
    for (size_t i = 0; i < m; ++i) {
        const double g = target[i] + (i > 0) - rho * left.at(states[i].tag);
        target[i] = states[i].alpha - g / curve;
    }
    clear();
    sorted.resize(m);
    project(target.data(), static_cast<int64_t>(m), 0, C, sorted.data(), moved.data());
    bool any = false;
    for (size_t i = 0; i < m; ++i) {
        const double value = std::fabs(moved[i]) < kIdle * C ? 0.0 : moved[i];
        moved[i] = value - states[i].alpha;
        states[i].alpha = value;
        any = any || moved[i] != 0;
    }
    if (any) {
        for (int64_t e = chain.X.indptr[t]; e < chain.X.indptr[t + 1]; ++e) {
            if (chain.X.indices[e] >= chain.n_features) continue;
            double* row = w + chain.X.indices[e] * chain.stride;
            for (size_t i = 0; i < m; ++i) row[states[i].tag] += chain.X.data[e] * moved[i];
        }
        for (Messages* side : sides)
            for (size_t i = 0; side && i < m; ++i)
                if (moved[i] != 0) side->add(states[i].tag, -moved[i]);
    }
    states.erase(std::remove_if(states.begin() + 1, states.end(),
                                [](const TokenState& x) { return x.alpha == 0; }),
                 states.end());
}

PairMax svmcut_gdmm_chain::greedy_pair(const Link& link) {
    left.put(link.message[0]);
    right.put(link.message[1]);
    const PairState& gold = link.states[0];
    return brute ? pairs.scan(transitions(), link.message, left, rho, gold.left, gold.right,
                              scores.data())
                 : pairs.find(transitions(), link.message, left, right, rho, gold.left, gold.right);
}

void svmcut_gdmm_chain::visit_link(int64_t t) {
    Link& link = links[t];
    auto& states = link.states;
    double* V = transitions();
    // 1. the greedy pair
    const PairMax found = greedy_pair(link);
    bool known = found.left < 0;
    for (const PairState& state : states)
        known = known || (state.left == found.left && state.right == found.right);
    if (!known) states.push_back({found.left, found.right, 0.0});
    const size_t m = states.size();
    target.resize(m);
    for (size_t i = 0; i < m; ++i)
        target[i] = V[states[i].left * chain.stride + states[i].right] +
                    rho * (left.at(states[i].left) + right.at(states[i].right));
    left.take(link.message[0]);
    right.take(link.message[1]);
    if (m == 1) return;
    // 2. mass from the worst pair in use to the best, a few times
    moved.assign(m, 0);
    for (int step = 0; step < kPairSteps; ++step) {
        size_t high = m, low = m;
        double most = 0, least = 0;
        for (size_t i = 0; i < m; ++i) {
            const PairState& f = states[i];
            const double g = target[i];
            const double mass = i == 0 ? C - f.alpha : -f.alpha;
            if (high == m || g > most) most = g, high = i;
            if (mass > 0 && (low == m || g < least)) least = g, low = i;
        }
        if (high == low || !(most - least > 0)) break;
        PairState &to = states[high], &from = states[low];
        const double curve = 2 + 2 * rho * ((to.left != from.left) + (to.right != from.right));
        const double room = low == 0 ? C - from.alpha : -from.alpha;
        const double gamma = std::min((most - least) / curve, room);
        to.alpha -= gamma;
        from.alpha = gamma == room ? (low == 0 ? C : 0.0) : from.alpha + gamma;
        moved[high] -= gamma;
        moved[low] += gamma;
        if (to.left != from.left) {
            link.message[0].add(to.left, -gamma);
            link.message[0].add(from.left, gamma);
        }
        if (to.right != from.right) {
            link.message[1].add(to.right, -gamma);
            link.message[1].add(from.right, gamma);
        }
        const double by = rho * gamma;
        for (size_t i = 0; i < m; ++i)
            target[i] += by * ((states[i].left == from.left) - (states[i].left == to.left) +
                               (states[i].right == from.right) - (states[i].right == to.right));
        target[high] -= gamma;
        target[low] += gamma;
    }
    for (size_t i = 0; i < m; ++i)
        if (moved[i] != 0) pairs.change(V, states[i].left, states[i].right, moved[i]);
    states.erase(std::remove_if(states.begin() + 1, states.end(),
                                [](const PairState& x) { return x.alpha == 0; }),
                 states.end());
}

int svmcut_gdmm_chain::run(double* weights, const volatile int* cancel) {
    w = weights;
    shuffle(order.data(), chain.n_sequences, random);
    for (int64_t i = 0; i < chain.n_sequences; ++i) {
        if (cancel && i % kPollEvery == 0 && *cancel) return SVMCUT_CANCELLED;
        const int64_t start = chain.sequences[order[i]], stop = chain.sequences[order[i] + 1];
        C = most(order[i]);
        if (C == 0) continue;
        if (v) rho = unit_rho / v[order[i]];
        if (soft) {
            for (int64_t t = start; t < stop; ++t) soften_token(t, t == start, t + 1 == stop);
            for (int64_t t = start; t + 1 < stop; ++t) soften_link(t);
            continue;
        }
        for (int64_t t = start; t < stop; ++t) visit_token(t, t == start, t + 1 == stop);
        for (int64_t t = start; t + 1 < stop; ++t) visit_link(t);
        for (int64_t t = start; t + 1 < stop; ++t) settle(links[t]);
    }
    return SVMCUT_OK;
}

extern "C" {

svmcut_gdmm_chain* svmcut_gdmm_chain_new(const svmcut_chain* chain, double C, const double* v,
                                         double rho, int parts, int brute, int soft,
                                         uint64_t seed) {
    try {
        auto state = std::make_unique<svmcut_gdmm_chain>();
        state->chain = *chain;
        state->unit = state->C = C;
        state->v = v;
        state->unit_rho = state->rho = rho;
        state->parts = parts;
        state->brute = brute;
        state->soft = soft != 0;
        state->random.state = seed;
        const auto n = static_cast<size_t>(chain->X.n_rows);
        state->tokens.resize(n);
        state->links.resize(n);
        state->squared.assign(n, 0);
        for (size_t t = 0; t < n; ++t) {
            state->tokens[t].states.push_back({chain->tags[t], 0.0});
            for (int64_t e = chain->X.indptr[t]; e < chain->X.indptr[t + 1]; ++e)
                if (chain->X.indices[e] < chain->n_features)
                    state->squared[t] += static_cast<double>(chain->X.data[e]) * chain->X.data[e];
        }
        state->order.resize(static_cast<size_t>(chain->n_sequences));
        for (int64_t i = 0; i < chain->n_sequences; ++i) {
            state->order[static_cast<size_t>(i)] = static_cast<int32_t>(i);
            for (int64_t t = chain->sequences[i]; t + 1 < chain->sequences[i + 1]; ++t)
                state->links[static_cast<size_t>(t)].states.push_back(
                    {chain->tags[t], chain->tags[t + 1], 0.0});
        }
        state->scores.assign(static_cast<size_t>(2 * chain->stride), 0);
        state->pairs.reset(chain->K, chain->stride, !brute);
        state->left.reset(chain->K);
        state->right.reset(chain->K);
        return state.release();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void svmcut_gdmm_chain_delete(svmcut_gdmm_chain* state) { delete state; }

int svmcut_gdmm_chain_pass(svmcut_gdmm_chain* state, double* w, const volatile int* cancel) {
    try {
        return state->run(w, cancel);
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}

int svmcut_gdmm_chain_repair(const svmcut_gdmm_chain* state, double* V2, double* linear,
                             double* residual, double* in_use) {
    const svmcut_chain& chain = state->chain;
    std::fill_n(V2, chain.K * chain.stride, 0.0);
    *linear = *residual = *in_use = 0;
    try {
        std::vector<double> q, rows, columns;
        for (int64_t i = 0; i < chain.n_sequences; ++i) {
            const double C = state->most(i);
            for (int64_t t = chain.sequences[i]; C > 0 && t < chain.sequences[i + 1]; ++t) {
                const auto& left = state->tokens[t].states;
                *linear += left[0].alpha;  // the others sum to its negative
                *in_use += static_cast<double>(left.size());
                if (t + 1 == chain.sequences[i + 1]) continue;
                const Link& link = state->links[t];
                for (const Messages& message : link.message) *residual += message.residual();
                *in_use += static_cast<double>(link.states.size());
                const auto& right = state->tokens[t + 1].states;
                couple(left, right, link.states, C, q, rows, columns);
                V2[left[0].tag * chain.stride + right[0].tag] += C;
                for (size_t a = 0; a < left.size(); ++a)
                    for (size_t b = 0; b < right.size(); ++b)
                        V2[left[a].tag * chain.stride + right[b].tag] -=
                            C * q[a * right.size() + b];
            }
        }
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}

void svmcut_pair_max(const double* V, int64_t K, int64_t stride, const double* a, const double* b,
                     double rho, int32_t gold_left, int32_t gold_right, int brute, int32_t* left,
                     int32_t* right, double* value) {
    Messages sides[2];
    for (int64_t k = 0; k < K; ++k) {
        if (a[k] != 0) sides[0].add(static_cast<int32_t>(k), a[k]);
        if (b[k] != 0) sides[1].add(static_cast<int32_t>(k), b[k]);
    }
    PairOrder pairs;
    pairs.reset(K, stride, !brute);
    std::vector<double> copy(static_cast<size_t>(K * stride), 0.0),
        scratch(static_cast<size_t>(stride));
    for (int64_t k = 0; k < K; ++k)
        for (int64_t l = 0; l < K; ++l)
            if (V[k * stride + l] != 0)
                pairs.change(copy.data(), static_cast<int32_t>(k), static_cast<int32_t>(l),
                             V[k * stride + l]);
    Spread spread[2];
    for (int i = 0; i < 2; ++i) {
        spread[i].reset(K);
        spread[i].put(sides[i]);
    }
    const PairMax found =
        brute
            ? pairs.scan(copy.data(), sides, spread[0], rho, gold_left, gold_right, scratch.data())
            : pairs.find(copy.data(), sides, spread[0], spread[1], rho, gold_left, gold_right);
    *left = found.left;
    *right = found.right;
    *value = found.value;
}

}  // extern "C"
