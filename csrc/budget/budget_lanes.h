// SPDX-License-Identifier: BSD-3-Clause
//
// The loops over the centres of a budget, on vectors of SVMCUT_LANE_BYTES, in namespace
// SVMCUT_LANES; budget_code.cc includes this once for every set of instructions. Counts are
// multiples of kTile; among equals the lowest place wins.
#include "core/lanes.h"
#include "core/widened.h"

namespace svmcut {
namespace SVMCUT_LANES {

// sum_k beta_k K_k
double dot(const float* K, const double* beta, int64_t count) {
    Doubles a{}, b{};
    for (int64_t k = 0; k < count; k += 2 * kWidth) {
        a += load<Doubles>(beta + k) * widened<Doubles>(K + k);
        b += load<Doubles>(beta + k + kWidth) * widened<Doubles>(K + k + kWidth);
    }
    a += b;
    double sum = 0;
    for (int r = 0; r < kWidth; ++r) sum += a[r];
    return sum;
}

struct Least {
    Doubles value = Doubles{} + std::numeric_limits<double>::infinity();
    Longs block = Longs{} - 1;
    void offer(Doubles x, int64_t k) {
        const Longs below = x < value;
        value = below ? x : value;
        block = below ? Longs{} + k : block;
    }
    int64_t place() const {
        int64_t best = -1;
        double least = std::numeric_limits<double>::infinity();
        for (int r = 0; r < kWidth; ++r) {
            const int64_t at = block[r] + r;
            if (block[r] >= 0 && (value[r] < least || (value[r] == least && at < best))) {
                best = at;
                least = value[r];
            }
        }
        return best;
    }
};

// The least |beta_k| root_k; root is infinite where there is no centre.
int64_t smallest(const double* beta, const double* root, int64_t count) {
    Least least;
    for (int64_t k = 0; k < count; k += kWidth) {
        const Doubles b = load<Doubles>(beta + k);
        least.offer((b < Doubles{} ? -b : b) * load<Doubles>(root + k), k);
    }
    return least.place();
}

// The centre of own's sign that loses least when it is merged with one of weight own, itself set to
// 0 in beta for the time; -1 when there is none.
int64_t partner(const float* kappa, const double* beta, double own, int64_t count,
                const float* table) {
    constexpr int kRun = 64;
    constexpr float kLast = kMergeGrid - 1;
    const float weight = static_cast<float>(std::fabs(own));
    const double sign = own > 0 ? 1.0 : -1.0;
    Least least;
    for (int64_t at = 0; at < count; at += kRun) {
        float loss[kRun], x[kRun], y[kRun];
        int32_t line[kRun], column[kRun];
        for (int k = 0; k < kRun; ++k) {
            const float other = static_cast<float>(sign * beta[at + k]);
            const float m = weight / (weight + (other > 0.0f ? other : 0.0f)), K = kappa[at + k];
            x[k] = 2 * kLast * (m < 0.5f ? m : 0.5f);
            y[k] = kLast * (K < 1.0f ? K : 1.0f);
            line[k] = static_cast<int32_t>(x[k]);
            column[k] = static_cast<int32_t>(y[k]);
            line[k] = line[k] < kMergeGrid - 2 ? line[k] : kMergeGrid - 2;
            column[k] = column[k] < kMergeGrid - 2 ? column[k] : kMergeGrid - 2;
            x[k] -= static_cast<float>(line[k]);
            y[k] -= static_cast<float>(column[k]);
        }
        for (int k = 0; k < kRun; ++k) {
            const float* node = table + line[k] * static_cast<int32_t>(kMergeGrid) + column[k];
            const float low = node[0] + y[k] * (node[1] - node[0]);
            const float high = node[kMergeGrid] + y[k] * (node[kMergeGrid + 1] - node[kMergeGrid]);
            loss[k] = low + x[k] * (high - low);
        }
        const Doubles none = Doubles{} + std::numeric_limits<double>::infinity();
        for (int k = 0; k < kRun; k += kWidth) {
            const Doubles value = widened<Doubles>(loss + k);
            least.offer(sign * load<Doubles>(beta + at + k) > 0 ? value : none, at + k);
        }
    }
    return least.place();
}

const BudgetCode code = {dot, smallest, partner};

}  // namespace SVMCUT_LANES
}  // namespace svmcut
