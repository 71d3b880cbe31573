// SPDX-License-Identifier: BSD-3-Clause
//
// Viterbi's recursion on a chain of tags of any transition order, for one sequence at a time.
//
//     score(y) = sum_t node[t][0][y_t] + node[t][1 + y_(t-1)][y_t]
//                + sum_{j <= order} V_j[y_(t-j), ..., y_t]
//
// where a term whose history starts before the sequence is left out. A state is the last m = max(1,
// order) tags, fewer at the start; its last tag runs along a vector. No back pointers are stored:
// going back, the best previous tag is found again from the values. Ties go to the lowest tag.
#ifndef SVMCUT_CHAIN_H
#define SVMCUT_CHAIN_H

#include <algorithm>
#include <limits>
#include <vector>

#include "chain/chain_kernels.h"
#include "chain/chain_sparse.h"
#include "include/chain.h"

namespace svmcut {

constexpr int kMostOrder = 3;

// Where the weights are: rows of S numbers, D * blocks of emissions (feature by feature), then V_1
// to V_order.
struct ChainLayout {
    int64_t K, S, D, blocks;
    int order;
    int64_t power[kMostOrder + 2];  // K^j

    explicit ChainLayout(const svmcut_chain* chain)
        : K(chain->K),
          S(chain->stride),
          D(chain->n_features),
          blocks(chain->emission_order ? chain->K + 1 : 1),
          order(chain->transition_order) {
        power[0] = 1;
        for (int j = 1; j <= kMostOrder + 1; ++j) power[j] = j <= order + 1 ? power[j - 1] * K : 0;
    }
    int64_t emissions() const { return D * blocks * S; }
    int64_t transitions(int j) const {  // where V_j starts behind the emissions
        int64_t at = 0;
        for (int i = 1; i < j; ++i) at += power[i] * S;
        return at;
    }
    int64_t dim() const { return emissions() + transitions(order + 1); }
    int memory() const { return order > 1 ? order : 1; }  // tags of a full state
};

// Node scores of token i: row 0, and with emission order 1 the rows of the previous tags. Padding
// is lowest.
template <int B, class Real>
SVMCUT_INLINE void score_token(const ChainLayout& at, const svmcut_csr& X, int64_t i, const Real* w,
                               Real start, bool first, Real* node) {
    const int64_t begin = X.indptr[i], count = X.indptr[i + 1] - begin;
    const int64_t rows = first ? 1 : at.blocks;
    for (int64_t b = 0; b < rows; ++b) {
        Real* out = node + b * at.S;
        for (int64_t c = 0; c < at.S; ++c)
            out[c] = c >= at.K ? -std::numeric_limits<Real>::infinity() : b == 0 ? start : Real(0);
        emit<Real, B>(X.data + begin, X.indices + begin, count, at.D, w + b * at.S,
                      at.blocks * at.S, at.S, out);
    }
}

// Keeps the `beam` best states and lowers the others to -infinity.
template <class Real>
inline void narrow(Real* states, int64_t count, int64_t beam, std::vector<Real>& room) {
    room.assign(states, states + count);
    if (beam >= count) return;
    std::nth_element(room.begin(), room.begin() + (beam - 1), room.end(), std::greater<Real>());
    const Real least = room[beam - 1];
    int64_t above = 0;
    for (int64_t k = 0; k < count; ++k) above += states[k] > least;
    int64_t equal = beam - above;
    for (int64_t k = 0; k < count; ++k)
        if (states[k] < least || (states[k] == least && equal-- <= 0))
            states[k] = -std::numeric_limits<Real>::infinity();
}

// Room for one sequence; grows and is kept.
template <class Real>
struct ChainRoom {
    std::vector<Real> nodes, states, sorted, ends, tops;
    std::vector<int32_t> tags, alive;
};

constexpr int64_t kManyTags = 32;  // from which on previous tags are left out
constexpr int64_t kWorthEnds = 6;  // tokens

// Of every row of V_1 its largest and its least entry, 2 K numbers, where there are many tags and
// these transitions are all that joins them; empty elsewhere.
template <class Real>
inline void row_ends(const ChainLayout& at, const Real* V, std::vector<Real>& out) {
    out.clear();
    if (at.order != 1 || at.blocks > 1 || at.K < kManyTags) return;
    out.resize(2 * at.K);
    for (int64_t p = 0; p < at.K; ++p) {
        const Real* row = V + p * at.S;
        Real most[8], least[8];
        for (int k = 0; k < 8; ++k) most[k] = least[k] = row[k];
        int64_t c = 8;
        for (; c + 8 <= at.K; c += 8)
            for (int k = 0; k < 8; ++k) {
                most[k] = row[c + k] > most[k] ? row[c + k] : most[k];
                least[k] = row[c + k] < least[k] ? row[c + k] : least[k];
            }
        for (; c < at.K; ++c)
            most[0] = std::max(most[0], row[c]), least[0] = std::min(least[0], row[c]);
        out[p] = *std::max_element(most, most + 8);
        out[at.K + p] = *std::min_element(least, least + 8);
    }
}

// Where the weights of V_1 are, under the same conditions.
template <class Real>
inline void read_sparse(const ChainLayout& at, const Real* V, SparseTransitions& out) {
    const bool alone = at.order == 1 && at.blocks == 1;
    out.read(alone ? at.K : 0, at.S, V);
}

// V_1 with its rows as columns where states are single tags and transitions all that joins them;
// empty elsewhere.
template <class Real>
inline std::vector<Real> turn(const ChainLayout& at, const Real* V) {
    if (at.order != 1 || at.blocks > 1) return {};
    std::vector<Real> out(at.K * at.S);
    for (int64_t p = 0; p < at.K; ++p)
        for (int64_t c = 0; c < at.K; ++c) out[c * at.S + p] = V[p * at.S + c];
    return out;
}

// One sequence's states, position after position.
template <class Real>
struct Lattice {
    const ChainLayout& at;
    const Real* nodes;  // (tokens, blocks, S)
    const Real* V[kMostOrder + 1] = {};
    int64_t beam;
    // V_1 with its rows as columns, or null: the way back reads columns
    const Real* turned = nullptr;
    // as row_ends gives them, or null, and room for the tags that are left
    const Real* ends = nullptr;
    std::vector<int32_t>* alive = nullptr;
    // where V_1 has weights and the largest of every row, or null
    const SparseTransitions* sparse = nullptr;
    const Real* tops = nullptr;

