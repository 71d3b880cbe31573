// SPDX-License-Identifier: BSD-3-Clause
//
// The risk of Crammer and Singer, R(s) = sum_i v_i max_k ([k != y_i] + s_ik - s_iy), and its
// minimum on a line.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/parallel.h"
#include "include/multiclass.h"

namespace {

constexpr int64_t kPiece = 1 << 15;  // scores
constexpr int64_t kClasses = 64;     // at a time
// a line is searched until no more than this part of what is gained is left
constexpr double kPart = 1e-3;

struct Sums {
    double value = 0, other = 0;
};

// The sums of all rows from those of fixed pieces; one(i) gives a row's, without its weight.
template <class One>
Sums over_rows(int64_t n, int64_t K, const double* v, int threads, std::vector<Sums>& parts,
               One&& one) {
    const int64_t rows = std::max<int64_t>(1, kPiece / K);
    svmcut::for_pieces(static_cast<int64_t>(parts.size()), n * K < 8 * kPiece ? 1 : threads,
                       [&](int64_t p) {
                           Sums sums;
                           for (int64_t i = p * rows; i < std::min(n, (p + 1) * rows); ++i) {
                               const double weight = v ? v[i] : 1.0;
                               if (v && weight == 0) continue;
                               const Sums row = one(i);
                               sums.value += weight * row.value;
                               sums.other += weight * row.other;
                           }
                           parts[p] = sums;
                       });
    Sums all;
    for (const Sums& part : parts) {
        all.value += part.value;
        all.other += part.other;
    }
    return all;
}

std::vector<Sums> pieces(int64_t n, int64_t K) {
    const int64_t rows = std::max<int64_t>(1, kPiece / K);
    return std::vector<Sums>((n + rows - 1) / rows);
}

// A tangent of R.
struct Tangent {
    double t, value, slope;
    double at(double there) const { return value + slope * (there - t); }
};

}  // namespace

extern "C" {

int svmcut_crammer_singer(int64_t n, int64_t K, const int32_t* y, const double* s, const double* v,
                          double* coef, double* value, double* offset, int threads) {
    try {
        std::vector<Sums> parts = pieces(n, K);
        if (coef) std::fill_n(coef, n * K, 0.0);
        const Sums sums = over_rows(n, K, v, threads, parts, [&](int64_t i) -> Sums {
            const double* row = s + i * K;
            double most = 0;
            int64_t worst = -1;
            for (int64_t k = 0; k < K; ++k) {
                const double slack = 1.0 + row[k] - row[y[i]];
                if (k != y[i] && slack > most) most = slack, worst = k;
            }
            if (worst < 0) return {};
            if (coef) {
                coef[i * K + worst] = v ? v[i] : 1.0;
                coef[i * K + y[i]] = -coef[i * K + worst];
            }
            return {most, 1.0};
        });
        *value = sums.value;
        *offset = sums.other;
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}

int svmcut_crammer_singer_line(int64_t n, int64_t K, const int32_t* y, const double* s,
                               const double* e, const double* v, double wd, double dd, double C,
                               double* step, int threads) {
    *step = 0;
    try {
        std::vector<Sums> parts = pieces(n, K);
        const std::vector<double> zeros(s ? 0 : K);
        // R and its slope just right of t: of equal terms the one that rises most.
        auto tangent = [&](double t) -> Tangent {
            const Sums sums = over_rows(n, K, v, threads, parts, [&](int64_t i) -> Sums {
                const double *row = s ? s + i * K : zeros.data(), *rates = e + i * K;
                const double own = row[y[i]] + t * rates[y[i]];
                double most = 0, slope = 0, slack[kClasses];
                for (int64_t first = 0; first < K; first += kClasses) {
                    const int64_t count = std::min(kClasses, K - first);
                    for (int64_t k = 0; k < count; ++k)
                        slack[k] = 1.0 + (row[first + k] + t * rates[first + k]) - own;
                    if (first <= y[i] && y[i] < first + count) slack[y[i] - first] = -1.0;
                    double here = -1.0;
                    for (int64_t k = 0; k < count; ++k) here = std::max(here, slack[k]);
                    if (here < most) continue;
                    if (here > most) most = here, slope = -std::numeric_limits<double>::infinity();
                    for (int64_t k = 0; k < count; ++k) {
                        const double rate = rates[first + k] - rates[y[i]];
                        slope = slack[k] == most && rate > slope ? rate : slope;
                    }
                }
                return {most, slope};
            });
            return {t, sums.value, sums.other};
        };
        auto phi = [&](const Tangent& at) {
            return 0.5 * at.t * (at.t * dd + 2 * wd) + C * at.value;
        };
        // Cutting planes in one dimension: between two tangents the model is a parabola, minimised
        // in closed form.
        Tangent low = tangent(0), high{std::numeric_limits<double>::infinity(), 0, 0};
        if (!(wd + C * low.slope < 0) || !(dd > 0)) return SVMCUT_OK;
        const double first = phi(low);
        double best = first, t = -(wd + C * low.slope) / dd;
        for (int round = 0; round < 60 && std::isfinite(t) && t > low.t && t < high.t; ++round) {
            const Tangent here = tangent(t);
            const double value = phi(here);
            if (value < best) best = value, *step = t;
            (wd + t * dd + C * here.slope < 0 ? low : high) = here;
            const double lowest = -(wd + C * low.slope) / dd;
            double model = low.value;
            if (high.t < std::numeric_limits<double>::infinity()) {
                const double highest = -(wd + C * high.slope) / dd, rise = high.slope - low.slope;
                const double crossing = rise > 0 ? (low.at(0) - high.at(0)) / rise : lowest;
                t = std::min(std::max(crossing, highest), lowest);
                model = std::max(low.at(t), high.at(t));
            } else {
                t = lowest;
                model = low.at(t);
            }
            if (best - (0.5 * t * (t * dd + 2 * wd) + C * model) <= kPart * (first - best)) break;
        }
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}

}  // extern "C"
