// SPDX-License-Identifier: BSD-3-Clause
//
// Kernel rows in float64 from the same points; a part of kernel_lanes.h, included within its
// namespace.
// From float64 products, or squared distances where the points are laid out for these, to kernel
// values, in place.
template <class Form>
inline void finish_double(const Points& P, const Query& q, const double* squared, double* values,
                          int64_t count) {
    const Parameters<Doubles> K(P.kernel);
    if (Form::kNumber == Linear::kNumber) return;
    for (int64_t at = 0; at < count; at += kDoubles) {
        const int64_t here = count - at < kDoubles ? count - at : kDoubles;
        Doubles sum = some(values + at, here);
        if constexpr (Form::kOfDistance) {
            const Doubles distance =
                P.layout == Layout::kDifferences
                    ? sum + every(q.outside)
                    : (some(squared + at, here) + every(q.squared)) - (sum + sum);
            sum = distance > Doubles{} ? distance : Doubles{};
        }
        sum = Form::value(K, sum);
        __builtin_memcpy(values + at, &sum, static_cast<size_t>(here) * sizeof(double));
    }
}

// x.z of one query with the points of a tile, or |x - z|^2 over the features of the points.
inline void double_sums(const Points& P, const Query& q, int64_t t, double* row) {
    Longs lane;
    for (int r = 0; r < kDoubles; ++r) lane[r] = int64_t{1} << r;
    for (int64_t at = 0; at < kTile; at += kDoubleSpan * kDoubles) {
        Doubles sum[kDoubleSpan] = {};
        const float* tile = P.tile.get() + t * P.d * kTile + at;
        if (P.layout == Layout::kBits) {
            const uint64_t* bits = P.bits.get() + t * P.d;
            for (int64_t e = 0; e < q.count; ++e) {
                uint64_t word = bits[q.columns[e]] >> at;
                const Doubles value = every(q.values[e]);
#pragma GCC unroll 8
                for (int r = 0; r < kDoubleSpan; ++r, word >>= kDoubles) {
                    const Longs set = ((static_cast<int64_t>(word) - Longs{}) & lane) != 0;
                    sum[r] = set ? sum[r] + value : sum[r];
                }
            }
        } else if (P.layout == Layout::kDifferences) {
            for (int64_t j = 0; j < P.d; ++j) {
                const Doubles value = every(q.dense[j]);
#pragma GCC unroll 8
                for (int r = 0; r < kDoubleSpan; ++r) {
                    const Doubles difference =
                        value - widened<Doubles>(tile + j * kTile + r * kDoubles);
                    sum[r] = difference * difference + sum[r];
                }
            }
        } else {
            for (int64_t e = 0; e < q.count; ++e) {
                const float* x = tile + q.columns[e] * kTile;
                const Doubles value = every(q.values[e]);
#pragma GCC unroll 8
                for (int r = 0; r < kDoubleSpan; ++r)
                    sum[r] = value * widened<Doubles>(x + r * kDoubles) + sum[r];
            }
        }
        __builtin_memcpy(row + at, sum, sizeof sum);
    }
}

template <class Form>
void evaluate_form_double(const Points& P, const Query* queries, int64_t count, int64_t first,
                          int64_t last, double* out, int64_t stride) {
    const int64_t end = last * kTile < P.n ? last * kTile : P.n;
    if (P.layout == Layout::kColumns) {
        const int64_t begin = first * kTile;
        for (int64_t k = 0; k < count; ++k, out += stride) {
            scatter(P, queries[k], begin, end, out);
            finish_double<Form>(P, queries[k], P.squared.get() + begin, out, end - begin);
        }
        return;
    }
    for (int64_t t = first; t < last; ++t) {
        const int64_t begin = t * kTile, here = end - begin < kTile ? end - begin : kTile;
        for (int64_t k = 0; k < count; ++k) {
            alignas(64) double row[kTile];
            double_sums(P, queries[k], t, row);
            finish_double<Form>(P, queries[k], P.squared.get() + begin, row, here);
            __builtin_memcpy(out + k * stride + (t - first) * kTile, row,
                             static_cast<size_t>(here) * sizeof(double));
        }
    }
}

inline void evaluate_double(const Points& P, const Query* queries, int64_t count, int64_t first,
                            int64_t last, double* out, int64_t stride) {
    with_form(P.kernel, [&](auto form) {
        evaluate_form_double<decltype(form)>(P, queries, count, first, last, out, stride);
    });
}
