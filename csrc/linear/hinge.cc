// SPDX-License-Identifier: BSD-3-Clause
//
// The hinge risk R(s) = sum_i v_i max(0, 1 - y_i s_i), v = 1 where there are no weights: its most
// violated constraint (Joachims, KDD 2006, Algorithm 1, lines 5 to 7), its values on a grid of
// steps along a line, and the exact minimiser of the primal along a line (Franc and Sonnenburg,
// ICML 2008).

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "core/slope_root.h"
#include "include/linear.h"

namespace {

constexpr int64_t kPiece = 1 << 14, kGridPiece = 1 << 16, kWorthThreads = 1 << 16;

// value and offset of the cut of rows begin to end.
template <bool kWeighted>
std::pair<double, double> hinge_of(int64_t begin, int64_t end, const double* y, const double* s,
                                   const double* v, double* coef) {
    double value = 0, offset = 0;
    int64_t hits = 0;
    for (int64_t i = begin; i < end; ++i) {
        const double slack = 1.0 - y[i] * s[i];
        const bool hit = slack > 0;
        if constexpr (kWeighted) {
            const double weight = hit ? v[i] : 0.0;
            coef[i] = hit ? -(weight * y[i]) : 0.0;
            value += hit ? weight * slack : 0.0;
            offset += weight;
        } else {
            coef[i] = hit ? -y[i] : 0.0;
            value += hit ? slack : 0.0;
            hits += hit;
        }
    }
    return {value, kWeighted ? offset : static_cast<double>(hits)};
}

// sum of v y e over the rows inside the margin just right of t = 0.
template <bool kWeighted>
double rate_of(int64_t begin, int64_t end, const double* y, const double* s, const double* e,
               const double* v) {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) {
        const double slack = 1.0 - y[i] * s[i], rate = y[i] * e[i];
        if (slack > 0 || (slack == 0 && rate < 0)) sum += kWeighted ? v[i] * rate : rate;
    }
    return sum;
}

// Which step of a grid, even up to one of them and increasing behind, is the first at or behind t.
class Ladder {
  public:
    Ladder(const double* grid, int64_t even, int64_t steps)
        : grid_(grid),
          even_(even),
          steps_(steps),
          per_unit_(even > 0 ? static_cast<double>(even) / grid[even] : 0.0),
          first_(key(grid[even])),
          behind_(key(grid[steps - 1]) - first_ + 2) {
        for (size_t j = 0; j < behind_.size(); ++j) {
            double edge;
            const int64_t bits = (first_ + static_cast<int64_t>(j)) << kShift;
            std::memcpy(&edge, &bits, sizeof edge);
            behind_[j] = std::lower_bound(grid + even, grid + steps, edge) - grid;
        }
    }

    // `steps` where there is none.
    int64_t behind(double t) const {
        if (t <= grid_[even_]) {
            const double place = t > 0 ? t * per_unit_ : 0.0;
            const auto below = static_cast<int64_t>(place);
            return below + (place > static_cast<double>(below));
        }
        if (!(t > 0)) return 0;  // no number
        int64_t k = behind_[std::min(key(t) - first_, static_cast<int64_t>(behind_.size()) - 1)];
        while (k < steps_ && grid_[k] < t) ++k;
        return k;
    }

  private:
    static constexpr int kShift = 47;  // exponent and five more bits: 32 keys an octave
    static int64_t key(double t) {
        int64_t bits;
        std::memcpy(&bits, &t, sizeof bits);
        return bits >> kShift;
    }

    const double* grid_;
    int64_t even_, steps_;
    double per_unit_;
    int64_t first_;
    std::vector<int64_t> behind_;
};

}  // namespace

