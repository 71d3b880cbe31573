// SPDX-License-Identifier: BSD-3-Clause
//
// The state of gdmm_chain.cc for runs that stop and go on. The order of the pairs follows from the
// transitions.

#include <algorithm>
#include <new>

#include "chain/chain_factors.h"
#include "core/saved.h"

using namespace svmcut;

extern "C" {

void svmcut_gdmm_chain_save(const svmcut_gdmm_chain* state, int64_t* integers, double* reals,
                            int64_t* counts) {
    Saver to(integers, reals);
    to.integer(static_cast<int64_t>(state->random.state));
    to.all_integers(state->order);
    for (const Token& token : state->tokens) {
        to.integer(static_cast<int64_t>(token.states.size()));
        for (const TokenState& x : token.states) to.integer(x.tag), to.real(x.alpha);
    }
    for (const Link& link : state->links) {
        to.integer(static_cast<int64_t>(link.states.size()));
        for (const PairState& x : link.states)
            to.integer(x.left), to.integer(x.right), to.real(x.alpha);
        for (const Messages& message : link.message) {
            to.integer(static_cast<int64_t>(message.entries.size()));
            for (const Message& m : message.entries)
                to.integer(m.tag), to.real(m.value), to.real(m.lambda);
        }
    }
    to.count(counts);
}

int svmcut_gdmm_chain_load(svmcut_gdmm_chain* state, const double* w, const int64_t* integers,
                           const double* reals, const int64_t* counts) {
    const svmcut_chain& chain = state->chain;
    Loader from(integers, reals, counts);
    auto tag = [&] { return static_cast<int32_t>(from.integer(0, chain.K - 1)); };
    state->random.state = static_cast<uint64_t>(from.integer());
    const double most = state->unit * largest_weight(state->v, chain.n_sequences) * (1 + 1e-6);
    auto alpha = [&] { return from.real(-most, most); };
    try {
        from.permutation(state->order);
        for (Token& token : state->tokens) {
            token.states.clear();
            for (int64_t left = from.size(); left > 0 && from.ok(); --left) {
                const int32_t k = tag();
                token.states.push_back({k, alpha()});
            }
            from.require(!token.states.empty() &&
                         token.states[0].tag == chain.tags[&token - state->tokens.data()]);
        }
        for (Link& link : state->links) {
            const bool joins = !link.states.empty();  // a new state knows where a sequence ends
            const PairState right = joins ? link.states[0] : PairState{};
            link.states.clear();
            for (int64_t left = from.size(); left > 0 && from.ok(); --left) {
                const int32_t k = tag(), l = tag();
                link.states.push_back({k, l, alpha()});
            }
            from.require(joins == !link.states.empty());
            if (joins && from.ok())
                from.require(link.states[0].left == right.left &&
                             link.states[0].right == right.right);
            for (Messages& message : link.message) {
                message.entries.clear();
                for (int64_t left = from.size(); left > 0 && from.ok(); --left) {
                    const int32_t k = tag();
                    const double value = from.real();
                    message.entries.push_back({k, value, from.real()});
                }
            }
        }
        state->pairs.restore(w + chain.n_features * chain.stride);
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
    return from.status();
}

}  // extern "C"
