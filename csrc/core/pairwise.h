// SPDX-License-Identifier: BSD-3-Clause
//
// A sum of float64 numbers in NumPy's order, which is part of the bytes of every model.
#ifndef SVMCUT_PAIRWISE_H
#define SVMCUT_PAIRWISE_H

#include <cstdint>

namespace svmcut {

inline double pairwise_sum(const double* values, int64_t n) {
    if (n < 8) {
        double sum = -0.0;
        for (int64_t i = 0; i < n; ++i) sum += values[i];
        return sum;
    }
    if (n <= 128) {
        double r[8];
        for (int j = 0; j < 8; ++j) r[j] = values[j];
        int64_t i = 8;
        for (; i < n - n % 8; i += 8)
            for (int j = 0; j < 8; ++j) r[j] += values[i + j];
        double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
        for (; i < n; ++i) sum += values[i];
        return sum;
    }
    int64_t half = n / 2;
    half -= half % 8;
    return pairwise_sum(values, half) + pairwise_sum(values + half, n - half);
}

// np.sum: the identity comes first.
inline double numpy_sum(const double* values, int64_t n) { return 0.0 + pairwise_sum(values, n); }

}  // namespace svmcut
#endif
