// SPDX-License-Identifier: BSD-3-Clause
//
// Most violated labelling for losses of contingency tables (zero-one, F1, error rate, PRBEP,
// precision and recall at k). Joachims (2005), "A support vector method for multivariate
// performance measures", Algorithm 2, without its O(n^2) tables.
//
// P positives, N negatives, n = P + N, kappa = 100/n, r = y s. A labelling with a true and b false
// positives that is best for the table (a, b) flips the P - a positives and the b negatives of
// lowest r (ties by row), and
//
//   margin  v(a, b) = Delta(a, b) - kappa (U(P - a) + V(b)),
//           U, V: sums of the lowest r of either class
//   slack   v(a, b) = Delta(a, b) (1 - kappa (U(P - a) + V(b)))
//
// with the root of Delta in its place for squared slacks. For a fixed a, Delta is concave and U, V
// are convex, so margin is concave and slack log-concave in b where it is positive: the sign of one
// difference tells on which side the best b lies. Differences are computed from their closed forms,
// never from two values. Zero-one and error rate depend on the number of flips alone. Labellings of
// no loss other than the gold one are left out, as in svm_perf. After one sort: O(P log N).
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "include/measures.h"
#include "measures/labellings.h"
#include "measures/workspace.h"

namespace svmcut {
namespace {

struct Table {
    int loss;
    bool slack, root;
    int64_t P, N, k;
    double kappa;
    const double* r_positive;  // ascending
    const double* r_negative;
    const double* U;  // P + 1
    const double* V;  // N + 1

    // Delta(a, b), in percent.
    double delta(int64_t a, int64_t b) const {
        double percent;
        switch (loss) {
            case SVMCUT_F1:
                percent = 100.0 * static_cast<double>(P - a + b) / static_cast<double>(P + a + b);
                break;
            case SVMCUT_PREC_AT_K:
                percent = 100.0 * static_cast<double>(b) / static_cast<double>(a + b);
                break;
            default:
                percent = 100.0 * static_cast<double>(P - a) / static_cast<double>(P);
        }
        return root ? std::sqrt(percent) : percent;
    }

    // Delta(a, b + 1) - Delta(a, b).
    double step(int64_t a, int64_t b) const {
        double percent;
        const auto A = static_cast<double>(a);
        if (loss == SVMCUT_F1) {
            const auto x = static_cast<double>(P + a + b);
            percent = 200.0 * A / (x * (x + 1.0));
        } else if (loss == SVMCUT_PREC_AT_K) {
            const auto x = static_cast<double>(a + b);
            percent = 100.0 * A / (x * (x + 1.0));
        } else {
            return 0.0;
        }
        return root && percent != 0.0 ? percent / (delta(a, b + 1) + delta(a, b)) : percent;
    }

    // Range of b for a given a; false when there is none.
    bool range(int64_t a, int64_t* low, int64_t* high) const {
        *low = 0;
        *high = N;
        switch (loss) {
            case SVMCUT_F1:
                *low = a == P;
                break;
            case SVMCUT_PRBEP:
                *low = *high = P - a;
                break;
            case SVMCUT_PREC_AT_K:
                *low = std::max<int64_t>(1, k - a);
                break;
            default:
                *high = std::min(N, k - a);
        }
        if ((loss == SVMCUT_PRBEP || loss == SVMCUT_REC_AT_K) && a == P) return false;
        return *low <= *high && *high <= N;
    }

    double margin(int64_t a, int64_t b) const { return 1.0 - kappa * (U[P - a] + V[b]); }

    // Whether b + 1 is better than b.
    bool rises(int64_t a, int64_t b, int64_t peak) const {
        const double gain = -kappa * r_negative[b];
        if (!slack) return step(a, b) + gain > 0.0;
        if (b < peak ? margin(a, b) <= 0.0 : margin(a, b + 1) <= 0.0) return b < peak;
        return step(a, b) * margin(a, b + 1) + delta(a, b) * gain > 0.0;
    }

