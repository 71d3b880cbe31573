// SPDX-License-Identifier: BSD-3-Clause
//
// Two gaussians of weights m <= 1/2 and 1 - m at a and b, kappa = K(a, b) = e^-L, become one at z =
// h a + (1 - h) b:
//
//   s(h) = m kappa^((1-h)^2) + (1 - m) kappa^(h^2)   is its weight, and the largest s is the best
//   loss = m^2 + (1-m)^2 + 2 m (1-m) kappa - s^2
//
// s' = 0 reads u = c + L tanh(u/2) with u = log((1-h)/h), c = log((1-m)/m) >= 0. On u >= 0, which
// is h <= 1/2, the difference of both sides is convex and has one root above its minimum: Newton's
// method from the right never overshoots. The table holds sqrt(loss) / m: it is 1 at kappa = 0,
// falls to 0 like 1 - kappa, and does not vanish with m, so that interpolation tells candidates
// apart there as well. h is not tabulated: one root costs less than the point it is for.
//
// Glasmachers and Qaadan, Speeding up budgeted stochastic gradient descent SVM training with
// precomputed golden section search, 2018.
#include "budget/merge_table.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"

namespace svmcut {
namespace {

// The root of u = c + L tanh(u/2) from u at or above it.
double root(double c, double L, double u) {
    for (int k = 0; k < 100; ++k) {
        const double e = std::exp(-u), t = (1 - e) / (1 + e);
        const double slope = 1 - 0.5 * L * (1 - t * t);
        if (!(slope > 0)) return u;  // at the double root of m = 1/2, L = 2
        const double next = std::max(0.0, u - (u - c - L * t) / slope);
        if (!(next < u - 1e-14 * (1 + u))) return std::min(u, next);
        u = next;
    }
    return u;
}

double loss(double m, double L, double h) {
    const double far = -std::expm1(-L * (1 - h) * (1 - h)), near = -std::expm1(-L * h * h);
    const double e = m * far + (1 - m) * near;
    return std::max(0.0, 2 * e - e * e + 2 * m * (1 - m) * std::expm1(-L));
}

double place(double u) {
    const double e = std::exp(-u);
    return e / (1 + e);
}

}  // namespace

double merge_place(double m, double kappa) {
    if (!(m > 0) || !(kappa > 0)) return 0.0;
    const double c = std::max(0.0, std::log((1 - m) / m)), L = std::max(0.0, -std::log(kappa));
    return place(root(c, L, c + L));
}

void merge_table(float* table, int threads) {
    constexpr int64_t last = kMergeGrid - 1;
    for_pieces(kMergeGrid, threads, [&](int64_t i) {
        float* line = table + i * kMergeGrid;
        const double m = 0.5 * static_cast<double>(i) / last;
        line[0] = 1.0f;
        line[last] = 0.0f;
        if (i == 0) {
            for (int64_t k = 1; k < last; ++k) {
                const double kappa = static_cast<double>(k) / last;
                line[k] = static_cast<float>(std::sqrt(1 - kappa * kappa));
            }
            return;
        }
        const double c = std::max(0.0, std::log((1 - m) / m));
        double u = c - std::log(1.0 / last);
        // u falls with L, so the last root lies to the right of the next
        for (int64_t k = 1; k < last; ++k) {
            const double L = -std::log(static_cast<double>(k) / last);
            u = root(c, L, u);
            line[k] = static_cast<float>(std::sqrt(loss(m, L, place(u))) / m);
        }
    });
}

}  // namespace svmcut
