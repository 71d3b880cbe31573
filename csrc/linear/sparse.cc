// SPDX-License-Identifier: BSD-3-Clause
//
// Products with sparse rows and the vector operations between them. Sums run over pieces whose
// bounds depend on the shape of the data alone and are added in the order of the pieces: the same
// bytes for any number of threads.

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/parallel.h"
#include "core/prefetch.h"
#include "core/wide.h"
#include "include/linear.h"
#include "linear/sparse_row.h"

namespace {

using svmcut::row_add;
using svmcut::row_dot;

constexpr int64_t kEntriesPerPiece = 1 << 16;
constexpr int64_t kVectorPiece = 1 << 14;
constexpr int64_t kSumPiece = 1 << 12;                  // sums of a piece stay in the first cache
constexpr int64_t kRowsAhead = 8, kEntriesAhead = 128;  // of rows whose entries are asked for early
// entries; below, starting a thread costs more than it saves
constexpr int64_t kWorthThreads = 1 << 18;

int64_t entries(const svmcut_csr* X) { return X->indptr[X->n_rows] - X->indptr[0]; }

// Row bounds of `pieces` pieces with about equally many entries.
std::vector<int64_t> balanced_rows(const svmcut_csr* X, int64_t pieces) {
    std::vector<int64_t> bound(pieces + 1);
    const int64_t first = X->indptr[0], total = entries(X);
    for (int64_t k = 0; k <= pieces; ++k) {
        const int64_t target =
            first + static_cast<int64_t>(static_cast<double>(total) * k / pieces);
        bound[k] = std::lower_bound(X->indptr, X->indptr + X->n_rows, target) - X->indptr;
    }
    bound[0] = 0;
    bound[pieces] = X->n_rows;
    return bound;
}

// Rows begin to end, of each the entries from first to last, where these are given. Rows are
// skipped, so the processor does not see which come next.
void add_rows(const svmcut_csr* X, const double* coef, int64_t begin, int64_t end, double* out,
              const int32_t* first = nullptr, const int32_t* last = nullptr) {
    const auto start = [&](int64_t i) { return X->indptr[i] + (first ? first[i] : 0); };
    const auto stop = [&](int64_t i) { return last ? X->indptr[i] + last[i] : X->indptr[i + 1]; };
    for (int64_t i = begin; i < end; ++i) {
        const int64_t ahead = i + kRowsAhead;
        if (ahead < end && coef[ahead] != 0.0) {
            const int64_t known = std::min(stop(ahead), start(ahead) + kEntriesAhead);
            for (int64_t e = start(ahead); e < known; e += 16) {
                svmcut::prefetch(X->data + e);
                svmcut::prefetch(X->indices + e);
            }
        }
        if (coef[i] != 0.0)
            row_add(X->data + start(i), X->indices + start(i), stop(i) - start(i), coef[i], out);
    }
}

// Many rows, few columns: private sums per piece of rows, added in order.
int adjoint_by_rows(const svmcut_csr* X, const double* coef, double* out, int64_t pieces,
                    int threads) {
    const int64_t d = X->n_features;
    std::vector<double> sums;
    try {
        sums.assign(pieces * d, 0.0);
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    const auto bound = balanced_rows(X, pieces);
    svmcut::for_pieces(pieces, threads, [&](int64_t p) {
        add_rows(X, coef, bound[p], bound[p + 1], sums.data() + p * d);
    });
    for (int64_t p = 0; p < pieces; ++p)
        for (int64_t j = 0; j < d; ++j) out[j] += sums[p * d + j];
    return SVMCUT_OK;
}

// Many columns: every thread owns a range of columns and meets the rows in order, so each column's
// sum is the one a single thread forms.
void adjoint_by_columns(const svmcut_csr* X, const double* coef, double* out, const int32_t* bounds,
                        int ranges) {
    svmcut::for_pieces(ranges, ranges, [&](int64_t r) {
        add_rows(X, coef, 0, X->n_rows, out, r ? bounds + (r - 1) * X->n_rows : nullptr,
                 r + 1 < ranges ? bounds + r * X->n_rows : nullptr);
    });
}

// Pieces of rows for `adjoint_by_rows`; 0 where there are too many columns for a sum a piece.
int64_t adjoint_pieces(const svmcut_csr* X) {
    const int64_t pieces = std::min<int64_t>(16, entries(X) / kEntriesPerPiece);
    return pieces > 1 && pieces * X->n_features <= entries(X) / 16 ? pieces : 0;
}

// How many numbers all of them hold.
int64_t numbers(int64_t count, const svmcut_vector* vectors) {
    int64_t sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += vectors[k].count;
    return sum;
}

inline double dot_piece(const double* a, const double* b, int64_t begin, int64_t end) {
    double s[8] = {0};
    int64_t i = begin;
    for (; i + 8 <= end; i += 8)
        for (int k = 0; k < 8; ++k) s[k] += a[i + k] * b[i + k];
    for (; i < end; ++i) s[0] += a[i] * b[i];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

double vector_dot_piece(const svmcut_vector& v, const double* a, int64_t begin, int64_t end) {
    if (!v.indices) return dot_piece(v.values, a, begin, end);
    double s[8] = {0};  // each product in the sum where dot_piece has it
    const int32_t* last = v.indices + v.count;
    const int64_t tail = end - (end - begin) % 8;
    for (const int32_t* i = std::lower_bound(v.indices, last, begin); i != last && *i < end; ++i)
        s[*i < tail ? (*i - begin) % 8 : 0] += v.values[i - v.indices] * a[*i];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

// Numbers begin to end of the sum of the vectors, to out[0] and on; as many as kSumPiece are
// quickest.
void combine_piece(int64_t count, const double* weights, const svmcut_vector* vectors,
                   int64_t begin, int64_t end, double* out) {
    std::fill(out, out + (end - begin), 0.0);
    for (int64_t k = 0; k < count; ++k) {
        const double weight = weights[k];
        const double* v = vectors[k].values;
        if (weight == 0.0) continue;
        if (const int32_t* first = vectors[k].indices) {
            const int32_t* last = first + vectors[k].count;
            for (const int32_t* i = std::lower_bound(first, last, begin); i != last && *i < end;
                 ++i)
                out[*i - begin] += weight * v[i - first];
        } else {
            for (int64_t i = begin; i < end; ++i) out[i - begin] += weight * v[i];
        }
    }
}

SVMCUT_WIDE void add_floats(int64_t n, double c, const float* __restrict x, double* __restrict y) {
    for (int64_t k = 0; k < n; ++k) y[k] += c * static_cast<double>(x[k]);
}

template <class Term>
double piecewise_sum(int64_t n, int threads, Term&& term) {
    const int64_t pieces = (n + kVectorPiece - 1) / kVectorPiece;
    if (pieces <= 1) return term(0, n);
    std::vector<double> part(pieces);
    svmcut::for_pieces(pieces, n < 16 * kVectorPiece ? 1 : threads, [&](int64_t p) {
        part[p] = term(p * kVectorPiece, std::min(n, (p + 1) * kVectorPiece));
    });
    double sum = 0;
    for (double value : part) sum += value;
    return sum;
}

}  // namespace

extern "C" {

int svmcut_scores(const svmcut_csr* X, const double* w, double constant, double* s, int threads) {
    const int64_t pieces = std::max<int64_t>(1, std::min(X->n_rows, entries(X) / kEntriesPerPiece));
    const auto bound = balanced_rows(X, pieces);
    if (entries(X) < kWorthThreads) threads = 1;
    svmcut::for_pieces(pieces, threads, [&](int64_t p) {
        for (int64_t i = bound[p]; i < bound[p + 1]; ++i) {
            const int64_t start = X->indptr[i];
            s[i] = row_dot(X->data + start, X->indices + start, X->indptr[i + 1] - start, w) +
                   constant;
        }
    });
    return SVMCUT_OK;
}

int svmcut_predict(const svmcut_csr* X, const double* w, int64_t d, double constant, double* s,
                   int threads) {
    const int64_t pieces = std::max<int64_t>(1, std::min(X->n_rows, entries(X) / kEntriesPerPiece));
    const auto bound = balanced_rows(X, pieces);
    svmcut::for_pieces(pieces, threads, [&](int64_t p) {
        for (int64_t i = bound[p]; i < bound[p + 1]; ++i) {
            double sum = 0;
            for (int64_t k = X->indptr[i]; k < X->indptr[i + 1]; ++k)
                if (X->indices[k] < d) sum += w[X->indices[k]] * X->data[k];
            s[i] = sum + constant;
        }
    });
    return SVMCUT_OK;
}

int svmcut_adjoint_ranges(const svmcut_csr* X, int threads) {
    if (entries(X) < kWorthThreads || adjoint_pieces(X) > 0) return 1;
    return static_cast<int>(std::min<int64_t>(threads, 1 + entries(X) / (4 * X->n_rows)));
}

void svmcut_adjoint_bounds(const svmcut_csr* X, const int64_t* columns, int ranges,
                           int32_t* bounds) {
    const int64_t pieces = std::min(X->n_rows, entries(X) / kEntriesPerPiece + 1);
    const auto bound = balanced_rows(X, pieces);
    svmcut::for_pieces(pieces, ranges, [&](int64_t p) {
        for (int64_t i = bound[p]; i < bound[p + 1]; ++i) {
            const int32_t *begin = X->indices + X->indptr[i], *end = X->indices + X->indptr[i + 1],
                          *at = begin;
            for (int64_t r = 1; r < ranges; ++r) {
                at = std::lower_bound(at, end, static_cast<int32_t>(columns[r]));
                bounds[(r - 1) * X->n_rows + i] = static_cast<int32_t>(at - begin);
            }
        }
    });
}

int svmcut_adjoint(const svmcut_csr* X, const double* coef, double* out, const int32_t* bounds,
                   int ranges, int threads) {
    if (const int64_t pieces = adjoint_pieces(X))
        return adjoint_by_rows(X, coef, out, pieces, entries(X) < kWorthThreads ? 1 : threads);
    if (ranges > 1) adjoint_by_columns(X, coef, out, bounds, ranges);
    else add_rows(X, coef, 0, X->n_rows, out);
    return SVMCUT_OK;
}

double svmcut_dot(int64_t n, const double* a, const double* b, int threads) {
    return piecewise_sum(n, threads,
                         [&](int64_t begin, int64_t end) { return dot_piece(a, b, begin, end); });
}

int svmcut_dots(int64_t n, int64_t count, const svmcut_vector* vectors, const double* a,
                double* out, int threads) {
    const int64_t pieces = std::max<int64_t>(1, (n + kVectorPiece - 1) / kVectorPiece);
    std::vector<double> part;
    try {
        part.resize(pieces * count);
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    if (numbers(count, vectors) < kWorthThreads) threads = 1;
    svmcut::for_pieces(pieces * count, threads, [&](int64_t k) {
        const int64_t begin = k % pieces * kVectorPiece;
        part[k] =
            vector_dot_piece(vectors[k / pieces], a, begin, std::min(n, begin + kVectorPiece));
    });
    for (int64_t k = 0; k < count; ++k) {
        out[k] = 0;
        for (int64_t p = 0; p < pieces; ++p) out[k] += part[k * pieces + p];
    }
    return SVMCUT_OK;
}

void svmcut_combine(int64_t n, int64_t count, const double* weights, const svmcut_vector* vectors,
                    double* out, int threads) {
    const int64_t pieces = (n + kSumPiece - 1) / kSumPiece;
    svmcut::for_pieces(
        pieces, numbers(count, vectors) < kWorthThreads ? 1 : threads, [&](int64_t p) {
            const int64_t begin = p * kSumPiece, end = std::min(n, begin + kSumPiece);
            combine_piece(count, weights, vectors, begin, end, out + begin);
        });
}

void svmcut_combine_floats(int64_t n, int64_t count, const double* weights,
                           const float* const* vectors, double* out, int threads) {
    const int64_t pieces = (n + kSumPiece - 1) / kSumPiece;
    svmcut::for_pieces(pieces, n * count < kWorthThreads ? 1 : threads, [&](int64_t p) {
        const int64_t begin = p * kSumPiece, size = std::min(n - begin, kSumPiece);
        std::fill_n(out + begin, size, 0.0);
        for (int64_t k = 0; k < count; ++k)
            add_floats(size, weights[k], vectors[k] + begin, out + begin);
    });
}

double svmcut_combined_square(int64_t n, int64_t count, const double* weights,
                              const svmcut_vector* vectors, int threads) {
    if (n < 16 * kVectorPiece) {  // too few pieces to be shared evenly
        std::vector<double> sum(n);
        svmcut_combine(n, count, weights, vectors, sum.data(), threads);
        return svmcut_dot(n, sum.data(), sum.data(), threads);
    }
    return piecewise_sum(n, threads, [&](int64_t begin, int64_t end) {
        alignas(64) static thread_local double sum[kVectorPiece];
        for (int64_t at = begin; at < end; at += kSumPiece)
            combine_piece(count, weights, vectors, at, std::min(end, at + kSumPiece),
                          sum + (at - begin));
        return dot_piece(sum, sum, 0, end - begin);
    });
}

int64_t svmcut_count_nonzeros(int64_t n, const double* a) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) count += a[i] != 0;
    return count;
}

void svmcut_take_nonzeros(int64_t n, const double* a, double* values, int32_t* indices) {
    for (int64_t begin = 0; begin < n; begin += 16) {
        const int64_t end = std::min(n, begin + 16);
        bool any = false;
        for (int64_t i = begin; i < end; ++i) any |= a[i] != 0;
        for (int64_t i = begin; any && i < end; ++i)
            if (a[i] != 0) {
                *values++ = a[i];
                *indices++ = static_cast<int32_t>(i);
            }
    }
}

int svmcut_gram(const svmcut_csr* X, double constant, double* out) {
    const int64_t n = X->n_rows;
    std::vector<double> row;
    try {
        row.assign(X->n_features, 0.0);
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    for (int64_t i = 0; i < n; ++i) {
        const int64_t start = X->indptr[i], stop = X->indptr[i + 1];
        for (int64_t k = start; k < stop; ++k) row[X->indices[k]] = X->data[k];
        for (int64_t j = 0; j <= i; ++j) {
            const int64_t at = X->indptr[j];
            out[i * n + j] =
                row_dot(X->data + at, X->indices + at, X->indptr[j + 1] - at, row.data()) +
                constant;
            out[j * n + i] = out[i * n + j];
        }
        for (int64_t k = start; k < stop; ++k) row[X->indices[k]] = 0;
    }
    return SVMCUT_OK;
}

void svmcut_blend(int64_t n, double p, const double* x, double q, const double* y, double* out,
                  int threads) {
    const int64_t pieces = (n + kVectorPiece - 1) / kVectorPiece;
    svmcut::for_pieces(pieces, n < 16 * kVectorPiece ? 1 : threads, [&](int64_t k) {
        const int64_t begin = k * kVectorPiece, end = std::min(n, begin + kVectorPiece);
        for (int64_t i = begin; i < end; ++i) out[i] = p * x[i] + q * y[i];
    });
}

void svmcut_row_norms(const svmcut_csr* X, double* squared, int threads) {
    const int64_t pieces = (X->n_rows + kVectorPiece - 1) / kVectorPiece;
    svmcut::for_pieces(pieces, entries(X) < kWorthThreads ? 1 : threads, [&](int64_t p) {
        for (int64_t i = p * kVectorPiece; i < std::min(X->n_rows, (p + 1) * kVectorPiece); ++i) {
            double s[4] = {0};
            int64_t k = X->indptr[i];
            for (; k + 4 <= X->indptr[i + 1]; k += 4)
                for (int m = 0; m < 4; ++m)
                    s[m] += static_cast<double>(X->data[k + m]) * X->data[k + m];
            for (; k < X->indptr[i + 1]; ++k) s[0] += static_cast<double>(X->data[k]) * X->data[k];
            squared[i] = (s[0] + s[1]) + (s[2] + s[3]);
        }
    });
}

void svmcut_take_rows(const svmcut_csr* X, const int64_t* rows, int64_t count,
                      const int64_t* indptr, float* data, int32_t* indices) {
    for (int64_t k = 0; k < count; ++k) {
        const int64_t from = X->indptr[rows[k]], length = indptr[k + 1] - indptr[k];
        std::copy(X->data + from, X->data + from + length, data + indptr[k]);
        std::copy(X->indices + from, X->indices + from + length, indices + indptr[k]);
    }
}

}  // extern "C"
