// SPDX-License-Identifier: BSD-3-Clause
//
//     minimise  f(beta) = C/2 beta'H beta - b'beta   over   beta >= 0, sum beta = 1
//
// A primal active-set method. The free indices F carry all the mass; each step minimises f over the
// affine hull of F by a Cholesky factor of the reduced Hessian, walks there until a coordinate
// meets zero, and once the hull's minimum is reached takes in the index of the steepest gradient.
// Between steps f never rises. Certificate: for any feasible beta, f(beta) - min f <= beta'g -
// min_i g_i (Frank and Wolfe, 1956).

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "include/linear.h"

namespace {

// steps without a smaller gap, and more for every index
constexpr int64_t kPatience = 200, kPatienceEach = 4;

struct Simplex {
    int64_t k;
    const double* H;
    const double* b;
    double C;
    double* beta;
    double* gradient;   // k
    double* direction;  // k, over positions in F
    double* reduced;    // k x k
    std::vector<int64_t> free_set;

    void refresh_gradient() {
        for (int64_t i = 0; i < k; ++i) {
            double sum = 0;
            const double* row = H + i * k;
            for (int64_t j : free_set) sum += row[j] * beta[j];
            gradient[i] = C * sum - b[i];
        }
    }

    double gap(int64_t* steepest) const {
        double lowest = std::numeric_limits<double>::infinity(), mean = 0;
        for (int64_t i = 0; i < k; ++i)
            if (gradient[i] < lowest) lowest = gradient[i], *steepest = i;
        for (int64_t j : free_set) mean += beta[j] * gradient[j];
        return mean - lowest;
    }

    // Descent direction in the affine hull of F, the pivot (largest beta) eliminated. False where
    // there is none.
    bool hull_direction() {
        const int64_t m = static_cast<int64_t>(free_set.size()) - 1;
        if (m < 1) return false;
        auto largest = std::max_element(free_set.begin(), free_set.end(),
                                        [&](int64_t p, int64_t q) { return beta[p] < beta[q]; });
        std::iter_swap(largest, free_set.end() - 1);
        const int64_t r = free_set[m];
        double scale = 0;
        for (int64_t p = 0; p < m; ++p) {
            const int64_t i = free_set[p];
            for (int64_t q = 0; q <= p; ++q) {
                const int64_t j = free_set[q];
                reduced[p * m + q] =
                    C * (H[i * k + j] - H[i * k + r] - H[r * k + j] + H[r * k + r]);
            }
            scale = std::max(scale, reduced[p * m + p]);
            direction[p] = -(gradient[i] - gradient[r]);
        }
        // A ridge at rounding level turns flat directions into long steps, which the walls then
        // cut.
        const double ridge = scale > 0 ? 1e-14 * scale : 1.0;
        for (int64_t p = 0; p < m; ++p) {
            double* row = reduced + p * m;
            for (int64_t q = 0; q < p; ++q) {
                double sum = row[q];
                const double* other = reduced + q * m;
                for (int64_t l = 0; l < q; ++l) sum -= row[l] * other[l];
                row[q] = sum / other[q];
            }
            double pivot = row[p] + ridge;
            for (int64_t l = 0; l < p; ++l) pivot -= row[l] * row[l];
            row[p] = std::sqrt(std::max(pivot, ridge));
        }
        for (int64_t p = 0; p < m; ++p) {
            double sum = direction[p];
            for (int64_t q = 0; q < p; ++q) sum -= reduced[p * m + q] * direction[q];
            direction[p] = sum / reduced[p * m + p];
        }
        for (int64_t p = m - 1; p >= 0; --p) {
            double sum = direction[p];
            for (int64_t q = p + 1; q < m; ++q) sum -= reduced[q * m + p] * direction[q];
            direction[p] = sum / reduced[p * m + p];
        }
        double total = 0;
        for (int64_t p = 0; p < m; ++p) total += direction[p];
        direction[m] = -total;
        return std::isfinite(total);
    }