    Lattice(const ChainLayout& layout, const Real* nodes_, const Real* transitions, int64_t beam_)
        : at(layout), nodes(nodes_), beam(beam_) {
        for (int j = 1; j <= at.order; ++j) V[j] = transitions + at.transitions(j);
    }
    int64_t length(int64_t i) const { return std::min<int64_t>(i + 1, at.memory()); }
    int64_t size(int64_t i) const { return at.power[length(i) - 1] * at.S; }
    const Real* node(int64_t i) const { return nodes + i * at.blocks * at.S; }

    // Values of the states at position i from those at i - 1, in vectors of B bytes.
    template <int B>
    SVMCUT_INLINE void step(int64_t i, const Real* old, Real* now, std::vector<Real>& room) const {
        const int64_t K = at.K, S = at.S;
        const Real* token = node(i);
        const bool emissions = at.blocks > 1;
        if (i == 0 || at.order == 0) {
            const int64_t best = i == 0 ? 0 : std::max_element(old, old + K) - old;
            for (int64_t c = 0; c < S; ++c) now[c] = token[c] + (i == 0 ? Real(0) : old[best]);
        } else if (at.memory() == 1) {
            if (emissions) advance<Real, B, true>(old, 1, K, V[1], S, token + S, S, now);
            else if (sparse) advance_sparse(*sparse, tops, old, K, V[1], S, now);
            else if (ends && few(old)) advance_few<Real, B>(old, alive->data(), left, V[1], S, now);
            else advance<Real, B, false>(old, 1, K, V[1], S, nullptr, S, now);
            add_row(token, S, now);
        } else {
            const int64_t before = length(i - 1), rest = at.power[length(i) - 1];
            const bool full = before == at.memory();
            // orders added after the maximum
            const int top = static_cast<int>(full ? at.memory() - 1 : before);
            for (int64_t r = 0; r < rest; ++r) {
                const int64_t last = r % K, prefix = r / K;
                Real* out = now + r * S;
                if (full) {
                    const int64_t apart = at.power[at.memory() - 2] * S;
                    advance<Real, B, false>(old + prefix * S + last, apart, K,
                                            V[at.memory()] + r * S, rest * S, nullptr, S, out);
                } else {
                    for (int64_t c = 0; c < S; ++c) out[c] = old[prefix * S + last];
                }
                for (int j = 1; j <= top; ++j) add_row(V[j] + r % at.power[j] * S, S, out);
                if (emissions) add_row(token + (1 + last) * S, S, out);
                add_row(token, S, out);
            }
        }
        if (beam > 0) narrow(now, size(i), beam, room);
    }

