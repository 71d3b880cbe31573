// SPDX-License-Identifier: BSD-3-Clause
//
// Products of rows without zeros, in float64; several rows read another one, or a matrix, at once.
// Sums have one order for every width of vectors.
#ifndef SVMCUT_FULL_ROWS_H
#define SVMCUT_FULL_ROWS_H

#include <cstdint>

#include "core/wide.h"

namespace svmcut {

constexpr int kGroup = 8;         // rows whose outer products are added together
constexpr int64_t kTogether = 4;  // rows that read another one at once

// A group of rows without zeros at once: less traffic with H.
SVMCUT_WIDE static void add_outer_full(const double* const* x, const double* weight, int64_t dim,
                                       double* H) {
    const double *p = x[0], *q = x[1], *r = x[2], *s = x[3], *t = x[4], *u = x[5], *v = x[6],
                 *w = x[7];
    for (int64_t a = 0; a < dim; ++a) {
        double* __restrict line = H + a * dim;
        const double pa = weight[0] * p[a], qa = weight[1] * q[a], ra = weight[2] * r[a],
                     sa = weight[3] * s[a];
        const double ta = weight[4] * t[a], ua = weight[5] * u[a], va = weight[6] * v[a],
                     wa = weight[7] * w[a];
        for (int64_t b = 0; b <= a; ++b)
            line[b] += ((pa * p[b] + qa * q[b]) + (ra * r[b] + sa * s[b])) +
                       ((ta * t[b] + ua * u[b]) + (va * v[b] + wa * w[b]));
    }
}

inline double dot(const double* a, const double* b, int64_t n) {
    double s[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; ++k) s[k] += a[i + k] * b[i + k];
    for (; i < n; ++i) s[0] += a[i] * b[i];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

// The same with kTogether rows of a matrix of so many columns, each sum in the order of `dot`; b is read once for all.
inline void dots(const double* rows, int64_t dim, const double* b, int64_t n, double* out) {
    typedef double Half __attribute__((vector_size(32), aligned(8), may_alias));
    const auto half = [](const double* x) { return *reinterpret_cast<const Half*>(x); };
    const double *p = rows, *q = rows + dim, *r = rows + 2 * dim, *t = rows + 3 * dim;
    Half p0 = {}, p1 = {}, q0 = {}, q1 = {}, r0 = {}, r1 = {}, t0 = {}, t1 = {};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const Half x = half(b + i), y = half(b + i + 4);
        p0 += half(p + i) * x, p1 += half(p + i + 4) * y;
        q0 += half(q + i) * x, q1 += half(q + i + 4) * y;
        r0 += half(r + i) * x, r1 += half(r + i + 4) * y;
        t0 += half(t + i) * x, t1 += half(t + i + 4) * y;
    }
    for (; i < n; ++i) {
        p0[0] += p[i] * b[i];
        q0[0] += q[i] * b[i];
        r0[0] += r[i] * b[i];
        t0[0] += t[i] * b[i];
    }
    const auto sum = [](const Half& s, const Half& u) {
        return ((s[0] + s[1]) + (s[2] + s[3])) + ((u[0] + u[1]) + (u[2] + u[3]));
    };
    out[0] = sum(p0, p1);
    out[1] = sum(q0, q1);
    out[2] = sum(r0, r1);
    out[3] = sum(t0, t1);
}

}  // namespace svmcut
#endif
