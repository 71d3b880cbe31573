// SPDX-License-Identifier: BSD-3-Clause
//
// The smoothed hinge loss and the parts of its Newton step. Sums run over pieces whose bounds
// depend on the shape of the data alone and are added in the order of the pieces: the same bytes
// for any number of threads.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/parallel.h"
#include "core/wide.h"
#include "include/linear.h"
#include "linear/full_rows.h"
#include "linear/sparse_row.h"

namespace {

using svmcut::add_outer_full;
using svmcut::dot;
using svmcut::dots;
using svmcut::kGroup;
using svmcut::kTogether;
using svmcut::row_add;
using svmcut::row_dot;

constexpr int64_t kPiece = 1 << 14;
constexpr int64_t kChunk = 256;  // terms that wait in the first cache for their sum
constexpr int64_t kRowsPerPiece = 1 << 11;
constexpr int64_t kMostPieces = 16;
constexpr int64_t kPollEvery = 64;      // rows between two looks at the cancel flag
constexpr int64_t kGramRoom = 1 << 22;  // doubles of private sums
constexpr double kSmallPivot = 1e-13;   // of the diagonal; below it the pivot is rounding

inline double sum_of(const double* x, int64_t n) {
    double s[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; ++k) s[k] += x[i + k];
    for (; i < n; ++i) s[0] += x[i];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

// sum v x, or sum x where v is null; room for n numbers.
inline double weighted_sum(const double* x, const double* v, double* room, int64_t n) {
    if (!v) return sum_of(x, n);
    for (int64_t k = 0; k < n; ++k) room[k] = v[k] * x[k];
    return sum_of(room, n);
}

struct Losses {
    double smooth = 0, hinge = 0, share = 0, excess = 0, band = 0;
};

struct Slope {
    double slope = 0, curvature = 0;
};

// The loops are short and many because compilers make vectors of those.
SVMCUT_WIDE Losses losses_of(int64_t n, const double* y, const double* s, const double* weights,
                             double delta, double* coef) {
    const double rate = 1 / delta, half = 0.5 * delta;
    double z[kChunk], u[kChunk], positive[kChunk], term[kChunk], room[kChunk];
    Losses sums;
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t m = n - i < kChunk ? n - i : kChunk;
        const double* const weight = weights ? weights + i : nullptr;
        for (int64_t k = 0; k < m; ++k) z[k] = 1.0 - y[i + k] * s[i + k];
        for (int64_t k = 0; k < m; ++k) {
            double v = z[k] * rate + 0.5;
            v = v < 0.0 ? 0.0 : v;
            u[k] = v > 1.0 ? 1.0 : v;
        }
        for (int64_t k = 0; k < m; ++k) coef[i + k] = -(y[i + k] * u[k]);
        for (int64_t k = 0; weight && k < m; ++k) coef[i + k] *= weight[k];
        for (int64_t k = 0; k < m; ++k) positive[k] = z[k] > 0.0 ? z[k] : 0.0;
        sums.hinge += weighted_sum(positive, weight, room, m);
        sums.share += weighted_sum(u, weight, room, m);
        for (int64_t k = 0; k < m; ++k) positive[k] -= u[k] * z[k];
        sums.excess += weighted_sum(positive, weight, room, m);
        for (int64_t k = 0; k < m; ++k) {
            const double beyond = z[k] - half;
            term[k] = half * u[k] * u[k] + (beyond > 0.0 ? beyond : 0.0);
        }
        sums.smooth += weighted_sum(term, weight, room, m);
        for (int64_t k = 0; k < m; ++k) {
            const double inside = u[k] > 0.0 ? 1.0 : 0.0;
            term[k] = u[k] < 1.0 ? inside : 0.0;
        }
        for (int64_t k = 0; weight && k < m; ++k) term[k] = weight[k] > 0.0 ? term[k] : 0.0;
        sums.band += sum_of(term, m);
    }
    return sums;
}

SVMCUT_WIDE Slope slope_of(int64_t n, const double* y, const double* s, const double* e,
                           const double* weights, double t, double delta) {
    const double rate = 1 / delta;
    double u[kChunk], r[kChunk], room[kChunk];
    Slope sums;
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t m = n - i < kChunk ? n - i : kChunk;
        for (int64_t k = 0; k < m; ++k) {
            double v = (1.0 - y[i + k] * (s[i + k] + t * e[i + k])) * rate + 0.5;
            v = v < 0.0 ? 0.0 : v;
            u[k] = v > 1.0 ? 1.0 : v;
        }
        for (int64_t k = 0; k < m; ++k) r[k] = u[k] * (y[i + k] * e[i + k]);
        sums.slope -= weighted_sum(r, weights ? weights + i : nullptr, room, m);
        for (int64_t k = 0; k < m; ++k) {
            const double square = u[k] > 0.0 ? e[i + k] * e[i + k] : 0.0;
            r[k] = u[k] < 1.0 ? square : 0.0;
        }
        sums.curvature += weighted_sum(r, weights ? weights + i : nullptr, room, m);
    }
    return sums;
}

