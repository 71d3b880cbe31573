// SPDX-License-Identifier: BSD-3-Clause
//
// The smoothed hinge loss and the parts of its Newton step. Sums run over pieces whose bounds depend on the shape of the
// data alone and are added in the order of the pieces: the same bytes for any number of threads.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "parallel.h"
#include "svmcut.h"

namespace {

constexpr int64_t kPiece = 1 << 14;
constexpr int64_t kRowsPerPiece = 1 << 11;
constexpr int64_t kMostPieces = 16;
constexpr double kSmallPivot = 1e-13;  // of the diagonal; below it the pivot is rounding

inline double share(double z, double rate) { return std::min(std::max(z * rate + 0.5, 0.0), 1.0); }

int64_t threads_for(int64_t n, int threads) { return n < 8 * kPiece ? 1 : threads; }

int64_t pieces_of(int64_t count) {
    return std::max<int64_t>(1, std::min(kMostPieces, count / kRowsPerPiece));
}

// A row's values and columns with the constant feature behind them, in float64.
struct Row {
    std::vector<double> x;
    std::vector<int32_t> j;
    int64_t count = 0;

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

void add_outer(const Row& row, int64_t dim, double* H) {
    const double* x = row.x.data();
    const int32_t* j = row.j.data();
    for (int64_t a = 0; a < row.count; ++a) {
        double* line = H + j[a] * dim;
        const double value = x[a];
        for (int64_t b = 0; b <= a; ++b) line[j[b]] += value * x[b];
    }
}

// Four rows without zeros at once: a quarter of the traffic with H.
void add_outer_full(const Row* rows, int64_t dim, double* H) {
    const double *p = rows[0].x.data(), *q = rows[1].x.data(), *r = rows[2].x.data(), *s = rows[3].x.data();
    for (int64_t a = 0; a < dim; ++a) {
        double* line = H + a * dim;
        const double pa = p[a], qa = q[a], ra = r[a], sa = s[a];
        for (int64_t b = 0; b <= a; ++b) line[b] += (pa * p[b] + qa * q[b]) + (ra * r[b] + sa * s[b]);
    }
}

void gram_of(const svmcut_csr* X, const int32_t* rows, int64_t begin, int64_t end, double bias, int64_t dim,
             Row* buffer, double* H) {
    int waiting = 0;
    for (int64_t k = begin; k < end; ++k) {
        Row& row = buffer[waiting];
        row.load(X, rows[k], bias);
        if (row.count < dim) {
            add_outer(row, dim, H);
        } else if (++waiting == 4) {
            add_outer_full(buffer, dim, H);
            waiting = 0;
        }
    }
    while (waiting > 0) add_outer(buffer[--waiting], dim, H);
}

void product_of(const svmcut_csr* X, const int32_t* rows, int64_t begin, int64_t end, double bias, const double* p,
                double* out) {
    const int64_t d = X->n_features;
    for (int64_t k = begin; k < end; ++k) {
        const int64_t start = X->indptr[rows[k]], count = X->indptr[rows[k] + 1] - start;
        const float* x = X->data + start;
        const int32_t* j = X->indices + start;
        double a = bias != 0 ? bias * p[d] : 0.0, b = 0, c = 0, e = 0;
        int64_t m = 0;
        for (; m + 4 <= count; m += 4) {
            a += x[m] * p[j[m]];
            b += x[m + 1] * p[j[m + 1]];
            c += x[m + 2] * p[j[m + 2]];
            e += x[m + 3] * p[j[m + 3]];
        }
        for (; m < count; ++m) a += x[m] * p[j[m]];
        const double f = (a + b) + (c + e);
        for (m = 0; m < count; ++m) out[j[m]] += f * x[m];
        if (bias != 0) out[d] += f * bias;
    }
}

// Runs add(begin, end, out) over pieces of [0, count) with private outputs of `size` doubles, summed in order.
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

inline double dot(const double* a, const double* b, int64_t n) {
    double s[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; ++k) s[k] += a[i + k] * b[i + k];
    for (; i < n; ++i) s[0] += a[i] * b[i];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

}  // namespace

extern "C" {

int svmcut_smooth_hinge(int64_t n, const double* y, const double* s, double delta, double* coef, double* sums,
                        int64_t* band, int threads) {
    struct Part {
        double smooth = 0, hinge = 0, share = 0, excess = 0;
        int64_t band = 0;
    };
    const int64_t pieces = (n + kPiece - 1) / kPiece;
    const double rate = 1 / delta, half = 0.5 * delta;
    std::vector<Part> parts(pieces);
    svmcut::for_pieces(pieces, threads_for(n, threads), [&](int64_t p) {
        Part part;
        for (int64_t i = p * kPiece; i < std::min(n, (p + 1) * kPiece); ++i) {
            const double z = 1.0 - y[i] * s[i], u = share(z, rate), positive = std::max(z, 0.0);
            coef[i] = -y[i] * u;
            part.smooth += half * u * u + std::max(z - half, 0.0);
            part.hinge += positive;
            part.share += u;
            part.excess += positive - u * z;
            part.band += u > 0.0 && u < 1.0;
        }
        parts[p] = part;
    });
    std::fill(sums, sums + 4, 0.0);
    *band = 0;
    for (const Part& part : parts) {
        sums[0] += part.smooth;
        sums[1] += part.hinge;
        sums[2] += part.share;
        sums[3] += part.excess;
        *band += part.band;
    }
    return SVMCUT_OK;
}

int svmcut_smooth_slope(int64_t n, const double* y, const double* s, const double* e, double t, double delta,
                        double* slope, double* curvature, int threads) {
    const int64_t pieces = (n + kPiece - 1) / kPiece;
    const double rate = 1 / delta;
    std::vector<double> slopes(pieces), curvatures(pieces);
    svmcut::for_pieces(pieces, threads_for(n, threads), [&](int64_t p) {
        double sum = 0, squares = 0;
        for (int64_t i = p * kPiece; i < std::min(n, (p + 1) * kPiece); ++i) {
            const double z = 1.0 - y[i] * (s[i] + t * e[i]), u = share(z, rate);
            sum -= u * y[i] * e[i];
            squares += u > 0.0 && u < 1.0 ? e[i] * e[i] : 0.0;
        }
        slopes[p] = sum;
        curvatures[p] = squares;
    });
    *slope = *curvature = 0;
    for (double value : slopes) *slope += value;
    for (double value : curvatures) *curvature += value;
    *curvature *= rate;
    return SVMCUT_OK;
}

int64_t svmcut_band_rows(int64_t n, const double* coef, int32_t* rows) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
        rows[count] = static_cast<int32_t>(i);
        count += coef[i] != 0.0 && std::fabs(coef[i]) < 1.0;
    }
    return count;
}

int svmcut_band_gram(const svmcut_csr* X, const int32_t* rows, int64_t count, double bias, int64_t dim, double* H,
                     int threads) {
    std::atomic<bool> failed{false};
    const int status = reduce(count, pieces_of(count), dim * dim, H, threads, [&](int64_t begin, int64_t end, double* out) {
        try {
            Row buffer[4] = {Row(dim), Row(dim), Row(dim), Row(dim)};
            gram_of(X, rows, begin, end, bias, dim, buffer, out);
        } catch (...) {
            failed = true;
        }
    });
    return failed ? SVMCUT_NO_MEMORY : status;
}

int svmcut_band_product(const svmcut_csr* X, const int32_t* rows, int64_t count, double bias, const double* p,
                        double* out, int threads) {
    const int64_t dim = X->n_features + (bias != 0);
    const int64_t entries = X->n_rows > 0 ? (X->indptr[X->n_rows] - X->indptr[0]) / X->n_rows * count : 0;
    const int64_t pieces = std::min(pieces_of(count), entries / (8 * dim + 1));
    return reduce(count, pieces, dim, out, threads, [&](int64_t begin, int64_t end, double* sums) {
        product_of(X, rows, begin, end, bias, p, sums);
    });
}

int svmcut_solve_shifted(int64_t dim, double* H, double scale, double* g) {
    for (int64_t i = 0; i < dim; ++i) {
        double* row = H + i * dim;
        for (int64_t j = 0; j <= i; ++j) row[j] *= scale;
        row[i] += 1.0;
    }
    for (int64_t i = 0; i < dim; ++i) {
        double* row = H + i * dim;
        for (int64_t j = 0; j < i; ++j) row[j] = (row[j] - dot(row, H + j * dim, j)) / H[j * dim + j];
        const double diagonal = row[i];
        double pivot = diagonal - dot(row, row, i);
        // (I + scale H) is positive definite; a pivot lost to rounding is replaced, which shortens the step there
        if (pivot < kSmallPivot * diagonal) pivot = diagonal;
        if (!(pivot > 0) || !std::isfinite(pivot)) return SVMCUT_BAD_INPUT;
        row[i] = std::sqrt(pivot);
        g[i] = (g[i] - dot(row, g, i)) / row[i];
    }
    for (int64_t i = dim - 1; i >= 0; --i) {
        const double* row = H + i * dim;
        g[i] /= row[i];
        for (int64_t j = 0; j < i; ++j) g[j] -= g[i] * row[j];
    }
    return SVMCUT_OK;
}

}  // extern "C"
