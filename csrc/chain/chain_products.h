// SPDX-License-Identifier: BSD-3-Clause
//
// Sums of exp(scale * score) over all labellings of a chain of order 1 as products with the matrix
// of exp(scale * transition), scaled at every token: K^2 products a token and K exponentials, where
// logarithms of sums take K^2 exponentials.
//
// What underflows is left out: a tag that lags by more than e^-700 behind the best of its token can
// win back e^(2 range) of it at most, range = scale * (largest - least transition). So the range is
// bounded, which also asks for transitions that are all finite.
#ifndef SVMCUT_CHAIN_PRODUCTS_H
#define SVMCUT_CHAIN_PRODUCTS_H

#include <algorithm>
#include <cmath>
#include <vector>

#include "chain/chain.h"
#include "chain/chain_targets.h"

namespace svmcut {

constexpr double kMostRange = 200;

// out[c] += a * row[c]
SVMCUT_INLINE void add_multiple(double a, const double* __restrict row, int64_t S,
                                double* __restrict out) {
    for (int64_t c = 0; c < S; ++c) out[c] += a * row[c];
}

struct ChainProducts {
    int64_t K, S;
    double scale, highest = 0;
    // exp(scale * (V - highest)), its columns as rows, and V times it
    std::vector<double> powers, turned, moments;

    // Whether these transitions can be multiplied.
    bool read(const ChainLayout& at, const double* V, double by) {
        K = at.K, S = at.S, scale = by;
        if (at.order != 1 || at.blocks > 1) return false;
        double least = V[0];
        highest = V[0];
        for (int64_t p = 0; p < K; ++p)
            for (int64_t c = 0; c < K; ++c) {
                highest = std::max(highest, V[p * S + c]);
                least = std::min(least, V[p * S + c]);
            }
        if (!(scale * (highest - least) <= kMostRange)) return false;
        powers.assign(K * S, 0.0);
        turned.assign(K * S, 0.0);
        moments.assign(K * S, 0.0);
        for (int64_t p = 0; p < K; ++p)
            for (int64_t c = 0; c < K; ++c) {
                const double power = std::exp(scale * (V[p * S + c] - highest));
                powers[p * S + c] = turned[c * S + p] = power;
                moments[p * S + c] = power * V[p * S + c];
            }
        return true;
    }
};

// One sequence. Of every token: parts of its tags over the labellings up to it, and
// exp(scale * (node - its highest)).
struct ProductSums {
    const ChainProducts& of;
    const double* nodes;  // (T, S)
    int64_t T;
    std::vector<double> parts, emitted, means, sums, weighted;
    double log_sum = 0, mean = 0;

    ProductSums(const ChainProducts& products, const double* nodes_, int64_t T_)
        : of(products),
          nodes(nodes_),
          T(T_),
          parts(T_ * of.S),
          emitted(T_ * of.S),
          means(of.S),
          sums(of.S),
          weighted(of.S) {}

    SVMCUT_INLINE void run_body() {
        const int64_t K = of.K, S = of.S;
        for (int64_t i = 0; i < T; ++i) {
            const double* node = nodes + i * S;
            double *here = parts.data() + i * S, *powers = emitted.data() + i * S;
            const double most = *std::max_element(node, node + K);
            for (int64_t c = 0; c < K; ++c) powers[c] = std::exp(of.scale * (node[c] - most));
            std::fill(sums.begin(), sums.end(), i == 0 ? 1.0 : 0.0);
            std::fill(weighted.begin(), weighted.end(), 0.0);
            for (int64_t p = 0; i > 0 && p < K; ++p) {
                const double part = here[p - S];
                add_multiple(part, of.powers.data() + p * S, S, sums.data());
                add_multiple(means[p], of.powers.data() + p * S, S, weighted.data());
                add_multiple(part, of.moments.data() + p * S, S, weighted.data());
            }
            double total = 0;
            for (int64_t c = 0; c < K; ++c) total += here[c] = sums[c] * powers[c];
            if (!(total > 0)) {  // -infinity, or not finite
                log_sum = most > -HUGE_VAL ? std::log(total) : -HUGE_VAL;
                return;
            }
            for (int64_t c = 0; c < K; ++c) {
                here[c] /= total;
                means[c] = here[c] > 0 ? (weighted[c] + sums[c] * node[c]) * powers[c] / total : 0;
            }
            log_sum += of.scale * (most + (i ? of.highest : 0.0)) + std::log(total);
        }
        for (int64_t c = 0; c < K; ++c) mean += means[c];
    }

    // out (T, K): the part of every tag of every token; after run.
    SVMCUT_INLINE void marginals_body(double* out) {
        const int64_t K = of.K, S = of.S;
        std::fill(out, out + T * K, 0.0);
        if (!(log_sum > -HUGE_VAL)) return;
        std::fill(sums.begin(), sums.end(), 1.0);
        for (int64_t i = T - 1; i >= 0; --i) {
            double total = 0;
            for (int64_t c = 0; c < K; ++c) total += out[i * K + c] = parts[i * S + c] * sums[c];
            for (int64_t c = 0; total > 0 && c < K; ++c) out[i * K + c] /= total;
            std::fill(weighted.begin(), weighted.end(), 0.0);
            for (int64_t c = 0; c < K; ++c)
                add_multiple(emitted[i * S + c] * sums[c], of.turned.data() + c * S, S,
                             weighted.data());
            const double most = *std::max_element(weighted.begin(), weighted.begin() + K);
            for (int64_t c = 0; c < S; ++c) sums[c] = weighted[c] / most;
        }
    }
};

inline void products_portable(ProductSums& sums, double* out) {
    out ? sums.marginals_body(out) : sums.run_body();
}
#if defined(SVMCUT_FOR_TARGETS)
SVMCUT_AVX2 inline void products_avx2(ProductSums& sums, double* out) {
    out ? sums.marginals_body(out) : sums.run_body();
}
SVMCUT_AVX512 inline void products_avx512(ProductSums& sums, double* out) {
    out ? sums.marginals_body(out) : sums.run_body();
}
#endif

}  // namespace svmcut
#endif
