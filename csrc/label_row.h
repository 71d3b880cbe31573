/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One row against the weights of all labels. The wide loops hold no fused multiply-add: the bytes are the same on every
 * processor.
 */
#ifndef SVMCUT_LABEL_ROW_H
#define SVMCUT_LABEL_ROW_H

#include <algorithm>

#include "multilabel.h"

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define SVMCUT_LABEL_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define SVMCUT_LABEL_WIDE
#endif

namespace svmcut {

/* y += c x */
SVMCUT_LABEL_WIDE static void add_scaled(int64_t n, double c, const double* __restrict x, double* __restrict y) {
    for (int64_t k = 0; k < n; ++k) y[k] += c * x[k];
}

inline void label_scores(const svmcut_csr& X, int64_t i, const svmcut_label_weights& model, double* s) {
    const int64_t K = model.K;
    std::fill_n(s, K, 0.0);
    for (int64_t e = X.indptr[i]; e < X.indptr[i + 1]; ++e)
        if (X.indices[e] < model.d) add_scaled(K, X.data[e], model.W + X.indices[e] * K, s);
    if (model.bias != 0) add_scaled(K, model.bias, model.W + model.d * K, s);
}

/* theta of the Hamming loss: + loss off the gold set, - loss on it. */
inline void augment(const svmcut_label_sets& gold, int64_t i, int64_t K, double loss, double* theta) {
    for (int64_t k = 0; k < K; ++k) theta[k] += loss;
    for (int64_t e = gold.indptr[i]; e < gold.indptr[i + 1]; ++e) theta[gold.labels[e]] -= 2 * loss;
}

}  // namespace svmcut
#endif
