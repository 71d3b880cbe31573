// SPDX-License-Identifier: BSD-3-Clause
//
// The maximiser of V[k][l] + rho (a(k) + b(l)) over pairs of tags where few a and b are not 0,
// without a look at all K^2: the positive entries of V stand in order, by row, by column and all
// together (section 3.2 of the paper).
//
//     both messages 0     walk all entries from the largest
//     b(l) alone not 0    walk column l to the first k without a message; rows likewise
//     both not 0          every such pair
//
// Where no positive entry is left, a pair that is 0 is looked for, and met at once as V is sparse;
// only where there is none either are all the entries in question read.
#ifndef SVMCUT_PAIR_ORDER_H
#define SVMCUT_PAIR_ORDER_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace svmcut {

struct Message {
    int32_t tag;
    double value, lambda;  // value = marginal - token + lambda
};

// The message of one end of a pair; tags not stored have 0.
struct Messages {
    std::vector<Message> entries;

    void add(int32_t tag, double change) {
        for (Message& m : entries)
            if (m.tag == tag) {
                m.value += change;
                return;
            }
        entries.push_back({tag, change, 0.0});
    }
    // lambda += marginal - token
    void advance() {
        size_t kept = 0;
        for (Message m : entries) {
            const double residual = m.value - m.lambda;
            m.lambda += residual;
            m.value += residual;
            if (m.value != 0 || m.lambda != 0) entries[kept++] = m;
        }
        entries.resize(kept);
    }
    double residual() const {
        double sum = 0;
        for (const Message& m : entries) sum += std::fabs(m.value - m.lambda);
        return sum;
    }
};

// A message spread over all tags for the time it is asked often.
class Spread {
  public:
    void reset(int64_t n_tags) {
        values.assign(static_cast<size_t>(n_tags), 0.0);
        stored.assign(static_cast<size_t>(n_tags), 0);
    }
    void put(const Messages& message) {
        for (const Message& m : message.entries) {
            values[m.tag] += m.value;
            stored[m.tag] = 1;
        }
    }
    void take(const Messages& message) {
        for (const Message& m : message.entries) {
            values[m.tag] = 0;
            stored[m.tag] = 0;
        }
    }
    double at(int32_t tag) const { return values[tag]; }
    bool has(int32_t tag) const { return stored[tag] != 0; }

  private:
    std::vector<double> values;
    std::vector<char> stored;
};

struct PairMax {
    int32_t left, right;
    double value;
};

class PairOrder {
  public:
    void reset(int64_t n_tags, int64_t row, bool keep) {
        K = n_tags;
        stride = row;
        kept = keep;
        all.clear();
        rows.assign(keep ? static_cast<size_t>(K) : 0, {});
        columns.assign(keep ? static_cast<size_t>(K) : 0, {});
    }

    // The order of the entries of V; O(K^2).
    void restore(const double* V) {
        reset(K, stride, kept);
        for (int64_t k = 0; kept && k < K; ++k)
            for (int64_t l = 0; l < K; ++l)
                if (const double entry = V[k * stride + l]; entry > 0) {
                    all.insert({-entry, k * K + l});
                    rows[k].insert({-entry, l});
                    columns[l].insert({-entry, k});
                }
    }

    // V[k][l] += by
    void change(double* V, int32_t k, int32_t l, double by) {
        double& entry = V[k * stride + l];
        const double old = entry;
        entry += by;
        if (!kept || entry == old || (entry <= 0 && old <= 0)) return;
        const int64_t place = k * K + l;
        move(all, old, entry, place);
        move(rows[k], old, entry, static_cast<int64_t>(l));
        move(columns[l], old, entry, static_cast<int64_t>(k));
    }

    // sides: the messages of the left and of the right end; a and b are the same, spread.
    PairMax find(const double* V, const Messages* sides, const Spread& a, const Spread& b,
                 double rho, int32_t gold_left, int32_t gold_right) const {
        PairMax best{-1, -1, -HUGE_VAL};
        auto offer = [&](int32_t k, int32_t l, double value) {
            if (value > best.value && !(k == gold_left && l == gold_right)) best = {k, l, value};
        };
        auto right_pair = [&](int64_t k, int64_t l) { return k == gold_left && l == gold_right; };
        bool found = false;
        for (const auto& entry : all) {
            const auto k = static_cast<int32_t>(entry.second / K),
                       l = static_cast<int32_t>(entry.second % K);
            if (a.has(k) || b.has(l) || right_pair(k, l)) continue;
            offer(k, l, -entry.first);
            found = true;
            break;
        }
        for (int32_t k = 0; k < K && !found; ++k) {
            if (a.has(k)) continue;
            const double* row = V + k * stride;
            for (int32_t l = 0; l < K && !found; ++l) {
                if (b.has(l) || right_pair(k, l)) continue;
                offer(k, l, row[l]);
                found = row[l] >= 0;
            }
        }
        for (const Message& m : sides[1].entries)
            walk(columns[m.tag], a, V + m.tag, stride, m.tag == gold_right ? gold_left : -1,
                 [&](int32_t k, double v) { offer(k, m.tag, v + rho * m.value); });
        for (const Message& m : sides[0].entries)
            walk(rows[m.tag], b, V + m.tag * stride, 1, m.tag == gold_left ? gold_right : -1,
                 [&](int32_t l, double v) { offer(m.tag, l, v + rho * m.value); });
        for (const Message& m : sides[0].entries)
            for (const Message& o : sides[1].entries)
                offer(m.tag, o.tag, V[m.tag * stride + o.tag] + rho * (m.value + o.value));
        return best;
    }