    // Walks along `direction` to the line's minimum or the first wall; indices at zero leave F.
    // Returns the descent.
    double walk(bool* met_wall) {
        const int64_t m = static_cast<int64_t>(free_set.size());
        double slope = 0, curvature = 0;
        for (int64_t p = 0; p < m; ++p) {
            const int64_t i = free_set[p];
            slope += gradient[i] * direction[p];
            double sum = 0;
            for (int64_t q = 0; q < m; ++q) sum += H[i * k + free_set[q]] * direction[q];
            curvature += direction[p] * sum;
        }
        curvature *= C;
        *met_wall = false;
        if (!(slope < 0)) return 0;
        double step = curvature > 0 ? -slope / curvature : std::numeric_limits<double>::infinity();
        int64_t wall = -1;
        for (int64_t p = 0; p < m; ++p)
            if (direction[p] < 0 && beta[free_set[p]] < -direction[p] * step) {
                step = beta[free_set[p]] / -direction[p];
                wall = p;
            }
        if (!std::isfinite(step)) return 0;
        for (int64_t p = 0; p < m; ++p) {
            double& value = beta[free_set[p]];
            value = std::max(0.0, value + step * direction[p]);
        }
        if (wall >= 0) {
            beta[free_set[wall]] = 0;
            *met_wall = true;
        }
        drop_zeros();
        return -step * (slope + 0.5 * step * curvature);
    }

    void drop_zeros() {
        free_set.erase(std::remove_if(free_set.begin(), free_set.end(),
                                      [&](int64_t i) { return beta[i] <= 0; }),
                       free_set.end());
        double sum = 0;
        for (int64_t i : free_set) sum += beta[i];
        for (int64_t i : free_set) beta[i] /= sum;
    }

    // Moves mass to index `to` from the free index that gains most (second order).
    double pair_step(int64_t to) {
        int64_t from = -1;
        double best = 0, length = 0;
        for (int64_t j : free_set) {
            const double slope = gradient[j] - gradient[to];
            if (j == to || slope <= 0) continue;
            const double curvature = C * (H[to * k + to] - 2 * H[to * k + j] + H[j * k + j]);
            const double step = curvature > 0 ? std::min(beta[j], slope / curvature) : beta[j];
            const double gain = step * (slope - 0.5 * step * std::max(curvature, 0.0));
            if (gain > best) best = gain, from = j, length = step;
        }
        if (from < 0) return 0;
        if (beta[to] == 0) free_set.push_back(to);
        beta[to] += length;
        beta[from] = length >= beta[from] ? 0.0 : beta[from] - length;
        drop_zeros();
        return best;
    }
};

}  // namespace

extern "C" int svmcut_simplex_qp(int64_t k, const double* H, const double* b, double C, double tol,
                                 int64_t max_steps, double* beta, double* work, double* gap,
                                 int64_t* steps, const volatile int* cancel) {
    const auto cancelled = [cancel] { return cancel && *cancel; };
    Simplex qp{k, H, b, C, beta, work, work + k, work + 2 * k, {}};
    try {
        qp.free_set.reserve(k + 1);
        for (int64_t i = 0; i < k; ++i) {
            if (!(beta[i] > 0)) beta[i] = 0;
            if (beta[i] > 0) qp.free_set.push_back(i);
        }
        if (qp.free_set.empty()) {
            beta[0] = 1;
            qp.free_set.push_back(0);
        }
        qp.drop_zeros();
        std::vector<double> best(beta, beta + k);
        double best_gap = std::numeric_limits<double>::infinity(), mark = best_gap;
        int64_t stalls = 0, fell = 0;  // fell: the step at which the gap last fell by a thousandth
        for (*steps = 0;; ++*steps) {
            qp.refresh_gradient();
            int64_t steepest = 0;
            const double here = qp.gap(&steepest);
            if (here < best_gap) {
                best_gap = here;
                std::copy(beta, beta + k, best.begin());
            }
            if (here < 0.999 * mark) mark = here, fell = *steps;
            double scale = 0;
            for (int64_t j : qp.free_set) scale = std::max(scale, std::fabs(qp.gradient[j] + b[j]));
            if (here <= std::max(tol, 4e-16 * scale) || *steps >= max_steps || stalls > 20 ||
                cancelled())
                break;
            // where H cancels, gains are rounding and never end
            if (*steps - fell > kPatience + kPatienceEach * k) break;
            // to the minimum of the current hull, dropping indices on the way
            double gained = 0;
            for (bool met_wall = true; met_wall && *steps < max_steps && !cancelled(); ++*steps) {
                if (!qp.hull_direction()) break;
                gained += qp.walk(&met_wall);
                qp.refresh_gradient();
            }
            if (qp.gap(&steepest) > tol) gained += qp.pair_step(steepest);
            stalls = gained > 1e-16 * scale ? 0 : stalls + 1;
        }
        std::copy(best.begin(), best.end(), beta);
        *gap = best_gap;
        if (best_gap <= tol) return SVMCUT_OK;
        return cancelled() ? SVMCUT_CANCELLED : SVMCUT_NO_PROGRESS;
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
}
