// SPDX-License-Identifier: BSD-3-Clause
//
// The two inner loops of chains, over tags in vectors: emission scores and the maximum over the
// previous tag. All is inlined into functions that chain.h compiles once for each instruction set.
// Sums and maxima have one order, and there is no fused multiply-add: the bytes are the same on
// every processor.
//
// S, the stride of a row of tags, is 4, 8 or a multiple of 16; entries K to S - 1 are padding. B is
// the bytes of a vector of the instruction set: wider ones would be compared number by number.
#ifndef SVMCUT_CHAIN_KERNELS_H
#define SVMCUT_CHAIN_KERNELS_H

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#define SVMCUT_INLINE inline __attribute__((always_inline))
#define SVMCUT_LAMBDA __attribute__((always_inline))

namespace svmcut {

template <int N>
using Count = std::integral_constant<int, N>;

// N numbers side by side, of 16, 32 or 64 bytes.
template <class Real, int N>
struct Lanes {
    typedef Real Vector __attribute__((vector_size(N * sizeof(Real))));
    Vector v;
    SVMCUT_INLINE void load(const Real* p) { std::memcpy(&v, p, sizeof v); }
    SVMCUT_INLINE void store(Real* p) const { std::memcpy(p, &v, sizeof v); }
    SVMCUT_INLINE void fill(Real a) { v = Vector{} + a; }
    SVMCUT_INLINE void add(Real a, const Lanes& b) { v = a + b.v; }
    SVMCUT_INLINE void add(const Lanes& b) { v += b.v; }
    SVMCUT_INLINE void add_product(Real a, const Lanes& b) { v += a * b.v; }
    SVMCUT_INLINE void raise(const Lanes& b) { v = b.v > v ? b.v : v; }
};

// out[c] += sum_j x[j] W[f[j]][c] over `count` entries, for M vectors of N columns; rows of W are
// `row` numbers apart. Features of `d` and above weigh nothing.
template <class Real, int N, int M>
SVMCUT_INLINE void emit_columns(const float* x, const int32_t* f, int64_t count, int64_t d,
                                const Real* W, int64_t row, Real* out) {
    Lanes<Real, N> sum[M], w;
    for (int k = 0; k < M; ++k) sum[k].load(out + k * N);
    for (int64_t j = 0; j < count && f[j] < d; ++j) {
        const Real value = x[j];
        const Real* weights = W + f[j] * row;
        for (int k = 0; k < M; ++k) {
            w.load(weights + k * N);
            sum[k].add_product(value, w);
        }
    }
    for (int k = 0; k < M; ++k) sum[k].store(out + k * N);
}

// out[c] = max over p < K of from[p * apart] + T[p * row + c] (+ U[p * S + c] where Second), for M
// vectors.
template <class Real, int N, int M, bool Second>
SVMCUT_INLINE void advance_columns(const Real* from, int64_t apart, int64_t K, const Real* T,
                                   int64_t row, const Real* U, int64_t S, Real* out) {
    Lanes<Real, N> best[M], sum, extra;
    for (int k = 0; k < M; ++k) best[k].fill(-std::numeric_limits<Real>::infinity());
    for (int64_t p = 0; p < K; ++p) {
        const Real before = from[p * apart];
        for (int k = 0; k < M; ++k) {
            sum.load(T + p * row + k * N);
            if (Second) {
                extra.load(U + p * S + k * N);
                sum.add(extra);
            }
            sum.add(before, sum);
            best[k].raise(sum);
        }
    }
    for (int k = 0; k < M; ++k) best[k].store(out + k * N);
}

// The first of the largest a[p] + b[p] over S numbers, a multiple of 16 or 4 or 8; sums: room for
// S.
template <int B, class Real>
SVMCUT_INLINE int32_t first_largest(const Real* a, const Real* b, int64_t S, Real* sums) {
    constexpr int N = B / sizeof(Real) < 8 ? B / sizeof(Real) : 8;
    Real best = -std::numeric_limits<Real>::infinity();
    if (S % N == 0) {
        Lanes<Real, N> most, x, y;
        most.fill(best);
        for (int64_t p = 0; p < S; p += N) {
            x.load(a + p);
            y.load(b + p);
            x.add(y);
            x.store(sums + p);
            most.raise(x);
        }
        Real lanes[N];
        most.store(lanes);
        for (int k = 0; k < N; ++k) best = lanes[k] > best ? lanes[k] : best;
    } else {
        for (int64_t p = 0; p < S; ++p) {
            sums[p] = a[p] + b[p];
            best = sums[p] > best ? sums[p] : best;
        }
    }
    for (int64_t p = 0; p < S; ++p)
        if (sums[p] == best) return static_cast<int32_t>(p);
    return 0;
}

// work(a number of columns in a vector, vectors, first column) over the whole rows of S columns, in
// groups of up to four vectors; both numbers are constants.
template <class Real, int B, class Work>
SVMCUT_INLINE void in_groups(int64_t S, Work&& work) {
    constexpr int N = B / sizeof(Real);
    if (N > 4 && S == 4) return work(Count<4>{}, Count<1>{}, 0);
    if (N > 8 && S == 8) return work(Count<8>{}, Count<1>{}, 0);
    int64_t c = 0;
    for (; c + 4 * N <= S; c += 4 * N) work(Count<N>{}, Count<4>{}, c);
    const int64_t left = (S - c) / N;
    if (left == 3) work(Count<N>{}, Count<3>{}, c);
    if (left == 2) work(Count<N>{}, Count<2>{}, c);
    if (left == 1) work(Count<N>{}, Count<1>{}, c);
}

template <class Real, int B>
SVMCUT_INLINE void emit(const float* x, const int32_t* f, int64_t count, int64_t d, const Real* W,
                        int64_t row, int64_t S, Real* out) {
    in_groups<Real, B>(S, [&](auto n, auto m, int64_t c) SVMCUT_LAMBDA {
        emit_columns<Real, n, m>(x, f, count, d, W + c, row, out + c);
    });
}

template <class Real, int B, bool Second>
SVMCUT_INLINE void advance(const Real* from, int64_t apart, int64_t K, const Real* T, int64_t row,
                           const Real* U, int64_t S, Real* out) {
    in_groups<Real, B>(S, [&](auto n, auto m, int64_t c) SVMCUT_LAMBDA {
        advance_columns<Real, n, m, Second>(from, apart, K, T + c, row, U + c, S, out + c);
    });
}

// As advance_columns over `count` previous tags alone.
template <class Real, int N, int M>
SVMCUT_INLINE void advance_few_columns(const Real* from, const int32_t* tags, int64_t count,
                                       const Real* T, int64_t row, Real* out) {
    Lanes<Real, N> best[M], sum;
    for (int k = 0; k < M; ++k) best[k].fill(-std::numeric_limits<Real>::infinity());
    for (int64_t j = 0; j < count; ++j) {
        const Real before = from[tags[j]];
        const Real* entries = T + tags[j] * row;
        for (int k = 0; k < M; ++k) {
            sum.load(entries + k * N);
            sum.add(before, sum);
            best[k].raise(sum);
        }
    }
    for (int k = 0; k < M; ++k) best[k].store(out + k * N);
}

template <class Real, int B>
SVMCUT_INLINE void advance_few(const Real* from, const int32_t* tags, int64_t count, const Real* T,
                               int64_t S, Real* out) {
    in_groups<Real, B>(S, [&](auto n, auto m, int64_t c) SVMCUT_LAMBDA {
        advance_few_columns<Real, n, m>(from, tags, count, T + c, S, out + c);
    });
}

// out[c] += row[c]
template <class Real>
SVMCUT_INLINE void add_row(const Real* row, int64_t S, Real* out) {
    for (int64_t c = 0; c < S; ++c) out[c] += row[c];
}

}  // namespace svmcut
#endif
