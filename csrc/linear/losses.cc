// SPDX-License-Identifier: BSD-3-Clause
//
// Sums of losses of one score each: values, tangents and curvatures, at scores and along a line of
// them. Sums run over pieces whose bounds depend on the number of rows alone and are added in their
// order: the same bytes for any number of threads.

#include "linear/losses.h"

#include <vector>

#include "core/parallel.h"
#include "include/linear.h"

namespace {

constexpr int64_t kPiece = 1 << 12;
constexpr int64_t kWorthThreads = 1 << 15;  // rows

struct Sums {
    double first = 0, second = 0;
};

template <class Loss>
Sums losses_of(int64_t begin, int64_t end, const double* y, const double* s, const double* v,
               double tube, double delta, double* coef, double* curvature) {
    Sums sums;
    for (int64_t i = begin; i < end; ++i) {
        const svmcut::Tangent at = Loss::of(y[i], s[i], tube, delta);
        const double weight = v ? v[i] : 1.0;
        coef[i] = weight > 0.0 ? -(weight * at.g) : 0.0;
        if (curvature) curvature[i] = weight > 0.0 ? weight * at.curvature : 0.0;
        sums.first += weight > 0.0 ? weight * at.value : 0.0;
        sums.second += weight > 0.0 ? weight * at.h : 0.0;
    }
    return sums;
}

template <class Loss>
Sums slope_of(int64_t begin, int64_t end, const double* y, const double* s, const double* e,
              const double* v, double tube, double delta, double t) {
    Sums sums;
    for (int64_t i = begin; i < end; ++i) {
        const svmcut::Tangent at = Loss::of(y[i], s[i] + t * e[i], tube, delta);
        const double weight = v ? v[i] : 1.0;
        sums.first -= weight > 0.0 ? weight * at.g * e[i] : 0.0;
        sums.second += weight > 0.0 ? weight * at.curvature * e[i] * e[i] : 0.0;
    }
    return sums;
}

// Adds the sums of pieces, each sum_of(begin, end).
template <class SumOf>
int add_up(int64_t n, int threads, double* first, double* second, SumOf&& sum_of) {
    const int64_t pieces = (n + kPiece - 1) / kPiece;
    std::vector<Sums> parts;
    try {
        parts.resize(pieces);
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    svmcut::for_pieces(pieces, n < kWorthThreads ? 1 : threads, [&](int64_t p) {
        parts[p] = sum_of(p * kPiece, std::min(n, (p + 1) * kPiece));
    });
    *first = *second = 0;
    for (const Sums& part : parts) {
        *first += part.first;
        *second += part.second;
    }
    return SVMCUT_OK;
}

}  // namespace

extern "C" {

int svmcut_losses(int loss, int64_t n, const double* y, const double* s, const double* v,
                  double tube, double delta, double* coef, double* curvature, double* value,
                  double* offset, int threads) {
    return add_up(n, threads, value, offset, [&](int64_t begin, int64_t end) {
        switch (loss) {
            case SVMCUT_SQUARED_HINGE:
                return losses_of<svmcut::SquaredHinge>(begin, end, y, s, v, tube, delta, coef,
                                                       curvature);
            case SVMCUT_LOGISTIC:
                return losses_of<svmcut::Logistic>(begin, end, y, s, v, tube, delta, coef,
                                                   curvature);
            case SVMCUT_SQUARED_EPSILON_INSENSITIVE:
                return losses_of<svmcut::SquaredEpsilonInsensitive>(begin, end, y, s, v, tube,
                                                                    delta, coef, curvature);
            default:
                return losses_of<svmcut::EpsilonInsensitive>(begin, end, y, s, v, tube, delta, coef,
                                                             curvature);
        }
    });
}

int svmcut_losses_slope(int loss, int64_t n, const double* y, const double* s, const double* e,
                        const double* v, double tube, double delta, double t, double* slope,
                        double* curvature, int threads) {
    return add_up(n, threads, slope, curvature, [&](int64_t begin, int64_t end) {
        switch (loss) {
            case SVMCUT_SQUARED_HINGE:
                return slope_of<svmcut::SquaredHinge>(begin, end, y, s, e, v, tube, delta, t);
            case SVMCUT_LOGISTIC:
                return slope_of<svmcut::Logistic>(begin, end, y, s, e, v, tube, delta, t);
            case SVMCUT_SQUARED_EPSILON_INSENSITIVE:
                return slope_of<svmcut::SquaredEpsilonInsensitive>(begin, end, y, s, e, v, tube,
                                                                   delta, t);
            default:
                return slope_of<svmcut::EpsilonInsensitive>(begin, end, y, s, e, v, tube, delta, t);
        }
    });
}

}  // extern "C"
