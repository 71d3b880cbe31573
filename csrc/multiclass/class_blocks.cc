// SPDX-License-Identifier: BSD-3-Clause
//
// Dual ascent of the classes of Crammer and Singer over kernel values, a block of rows at a time
// (Crammer and Singer, JMLR 2, 2001; Keerthi, Sundararajan, Chang, Hsieh and Lin, KDD 2008, on rows
// of a kernel).
//
//   dual      max over alpha   - sum_ik alpha_ik L(y_i, k) - 1/2 sum_k alpha_k' H alpha_k,
//             alpha_ik <= C_i [k = y_i],   sum_k alpha_ik = 0;   L: losses, H: kernel values
//   scores    s_k = H alpha_k,   G_ik = L(y_i, k) + s_ik
//   gap       of a row: C_i (max_k G_ik - s_iy) + sum_k alpha_ik G_ik; their sum is the gap of
//             alpha
//   step      a row's alphas to their optimum, exactly: alpha_ik = min(C_i [k = y_i], (t - B_k) /
//             H_ii) with B = G - H_ii alpha, the level t by the largest B_k + H_ii C_i [k = y_i]
//
// Deviations from the papers: steps stay within the block, on its own square of kernel values,
// until its gap has fallen to a part; the scores of all rows follow once for the block.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/add_scaled.h"
#include "core/parallel.h"
#include "include/multiclass.h"

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int64_t kRun = 512;  // rows whose scores stay in the first cache
// multiplications below which a thread costs more than it saves
constexpr int64_t kWorthThreads = 1 << 20;
constexpr int64_t kPicked = 8;  // largest numbers picked one by one; the rest is sorted

double loss_of(const double* losses, int64_t K, int64_t y, int64_t k) {
    return losses ? losses[y * K + k] : static_cast<double>(y != k);
}

struct Row {
    double most = -kInfinite, least = kInfinite, own = 0, gap = 0;
};

// What a row whose alphas are `alpha` and scores s[k * stride] lacks.
Row look(int64_t K, int64_t y, double C, const double* losses, const double* alpha, const double* s,
         int64_t stride) {
    Row row;
    for (int64_t k = 0; k < K; ++k) {
        const double g = loss_of(losses, K, y, k) + s[k * stride];
        row.most = std::max(row.most, g);
        if (alpha[k] < (k == y ? C : 0.0)) row.least = std::min(row.least, g);
        row.gap += alpha[k] * g;
    }
    row.own = s[y * stride];
    row.gap += C * (row.most - row.own);
    return row;
}

// About what the best step of a row gains: along its worst pair of classes, and no more than its
// gap.
double gain_of(const Row& row, double A) {
    const double worst = row.most - row.least;
    if (!(worst > 0) || !(row.gap > 0)) return 0.0;
    return A > 0 ? std::min(row.gap, 0.25 * worst * worst / A) : row.gap;
}

struct Block {
    int64_t q, K;
    const int32_t* y;
    const double* C;
    const double* losses;
    const double* values;  // (q, q)
    double* alpha;         // (q, K)
    double* s;             // (q, K)
    std::vector<double> B, D, change;
    std::vector<int32_t> changed;

    void reserve() {
        for (auto* room : {&B, &D, &change}) room->resize(static_cast<size_t>(K));
        changed.resize(static_cast<size_t>(K));
    }

    // The level t: the sum over k of max(0, D_k - t) is `total`.
    double level(double total) {
        double found = -kInfinite, sum = -total;
        for (int64_t r = 0; r < K; ++r) {
            if (r == kPicked) {
                std::sort(D.begin() + r, D.end(), [](double p, double q) { return p > q; });
            } else if (r < kPicked) {
                std::swap(D[r], *std::max_element(D.begin() + r, D.end()));
            }
            if (r && !(found < D[r])) break;
            sum += D[r];
            found = sum / static_cast<double>(r + 1);
        }
        return found;
    }

