// SPDX-License-Identifier: BSD-3-Clause
//
// Scores of rows without a sparse form, as a caller's matrix has them: the values rounded to
// float32, as training and model files have them, then sums in the order of the features.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/parallel.h"
#include "include/multiclass.h"
#include "multiclass/class_scores.h"

namespace {

constexpr int64_t kPiece = 1 << 15;  // numbers of a matrix that one piece of work reads
constexpr int64_t kAtOnce = 4;       // rows of one score each taken together

// sums[r] = sum_j x[r d + j] w[j] for kAtOnce rows.
SVMCUT_WIDE void one_score(const float* x, int64_t d, const double* w, double* sums) {
    const float *p = x, *q = x + d, *r = x + 2 * d, *t = x + 3 * d;
    double a = 0, b = 0, c = 0, e = 0;
    for (int64_t j = 0; j < d; ++j) {
        a += w[j] * p[j];
        b += w[j] * q[j];
        c += w[j] * r[j];
        e += w[j] * t[j];
    }
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = e;
}

// Rows `begin` to `end`; false where a value is not finite in float32.
template <class T>
bool score_rows(const T* X, int64_t begin, int64_t end, int64_t d, const double* W, int64_t K,
                const double* constants, double* out) {
    std::vector<float> x(kAtOnce * d);
    std::vector<int32_t> j(K == 1 ? 0 : d);
    std::iota(j.begin(), j.end(), 0);
    bool finite = true;
    for (int64_t i = begin; i < end; i += kAtOnce) {
        const int64_t rows = end - i < kAtOnce ? end - i : kAtOnce;
        for (int64_t e = 0; e < rows * d; ++e) {
            x[e] = static_cast<float>(X[i * d + e]);
            finite &= std::isfinite(x[e]);
        }
        double sums[kAtOnce];
        if (K == 1) one_score(x.data(), d, W, sums);
        for (int64_t r = 0; r < rows; ++r) {
            double* own = out + (i + r) * K;
            if (K == 1) own[0] = sums[r];
            else svmcut::score_all(x.data() + r * d, j.data(), d, W, K, own);
            for (int64_t k = 0; k < K; ++k) own[k] += constants[k];
        }
    }
    return finite;
}

template <class T>
int score(const T* X, int64_t n, int64_t d, const double* W, int64_t K, const double* constants,
          double* out, int threads) {
    const int64_t pieces = std::max<int64_t>(1, std::min(n, n * (d + K) / kPiece));
    std::atomic<int> status{SVMCUT_OK};
    svmcut::for_pieces(pieces, threads, [&](int64_t p) {
        try {
            const int64_t begin = n * p / pieces, end = n * (p + 1) / pieces;
            if (!score_rows(X, begin, end, d, W, K, constants, out)) status = SVMCUT_BAD_INPUT;
        } catch (...) {
            status = SVMCUT_NO_MEMORY;
        }
    });
    return status;
}

}  // namespace

extern "C" {

int svmcut_dense_scores(const double* X, int64_t n, int64_t d, const double* W, int64_t K,
                        const double* constants, double* out, int threads) {
    return score(X, n, d, W, K, constants, out, threads);
}

int svmcut_dense_scores_of_floats(const float* X, int64_t n, int64_t d, const double* W, int64_t K,
                                  const double* constants, double* out, int threads) {
    return score(X, n, d, W, K, constants, out, threads);
}

}  // extern "C"
