// SPDX-License-Identifier: BSD-3-Clause
//
// The state of the trainers that move chains factor by factor: gdmm_chain.cc, and soft_chain.cc for
// soft constraints.
#ifndef SVMCUT_CHAIN_FACTORS_H
#define SVMCUT_CHAIN_FACTORS_H

#include <vector>

#include "chain/pair_order.h"
#include "core/random.h"
#include "include/chain.h"

namespace svmcut {

struct TokenState {
    int32_t tag;
    double alpha;
};
struct PairState {
    int32_t left, right;
    double alpha;
};

struct Token {
    std::vector<TokenState> states;  // the right tag first
};
struct Link {
    std::vector<PairState> states;  // the right pair first
    Messages message[2];            // of the left and of the right token
};

}  // namespace svmcut

struct svmcut_gdmm_chain {
    svmcut_chain chain;
    double unit, unit_rho;  // of a sequence of weight 1
    // of the sequence visited: C = unit v_n, rho = unit_rho / v_n, as of v_n sequences together
    double C, rho;
    const double* v;  // of the sequences, or null for 1 each
    int parts, brute;
    bool soft = false;
    svmcut::Random random;
    std::vector<svmcut::Token> tokens;
    std::vector<svmcut::Link> links;  // links[t] joins token t and t + 1
    std::vector<double> squared, scores, target, sorted, moved;
    std::vector<int32_t> order;
    svmcut::PairOrder pairs;
    svmcut::Spread left, right;
    double* w = nullptr;

    double most(int64_t n) const { return v ? unit * v[n] : unit; }
    double* transitions() const { return w + chain.n_features * chain.stride; }
    int run(double* weights, const volatile int* cancel);
    void visit_token(int64_t t, bool first, bool last);
    void visit_link(int64_t t);
    svmcut::PairMax greedy_pair(const svmcut::Link& link);
    void soften_token(int64_t t, bool first, bool last);
    void soften_link(int64_t t);
    void settle(svmcut::Link& link) {
        for (svmcut::Messages& message : link.message) message.advance();
    }
    double* scan(int64_t t, int64_t from, int64_t to);
};

#endif