int64_t threads_for(int64_t n, int threads) { return n < 8 * kPiece ? 1 : threads; }

int64_t pieces_of(int64_t count) {
    return std::max<int64_t>(1, std::min(kMostPieces, count / kRowsPerPiece));
}

// A row's values and columns with the constant feature behind them, in float64.
struct Row {
    std::vector<double> x;
    std::vector<int32_t> j;
    int64_t count = 0;
    double weight = 1;

    explicit Row(int64_t dim) : x(dim), j(dim) {}
    void load(const svmcut_csr* X, int64_t i, double bias) {
        const int64_t start = X->indptr[i];
        count = X->indptr[i + 1] - start;
        for (int64_t k = 0; k < count; ++k) x[k] = X->data[start + k];
        std::copy(X->indices + start, X->indices + start + count, j.begin());
        if (bias != 0) {
            x[count] = bias;
            j[count++] = static_cast<int32_t>(X->n_features);
        }
    }
};

void add_outer(const Row& row, int64_t dim, double* __restrict H) {
    const double* __restrict x = row.x.data();
    const int32_t* __restrict j = row.j.data();
    for (int64_t a = 0; a < row.count; ++a) {
        double* __restrict line = H + j[a] * dim;
        const double value = row.weight * x[a];
        int64_t b = 0;
        // columns of a row differ, so the four updates are independent
        for (; b + 4 <= a + 1; b += 4) {
            const double p = line[j[b]] + value * x[b], q = line[j[b + 1]] + value * x[b + 1];
            const double r = line[j[b + 2]] + value * x[b + 2],
                         t = line[j[b + 3]] + value * x[b + 3];
            line[j[b]] = p;
            line[j[b + 1]] = q;
            line[j[b + 2]] = r;
            line[j[b + 3]] = t;
        }
        for (; b <= a; ++b) line[j[b]] += value * x[b];
    }
}

void gram_of(const svmcut_csr* X, const int32_t* rows, int64_t begin, int64_t end, const double* v,
             double bias, int64_t dim, Row* buffer, double* H, const volatile int* cancel) {
    int waiting = 0;
    for (int64_t k = begin; k < end; ++k) {
        if (cancel && k % kPollEvery == 0 && *cancel) return;
        Row& row = buffer[waiting];
        row.load(X, rows[k], bias);
        if (v) row.weight = v[rows[k]];
        if (row.count < dim) {
            add_outer(row, dim, H);
        } else if (++waiting == kGroup) {
            const double* x[kGroup];
            double weight[kGroup];
            for (int g = 0; g < kGroup; ++g) {
                x[g] = buffer[g].x.data();
                weight[g] = buffer[g].weight;
            }
            add_outer_full(x, weight, dim, H);
            waiting = 0;
        }
    }
    while (waiting > 0) add_outer(buffer[--waiting], dim, H);
}

