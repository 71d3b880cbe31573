// SPDX-License-Identifier: BSD-3-Clause
//
// Kernel rows in float64 from the same points; a part of kernel_lanes.h, included within its
// namespace.
typedef double Doubles __attribute__((vector_size(SVMCUT_LANE_BYTES)));
typedef int64_t Longs __attribute__((vector_size(SVMCUT_LANE_BYTES)));
typedef float Narrow __attribute__((vector_size(SVMCUT_LANE_BYTES / 2)));
constexpr int kDoubles = SVMCUT_LANE_BYTES / 8, kDoubleSpan = SVMCUT_LANE_BYTES == 64 ? 8 : 4;

inline Doubles every(double x) { return x - Doubles{}; }
inline Doubles widened(const float* p) {
    Narrow x;
    __builtin_memcpy(&x, p, sizeof x);
    return __builtin_convertvector(x, Doubles);
}

// exp for x <= 0, relative error below 1e-15 for x >= -708, 0 below: Taylor's polynomial on |r| <=
// ln 2 / 2.
inline Doubles exp_of(Doubles x) {
    const Doubles lowest = every(-708.0), magic = every(6755399441055744.0);
    const Doubles y = x < lowest ? lowest : x;
    const Doubles shifted = y * every(1.4426950408889634) + magic, n = shifted - magic;
    const Doubles r =
        (y - n * every(6.93147180369123816490e-01)) - n * every(1.90821492927058770002e-10);
    Doubles p = every(1.0 / 6227020800.0);
    for (const double term :
         {1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0,
          1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0})
        p = p * r + every(term);
    Longs bits;
    __builtin_memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 52) + 0x3ff0000000000000;
    Doubles power;
    __builtin_memcpy(&power, &bits, sizeof power);
    return x < lowest ? Doubles{} : p * power;
}

// From float64 products (or squared distances, where `differences`) to kernel values, in place.
inline void finish_double(const Points& P, const Query& q, bool differences, const double* squared,
                          double* values, int64_t count) {
    const svmcut_kernel& K = P.kernel;
    if (K.type == SVMCUT_KERNEL_POLYNOMIAL)
        for (int64_t k = 0; k < count; ++k)
            values[k] = std::pow(K.scale * values[k] + K.offset, K.degree);
    if (K.type == SVMCUT_KERNEL_SIGMOID)
        for (int64_t k = 0; k < count; ++k) values[k] = std::tanh(K.scale * values[k] + K.offset);
    if (K.type != SVMCUT_KERNEL_RBF) return;
    for (int64_t at = 0; at < count; at += kDoubles) {
        double part[2 * kDoubles] = {};
        const auto here = static_cast<size_t>(count - at < kDoubles ? count - at : kDoubles);
        __builtin_memcpy(part, values + at, here * sizeof(double));
        __builtin_memcpy(part + kDoubles, squared + at, here * sizeof(double));
        Doubles sum, norm;
        __builtin_memcpy(&sum, part, sizeof sum);
        __builtin_memcpy(&norm, part + kDoubles, sizeof norm);
        const Doubles distance =
            differences ? sum + every(q.outside) : (norm + every(q.squared)) - (sum + sum);
        sum = exp_of(every(-K.gamma) * (distance > Doubles{} ? distance : Doubles{}));
        __builtin_memcpy(values + at, &sum, here * sizeof(double));
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
                    const Doubles difference = value - widened(tile + j * kTile + r * kDoubles);
                    sum[r] = difference * difference + sum[r];
                }
            }
        } else {
            for (int64_t e = 0; e < q.count; ++e) {
                const float* x = tile + q.columns[e] * kTile;
                const Doubles value = every(q.values[e]);
#pragma GCC unroll 8
                for (int r = 0; r < kDoubleSpan; ++r)
                    sum[r] = value * widened(x + r * kDoubles) + sum[r];
            }
        }
        __builtin_memcpy(row + at, sum, sizeof sum);
    }
}

inline void evaluate_double(const Points& P, const Query* queries, int64_t count, int64_t first,
                            int64_t last, double* out, int64_t stride) {
    const int64_t end = last * kTile < P.n ? last * kTile : P.n;
    if (P.layout == Layout::kColumns) {
        const int64_t begin = first * kTile;
        for (int64_t k = 0; k < count; ++k, out += stride) {
            scatter(P, queries[k], begin, end, out);
            finish_double(P, queries[k], false, P.squared.get() + begin, out, end - begin);
        }
        return;
    }
    for (int64_t t = first; t < last; ++t) {
        const int64_t begin = t * kTile, here = end - begin < kTile ? end - begin : kTile;
        for (int64_t k = 0; k < count; ++k) {
            alignas(64) double row[kTile];
            double_sums(P, queries[k], t, row);
            finish_double(P, queries[k], P.layout == Layout::kDifferences, P.squared.get() + begin,
                          row, here);
            __builtin_memcpy(out + k * stride + (t - first) * kTile, row,
                             static_cast<size_t>(here) * sizeof(double));
        }
    }
}