    // Whether half of the previous tags or more cannot be the best one of any tag: with the least
    // entry of its row the best of them reaches what these do not reach with their largest. Those
    // others are listed then. Sums are rounded alike, so no maximum changes.
    bool few(const Real* old) const {
        const int64_t K = at.K, best = std::max_element(old, old + K) - old;
        const Real floor = old[best] + ends[K + best];
        alive->resize(K);
        int32_t* list = alive->data();
        int64_t count = 0;
        for (int64_t p = 0; p < K; ++p) {
            list[count] = static_cast<int32_t>(p);
            count += old[p] + ends[p] >= floor;
        }
        left = count;
        return 2 * count < K;
    }
    mutable int64_t left = 0;

    // Has few weights of transitions, or the ends of their rows, read where T tokens make up for it.
    void read_ends(int64_t T, ChainRoom<Real>& room, const SparseTransitions& few) {
        if (T < kWorthEnds) return;
        if (few.on()) {
            sparse_tops(few, at.K, at.S, V[1], room.tops);
            sparse = &few;
            tops = room.tops.data();
            return;
        }
        row_ends(at, V[1], room.ends);
        ends = room.ends.empty() ? nullptr : room.ends.data();
        alive = &room.alive;
    }

    // The tag that left the state on the way to state (rest, c) at position i, and the value it
    // brings along.
    int32_t oldest(int64_t i, const Real* old, int64_t rest, int64_t c,
                   Real* brought = nullptr) const {
        const int m = at.memory();
        int32_t best = 0;
        Real value = -std::numeric_limits<Real>::infinity();
        for (int64_t p = 0; p < at.K; ++p) {
            const int64_t from =
                m == 1 ? p : (p * at.power[m - 2] + rest / at.K) * at.S + rest % at.K;
            Real sum = at.order == 0 ? Real(0) : V[m][(p * at.power[m - 1] + rest) * at.S + c];
            if (m == 1 && at.blocks > 1) sum += node(i)[(1 + p) * at.S + c];
            sum = old[from] + sum;
            if (sum > value) value = sum, best = static_cast<int32_t>(p);
        }
        if (brought) *brought = value;
        return best;
    }

    // The same where V_1 is turned, or has few weights.
    template <int B>
    SVMCUT_INLINE int32_t oldest(const Real* old, int64_t c, std::vector<Real>& room) const {
        if (sparse) return oldest_sparse(*sparse, old, at.K, c, V[1], at.S, room);
        if (static_cast<int64_t>(room.size()) < at.S) room.resize(at.S);
        return first_largest<B>(old, turned + c * at.S, at.S, room.data());
    }

    // How many numbers the states of the first i positions are.
    int64_t total(int64_t i) const {
        int64_t sum = 0;
        for (int64_t k = 0; k < std::min<int64_t>(i, at.memory()); ++k) sum += size(k);
        return sum + std::max<int64_t>(0, i - at.memory()) * at.power[at.memory() - 1] * at.S;
    }

    // Writes the tags of the best state at position i, the last of them at labels[i]; its value.
    // The lowest last tag comes first.
    Real unpack(int64_t i, const Real* now, int32_t* labels) const {
        const int64_t prefixes = at.power[length(i) - 1];
        int64_t rest = 0, c = 0;
        for (int64_t b = 0; b < at.K; ++b)
            for (int64_t r = 0; r < prefixes; ++r)
                if (now[r * at.S + b] > now[rest * at.S + c]) c = b, rest = r;
        const Real value = now[rest * at.S + c];
        labels[i] = static_cast<int32_t>(c);
        for (int64_t k = 1; k < length(i); ++k) {
            labels[i - k] = static_cast<int32_t>(rest % at.K);
            rest /= at.K;
        }
        return value;
    }