void product_of(const svmcut_csr* X, const int32_t* rows, int64_t begin, int64_t end,
                const double* v, double bias, const double* p, double* out) {
    const int64_t d = X->n_features;
    for (int64_t k = begin; k < end; ++k) {
        const int64_t start = X->indptr[rows[k]], count = X->indptr[rows[k] + 1] - start;
        const float* x = X->data + start;
        const int32_t* j = X->indices + start;
        const double sum = row_dot(x, j, count, p, bias != 0 ? bias * p[d] : 0.0),
                     f = v ? v[rows[k]] * sum : sum;
        row_add(x, j, count, f, out);
        if (bias != 0) out[d] += f * bias;
    }
}

void diagonal_of(const svmcut_csr* X, const int32_t* rows, int64_t begin, int64_t end,
                 const double* v, double bias, double* out) {
    for (int64_t k = begin; k < end; ++k) {
        const int64_t start = X->indptr[rows[k]], stop = X->indptr[rows[k] + 1];
        const double weight = v ? v[rows[k]] : 1.0;
        for (int64_t e = start; e < stop; ++e) {
            const double x = X->data[e];
            out[X->indices[e]] += weight * x * x;
        }
        if (bias != 0) out[X->n_features] += weight * bias * bias;
    }
}

// Runs add(begin, end, out) over pieces of [0, count) with private outputs of `size` doubles,
// summed in order.
template <class Add>
int reduce(int64_t count, int64_t pieces, int64_t size, double* out, int threads, Add&& add) {
    if (pieces <= 1) {
        add(0, count, out);
        return SVMCUT_OK;
    }
    std::vector<double> sums;
    try {
        sums.assign(pieces * size, 0.0);
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    svmcut::for_pieces(pieces, threads, [&](int64_t p) {
        add(count * p / pieces, count * (p + 1) / pieces, sums.data() + p * size);
    });
    for (int64_t p = 0; p < pieces; ++p)
        for (int64_t j = 0; j < size; ++j) out[j] += sums[p * size + j];
    return SVMCUT_OK;
}

// Pieces of so many rows whose private sums cost no more than their entries.
int64_t sparse_pieces(const svmcut_csr* X, int64_t count, int64_t dim) {
    const int64_t entries =
        X->n_rows > 0 ? (X->indptr[X->n_rows] - X->indptr[0]) / X->n_rows * count : 0;
    return std::min(pieces_of(count), entries / (8 * dim + 1));
}

// Cholesky's factors of a symmetric positive definite matrix, some rows at once, and H^-1 g. False
// where a pivot is not finite.
SVMCUT_WIDE bool solve(int64_t dim, double* H, double* g) {
    int64_t known = 0, last = 0;  // columns that rows before `last` have already
    for (int64_t i = 0; i < dim; ++i) {
        double* row = H + i * dim;
        if (i == last && i + kTogether <= dim) {
            for (int64_t j = 0; j < i; ++j) {
                double sums[kTogether];
                dots(row, dim, H + j * dim, j, sums);
                for (int64_t k = 0; k < kTogether; ++k) {
                    double* const x = row + k * dim + j;
                    *x = (*x - sums[k]) / H[j * dim + j];
                }
            }
            known = i;
            last = i + kTogether;
        }
        for (int64_t j = i < last ? known : 0; j < i; ++j)
            row[j] = (row[j] - dot(row, H + j * dim, j)) / H[j * dim + j];
        const double diagonal = row[i];
        double pivot = diagonal - dot(row, row, i);
        // I + scale H is positive definite; a pivot lost to rounding is replaced, which shortens
        // the step there
        if (pivot < kSmallPivot * diagonal) pivot = diagonal;
        if (!(pivot > 0) || !std::isfinite(pivot)) return false;
        row[i] = std::sqrt(pivot);
        g[i] = (g[i] - dot(row, g, i)) / row[i];
    }
    for (int64_t i = dim - 1; i >= 0; --i) {
        const double* row = H + i * dim;
        g[i] /= row[i];
        for (int64_t j = 0; j < i; ++j) g[j] -= g[i] * row[j];
    }
    return true;
}

}  // namespace

