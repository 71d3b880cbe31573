// SPDX-License-Identifier: BSD-3-Clause
//
// Vectors of float64 and the functions that kernels need of them; a part of kernel_lanes.h, included
// within its namespace.
typedef double Doubles __attribute__((vector_size(SVMCUT_LANE_BYTES)));
typedef int64_t Longs __attribute__((vector_size(SVMCUT_LANE_BYTES)));
constexpr int kDoubles = SVMCUT_LANE_BYTES / 8, kDoubleSpan = SVMCUT_LANE_BYTES == 64 ? 8 : 4;

inline Doubles every(double x) { return x - Doubles{}; }

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

// So many numbers from p on, behind them zeros; a constant count is one instruction.
template <class Count>
inline Doubles some(const double* p, Count count) {
    Doubles x = {};
    __builtin_memcpy(&x, p, static_cast<size_t>(count) * sizeof(double));
    return x;
}
template <class Count>
inline void put(Doubles x, double* p, Count count) {
    __builtin_memcpy(p, &x, static_cast<size_t>(count) * sizeof(double));
}

// Calls work(first number, how many) for every vector of so many numbers.
template <class Work>
inline void over_doubles(int64_t count, Work&& work) {
    int64_t at = 0;
    for (; at + kDoubles <= count; at += kDoubles)
        work(at, std::integral_constant<int64_t, kDoubles>{});
    if (at < count) work(at, count - at);
}

inline Doubles power_of(Doubles x, int32_t degree) {
    for (int r = 0; r < kDoubles; ++r) x[r] = std::pow(x[r], degree);
    return x;
}

inline Doubles tanh_of(Doubles x) {
    for (int r = 0; r < kDoubles; ++r) x[r] = std::tanh(x[r]);
    return x;
}

template <class V>
inline V of(double x);
template <>
inline Lane of<Lane>(double x) {
    return all(static_cast<float>(x));
}
template <>
inline Doubles of<Doubles>(double x) {
    return every(x);
}
