// SPDX-License-Identifier: BSD-3-Clause
//
// Most violated labelling for losses of contingency tables that quantification, unbalanced classes
// and floors under precision or recall ask for, with margin rescaling:
//
//   v(m, b) = Delta(m, b) - kappa (U(m) + V(b)),   kappa = 100/n
//
// m positives and b negatives are flipped, those of lowest r = y s (ties by row); U and V are sums
// of the lowest r of either class. Only labellings of a loss above 0 count, as in svm_perf. What
// the searches use of Delta:
//
//   size        it depends on k = b - m alone, the number of predicted positives: the best labelling
//               with P + k of them predicts the highest scores of all rows. O(n)
//   apart       it is a sum of a term of m and one of b. O(n)
//   in boxes    it is convex in m, and in b but for a known bend. Boxes of (m, b), the most promising
//               first: in a box Delta lies below the plane through three corners, raised to the
//               fourth, and by width^2 bend / 8; less the costs, the plane is largest where r passes
//               its slopes. Nor does any table exceed Delta at the far corner, and where it is 100
//               (1 - H), H a mean of the agreement of the prevalences, 1 - |k|/max(P, N), and of a
//               rate that falls in m and in b, at the largest |k|, less the least costs
//   floor       for a given number of hits a, Delta is one number of b, or concave, on either side
//               of the b from which on the floor is broken
//
// Esuli, Sebastiani (2015), Optimizing text quantifiers for multivariate loss functions; Barranquero
// et al. (2015), Quantification-oriented learning based on reliable classifiers; Joachims (2005).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>
#include <vector>

#include "include/measures.h"
#include "measures/labellings.h"
#include "measures/workspace.h"

