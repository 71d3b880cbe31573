/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums of kernels over support vectors. The support vectors are turned into columns once, so that the products of one
 * row with all of them walk only the features the row has; each product still adds its features in their order.
 */
#include "include/kernels.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <new>

#include "core/parallel.h"

namespace {

constexpr int64_t kRowsPerPiece = 32;

template <class T>
std::unique_ptr<T[]> allocate(int64_t n) {
    return std::unique_ptr<T[]>(new (std::nothrow) T[static_cast<size_t>(std::max<int64_t>(n, 1))]);
}

double squared_norm(const svmcut_csr& X, int64_t row) {
    double sum = 0;
    for (int64_t e = X.indptr[row]; e < X.indptr[row + 1]; ++e) sum += static_cast<double>(X.data[e]) * X.data[e];
    return sum;
}

/* The support vectors by feature, with their squared norms. */
struct Columns {
    std::unique_ptr<int64_t[]> start;   /* (d + 1) */
    std::unique_ptr<int64_t[]> support; /* (nnz) */
    std::unique_ptr<double[]> value;    /* (nnz) */
    std::unique_ptr<double[]> norm;     /* (m) */

    bool build(const svmcut_csr& Z) {
        const int64_t d = Z.n_features, first = Z.indptr[0], last = Z.indptr[Z.n_rows];
        start = allocate<int64_t>(d + 1);
        support = allocate<int64_t>(last - first);
        value = allocate<double>(last - first);
        norm = allocate<double>(Z.n_rows);
        if (!start || !support || !value || !norm) return false;
        std::fill_n(start.get(), d + 1, 0);
        for (int64_t e = first; e < last; ++e) ++start[Z.indices[e]];
        for (int64_t j = 0, sum = 0; j <= d; ++j) {
            sum += start[j];
            start[j] = sum;
        }
        /* Filled from the back, start[j] comes to rest at the first entry of column j, support vectors in order. */
        for (int64_t k = Z.n_rows - 1; k >= 0; --k) {
            norm[k] = squared_norm(Z, k);
            for (int64_t e = Z.indptr[k]; e < Z.indptr[k + 1]; ++e) {
                const int64_t place = --start[Z.indices[e]];
                support[place] = k;
                value[place] = Z.data[e];
            }
        }
        return true;
    }

    /* dot[k] = x.z_k */
    void products(const svmcut_csr& X, int64_t row, int64_t d, int64_t m, double* dot) const {
        std::fill_n(dot, m, 0.0);
        for (int64_t e = X.indptr[row]; e < X.indptr[row + 1]; ++e) {
            const int64_t j = X.indices[e];
            if (j >= d) continue;
            const double x = X.data[e];
            for (int64_t place = start[j]; place < start[j + 1]; ++place) dot[support[place]] += x * value[place];
        }
    }
};

template <class Map>
double weighted_sum(const double* alpha, int64_t m, Map&& map) {
    double sum = 0;
    for (int64_t k = 0; k < m; ++k) sum += alpha[k] * map(k);
    return sum;
}

double expansion(const svmcut_kernel& K, const double* alpha, int64_t m, const double* dot, const double* norm,
                 double own_norm) {
    switch (K.type) {
        case SVMCUT_KERNEL_POLYNOMIAL: {
            const double degree = K.degree;
            return weighted_sum(alpha, m, [&](int64_t k) { return std::pow(K.scale * dot[k] + K.offset, degree); });
        }
        case SVMCUT_KERNEL_RBF:
            /* Rounding can leave a distance below zero, which exp would blow up for large norms. */
            return weighted_sum(alpha, m, [&](int64_t k) {
                return std::exp(-K.gamma * std::max(norm[k] - 2 * dot[k] + own_norm, 0.0));
            });
        case SVMCUT_KERNEL_SIGMOID:
            return weighted_sum(alpha, m, [&](int64_t k) { return std::tanh(K.scale * dot[k] + K.offset); });
        default:
            return weighted_sum(alpha, m, [&](int64_t k) { return dot[k]; });
    }
}

}  // namespace

extern "C" int svmcut_kernel_scores(const svmcut_csr* rows, const svmcut_csr* support, const double* alpha,
                                    const svmcut_kernel* kernel, double b, int threads, double* out) {
    const int64_t n = rows->n_rows, m = support->n_rows;
    Columns columns;
    if (!columns.build(*support)) return SVMCUT_NO_MEMORY;
    std::atomic<bool> starved{false};
    svmcut::for_pieces((n + kRowsPerPiece - 1) / kRowsPerPiece, threads, [&](int64_t piece) {
        const auto dot = allocate<double>(m);
        if (!dot) {
            starved = true;
            return;
        }
        const int64_t stop = std::min((piece + 1) * kRowsPerPiece, n);
        for (int64_t i = piece * kRowsPerPiece; i < stop; ++i) {
            columns.products(*rows, i, support->n_features, m, dot.get());
            out[i] = expansion(*kernel, alpha, m, dot.get(), columns.norm.get(), squared_norm(*rows, i)) - b;
        }
    });
    return starved ? SVMCUT_NO_MEMORY : SVMCUT_OK;
}