    // The same by all entries; b: scratch of `stride` numbers.
    PairMax scan(const double* V, const Messages* sides, const Spread& left, double rho,
                 int32_t gold_left, int32_t gold_right, double* b) const {
        PairMax best{-1, -1, -HUGE_VAL};
        std::fill_n(b, K, 0.0);
        for (const Message& m : sides[1].entries) b[m.tag] = rho * m.value;
        for (int32_t k = 0; k < K; ++k) {
            const double a = rho * left.at(k), *row = V + k * stride;
            const int32_t skip = k == gold_left ? gold_right : -1;
            if (a + largest(row, b) <= best.value) continue;
            for (int32_t l = 0; l < K; ++l)
                if (l != skip && row[l] + b[l] + a > best.value) best = {k, l, row[l] + b[l] + a};
        }
        return best;
    }

  private:
    // negative value, place: the largest comes first
    using Ordered = std::set<std::pair<double, int64_t>>;
    int64_t K = 0, stride = 0;
    bool kept = false;
    Ordered all;
    std::vector<Ordered> rows, columns;

    double largest(const double* row, const double* b) const {
        double most[8] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL,
                          -HUGE_VAL, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
        int64_t l = 0;
        for (; l + 8 <= K; l += 8)
            for (int i = 0; i < 8; ++i) {
                const double x = row[l + i] + b[l + i];
                most[i] = x > most[i] ? x : most[i];
            }
        for (; l < K; ++l) most[0] = std::max(most[0], row[l] + b[l]);
        return *std::max_element(most, most + 8);
    }

    static void move(Ordered& order, double old, double now, int64_t place) {
        if (old <= 0) {
            order.insert({-now, place});
            return;
        }
        auto node = order.extract({-old, place});
        if (now <= 0) return;
        node.value().first = -now;
        order.insert(std::move(node));
    }

    // The best of a row or column, entries `step` apart, among the tags without a message and but
    // one.
    template <class Offer>
    void walk(const Ordered& order, const Spread& taken, const double* entries, int64_t step,
              int32_t but, Offer&& offer) const {
        for (const auto& entry : order) {
            const auto tag = static_cast<int32_t>(entry.second);
            if (!taken.has(tag) && tag != but) return offer(tag, -entry.first);
        }
        for (int32_t tag = 0; tag < K; ++tag) {
            if (taken.has(tag) || tag == but) continue;
            offer(tag, entries[tag * step]);
            if (entries[tag * step] >= 0) return;
        }
    }
};

// q (left x right) with the row sums 1 or 0 - alpha/C of the left states and the column sums of the
// right ones, near the pairs in use: shrink rows and columns that have too much, then spread what
// is missing.
template <class Tokens, class Pairs>
void couple(const Tokens& left, const Tokens& right, const Pairs& pairs, double C,
            std::vector<double>& q, std::vector<double>& rows, std::vector<double>& columns) {
    const size_t m = left.size(), n = right.size();
    q.assign(m * n, 0.0);
    rows.resize(m);
    columns.resize(n);
    for (size_t i = 0; i < pairs.size(); ++i) {
        size_t a = 0, b = 0;
        while (a < m && left[a].tag != pairs[i].left) ++a;
        while (b < n && right[b].tag != pairs[i].right) ++b;
        if (a < m && b < n) q[a * n + b] = std::max(0.0, (i == 0) - pairs[i].alpha / C);
    }
    for (size_t a = 0; a < m; ++a) rows[a] = std::max(0.0, (a == 0) - left[a].alpha / C);
    for (size_t b = 0; b < n; ++b) columns[b] = std::max(0.0, (b == 0) - right[b].alpha / C);
    for (size_t a = 0; a < m; ++a) {
        double sum = 0;
        for (size_t b = 0; b < n; ++b) sum += q[a * n + b];
        if (sum > rows[a])
            for (size_t b = 0; b < n; ++b) q[a * n + b] *= rows[a] / sum;
    }
    double mass = 0;
    for (size_t b = 0; b < n; ++b) {
        double sum = 0;
        for (size_t a = 0; a < m; ++a) sum += q[a * n + b];
        if (sum > columns[b])
            for (size_t a = 0; a < m; ++a) q[a * n + b] *= columns[b] / sum;
        columns[b] = std::max(0.0, columns[b] - sum);
        mass += columns[b];
    }
    for (size_t a = 0; a < m; ++a)
        for (size_t b = 0; b < n; ++b) rows[a] -= q[a * n + b];
    if (mass <= 0) return;
    for (size_t a = 0; a < m; ++a)
        for (size_t b = 0; b < n; ++b) q[a * n + b] += std::max(0.0, rows[a]) * columns[b] / mass;
}

}  // namespace svmcut
#endif
