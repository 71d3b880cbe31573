// SPDX-License-Identifier: BSD-3-Clause
//
// Kernel rows on vectors of SVMCUT_LANE_BYTES, in namespace SVMCUT_LANES; kernel_rows.cc includes
// this once for every set of instructions, each time under its own target. No
// header but those of all such loops may be included from here.
//
// A product is summed in one accumulator, feature after feature, whether the query is stored dense
// or sparse and alone or in a block: K(x, z) and K(z, x) have the same bytes.
#include "core/widened.h"

namespace svmcut {
namespace SVMCUT_LANES {

typedef float Lane __attribute__((vector_size(SVMCUT_LANE_BYTES)));
typedef uint32_t Bits __attribute__((vector_size(SVMCUT_LANE_BYTES)));
constexpr int kWidth = SVMCUT_LANE_BYTES / 4;
// Accumulators that stay in registers: spans of points for one query, and for a few at once.
constexpr int kSpan = SVMCUT_LANE_BYTES == 64 ? 4 : 8,
              kBlockSpan = SVMCUT_LANE_BYTES == 64 ? 4 : SVMCUT_LANE_BYTES / 8;
constexpr int kQueries = SVMCUT_LANE_BYTES == 64 ? 6 : 3;

inline Lane all(float x) { return x - Lane{}; }
inline Lane load(const float* p) {
    Lane x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
inline void store(float* p, Lane x) { __builtin_memcpy(p, &x, sizeof x); }

// exp for x <= 0: relative error below 1.2e-7 (two units in the last place) for x >= -87.336, 0
// below.
inline Lane exp_of(Lane x) {
    const Lane lowest = all(-87.3365447505531f), magic = all(12582912.0f);
    const Lane y = x < lowest ? lowest : x;
    const Lane shifted = y * all(1.44269504088896341f) + magic;
    const Lane n = shifted - magic;
    const Lane r = (y - n * all(0.693359375f)) + n * all(2.12194440e-4f);
    Lane p = all(1.9875691500e-4f);
    p = p * r + all(1.3981999507e-3f);
    p = p * r + all(8.3334519073e-3f);
    p = p * r + all(4.1665795894e-2f);
    p = p * r + all(1.6666665459e-1f);
    p = p * r + all(5.0000001201e-1f);
    p = p * (r * r) + r + all(1.0f);
    Bits bits;
    __builtin_memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + 0x3f800000u;
    Lane power;
    __builtin_memcpy(&power, &bits, sizeof power);
    return x < lowest ? Lane{} : p * power;
}

inline Lane power_of(Lane x, int32_t degree) {
    Lane result = all(1.0f);
    for (; degree; degree >>= 1, x = x * x)
        if (degree & 1) result = result * x;
    return result;
}

inline Lane tanh_of(Lane x) {
    const Lane a = x < Lane{} ? x : -x;
    const Lane e = exp_of(a + a);
    const Lane t = (all(1.0f) - e) / (all(1.0f) + e);
    return x < Lane{} ? -t : t;
}

#include "kernels/kernel_double_numbers.h"
#include "kernels/kernel_forms.h"

// From a product, or the squared distance over the features of the points where kDifferences, to
// the kernel's value.
template <class Form, bool kDifferences>
inline Lane finish(Lane sum, const float* norm, Lane own, const Parameters<Lane>& K) {
    if constexpr (kDifferences) return Form::value(K, sum + own);
    if constexpr (!Form::kOfDistance) return Form::value(K, sum);
    const Lane distance = (load(norm) + own) - (sum + sum);
    return Form::value(K, distance > Lane{} ? distance : Lane{});
}

// What a query adds to every distance.
inline float own_term(bool differences, const Query& q) {
    return static_cast<float>(differences ? q.outside : q.squared);
}

// kCount dense queries against kRegisters vectors of points.
template <class Form, bool kDifferences, int kCount, int kRegisters>
inline void dense_block(const Query* queries, const float* tile, const float* norm, int64_t d,
                        const Parameters<Lane>& K, float* out, int64_t stride) {
    Lane sum[kCount][kRegisters] = {};
    const float* q[kCount];
    for (int k = 0; k < kCount; ++k) q[k] = queries[k].dense;
    for (int64_t j = 0; j < d; ++j) {
        Lane x[kRegisters];
#pragma GCC unroll 8
        for (int r = 0; r < kRegisters; ++r) x[r] = load(tile + j * kTile + r * kWidth);
#pragma GCC unroll 8
        for (int k = 0; k < kCount; ++k) {
            const Lane value = all(q[k][j]);
#pragma GCC unroll 8
            for (int r = 0; r < kRegisters; ++r) {
                if constexpr (kDifferences) {
                    const Lane difference = value - x[r];
                    sum[k][r] = difference * difference + sum[k][r];
                } else {
                    sum[k][r] = value * x[r] + sum[k][r];
                }
            }
        }
    }
#pragma GCC unroll 8
    for (int k = 0; k < kCount; ++k) {
        const Lane own = all(own_term(kDifferences, queries[k]));
#pragma GCC unroll 8
        for (int r = 0; r < kRegisters; ++r)
            store(out + k * stride + r * kWidth,
                  finish<Form, kDifferences>(sum[k][r], norm + r * kWidth, own, K));
    }
}

template <class Form>
inline void sparse_row(const Query& query, const float* tile, const float* norm,
                       const Parameters<Lane>& K, float* out) {
    const Lane own = all(own_term(false, query));
    for (int64_t at = 0; at < kTile; at += kSpan * kWidth) {
        Lane sum[kSpan] = {};
        for (int64_t e = 0; e < query.count; ++e) {
            const float* x = tile + query.columns[e] * kTile + at;
            const Lane value = all(query.values[e]);
#pragma GCC unroll 8
            for (int r = 0; r < kSpan; ++r) sum[r] = value * load(x + r * kWidth) + sum[r];
        }
#pragma GCC unroll 8
        for (int r = 0; r < kSpan; ++r)
            store(out + at + r * kWidth,
                  finish<Form, false>(sum[r], norm + at + r * kWidth, own, K));
    }
}

// As sparse_row on points of zeros and ones: a product with 1 is exact, so the sums are the same.
template <class Form>
inline void bit_row(const Query& query, const uint64_t* bits, const float* norm,
                    const Parameters<Lane>& K, float* out) {
    const Lane own = all(own_term(false, query));
    Bits lane;
    for (int r = 0; r < kWidth; ++r) lane[r] = 1u << r;
    Lane sum[kTile / kWidth] = {};
    for (int64_t e = 0; e < query.count; ++e) {
        uint64_t word = bits[query.columns[e]];
        const Lane value = all(query.values[e]);
#pragma GCC unroll 16
        for (int r = 0; r < kTile / kWidth; ++r, word >>= kWidth) {
            const auto set = ((static_cast<uint32_t>(word) - Bits{}) & lane) != 0;
            sum[r] = set ? sum[r] + value : sum[r];
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kTile / kWidth; ++r)
        store(out + r * kWidth, finish<Form, false>(sum[r], norm + r * kWidth, own, K));
}

template <class Form, bool kDifferences>
void tile_rows(const Points& P, const Query* queries, int64_t count, int64_t t,
               const Parameters<Lane>& K, float* out, int64_t stride) {
    const float* norm = P.norm.get() + t * kTile;
    int64_t k = 0;
    if constexpr (!kDifferences)
        if (P.layout == Layout::kBits) {
            for (; k < count; ++k)
                bit_row<Form>(queries[k], P.bits.get() + t * P.d, norm, K, out + k * stride);
            return;
        }
    const float* tile = P.tile.get() + t * P.d * kTile;
    if (queries[0].dense) {
        for (; k + kQueries <= count; k += kQueries)
            for (int64_t at = 0; at < kTile; at += kBlockSpan * kWidth)
                dense_block<Form, kDifferences, kQueries, kBlockSpan>(
                    queries + k, tile + at, norm + at, P.d, K, out + k * stride + at, stride);
        for (; k < count; ++k)
            for (int64_t at = 0; at < kTile; at += kSpan * kWidth)
                dense_block<Form, kDifferences, 1, kSpan>(queries + k, tile + at, norm + at, P.d, K,
                                                          out + k * stride + at, stride);
        return;
    }
    if constexpr (!kDifferences)
        for (; k < count; ++k) sparse_row<Form>(queries[k], tile, norm, K, out + k * stride);
}

template <class Form, bool kDifferences>
void evaluate_tiles(const Points& P, const Query* queries, int64_t count, int64_t first,
                    int64_t last, float* out, int64_t stride) {
    const Parameters<Lane> K(P.kernel);
    for (int64_t t = first; t < last; ++t) {
        const int64_t here = P.n - t * kTile;
        float* to = out + (t - first) * kTile;
        if (here >= kTile) {
            tile_rows<Form, kDifferences>(P, queries, count, t, K, to, stride);
            continue;
        }
        for (int64_t k = 0; k < count; ++k) {
            alignas(64) float row[kTile];
            tile_rows<Form, kDifferences>(P, queries + k, 1, t, K, row, kTile);
            __builtin_memcpy(to + k * stride, row, static_cast<size_t>(here) * sizeof(float));
        }
    }
}

// float64 products of queries with a run of points, scattered feature by feature; sums: (the run),
// of the caller.
inline void scatter(const Points& P, const Query& q, int64_t begin, int64_t end, double* sums) {
    for (int64_t k = 0; k < end - begin; ++k) sums[k] = 0.0;
    for (int64_t e = 0; e < q.count; ++e) {
        const int64_t j = q.columns[e];
        const int32_t *from = P.point.get() + P.start[j], *to = P.point.get() + P.start[j + 1];
        if (begin > 0) from = std::lower_bound(from, to, static_cast<int32_t>(begin));
        if (end < P.n) to = std::lower_bound(from, to, static_cast<int32_t>(end));
        const float* value = P.value.get() + (from - P.point.get());
        const double x = q.values[e];
        double* const base = sums - begin;
        for (; from < to; ++from, ++value) base[*from] += x * *value;
    }
}

template <class Form>
void evaluate_columns(const Points& P, const Query* queries, int64_t count, int64_t first,
                      int64_t last, float* out, int64_t stride, double* sums) {
    const Parameters<Lane> K(P.kernel);
    const int64_t begin = first * kTile, end = last * kTile < P.n ? last * kTile : P.n;
    for (int64_t k = 0; k < count; ++k, out += stride) {
        scatter(P, queries[k], begin, end, sums);
        if constexpr (Form::kOfDistance) {
            const double own = queries[k].squared;
            for (int64_t p = begin; p < end; ++p) {
                const double distance = P.squared[p] + own - 2 * sums[p - begin];
                out[p - begin] = static_cast<float>(distance > 0 ? distance : 0.0);
            }
        } else {
            for (int64_t p = 0; p < end - begin; ++p) out[p] = static_cast<float>(sums[p]);
        }
        for (int64_t at = 0; at < end - begin; at += kWidth) {
            const int64_t left = end - begin - at;
            if (left >= kWidth) {
                store(out + at, Form::value(K, load(out + at)));
                continue;
            }
            float tail[kWidth] = {};
            for (int64_t r = 0; r < left; ++r) tail[r] = out[at + r];
            store(tail, Form::value(K, load(tail)));
            for (int64_t r = 0; r < left; ++r) out[at + r] = tail[r];
        }
    }
}

inline void evaluate(const Points& P, const Query* queries, int64_t count, int64_t first,
                     int64_t last, float* out, int64_t stride, double* sums) {
    with_form(P.kernel, [&](auto form) {
        using Form = decltype(form);
        if (P.layout == Layout::kColumns)
            return evaluate_columns<Form>(P, queries, count, first, last, out, stride, sums);
        if constexpr (Form::kOfDistance)
            if (P.layout == Layout::kDifferences)
                return evaluate_tiles<Form, true>(P, queries, count, first, last, out, stride);
        evaluate_tiles<Form, false>(P, queries, count, first, last, out, stride);
    });
}

inline void weigh(const float* values, int64_t stride, const double* coef, int64_t queries,
                  int64_t count, double* sums) {
    for (int64_t q = 0; q < queries; ++q, values += stride)
        for (int64_t k = 0; k < count; ++k) sums[k] += coef[q] * static_cast<double>(values[k]);
}

inline void exp_all(const float* x, int64_t n, float* out) {
    for (int64_t at = 0; at < n; at += kWidth) {
        float part[kWidth] = {};
        const int64_t left = n - at < kWidth ? n - at : kWidth;
        for (int64_t r = 0; r < left; ++r) part[r] = x[at + r];
        store(part, exp_of(load(part)));
        for (int64_t r = 0; r < left; ++r) out[at + r] = part[r];
    }
}

#include "kernels/kernel_double_lanes.h"

const KernelCode code = {evaluate,      weigh,      exp_all,          evaluate_double,
                         finish_values, weigh_tile, weigh_tile_narrow};

}  // namespace SVMCUT_LANES
}  // namespace svmcut