    double value(int64_t a, int64_t b) const {
        const double loss_of = delta(a, b);
        return slack ? loss_of * margin(a, b) : loss_of - kappa * (U[P - a] + V[b]);
    }
};

// Smallest b in [low, high] that does not rise, searched outward from hint in growing steps.
int64_t search(const Table& t, int64_t a, int64_t low, int64_t high, int64_t hint, int64_t peak) {
    int64_t b = std::clamp(hint, low, high), width = 1;
    if (b < high && t.rises(a, b, peak)) {
        low = b + 1;
        while (low < high && t.rises(a, std::min(high - 1, low + width - 1), peak)) {
            low = std::min(high, low + width);
            width *= 2;
        }
        high = std::min(high, low + width - 1);
    } else {
        high = b;
        while (low < high && !t.rises(a, std::max(low, high - width), peak)) {
            high = std::max(low, high - width);
            width *= 2;
        }
        low = std::max(low, high - width + 1);
    }
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (t.rises(a, middle, peak)) low = middle + 1;
        else high = middle;
    }
    return low;
}

struct Best {
    double value;
    int64_t a, b;
};

// First maximum over a in [begin, end).
Best scan(const Table& t, int64_t begin, int64_t end) {
    Best best{0.0, -1, 0};
    const int64_t peak_of_all =
        std::lower_bound(t.r_negative, t.r_negative + t.N, 0.0) - t.r_negative;
    int64_t hint = peak_of_all;
    for (int64_t a = begin; a < end; ++a) {
        int64_t low, high;
        if (!t.range(a, &low, &high)) continue;
        const int64_t b =
            low == high ? low : search(t, a, low, high, hint, std::clamp(peak_of_all, low, high));
        const double value = t.value(a, b);
        if (value > best.value) best = {value, a, b};
        hint = b;
    }
    return best;
}

// Delta = 1 for any mistake.
void zero_one(const Cut& c, const double* s) {
    double sum = 0.0, block = 0.0, smallest = HUGE_VAL;
    int64_t where = 0;
    for (int64_t k = 0; k < c.P + c.N; ++k) {
        const double r = c.r(s, k);
        if (r < 0.0) {
            block -= r;
            c.flip(k, c.kappa);
        }
        if (r < smallest) {
            smallest = r;
            where = k;
        }
        if (k % 512 == 511) {
            sum += block;
            block = 0.0;
        }
    }
    sum += block;
    if (smallest >= 0.0) {
        if (1.0 - c.kappa * smallest <= 0.0) return;
        c.flip(where, c.kappa);
        sum = -smallest;
    }
    c.out[0] = 1.0 + c.kappa * sum;
    c.out[1] = 1.0;
}

// Delta = kappa times the number of flips, margin rescaling, plain slack: every example for itself.
void hinge(const Cut& c, const double* s) {
    double sum = 0.0, block = 0.0;
    int64_t flips = 0;
    for (int64_t k = 0; k < c.P + c.N; ++k) {
        const double r = c.r(s, k);
        if (r < 1.0) {
            block += 1.0 - r;
            ++flips;
            c.flip(k, c.kappa);
        }
        if (k % 512 == 511) {
            sum += block;
            block = 0.0;
        }
    }
    c.out[0] = c.kappa * (sum + block);
    c.out[1] = c.kappa * static_cast<double>(flips);
}

// The same Delta where it enters by its root or as a factor: the m flips of lowest r, m = 1..n.
void error_rate(const Cut& c, const double* s, bool slack, bool root, const Workspace& w,
                int threads) {
    const int64_t n = c.P + c.N;
    for (int64_t k = 0; k < n; ++k) w.extra[k] = c.r(s, k);
    sort_rows(w.extra, n, w.items, w.scratch, w.sorted, threads);
    double base = 0.0, run = 0.0, best = 0.0, best_delta = 0.0;
    int64_t flips = 0;
    for (int64_t m = 1; m <= n; ++m) {
        run += w.sorted[m - 1];
        if (m % 512 == 0) {
            base += run;
            run = 0.0;
        }
        const double percent = c.kappa * static_cast<double>(m),
                     delta = root ? std::sqrt(percent) : percent;
        const double cost = c.kappa * (base + run),
                     value = slack ? delta * (1.0 - cost) : delta - cost;
        if (value > best) {
            best = value;
            best_delta = delta;
            flips = m;
        }
    }
    for (int64_t m = 0; m < flips; ++m)
        c.flip(w.items[m].row, c.kappa * (slack ? best_delta : 1.0));
    c.out[0] = best;
    c.out[1] = best_delta;
}

void tables(const Cut& c, const double* s, int loss, bool slack, bool root, int64_t k,
            const Workspace& w, int threads) {
    const int64_t P = c.P, N = c.N;
    c.sort(s, w, threads);
    const double *U = w.extra, *V = w.extra + P + 1;
    const Table t{loss, slack, root, P, N, k, c.kappa, w.sorted, w.sorted + P, U, V};
    const int64_t end = loss == SVMCUT_REC_AT_K ? std::min(P, k + 1) : P + 1,
                  pieces = (end + kBlock - 1) / kBlock;
    auto* found = reinterpret_cast<Best*>(w.blocks);
    for_pieces(pieces, threads, [&](int64_t piece) {
        found[piece] = scan(t, piece * kBlock, std::min(end, (piece + 1) * kBlock));
    });
    Best best{0.0, -1, 0};
    for (int64_t piece = 0; piece < pieces; ++piece)
        if (found[piece].value > best.value) best = found[piece];
    if (best.a < 0) return;
    const double delta = t.delta(best.a, best.b), scale = c.kappa * (slack ? delta : 1.0);
    c.flip_lowest(w, P - best.a, best.b, scale);
    c.out[0] = best.value;
    c.out[1] = delta;
}

}  // namespace
}  // namespace svmcut

using namespace svmcut;

extern "C" int svmcut_contingency_cut(const double* s, const int32_t* positive, int64_t n_positive,
                                      const int32_t* negative, int64_t n_negative, int loss,
                                      int slack_rescaling, int slack_norm, int64_t k, double* coef,
                                      double value_offset[2], void* workspace, int threads) {
    const int64_t n = n_positive + n_negative;
    if (n < 1 || n >= INT32_MAX || loss < SVMCUT_ZERO_ONE || loss > SVMCUT_REC_AT_K)
        return SVMCUT_BAD_INPUT;
    if (n < kParallelSort) threads = 1;
    Workspace work;
    lay_out(n, workspace, &work);
    std::fill(coef, coef + n, 0.0);
    value_offset[0] = value_offset[1] = 0.0;
    const Cut cut{positive,
                  negative,
                  n_positive,
                  n_negative,
                  coef,
                  value_offset,
                  100.0 / static_cast<double>(n)};
    const bool slack = slack_rescaling != 0, root = slack_norm == 2;
    if (loss == SVMCUT_ZERO_ONE) zero_one(cut, s);
    else if (loss != SVMCUT_ERROR_RATE) tables(cut, s, loss, slack, root, k, work, threads);
    else if (slack || root) error_rate(cut, s, slack, root, work, threads);
    else hinge(cut, s);
    return SVMCUT_OK;
}
