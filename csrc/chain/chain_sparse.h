// SPDX-License-Identifier: BSD-3-Clause
//
// Transitions of which most weigh 0, as those of many tags do: the best previous tag is the best of
// all, or one whose transition has a weight, so a token costs as many steps as there are weights
// and not K^2. Maxima are those of all previous tags, number by number.
#ifndef SVMCUT_CHAIN_SPARSE_H
#define SVMCUT_CHAIN_SPARSE_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace svmcut {

constexpr int64_t kSparseTags = 64;  // from which on it is worth looking
constexpr int64_t kSparse = 6;       // one weight in so many at most
constexpr int kAhead = 8;            // best previous tags at hand

// Where V_1 has weights. Entries that return to 0 stay.
class SparseTransitions {
  public:
    // Of a K x K matrix whose rows are S numbers apart; nothing where most entries weigh something.
    template <class Real>
    void read(int64_t K, int64_t S, const Real* V) {
        K_ = K, S_ = S, count_ = 0;
        on_ = K >= kSparseTags;
        if (!on_) return;
        rows_.assign(K, {});
        columns_.assign(K, {});
        known_.assign(K * S, false);
        for (int64_t p = 0; p < K && on_; ++p)
            for (int64_t c = 0; c < K; ++c)
                if (V[p * S + c] != 0) enter(p * S + c);
    }
    // An entry, by its place in the matrix, may weigh something from now on.
    void enter(int64_t place) {
        if (!on_ || known_[place]) return;
        known_[place] = true;
        rows_[place / S_].push_back(static_cast<int32_t>(place % S_));
        columns_[place % S_].push_back(static_cast<int32_t>(place / S_));
        on_ = kSparse * ++count_ < K_ * K_;
    }
    bool on() const { return on_; }
    const std::vector<int32_t>& row(int64_t p) const { return rows_[p]; }
    const std::vector<int32_t>& column(int64_t c) const { return columns_[c]; }

  private:
    int64_t K_ = 0, S_ = 0, count_ = 0;
    bool on_ = false;
    std::vector<std::vector<int32_t>> rows_, columns_;
    std::vector<bool> known_;
};

// The largest weight of every row, and 0.
template <class Real>
inline void sparse_tops(const SparseTransitions& few, int64_t K, int64_t S, const Real* V,
                        std::vector<Real>& out) {
    out.assign(K, Real(0));
    for (int64_t p = 0; p < K; ++p)
        for (const int32_t c : few.row(p)) out[p] = std::max(out[p], V[p * S + c]);
}

// out[c] = max over p < K of old[p] + V[p * S + c]; tops as sparse_tops has them.
template <class Real>
inline void advance_sparse(const SparseTransitions& few, const Real* tops, const Real* old,
                           int64_t K, const Real* V, int64_t S, Real* out) {
    int64_t best[kAhead];
    int held = 0;
    for (int64_t p = 0; p < K; ++p) {
        if (held == kAhead && !(old[p] > old[best[held - 1]])) continue;
        int at = held < kAhead ? held++ : kAhead - 1;
        for (; at > 0 && old[p] > old[best[at - 1]]; --at) best[at] = best[at - 1];
        best[at] = p;
    }
    std::fill(out, out + S, old[best[0]]);
    for (const int32_t c : few.row(best[0])) {
        int at = 0;
        while (at < kAhead && V[best[at] * S + c] != 0) ++at;
        Real value = -std::numeric_limits<Real>::infinity();
        if (at < kAhead) value = old[best[at]];
        else
            for (int64_t p = 0; p < K; ++p)
                if (V[p * S + c] == 0 && old[p] > value) value = old[p];
        out[c] = value;
    }
    const Real least = *std::min_element(out, out + K);
    for (int64_t p = 0; p < K; ++p) {
        if (!(old[p] + tops[p] > least)) continue;
        const Real before = old[p], *entries = V + p * S;
        for (const int32_t c : few.row(p)) {
            const Real sum = before + entries[c];
            out[c] = sum > out[c] ? sum : out[c];
        }
    }
}

// The lowest p whose old[p] + V[p * S + c] is largest. Down a whole column every number has a page of
// its own.
template <class Real>
inline int32_t oldest_sparse(const SparseTransitions& few, const Real* old, int64_t K, int64_t c,
                             const Real* V, int64_t S, std::vector<Real>& sums) {
    sums.assign(old, old + K);
    for (const int32_t p : few.column(c)) sums[p] = old[p] + V[p * S + c];
    return static_cast<int32_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
}

}  // namespace svmcut
#endif
