// SPDX-License-Identifier: BSD-3-Clause
//
// Chains with soft agreement of factors (Meshi, Srebro and Hazan, AISTATS 2015): the function of
// gdmm_chain.cc with all multipliers at 0, minimised by Frank-Wolfe steps of one factor at a time.
// Every tag and every pair may be the best state.

#include <cmath>

#include "chain/chain_factors.h"

using namespace svmcut;

// A Frank-Wolfe step towards the best of all tags; multipliers stay 0.
void svmcut_gdmm_chain::soften_token(int64_t t, bool first, bool last) {
    auto& states = tokens[t].states;
    const int32_t gold = states[0].tag;
    Messages* sides[2] = {first ? nullptr : &links[t - 1].message[1],
                          last ? nullptr : &links[t].message[0]};
    double *g = scan(t, 0, chain.K), slope = 0, length = 0;
    for (int64_t k = 0; k < chain.K; ++k) g[k] += k != gold;
    for (Messages* side : sides)
        for (size_t i = 0; side && i < side->entries.size(); ++i)
            g[side->entries[i].tag] -= rho * side->entries[i].value;
    const auto best = static_cast<int32_t>(std::max_element(g, g + chain.K) - g);
    bool known = false;
    for (const TokenState& x : states) known = known || x.tag == best;
    if (!known) states.push_back({best, 0.0});
    moved.assign(states.size(), 0);
    for (size_t i = 0; i < states.size(); ++i) {
        moved[i] = C * ((i == 0) - (states[i].tag == best)) - states[i].alpha;
        slope += g[states[i].tag] * moved[i];
        length += moved[i] * moved[i];
    }
    const double curve = (squared[t] + rho * (!first + !last)) * length;
    if (!(slope < 0)) return;
    const double gamma = curve > 0 ? std::min(1.0, -slope / curve) : 1.0;
    for (size_t i = 0; i < states.size(); ++i) {
        const double by = gamma * moved[i];
        states[i].alpha += by;
        for (int64_t e = chain.X.indptr[t]; e < chain.X.indptr[t + 1]; ++e)
            if (chain.X.indices[e] < chain.n_features)
                w[chain.X.indices[e] * chain.stride + states[i].tag] += chain.X.data[e] * by;
        for (Messages* side : sides)
            if (side) side->add(states[i].tag, -by);
    }
}

void svmcut_gdmm_chain::soften_link(int64_t t) {
    Link& link = links[t];
    auto& states = link.states;
    double* V = transitions();
    const PairMax found = greedy_pair(link);
    const int32_t gold[2] = {states[0].left, states[0].right};
    auto value = [&](int32_t k, int32_t l) {
        return V[k * chain.stride + l] + rho * (left.at(k) + right.at(l));
    };
    size_t best = 0;
    if (found.left >= 0 && found.value > value(gold[0], gold[1])) {
        for (best = 1; best < states.size(); ++best)
            if (states[best].left == found.left && states[best].right == found.right) break;
        if (best == states.size()) states.push_back({found.left, found.right, 0.0});
    }
    const size_t m = states.size();
    double slope = 0, curve = 0;
    moved.assign(m, 0);
    for (size_t i = 0; i < m; ++i) {
        moved[i] = C * ((i == 0) - static_cast<double>(i == best)) - states[i].alpha;
        slope += value(states[i].left, states[i].right) * moved[i];
    }
    left.take(link.message[0]);
    right.take(link.message[1]);
    for (size_t i = 0; i < m; ++i)
        for (size_t j = 0; j < m; ++j)
            curve += moved[i] * moved[j] *
                     ((i == j) + rho * ((states[i].left == states[j].left) +
                                        (states[i].right == states[j].right)));
    if (!(slope < 0) || !(curve > 0)) return;
    const double gamma = std::min(1.0, -slope / curve);
    for (size_t i = 0; i < m; ++i) {
        const double by = gamma * moved[i];
        states[i].alpha += by;
        pairs.change(V, states[i].left, states[i].right, by);
        link.message[0].add(states[i].left, by);
        link.message[1].add(states[i].right, by);
    }
}
