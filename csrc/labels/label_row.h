/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One row against the weights of all labels.
 */
#ifndef SVMCUT_LABEL_ROW_H
#define SVMCUT_LABEL_ROW_H

#include <algorithm>

#include "core/add_scaled.h"
#include "include/labels.h"

namespace svmcut {

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