extern "C" {

int svmcut_smooth_hinge(int64_t n, const double* y, const double* s, const double* v, double delta,
                        double* coef, double* sums, int64_t* band, int threads) {
    const int64_t pieces = (n + kPiece - 1) / kPiece;
    std::vector<Losses> parts(pieces);
    svmcut::for_pieces(pieces, threads_for(n, threads), [&](int64_t p) {
        const int64_t begin = p * kPiece;
        parts[p] = losses_of(std::min(n - begin, kPiece), y + begin, s + begin,
                             v ? v + begin : nullptr, delta, coef + begin);
    });
    std::fill(sums, sums + 4, 0.0);
    *band = 0;
    for (const Losses& part : parts) {
        sums[0] += part.smooth;
        sums[1] += part.hinge;
        sums[2] += part.share;
        sums[3] += part.excess;
        *band += static_cast<int64_t>(part.band);
    }
    return SVMCUT_OK;
}

int svmcut_smooth_slope(int64_t n, const double* y, const double* s, const double* e,
                        const double* v, double t, double delta, double* slope, double* curvature,
                        int threads) {
    const int64_t pieces = (n + kPiece - 1) / kPiece;
    std::vector<Slope> parts(pieces);
    svmcut::for_pieces(pieces, threads_for(n, threads), [&](int64_t p) {
        const int64_t begin = p * kPiece;
        parts[p] = slope_of(std::min(n - begin, kPiece), y + begin, s + begin, e + begin,
                            v ? v + begin : nullptr, t, delta);
    });
    *slope = *curvature = 0;
    for (const Slope& part : parts) {
        *slope += part.slope;
        *curvature += part.curvature;
    }
    *curvature /= delta;
    return SVMCUT_OK;
}

int64_t svmcut_band_rows(int64_t n, const double* coef, const double* v, int32_t* rows) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
        rows[count] = static_cast<int32_t>(i);
        const double u = std::fabs(coef[i]);
        count += (u > 0.0) & (u < (v ? v[i] : 1.0));  // no branch: the band is anywhere
    }
    return count;
}

int svmcut_band_gram(const svmcut_csr* X, const int32_t* rows, int64_t count, const double* v,
                     double bias, int64_t dim, double* H, int threads, const volatile int* cancel) {
    std::atomic<bool> failed{false};
    const int64_t pieces = std::min(pieces_of(count), kGramRoom / (dim * dim));
    const int status =
        reduce(count, pieces, dim * dim, H, threads, [&](int64_t begin, int64_t end, double* out) {
            try {
                std::vector<Row> buffer(kGroup, Row(dim));
                gram_of(X, rows, begin, end, v, bias, dim, buffer.data(), out, cancel);
            } catch (...) {
                failed = true;
            }
        });
    if (failed) return SVMCUT_NO_MEMORY;
    return cancel && *cancel ? SVMCUT_CANCELLED : status;
}

int svmcut_band_product(const svmcut_csr* X, const int32_t* rows, int64_t count, const double* v,
                        double bias, const double* p, double* out, int threads) {
    const int64_t dim = X->n_features + (bias != 0);
    const int64_t pieces = sparse_pieces(X, count, dim);
    return reduce(count, pieces, dim, out, threads, [&](int64_t begin, int64_t end, double* sums) {
        product_of(X, rows, begin, end, v, bias, p, sums);
    });
}

int svmcut_band_diagonal(const svmcut_csr* X, const int32_t* rows, int64_t count, const double* v,
                         double bias, double* out, int threads) {
    const int64_t dim = X->n_features + (bias != 0);
    const int64_t pieces = sparse_pieces(X, count, dim);
    return reduce(count, pieces, dim, out, threads, [&](int64_t begin, int64_t end, double* sums) {
        diagonal_of(X, rows, begin, end, v, bias, sums);
    });
}

int svmcut_solve_shifted(int64_t dim, double* H, double scale, double* g) {
    for (int64_t i = 0; i < dim; ++i) {
        double* row = H + i * dim;
        for (int64_t j = 0; j <= i; ++j) row[j] *= scale;
        row[i] += 1.0;
    }
    return solve(dim, H, g) ? SVMCUT_OK : SVMCUT_BAD_INPUT;
}

}  // extern "C"
