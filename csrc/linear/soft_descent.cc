// SPDX-License-Identifier: BSD-3-Clause
//
// Dual coordinate descent for the hinge under l1 |w|_1 + l2/2 |w|^2, l2 > 0:
//
//   dual      max over 0 <= alpha_i <= C_i of  sum alpha - sum_j ((|v_j| - l1)+)^2 / (2 l2),
//             v = sum_i alpha_i y_i x_i,   w_j = soft(v_j, l1) / l2
//   step      alpha_i <- clip(alpha_i - l2 G / |x_i|^2, 0, C_i),   G = y_i w.x_i - 1: no step is
//             longer than the best one, as w moves by no more than the change of v over l2
//   shrinking as dual_cd.cc, from one call to the next anew
//
// v is kept, and read through the threshold.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/random.h"
#include "include/linear.h"
#include "include/penalty.h"
#include "linear/losses.h"

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kIdle = 1e-12;  // projected gradients below this do not move a coordinate
constexpr int64_t kPollEvery = 1 << 8;

double soft(double v, double l1) { return std::copysign(std::max(std::fabs(v) - l1, 0.0), v); }

struct Descent {
    const svmcut_csr* X;
    const svmcut_penalized& p;
    const double* norms;
    double *alpha, *v;
    std::vector<int32_t> order;
    double above = kInfinity, below = -kInfinity;
    int64_t entries = 0;

    double* constant() const { return p.bias != 0.0 ? v + X->n_features : nullptr; }

    // y w.x - 1 of row i
    double slope(int64_t i) const {
        double a = 0, b = 0;
        int64_t k = X->indptr[i];
        const int64_t end = X->indptr[i + 1];
        for (; k + 2 <= end; k += 2) {
            a += X->data[k] * soft(v[X->indices[k]], p.l1);
            b += X->data[k + 1] * soft(v[X->indices[k + 1]], p.l1);
        }
        if (k < end) a += X->data[k] * soft(v[X->indices[k]], p.l1);
        double f = a + b;
        if (const double* own = constant()) f += p.bias * soft(*own, p.l1);
        return p.y[i] * f / p.l2 - 1.0;
    }

    // One visit of every active row; the sum of the gaps met, or below 0 when cancelled.
    double epoch(svmcut::Random& random, const volatile int* cancel) {
        double highest = -kInfinity, lowest = kInfinity, gap = 0;
        svmcut::shuffle(order.data(), static_cast<int64_t>(order.size()), random);
        size_t kept = 0;
        for (size_t k = 0; k < order.size(); ++k) {
            if (cancel && k % kPollEvery == 0 && *cancel) return -1;
            const int64_t i = order[k], count = X->indptr[i + 1] - X->indptr[i];
            const double C = p.costs[i], old = alpha[i], G = slope(i);
            entries += count;
            gap += C * std::max(0.0, -G) + old * G;
            if ((old == 0.0 && G > above) || (old == C && G < below)) continue;
            order[kept++] = static_cast<int32_t>(i);
            const double projected = old == 0.0 ? std::min(G, 0.0)
                                     : old == C ? std::max(G, 0.0)
                                                : G;
            highest = std::max(highest, projected);
            lowest = std::min(lowest, projected);
            if (!(std::fabs(projected) > kIdle)) continue;
            const double wanted = norms[i] > 0 ? old - p.l2 * G / norms[i] : C;
            alpha[i] = std::min(std::max(wanted, 0.0), C);
            const double change = (alpha[i] - old) * p.y[i];
            for (int64_t j = X->indptr[i]; j < X->indptr[i + 1]; ++j)
                v[X->indices[j]] += change * X->data[j];
            if (double* own = constant()) *own += change * p.bias;
        }
        order.resize(kept);
        above = highest > 0 ? highest : kInfinity;
        below = lowest < 0 ? lowest : -kInfinity;
        return gap;
    }
};

}  // namespace

extern "C" int svmcut_soft_descent(const svmcut_csr* X, const svmcut_penalized* problem,
                                   const double* norms, uint64_t seed, int64_t epochs,
                                   double enough, double* alpha, double* v, int64_t* entries,
                                   const volatile int* cancel) {
    try {
        Descent descent{X, *problem, norms, alpha, v, {}};
        for (int64_t i = 0; i < X->n_rows; ++i)
            if (problem->costs[i] > 0.0) descent.order.push_back(static_cast<int32_t>(i));
        svmcut::Random random{seed};
        for (int64_t e = 0; e < epochs && !descent.order.empty(); ++e) {
            const double gap = descent.epoch(random, cancel);
            if (gap < 0 && cancel && *cancel) return SVMCUT_CANCELLED;
            if (gap <= enough) break;
        }
        *entries = descent.entries;
        return SVMCUT_OK;
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
}
