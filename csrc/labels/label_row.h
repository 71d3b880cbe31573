// SPDX-License-Identifier: BSD-3-Clause
//
// One row against the weights of all labels.
#ifndef SVMCUT_LABEL_ROW_H
#define SVMCUT_LABEL_ROW_H

#include <algorithm>
#include <vector>

#include "core/add_scaled.h"
#include "include/labels.h"

namespace svmcut {

inline const double* constant_of(const svmcut_label_weights& model) {
    return model.constant ? model.constant : model.W + model.d * model.K;
}

inline void label_scores(const svmcut_csr& X, int64_t i, const svmcut_label_weights& model,
                         double* s) {
    const int64_t K = model.K;
    std::fill_n(s, K, 0.0);
    for (int64_t e = X.indptr[i]; e < X.indptr[i + 1]; ++e)
        if (X.indices[e] < model.d) add_scaled(K, X.data[e], model.W + X.indices[e] * K, s);
    if (model.bias != 0) add_scaled(K, model.bias, constant_of(model), s);
}

// Those of the labels from `from` to before `to`, and of others; the rest of s stays as it is.
inline void label_scores_of(const svmcut_csr& X, int64_t i, const svmcut_label_weights& model,
                            int64_t from, int64_t to, const std::vector<int32_t>& others,
                            double* s) {
    std::fill(s + from, s + to, 0.0);
    for (int32_t k : others) s[k] = 0;
    auto add = [&](double x, const double* w) {
        add_scaled(to - from, x, w + from, s + from);
        for (int32_t k : others) s[k] += x * w[k];
    };
    for (int64_t e = X.indptr[i]; e < X.indptr[i + 1]; ++e)
        add(X.data[e], model.W + X.indices[e] * model.K);
    if (model.bias != 0) add(model.bias, constant_of(model));
}

// theta of the Hamming loss: + loss off the gold set, - loss on it.
inline void augment(const svmcut_label_sets& gold, int64_t i, int64_t K, double loss,
                    double* theta) {
    for (int64_t k = 0; k < K; ++k) theta[k] += loss;
    for (int64_t e = gold.indptr[i]; e < gold.indptr[i + 1]; ++e) theta[gold.labels[e]] -= 2 * loss;
}

}  // namespace svmcut
#endif
