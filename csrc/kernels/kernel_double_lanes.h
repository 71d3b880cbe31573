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
    const bool differences = P.layout == Layout::kDifferences;
    over_doubles(count, [&](int64_t at, auto here) {
        Doubles sum = some(values + at, here);
        if constexpr (Form::kOfDistance) {
            const Doubles distance =
                differences ? sum + every(q.outside)
                            : (some(squared + at, here) + every(q.squared)) - (sum + sum);
            sum = distance > Doubles{} ? distance : Doubles{};
        }
        put(Form::value(K, sum), values + at, here);
    });
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

inline void finish_values(const svmcut_kernel& kernel, double* values, int64_t count) {
    with_form(kernel, [&](auto form) {
        using Form = decltype(form);
        const Parameters<Doubles> K(kernel);
        if (Form::kNumber == Linear::kNumber) return;
        over_doubles(count, [&](int64_t at, auto here) {
            put(Form::value(K, some(values + at, here)), values + at, here);
        });
    });
}

inline void weigh_tile(const double* values, const int32_t* slot, const double* coef,
                       int64_t entries, double* sums) {
    constexpr int kRegisters = 8;
    for (int64_t at = 0; at < kTile; at += kRegisters * kDoubles) {
        Doubles sum[kRegisters];
        __builtin_memcpy(sum, sums + at, sizeof sum);
        for (int64_t e = 0; e < entries; ++e) {
            const double* row = values + slot[e] * kTile + at;
            const Doubles weight = every(coef[e]);
#pragma GCC unroll 8
            for (int r = 0; r < kRegisters; ++r) {
                Doubles value;
                __builtin_memcpy(&value, row + r * kDoubles, sizeof value);
                sum[r] = weight * value + sum[r];
            }
        }
        __builtin_memcpy(sums + at, sum, sizeof sum);
    }
}

inline void weigh_tile_narrow(const float* values, const int32_t* slot, const float* coef,
                              int64_t entries, double* sums, double* sizes) {
    constexpr int kRegisters = 4;
    for (int64_t at = 0; at < kTile; at += kRegisters * kWidth) {
        Lane sum[kRegisters] = {}, size[kRegisters] = {};
        for (int64_t e = 0; e < entries; ++e) {
            const float* row = values + slot[e] * kTile + at;
            const Lane weight = all(coef[e]), part = all(coef[e] < 0 ? -coef[e] : coef[e]);
#pragma GCC unroll 4
            for (int r = 0; r < kRegisters; ++r) {
                const Lane value = load(row + r * kWidth);
                sum[r] = weight * value + sum[r];
                size[r] = part * value + size[r];
            }
        }
        for (int64_t k = 0; k < kRegisters * kWidth; k += kDoubles)
            for (int half = 0; half < 2; ++half) {
                const float* from = reinterpret_cast<const float*>(half ? size : sum) + k;
                double* to = (half ? sizes : sums) + at + k;
                Doubles old;
                __builtin_memcpy(&old, to, sizeof old);
                old += widened<Doubles>(from);
                __builtin_memcpy(to, &old, sizeof old);
            }
    }
}
