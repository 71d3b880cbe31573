// SPDX-License-Identifier: BSD-3-Clause
//
// What the losses of labellings share: the cut that a labelling stands for, and the costs of its
// flips.
#ifndef SVMCUT_LABELLINGS_H
#define SVMCUT_LABELLINGS_H

#include <algorithm>
#include <cstdint>

#include "measures/workspace.h"

namespace svmcut {

// sums[m] = x_0 + .. + x_(m-1), block by block, so that rounding grows with the root of n.
inline void prefix_sums(const double* x, int64_t n, double* sums) {
    double base = 0.0;
    sums[0] = 0.0;
    for (int64_t begin = 0; begin < n; begin += 512) {
        double run = 0.0;
        const int64_t end = std::min(n, begin + 512);
        for (int64_t k = begin; k < end; ++k) {
            run += x[k];
            sums[k + 1] = base + run;
        }
        base = sums[end];
    }
}

// The rows of either class, the positives first, and where their coefficients go.
struct Cut {
    const int32_t* positive;
    const int32_t* negative;
    int64_t P, N;
    double* coef;
    double* out;
    double kappa;

    double r(const double* s, int64_t k) const {
        return k < P ? s[positive[k]] : -s[negative[k - P]];
    }
    void flip(int64_t k, double scale) const {
        if (k < P) coef[positive[k]] = -scale;
        else coef[negative[k - P]] = scale;
    }
    // U (P + 1) and V (N + 1) at w.extra: sums of the lowest r of either class, which w.sorted has
    // in order, as w.items has their rows.
    void sort(const double* s, const Workspace& w, int threads) const {
        for (int64_t i = 0; i < P + N; ++i) w.extra[i] = r(s, i);
        sort_rows(w.extra, P, w.items, w.scratch, w.sorted, threads);
        sort_rows(w.extra + P, N, w.items + P, w.scratch + P, w.sorted + P, threads);
        prefix_sums(w.sorted, P, w.extra);
        prefix_sums(w.sorted + P, N, w.extra + P + 1);
    }
    // The m positives and b negatives of lowest r are flipped.
    void flip_lowest(const Workspace& w, int64_t m, int64_t b, double scale) const {
        for (int64_t k = 0; k < m; ++k) flip(w.items[k].row, scale);
        for (int64_t k = 0; k < b; ++k) flip(P + w.items[P + k].row, scale);
    }
};

}  // namespace svmcut
#endif