    // The tags before labels[i] that its state remembers, as a number.
    int64_t history(int64_t i, const int32_t* labels) const {
        int64_t rest = 0;
        for (int64_t k = i - at.memory() + 1; k < i; ++k) rest = rest * at.K + labels[k];
        return rest;
    }
};

// The best labelling of T tokens and its value; states: all positions, kept.
template <int B, class Real>
SVMCUT_INLINE Real viterbi(const Lattice<Real>& lattice, int64_t T, ChainRoom<Real>& room,
                           int32_t* labels) {
    const int64_t m = lattice.at.memory(), total = lattice.total(T);
    if (static_cast<int64_t>(room.states.size()) < total) room.states.resize(total);
    const Real* old = nullptr;
    Real* now = room.states.data();
    for (int64_t i = 0; i < T; ++i) {
        lattice.template step<B>(i, old, now, room.sorted);
        old = now;
        now += lattice.size(i);
    }
    const Real value = lattice.unpack(T - 1, old, labels);
    for (int64_t i = T - 1; i >= m; --i) {
        const Real* before = old - lattice.size(i - 1);
        labels[i - m] = lattice.turned || lattice.sparse
                            ? lattice.template oldest<B>(before, labels[i], room.sorted)
                            : lattice.oldest(i, before, lattice.history(i, labels), labels[i]);
        old = before;
    }
    return value;
}

// score of a given labelling
template <class Real>
inline double score_of(const Lattice<Real>& lattice, int64_t T, const int32_t* labels) {
    const ChainLayout& at = lattice.at;
    double sum = 0;
    for (int64_t i = 0; i < T; ++i) {
        const int64_t c = labels[i];
        sum += lattice.node(i)[c];
        if (i && at.blocks > 1) sum += lattice.node(i)[(1 + labels[i - 1]) * at.S + c];
        int64_t state = 0;
        for (int j = 1; j <= at.order && j <= i; ++j) {
            state += labels[i - j] * at.power[j - 1];
            sum += lattice.V[j][state * at.S + c];
        }
    }
    return sum;
}

// An entry of Psi(right) - Psi(labelling): of emissions in `column` of the rows of token `token`,
// counted within the sequence; of transitions in `column` of all V.
struct Entry {
    int32_t token, column;
    float sign;
};

// All entries, and the number of wrong tags.
inline double difference(const ChainLayout& at, const int32_t* gold, const int32_t* y, int64_t T,
                         std::vector<Entry>& emissions, std::vector<Entry>& transitions) {
    emissions.clear();
    transitions.clear();
    double wrong = 0;
    int64_t changed = -1 - kMostOrder;  // the last position where the labellings differ
    auto enter = [&](int64_t i, int64_t column, float sign) {
        emissions.push_back({static_cast<int32_t>(i), static_cast<int32_t>(column), sign});
    };
    for (int64_t i = 0; i < T; ++i) {
        const bool differs = gold[i] != y[i];
        if (differs) {
            wrong += 1;
            changed = i;
            enter(i, gold[i], 1);
            enter(i, y[i], -1);
        }
        if (at.blocks > 1 && i && (differs || gold[i - 1] != y[i - 1])) {
            enter(i, (1 + gold[i - 1]) * at.S + gold[i], 1);
            enter(i, (1 + y[i - 1]) * at.S + y[i], -1);
        }
        if (i - changed > at.order) continue;
        for (int side = 0; side < 2; ++side) {
            const int32_t* tags = side ? y : gold;
            int64_t state = 0;
            for (int j = 1; j <= at.order && j <= i; ++j) {
                state += tags[i - j] * at.power[j - 1];
                const int64_t column = at.transitions(j) + state * at.S + tags[i];
                transitions.push_back({0, static_cast<int32_t>(column), side ? -1.0f : 1.0f});
            }
        }
    }
    return wrong;
}

}  // namespace svmcut
#endif
