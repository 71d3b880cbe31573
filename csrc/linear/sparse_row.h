// SPDX-License-Identifier: BSD-3-Clause
//
// One sparse row: its columns j differ. The order of the sums is part of every result.
#ifndef SVMCUT_SPARSE_ROW_H
#define SVMCUT_SPARSE_ROW_H

#include <cstdint>

namespace svmcut {

// first + x.w: four independent sums hide the latency of the gathers.
inline double row_dot(const float* x, const int32_t* j, int64_t count, const double* w,
                      double first = 0) {
    double a = first, b = 0, c = 0, d = 0;
    int64_t k = 0;
    for (; k + 4 <= count; k += 4) {
        a += x[k] * w[j[k]];
        b += x[k + 1] * w[j[k + 1]];
        c += x[k + 2] * w[j[k + 2]];
        d += x[k + 3] * w[j[k + 3]];
    }
    for (; k < count; ++k) a += x[k] * w[j[k]];
    return (a + b) + (c + d);
}

// out += c x
inline void row_add(const float* x, const int32_t* j, int64_t count, double c, double* out) {
    int64_t k = 0;
    // columns of a row differ, so the four updates are independent
    for (; k + 4 <= count; k += 4) {
        out[j[k]] += c * x[k];
        out[j[k + 1]] += c * x[k + 1];
        out[j[k + 2]] += c * x[k + 2];
        out[j[k + 3]] += c * x[k + 3];
    }
    for (; k < count; ++k) out[j[k]] += c * x[k];
}

}  // namespace svmcut
#endif