    // The alphas of row i to their best; how many changed, with the changes in `changed` and
    // `change`.
    int64_t solve(int64_t i, double A) {
        const int64_t right = y[i];
        double* own = alpha + i * K;
        const double* scores = s + i * K;
        double others = 0, t = 0;
        int64_t worst = right == 0 ? 1 : 0;
        for (int64_t k = 0; k < K; ++k) {
            const double g = loss_of(losses, K, right, k) + scores[k];
            D[k] = B[k] = g - A * own[k];
            if (k != right && g > loss_of(losses, K, right, worst) + scores[worst]) worst = k;
        }
        if (A > 0) {
            D[right] += A * C[i];
            t = level(A * C[i]);
        }
        int64_t many = 0;
        const auto put = [&](int64_t k, double value) {
            if (value == own[k]) return;
            change[many] = value - own[k];
            changed[many++] = static_cast<int32_t>(k);
            own[k] = value;
        };
        for (int64_t k = 0; k < K; ++k) {
            if (k == right) continue;
            // a row whose kernel values are 0 is lost to its worst class, unless it loses nothing
            // there
            const double all = k == worst && loss_of(losses, K, right, k) > 0 ? -C[i] : 0.0;
            const double value = A > 0 ? std::min(0.0, (t - B[k]) / A) : all;
            others += value;
            put(k, value);
        }
        put(right, std::min(C[i], -others));
        return many;
    }

    // One visit of every row; its gaps as they were found.
    double sweep(int64_t* steps) {
        double gap = 0;
        for (int64_t i = 0; i < q; ++i) {
            const double* own = values + i * q;
            const Row row = look(K, y[i], C[i], losses, alpha + i * K, s + i * K, 1);
            gap += std::max(0.0, row.gap);
            if (!(gain_of(row, own[i]) > 0)) continue;
            const int64_t many = solve(i, own[i]);
            *steps += many > 0;
            for (int64_t j = 0; j < q; ++j)
                for (int64_t e = 0; e < many; ++e) s[j * K + changed[e]] += own[j] * change[e];
        }
        return gap;
    }
};

}  // namespace

extern "C" {

void svmcut_class_gains(int64_t n, int64_t K, const int32_t* y, const double* C,
                        const double* losses, const double* diagonal, const double* alpha,
                        const double* s, double* gain, double* gap, int threads) {
    svmcut::for_pieces(
        (n + kRun - 1) / kRun, n * K < kWorthThreads ? 1 : threads, [&](int64_t piece) {
            for (int64_t i = piece * kRun; i < std::min(n, (piece + 1) * kRun); ++i) {
                const Row row = look(K, y[i], C[i], losses, alpha + i * K, s + i, n);
                gain[i] = gain_of(row, diagonal[i]);
                gap[i] = row.gap;
            }
        });
}

int svmcut_class_block(int64_t q, int64_t K, const int32_t* y, const double* C,
                       const double* losses, const double* values, double part, int64_t sweeps,
                       double* alpha, double* s, int64_t* steps) {
    Block block{q, K, y, C, losses, values, alpha, s, {}, {}, {}, {}};
    try {
        block.reserve();
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    const double first = block.sweep(steps);
    for (int64_t k = 1; k < sweeps && block.sweep(steps) > part * first; ++k) continue;
    return SVMCUT_OK;
}

void svmcut_class_add(int64_t n, int64_t q, int64_t K, const double* values, const int64_t* places,
                      const double* change, double* s, int threads) {
    svmcut::for_pieces(
        (n + kRun - 1) / kRun, n * q * K < kWorthThreads ? 1 : threads, [&](int64_t piece) {
            const int64_t first = piece * kRun, here = std::min(kRun, n - first);
            for (int64_t r = 0; r < q; ++r) {
                const double* row = values + places[r] * n + first;
                for (int64_t k = 0; k < K; ++k)
                    if (change[r * K + k] != 0.0)
                        svmcut::add_scaled(here, change[r * K + k], row, s + k * n + first);
            }
        });
}

}  // extern "C"
