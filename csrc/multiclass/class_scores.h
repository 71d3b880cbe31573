// SPDX-License-Identifier: BSD-3-Clause
//
// One sparse row x (entries at columns j) against weights W of K classes, which stand side by side
// for each column.
#ifndef SVMCUT_CLASS_SCORES_H
#define SVMCUT_CLASS_SCORES_H

#include <cstdint>

#include "core/wide.h"

#define SVMCUT_INLINE inline __attribute__((always_inline))

namespace svmcut {

constexpr int64_t kBlock = 16;  // classes scored at a time

// G[0..kCount) = sum_e x[e] W[j[e]][first + ..]: the sums stay in registers, each in the order of
// the entries.
template <int kCount>
SVMCUT_INLINE void score_block(const float* x, const int32_t* j, int64_t count, const double* W,
                               int64_t K, double* G) {
    double sums[kCount] = {};
    for (int64_t e = 0; e < count; ++e) {
        const double value = x[e];
        const double* w = W + j[e] * K;
        for (int k = 0; k < kCount; ++k) sums[k] += value * w[k];
    }
    for (int k = 0; k < kCount; ++k) G[k] = sums[k];
}

// The same for kCount classes that need not be neighbours.
template <int kCount>
SVMCUT_INLINE void score_some(const float* x, const int32_t* j, int64_t count, const double* W,
                              int64_t K, const int32_t* labels, double* G) {
    double sums[kCount] = {};
    for (int64_t e = 0; e < count; ++e) {
        const double value = x[e];
        const double* w = W + j[e] * K;
        for (int k = 0; k < kCount; ++k) sums[k] += value * w[labels[k]];
    }
    for (int k = 0; k < kCount; ++k) G[k] = sums[k];
}

// G[k] = sum_e x[e] W[j[e]][k] for all K classes.
SVMCUT_WIDE static void score_all(const float* x, const int32_t* j, int64_t count, const double* W,
                                  int64_t K, double* G) {
    int64_t k = 0;
    for (; k + kBlock <= K; k += kBlock) score_block<kBlock>(x, j, count, W + k, K, G + k);
    switch (K - k) {
        case 1:
            return score_block<1>(x, j, count, W + k, K, G + k);
        case 2:
            return score_block<2>(x, j, count, W + k, K, G + k);
        case 3:
            return score_block<3>(x, j, count, W + k, K, G + k);
        case 4:
            return score_block<4>(x, j, count, W + k, K, G + k);
        case 5:
            return score_block<5>(x, j, count, W + k, K, G + k);
        case 6:
            return score_block<6>(x, j, count, W + k, K, G + k);
        case 7:
            return score_block<7>(x, j, count, W + k, K, G + k);
        case 8:
            return score_block<8>(x, j, count, W + k, K, G + k);
        case 9:
            return score_block<9>(x, j, count, W + k, K, G + k);
        case 10:
            return score_block<10>(x, j, count, W + k, K, G + k);
        case 11:
            return score_block<11>(x, j, count, W + k, K, G + k);
        case 12:
            return score_block<12>(x, j, count, W + k, K, G + k);
        case 13:
            return score_block<13>(x, j, count, W + k, K, G + k);
        case 14:
            return score_block<14>(x, j, count, W + k, K, G + k);
        case 15:
            return score_block<15>(x, j, count, W + k, K, G + k);
        default:
            return;
    }
}

// W[j[e]][k] += x[e] d[k] for all K classes.
SVMCUT_WIDE static void add_all(const float* x, const int32_t* j, int64_t count, const double* d,
                                int64_t K, double* W) {
    for (int64_t e = 0; e < count; ++e) {
        const double value = x[e];
        double* w = W + j[e] * K;
        for (int64_t k = 0; k < K; ++k) w[k] += value * d[k];
    }
}

}  // namespace svmcut
#endif
