// SPDX-License-Identifier: BSD-3-Clause
//
// Copies of columns of rows, and their squares; see include/penalty.h.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "include/penalty.h"

int64_t svmcut_column_places(const svmcut_csr* X, const uint8_t* wanted, int64_t* indptr) {
    const int64_t d = X->n_features, end = X->indptr[X->n_rows];
    std::memset(indptr, 0, (d + 1) * sizeof(int64_t));
    for (int64_t k = X->indptr[0]; k < end; ++k) ++indptr[X->indices[k] + 1];
    for (int64_t j = 0; j < d; ++j)
        indptr[j + 1] = indptr[j] + (wanted == nullptr || wanted[j] ? indptr[j + 1] : 0);
    return indptr[d];
}

void svmcut_copy_columns(const svmcut_csr* X, const uint8_t* wanted, int64_t* indptr,
                         svmcut_entry* entries) {
    const int64_t n = X->n_rows, d = X->n_features;
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = X->indptr[i]; k < X->indptr[i + 1]; ++k) {
            const int32_t j = X->indices[k];
            if (wanted == nullptr || wanted[j])
                entries[indptr[j]++] = {X->data[k], static_cast<int32_t>(i)};
        }
    }
    for (int64_t j = d; j > 0; --j) indptr[j] = indptr[j - 1];
    indptr[0] = 0;
}

void svmcut_column_squares(const svmcut_csr* X, const double* c, int means, double* out,
                           double* room) {
    const int64_t n = X->n_rows, d = X->n_features;
    const auto every = [&](const auto& work) {
        for (int64_t i = 0; i < n; ++i)
            for (int64_t k = X->indptr[i]; k < X->indptr[i + 1]; ++k)
                work(X->indices[k], static_cast<double>(X->data[k]), c[i]);
    };
    double total = 0;
    for (int64_t i = 0; i < n; ++i) total += c[i];
    std::fill(out, out + d, 0.0);
    if (!means || !(total > 0)) {
        every([&](int32_t j, double x, double c_i) { out[j] += c_i * x * x; });
        return;
    }
    double *mean = room, *weight = room + d;
    std::fill(room, room + 2 * d, 0.0);
    every([&](int32_t j, double x, double c_i) {
        mean[j] += c_i * x;
        weight[j] += c_i;
    });
    for (int64_t j = 0; j < d; ++j) {
        mean[j] /= total;
        out[j] = std::max(0.0, total - weight[j]) * mean[j] * mean[j];
    }
    every([&](int32_t j, double x, double c_i) { out[j] += c_i * (x - mean[j]) * (x - mean[j]); });
}