extern "C" {

int svmcut_hinge(int64_t n, const double* y, const double* s, const double* v, double* coef,
                 double* value, double* offset, int threads) {
    const int64_t pieces = (n + kPiece - 1) / kPiece;
    std::vector<std::pair<double, double>> parts(pieces);
    svmcut::for_pieces(pieces, n < kWorthThreads ? 1 : threads, [&](int64_t p) {
        const int64_t begin = p * kPiece, end = std::min(n, begin + kPiece);
        parts[p] = v ? hinge_of<true>(begin, end, y, s, v, coef)
                     : hinge_of<false>(begin, end, y, s, v, coef);
    });
    *value = *offset = 0;
    for (const auto& part : parts) {
        *value += part.first;
        *offset += part.second;
    }
    return SVMCUT_OK;
}

int svmcut_hinge_line(int64_t n, const double* y, const double* s, const double* e, const double* v,
                      double wd, double dd, double C, double* step, int threads) {
    const int64_t pieces = (n + kPiece - 1) / kPiece;
    if (n < kWorthThreads) threads = 1;
    std::vector<double> part(pieces);
    svmcut::for_pieces(pieces, threads, [&](int64_t p) {
        const int64_t begin = p * kPiece, end = std::min(n, begin + kPiece);
        part[p] =
            v ? rate_of<true>(begin, end, y, s, e, v) : rate_of<false>(begin, end, y, s, e, v);
    });
    double active = 0;
    for (double value : part) active += value;
    const double slope = wd - C * active;  // right derivative at t = 0
    *step = 0;
    if (!(slope < 0) || !(dd > 0)) return SVMCUT_OK;
    const double furthest = -slope / dd;  // no jump is negative: the root cannot lie beyond
    std::vector<std::vector<svmcut::Breakpoint>> found(pieces);
    std::vector<svmcut::Breakpoint> candidates;
    std::atomic<bool> failed{false};
    svmcut::for_pieces(pieces, threads, [&](int64_t p) {
        try {
            for (int64_t i = p * kPiece; i < std::min(n, (p + 1) * kPiece); ++i) {
                const double slack = 1.0 - y[i] * s[i], rate = y[i] * e[i];
                // slack and rate of one sign, t = slack / rate below `furthest`; compared without
                // the division
                if (rate > 0 ? (slack > 0 && slack <= furthest * rate)
                             : (slack < 0 && slack >= furthest * rate))
                    found[p].push_back(
                        {slack / rate, v ? v[i] * std::fabs(rate) : std::fabs(rate)});
            }
        } catch (...) {
            failed = true;
        }
    });
    try {
        size_t total = 0;
        for (const auto& piece : found) total += piece.size();
        candidates.reserve(total);
        for (const auto& piece : found)
            candidates.insert(candidates.end(), piece.begin(), piece.end());
    } catch (...) {
        failed = true;
    }
    if (failed) return SVMCUT_NO_MEMORY;
    *step = svmcut::root_of_slope(candidates, slope, dd, C);
    return SVMCUT_OK;
}

int svmcut_hinge_grid(int64_t n, double margin, const double* y, const double* s,
                      const double* target, const double* v, int64_t even, int64_t steps,
                      const double* grid, double* values, double* slopes, int threads) {
    constexpr int64_t kGridRun = 256;
    constexpr double kNever = std::numeric_limits<double>::infinity();
    const int64_t pieces = std::max<int64_t>(1, (n + kGridPiece - 1) / kGridPiece),
                  bins = steps + 1;
    std::vector<double> sums;
    std::optional<Ladder> ladder;
    try {
        ladder.emplace(grid, even, steps);
        sums.assign(static_cast<size_t>(pieces) * 2 * bins, 0.0);
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    svmcut::for_pieces(pieces, threads, [&](int64_t p) {
        double* at = sums.data() + static_cast<size_t>(p) * 2 * bins;
        const int64_t end = std::min(n, (p + 1) * kGridPiece);
        double slack[kGridRun], fall[kGridRun], crossing[kGridRun], weight[kGridRun];
        int16_t moving[kGridRun];
        for (int64_t begin = p * kGridPiece; begin < end; begin += kGridRun) {
            const int64_t run = std::min(kGridRun, end - begin);
            for (int64_t i = 0; i < run; ++i) {
                const int64_t row = begin + i;
                slack[i] = margin - y[row] * s[row];
                fall[i] = y[row] * (target[row] - s[row]);
                crossing[i] = fall[i] != 0 ? slack[i] / fall[i] : kNever;
                weight[i] = v ? v[row] : 1.0;
            }
            int64_t count = 0;
            // all others are outside the margin and do not come nearer
            for (int64_t i = 0; i < run; ++i) {
                moving[count] = static_cast<int16_t>(i);
                count += (fall[i] < 0) | (slack[i] > 0);
            }
            for (int64_t j = 0; j < count; ++j) {
                const int64_t i = moving[j];
                const int64_t k = 2 * ladder->behind(crossing[i]);
                const double value = weight[i] * slack[i], slope = -weight[i] * fall[i];
                // from step 0 on where it is there already; others are, and go
                const bool comes = fall[i] < 0;
                at[0] += comes ? 0.0 : value;
                at[1] += comes ? 0.0 : slope;
                at[k] += comes ? value : -value;
                at[k + 1] += comes ? slope : -slope;
            }
        }
    });
    double value = 0, slope = 0;
    for (int64_t k = 0; k < steps; ++k) {
        for (int64_t p = 0; p < pieces; ++p) {
            value += sums[(static_cast<size_t>(p) * bins + k) * 2];
            slope += sums[(static_cast<size_t>(p) * bins + k) * 2 + 1];
        }
        values[k] = value + grid[k] * slope;
        slopes[k] = slope;
    }
    return SVMCUT_OK;
}

}  // extern "C"