namespace svmcut {
namespace {

// What a floor may lack by rounding.
constexpr double kRounding = 1e-12;

struct Best {
    double value;
    int64_t m, b;
};

// part of whole; 0 of nothing.
double share(int64_t part, int64_t whole) {
    return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

struct Table {
    int loss;
    double parameter;  // beta, or the floor
    int64_t P, N;
    double kappa;
    const double* r_positive;  // ascending
    const double* r_negative;
    const double* U;  // P + 1
    const double* V;  // N + 1

    double cost(int64_t m, int64_t b) const { return kappa * (U[m] + V[b]); }

    // Of n rows of which P + k are predicted positive.
    double of_size(int64_t k) const {
        const auto p_of = [&](int64_t count) {
            return (static_cast<double>(count) + 0.5) / (static_cast<double>(P + N) + 1.0);
        };
        const double gap = std::abs(static_cast<double>(k));
        if (loss == SVMCUT_MAE) return kappa * gap;
        if (loss == SVMCUT_MRAE) {
            const double of_P = 1.0 / (static_cast<double>(P) + 0.5),
                         of_N = 1.0 / (static_cast<double>(N) + 0.5);
            return 50.0 * gap * (of_P + of_N);
        }
        const double p = p_of(P), q = p_of(N), p2 = p_of(P + k), q2 = p_of(N - k);
        const double divergence = std::max(0.0, p * std::log(p / p2) + q * std::log(q / q2));
        return loss == SVMCUT_KLD ? divergence : 100.0 - 200.0 / (1.0 + std::exp(divergence));
    }

    // Of the losses of both: agreement of the prevalences where they differ by k, and the rate.
    double of_both(int64_t m, int64_t b, int64_t k) const {
        const double q = 1.0 - share(std::abs(k), std::max(P, N)), square = parameter * parameter;
        double rate = 1.0 - share(m, P);
        if (loss == SVMCUT_Q_ACCURACY) rate = 1.0 - share(m + b, P + N);
        else if (loss == SVMCUT_Q_F1) rate = f(m, b, 1.0);
        else if (loss == SVMCUT_Q_GMEAN) rate = gmean(m, b);
        const double under = square * rate + q;
        return 100.0 * (1.0 - (under > 0.0 ? (1.0 + square) * q * rate / under : 0.0));
    }

    double gmean(int64_t m, int64_t b) const {
        return std::sqrt((1.0 - share(m, P)) * (1.0 - share(b, N)));
    }
    // F of beta, by its square; 1 where there is nothing to find and nothing found.
    double f(int64_t m, int64_t b, double square) const {
        const double lost = square * static_cast<double>(m) + static_cast<double>(b),
                     won = (1.0 + square) * static_cast<double>(P - m);
        return lost > 0.0 ? won / (won + lost) : 1.0;
    }
    double in_box(int64_t m, int64_t b) const {
        if (loss == SVMCUT_GMEAN) return 100.0 * (1.0 - gmean(m, b));
        if (loss == SVMCUT_F_BETA) return 100.0 * (1.0 - f(m, b, parameter * parameter));
        return of_both(m, b, b - m);
    }
    // No smaller than that of any table of a box.
    double far_of(int64_t m0, int64_t m1, int64_t b0, int64_t b1) const {
        if (loss == SVMCUT_GMEAN || loss == SVMCUT_F_BETA) return in_box(m1, b1);
        return of_both(m1, b1, std::max<int64_t>(0, std::max(b1 - m0, m1 - b0)));
    }
    // How much its slope along b falls at most a step, where m <= m1 and b >= b0.
    double bend(int64_t m1, int64_t b0) const {
        const double some = 1.0 + parameter * parameter, rest = static_cast<double>(b0 - m1);
        double under = rest, over = 200.0;
        if (loss == SVMCUT_F_BETA) {
            under += some * static_cast<double>(P);
        } else if (loss == SVMCUT_Q_F1) {
            under += 2.0 * static_cast<double>(P);
            over *= some;
        } else {
            return 0.0;
        }
        return under > 0.0 ? over / (under * under) : HUGE_VAL;
    }

    bool precise(int64_t a, int64_t b) const {
        return static_cast<double>(a) >= parameter * (1.0 - kRounding) * static_cast<double>(a + b);
    }
    bool found(int64_t a) const {
        return static_cast<double>(a) >= parameter * (1.0 - kRounding) * static_cast<double>(P);
    }
    double of_floor(int64_t m, int64_t b) const {
        const int64_t a = P - m;
        if (loss == SVMCUT_RECALL_AT_PRECISION) return precise(a, b) ? 100.0 * share(m, P) : 100.0;
        return found(a) ? 100.0 * share(b, a + b) : 100.0;
    }

    void take(double delta, int64_t m, int64_t b, Best* best) const {
        const double value = delta - cost(m, b);
        if (delta > 0.0 && value > best->value) *best = {value, m, b};
    }
};

Best by_size(const Table& t) {
    Best best{0.0, -1, 0};
    int64_t hits = 0, b = 0;
    while (true) {
        const int64_t m = t.P - hits;
        if (b != m) t.take(t.of_size(b - m), m, b, &best);
        if (m == 0 && b == t.N) return best;
        if (b == t.N || (m > 0 && t.r_positive[m - 1] >= -t.r_negative[b])) ++hits;
        else ++b;
    }
}

Best apart(const Table& t) {
    const auto flips = [&](const double* r, int64_t n) {
        const double gain = 50.0 * share(1, n) / t.kappa;
        return std::lower_bound(r, r + n, gain) - r;
    };
    const auto delta = [&](int64_t m, int64_t b) { return 50.0 * (share(m, t.P) + share(b, t.N)); };
    Best best{0.0, -1, 0};
    const int64_t m = flips(t.r_positive, t.P), b = flips(t.r_negative, t.N);
    t.take(delta(m, b), m, b, &best);
    return best;
}

struct Box {
    double most;
    int64_t m0, m1, b0, b1;
    bool operator<(const Box& other) const { return most < other.most; }
};

constexpr int64_t kCells = 16;

// Boxes that are open, and the best table of those that were looked into.
class Boxes {
  public:
    explicit Boxes(const Table& table)
        : t(table),
          free_m(std::lower_bound(t.r_positive, t.r_positive + t.P, 0.0) - t.r_positive),
          free_b(std::lower_bound(t.r_negative, t.r_negative + t.N, 0.0) - t.r_negative) {}

    Best search() {
        add(0, t.P, 0, t.N);
        while (!open.empty() && open.front().most > best.value) {
            std::pop_heap(open.begin(), open.end());
            const Box box = open.back();
            open.pop_back();
            look_into(box);
        }
        return best;
    }

  private:
    const Table& t;
    const int64_t free_m, free_b;
    Best best{0.0, -1, 0};
    std::vector<Box> open;

    void look_into(const Box& box) {
        const int64_t high = box.m1 - box.m0 + 1, wide = box.b1 - box.b0 + 1;
        if (high <= kCells && wide <= kCells && high * wide <= kCells) {
            for (int64_t m = box.m0; m <= box.m1; ++m)
                for (int64_t b = box.b0; b <= box.b1; ++b) t.take(t.in_box(m, b), m, b, &best);
        } else if (high >= wide) {
            const int64_t middle = box.m0 + high / 2;
            add(box.m0, middle - 1, box.b0, box.b1);
            add(middle, box.m1, box.b0, box.b1);
        } else {
            const int64_t middle = box.b0 + wide / 2;
            add(box.m0, box.m1, box.b0, middle - 1);
            add(box.m0, box.m1, middle, box.b1);
        }
    }

    void add(int64_t m0, int64_t m1, int64_t b0, int64_t b1) {
        const double least = t.cost(std::clamp(free_m, m0, m1), std::clamp(free_b, b0, b1));
        double most = t.far_of(m0, m1, b0, b1) - least;
        if (!(most > best.value)) return;
        most = std::min(most, below_plane(m0, m1, b0, b1));
        if (!(most > best.value)) return;
        open.push_back({most, m0, m1, b0, b1});
        std::push_heap(open.begin(), open.end());
    }

    double below_plane(int64_t m0, int64_t m1, int64_t b0, int64_t b1) {
        const double corner = t.in_box(m0, b0), right = t.in_box(m1, b0), up = t.in_box(m0, b1),
                     far = t.in_box(m1, b1);
        const auto high = static_cast<double>(m1 - m0), wide = static_cast<double>(b1 - b0);
        const double along_m = m1 > m0 ? (right - corner) / high : 0.0,
                     along_b = b1 > b0 ? (up - corner) / wide : 0.0;
        const auto turn = [&](const double* r, int64_t first, int64_t last, double slope) {
            return std::lower_bound(r + first, r + last, slope / t.kappa) - r;
        };
        const int64_t m = turn(t.r_positive, m0, m1, along_m),
                      b = turn(t.r_negative, b0, b1, along_b);
        t.take(t.in_box(m, b), m, b, &best);
        const double plane = corner + along_m * static_cast<double>(m - m0) +
                             along_b * static_cast<double>(b - b0) - t.cost(m, b);
        return plane + std::max(0.0, far - right - up + corner) + t.bend(m1, b0) * wide * wide / 8;
    }
};

// The most false positives that a hits allow; at least 0.
int64_t allowed(const Table& t, int64_t a) {
    const double limit = static_cast<double>(a) / t.parameter - static_cast<double>(a);
    int64_t b = limit < static_cast<double>(t.N) ? static_cast<int64_t>(limit) : t.N;
    while (b < t.N && t.precise(a, b + 1)) ++b;
    while (b > 0 && !t.precise(a, b)) --b;
    return b;
}

Best at_precision(const Table& t) {
    const int64_t free_b = std::lower_bound(t.r_negative, t.r_negative + t.N, 0.0) - t.r_negative;
    Best best{0.0, -1, 0};
    for (int64_t m = 0; m <= t.P; ++m) {
        const int64_t most = allowed(t, t.P - m), inside = std::min(free_b, most),
                      outside = std::max(free_b, most + 1);
        t.take(t.of_floor(m, inside), m, inside, &best);
        if (outside <= t.N) t.take(t.of_floor(m, outside), m, outside, &best);
    }
    return best;
}

Best at_recall(const Table& t) {
    const int64_t free_b = std::lower_bound(t.r_negative, t.r_negative + t.N, 0.0) - t.r_negative;
    Best best{0.0, -1, 0};
    for (int64_t m = 0; m <= t.P; ++m) {
        const int64_t a = t.P - m;
        if (!t.found(a)) {
            t.take(100.0, m, free_b, &best);
            continue;
        }
        int64_t low = 1, high = t.N;  // the least b from which on the next is no better
        while (low < high) {
            const int64_t b = low + (high - low) / 2;
            const auto x = static_cast<double>(a + b);
            const double step = 100.0 * static_cast<double>(a) / (x * (x + 1.0));
            if (step - t.kappa * t.r_negative[b] > 0.0) low = b + 1;
            else high = b;
        }
        if (low <= t.N) t.take(t.of_floor(m, low), m, low, &best);
    }
    return best;
}

// The best table, and its loss.
Best search(const Table& t, double* delta) {
    Best best{0.0, -1, 0};
    switch (t.loss) {
        case SVMCUT_KLD:
        case SVMCUT_NKLD:
        case SVMCUT_MAE:
        case SVMCUT_MRAE:
            best = by_size(t);
            if (best.m >= 0) *delta = t.of_size(best.b - best.m);
            return best;
        case SVMCUT_BALANCED:
            best = apart(t);
            *delta = best.m < 0 ? 0.0 : 50.0 * (share(best.m, t.P) + share(best.b, t.N));
            return best;
        case SVMCUT_RECALL_AT_PRECISION:
        case SVMCUT_PRECISION_AT_RECALL:
            best = t.loss == SVMCUT_RECALL_AT_PRECISION ? at_precision(t) : at_recall(t);
            if (best.m >= 0) *delta = t.of_floor(best.m, best.b);
            return best;
        default:
            best = Boxes(t).search();
            if (best.m >= 0) *delta = t.in_box(best.m, best.b);
            return best;
    }
}

}  // namespace
}  // namespace svmcut

using namespace svmcut;

extern "C" int svmcut_table_cut(const double* s, const int32_t* positive, int64_t n_positive,
                                const int32_t* negative, int64_t n_negative, int loss,
                                double parameter, double* coef, double value_offset[2],
                                void* workspace, int threads) {
    const int64_t n = n_positive + n_negative;
    if (n < 1 || n >= INT32_MAX || loss < SVMCUT_KLD || loss > SVMCUT_PRECISION_AT_RECALL)
        return SVMCUT_BAD_INPUT;
    if (n < kParallelSort) threads = 1;
    Workspace w;
    lay_out(n, workspace, &w);
    std::fill(coef, coef + n, 0.0);
    value_offset[0] = value_offset[1] = 0.0;
    const double kappa = 100.0 / static_cast<double>(n);
    const Cut cut{positive, negative, n_positive, n_negative, coef, value_offset, kappa};
    cut.sort(s, w, threads);
    const Table table{loss,
                      parameter,
                      n_positive,
                      n_negative,
                      kappa,
                      w.sorted,
                      w.sorted + n_positive,
                      w.extra,
                      w.extra + n_positive + 1};
    double delta = 0.0;
    try {
        const Best best = search(table, &delta);
        if (best.m < 0) return SVMCUT_OK;
        cut.flip_lowest(w, best.m, best.b, kappa);
        value_offset[0] = best.value;
        value_offset[1] = delta;
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}
