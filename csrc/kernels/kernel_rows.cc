// SPDX-License-Identifier: BSD-3-Clause
//
// Kernel rows in float32 between queries and points laid out once; see kernel_points.h for the
// layouts. Which one serves is decided from the counts of the features and, where kernels
// are of distances, from the error float32 products would make.
#include "include/kernels.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>

#include "core/parallel.h"
#include "kernels/kernel_points.h"
#include "kernels/kernel_value.h"

#define SVMCUT_FAMILY kernel_loops
#define SVMCUT_LOOPS "kernels/kernel_lanes.h"
#include "core/instructions.h"

namespace svmcut {

const KernelCode& kernel_code(int instructions) { return kernel_loops::code_for(instructions); }

namespace {

constexpr int64_t kTilesPerPiece = 16, kColumnTilesPerPiece = 256, kQueriesAtOnce = 48;
// Below so many evaluations a thread costs more than it saves.
constexpr int64_t kWorthThreads = 1 << 18;
// float32 products are used while gamma |x - z|^2 stays this exact.
constexpr double kExponentError = 4e-6;

double squared_norm(const svmcut_csr& X, int64_t row) {
    double sum = 0;
    for (int64_t e = X.indptr[row]; e < X.indptr[row + 1]; ++e)
        sum += static_cast<double>(X.data[e]) * X.data[e];
    return sum;
}

// Lists by feature touch `shared` pairs a row at about four cycles each, tiles n / 16 lines a
// feature at about two.
bool columns_pay(int64_t n, int64_t d, int64_t nnz, const int64_t* count) {
    double shared = 0;
    for (int64_t j = 0; j < d; ++j)
        shared += static_cast<double>(count[j]) * static_cast<double>(count[j]);
    const auto rows = static_cast<double>(n), entries = static_cast<double>(nnz);
    const double dense_bytes = 4 * rows * static_cast<double>(d);
    if (dense_bytes > 1e9 && dense_bytes > 32 * entries) return true;
    return shared * 4 < entries * rows / 16 * 2 && dense_bytes > 1e6;
}

}  // namespace

double diagonal_of(const svmcut_kernel& kernel, double squared) {
    double value = 0;
    one_number::with_form(kernel, [&](auto form) {
        const one_number::Parameters<double> K(kernel);
        value = form.value(K, form.kOfDistance ? 0.0 : squared);
    });
    return value;
}

Layout tile_layout(const svmcut_kernel& kernel, int64_t d, double largest) {
    if (!one_number::of_distance(kernel)) return Layout::kProducts;
    const double error = 4 * kernel.gamma * largest * 0x1p-24;
    return d <= 4 || !(error <= kExponentError) ? Layout::kDifferences : Layout::kProducts;
}

bool Points::build(const svmcut_csr& rows, const svmcut_kernel& K, const int64_t* order,
                   int64_t count, int wanted) {
    X = rows;
    kernel = K;
    n = order ? count : X.n_rows;
    d = X.n_features;
    tiles = (n + kTile - 1) / kTile;
    squared = lines<double>(n);
    start = lines<int64_t>(d + 1);
    if (!squared || !start) return false;
    double largest = 0;
    for (int64_t p = 0; p < n; ++p) {
        squared[p] = squared_norm(X, order ? order[p] : p);
        largest = std::max(largest, squared[p]);
    }
    std::fill_n(start.get(), d + 1, 0);
    int64_t nnz = 0;
    bool binary = true;
    for (int64_t p = 0; p < n; ++p) {
        const int64_t row = order ? order[p] : p;
        for (int64_t e = X.indptr[row]; e < X.indptr[row + 1]; ++e) {
            ++start[X.indices[e]];
            binary = binary && (X.data[e] == 1.0f || X.data[e] == 0.0f);
        }
        nnz += X.indptr[row + 1] - X.indptr[row];
    }
    if (wanted >= 0) {
        layout = static_cast<Layout>(wanted);
        if (layout == Layout::kBits ? !binary
                                    : layout == Layout::kDifferences && !one_number::of_distance(K))
            layout = Layout::kProducts;
    } else if (columns_pay(n, d, nnz, start.get())) {
        layout = Layout::kColumns;
    } else {
        layout = tile_layout(K, d, largest);
        if (layout == Layout::kProducts && binary && nnz * 2 < n * d) layout = Layout::kBits;
    }
    if (layout == Layout::kColumns) {
        point = lines<int32_t>(nnz);
        value = lines<float>(nnz);
        if (!point || !value) return false;
        for (int64_t j = 0, sum = 0; j <= d; ++j) {
            sum += start[j];
            start[j] = sum;
        }
        // Filled from the back, start[j] comes to rest at the first entry of feature j, points in
        // order.
        for (int64_t p = n - 1; p >= 0; --p) {
            const int64_t row = order ? order[p] : p;
            for (int64_t e = X.indptr[row]; e < X.indptr[row + 1]; ++e) {
                const int64_t at = --start[X.indices[e]];
                point[at] = static_cast<int32_t>(p);
                value[at] = X.data[e];
            }
        }
        return true;
    }
    start.reset();
    tile.reset();
    bits.reset();
    norm = lines<float>(tiles * kTile);
    if (!norm) return false;
    std::fill_n(norm.get(), tiles * kTile, 0.0f);
    for (int64_t p = 0; p < n; ++p) norm[p] = static_cast<float>(squared[p]);
    if (layout == Layout::kBits) {
        bits = lines<uint64_t>(tiles * d);
        if (!bits) return false;
        std::fill_n(bits.get(), tiles * d, 0);
        for (int64_t p = 0; p < n; ++p) {
            const int64_t row = order ? order[p] : p;
            uint64_t* word = bits.get() + p / kTile * d;
            for (int64_t e = X.indptr[row]; e < X.indptr[row + 1]; ++e)
                word[X.indices[e]] |= static_cast<uint64_t>(X.data[e] != 0.0f) << (p % kTile);
        }
        return true;
    }
    tile = lines<float>(tiles * kTile * d);
    if (!tile) return false;
    std::fill_n(tile.get(), tiles * kTile * d, 0.0f);
    for (int64_t p = 0; p < n; ++p) {
        const int64_t row = order ? order[p] : p;
        float* column = tile.get() + p / kTile * kTile * d + p % kTile;
        for (int64_t e = X.indptr[row]; e < X.indptr[row + 1]; ++e)
            column[X.indices[e] * kTile] = X.data[e];
    }
    return true;
}

double Points::value_error() const {
    constexpr double u = 0x1p-24;
    double largest = 0, terms = layout == Layout::kColumns ? 0.0 : static_cast<double>(d);
    for (int64_t p = 0; p < n; ++p) largest = std::max(largest, squared[p]);
    if (layout == Layout::kBits && d < (1 << 24)) terms = 0;  // sums of ones are exact
    double error = 0;
    one_number::with_form(kernel, [&](auto form) {
        if constexpr (!form.kOfDistance) error = form.error(kernel, largest, terms, u);
        else if (layout == Layout::kDifferences || layout == Layout::kColumns)
            error = (0.4 * (terms + 4) + 3) * u;
        else error = (kernel.gamma * largest * (2 * terms + 12) + 3) * u;
    });
    return error;
}

double Points::diagonal(int64_t p) const { return diagonal_of(kernel, squared[p]); }

bool Queries::build(const Points& P, const svmcut_csr& X, const int64_t* rows, int64_t count) {
    query.reset(new (std::nothrow) Query[static_cast<size_t>(std::max<int64_t>(count, 1))]);
    if (!query) return false;
    int64_t entries = 0, mixed = 0;
    const auto is_mixed = [&](const Query& q) {
        return std::any_of(q.columns, q.columns + q.count,
                           [&](int32_t column) { return column >= P.d; });
    };
    for (int64_t k = 0; k < count; ++k) {
        const int64_t row = rows ? rows[k] : k, begin = X.indptr[row];
        Query& q = query[k];
        q = {X.data + begin, X.indices + begin,    X.indptr[row + 1] - begin,
             nullptr,        squared_norm(X, row), 0.0};
        while (q.count && q.columns[q.count - 1] >= P.d) {
            --q.count;
            q.outside += static_cast<double>(q.values[q.count]) * q.values[q.count];
        }
        entries += q.count;
        if (is_mixed(q)) mixed += q.count;
    }
    if (mixed) {
        values.reset(new (std::nothrow) float[static_cast<size_t>(mixed)]);
        columns.reset(new (std::nothrow) int32_t[static_cast<size_t>(mixed)]);
        if (!values || !columns) return false;
        int64_t at = 0;
        for (int64_t k = 0; k < count; ++k) {
            Query& q = query[k];
            if (!is_mixed(q)) continue;
            const int64_t begin = at;
            for (int64_t e = 0; e < q.count; ++e) {
                if (q.columns[e] >= P.d) {
                    q.outside += static_cast<double>(q.values[e]) * q.values[e];
                } else {
                    values[at] = q.values[e];
                    columns[at++] = q.columns[e];
                }
            }
            q.values = values.get() + begin;
            q.columns = columns.get() + begin;
            q.count = at - begin;
        }
    }
    if (P.layout == Layout::kColumns || P.layout == Layout::kBits) return true;
    const double full =
        (count < 6 ? 0.8 : 0.5) * static_cast<double>(P.d) * static_cast<double>(count);
    if (P.layout == Layout::kProducts && static_cast<double>(entries) < full) return true;
    dense = lines<float>(count * P.d);
    if (!dense) return false;
    std::fill_n(dense.get(), count * P.d, 0.0f);
    for (int64_t k = 0; k < count; ++k) {
        float* row = dense.get() + k * P.d;
        for (int64_t e = 0; e < query[k].count; ++e) row[query[k].columns[e]] = query[k].values[e];
        query[k].dense = row;
    }
    return true;
}

// Calls work(first tile, last tile, room for sums) on fixed runs of tiles.
template <class Work>
static int over_tiles(const Points& P, int64_t queries, int threads, Work&& work) {
    const bool columns = P.layout == Layout::kColumns;
    const int64_t run = columns ? kColumnTilesPerPiece : kTilesPerPiece;
    if (queries * P.n < kWorthThreads) threads = 1;
    std::atomic<bool> starved{false};
    for_pieces((P.tiles + run - 1) / run, threads, [&](int64_t piece) {
        const int64_t first = piece * run, last = std::min(first + run, P.tiles);
        Lines<double> sums;
        if (columns && !(sums = lines<double>(run * kTile))) {
            starved = true;
            return;
        }
        work(first, last, sums.get());
    });
    return starved ? SVMCUT_NO_MEMORY : SVMCUT_OK;
}

// Lays queries out and calls work(them, first tile, last tile, room for sums) as over_tiles does.
template <class Work>
static int over_queries(const Points& P, const svmcut_csr& X, const int64_t* which, int64_t count,
                        int threads, Work&& work) {
    Queries block;
    if (count == 0 || P.n == 0) return SVMCUT_OK;
    if (!block.build(P, X, which, count)) return SVMCUT_NO_MEMORY;
    return over_tiles(P, count, threads, [&](int64_t first, int64_t last, double* sums) {
        work(block.query.get(), first, last, sums);
    });
}

int accumulate(const Points& P, const KernelCode& code, const svmcut_csr& X, const int64_t* which,
               int64_t count, const double* coef, double* out, int threads) {
    const bool columns = P.layout == Layout::kColumns;
    const int64_t run = columns ? kColumnTilesPerPiece : 1, together = columns ? 1 : kQueriesAtOnce;
    std::atomic<bool> starved{false};
    const auto work = [&](const Query* query, int64_t first, int64_t last, double* sums) {
        const auto values = lines<float>(run * kTile * together);
        if (!values) {
            starved = true;
            return;
        }
        for (int64_t t = first; t < last; t += run) {
            const int64_t stop = std::min(t + run, last),
                          points = std::min(stop * kTile, P.n) - t * kTile;
            for (int64_t k = 0; k < count; k += together) {
                const int64_t here = std::min(together, count - k);
                code.evaluate(P, query + k, here, t, stop, values.get(), run * kTile, sums);
                code.weigh(values.get(), run * kTile, coef + k, here, points, out + t * kTile);
            }
        }
    };
    const int status = over_queries(P, X, which, count, threads, work);
    return starved ? SVMCUT_NO_MEMORY : status;
}

int accumulate_double(const Points& P, const KernelCode& code, const svmcut_csr& X,
                      const int64_t* which, int64_t count, const double* coef, double* out,
                      int threads) {
    const auto work = [&](const Query* query, int64_t first, int64_t last, double*) {
        for (int64_t t = first; t < last; ++t) {
            const int64_t points = std::min(kTile, P.n - t * kTile);
            double* const sums = out + t * kTile;
            for (int64_t k = 0; k < count; ++k) {
                double values[kTile];
                code.evaluate_double(P, query + k, 1, t, t + 1, values, kTile);
                for (int64_t p = 0; p < points; ++p) sums[p] += coef[k] * values[p];
            }
        }
    };
    return over_queries(P, X, which, count, threads, work);
}

}  // namespace svmcut

using svmcut::kTile;

struct svmcut_kernel_rows {
    svmcut::Points points;
    const svmcut::KernelCode* code;
};

extern "C" svmcut_kernel_rows* svmcut_kernel_rows_new(const svmcut_csr* X,
                                                      const svmcut_kernel* kernel, int layout,
                                                      int instructions) {
    std::unique_ptr<svmcut_kernel_rows> rows(new (std::nothrow) svmcut_kernel_rows);
    if (!rows || !rows->points.build(*X, *kernel, nullptr, 0, layout)) return nullptr;
    rows->code = &svmcut::kernel_code(instructions);
    return rows.release();
}

extern "C" void svmcut_kernel_rows_delete(svmcut_kernel_rows* rows) { delete rows; }

extern "C" int svmcut_kernel_rows_layout(const svmcut_kernel_rows* rows) {
    return static_cast<int>(rows->points.layout);
}

extern "C" void svmcut_kernel_rows_diagonal(const svmcut_kernel_rows* rows, double* out) {
    for (int64_t p = 0; p < rows->points.n; ++p) out[p] = rows->points.diagonal(p);
}

extern "C" int svmcut_kernel_rows_evaluate(const svmcut_kernel_rows* rows,
                                           const svmcut_csr* queries, const int64_t* which,
                                           int64_t count, float* out, int threads) {
    const svmcut::Points& P = rows->points;
    return svmcut::over_queries(
        P, *queries, which, count, threads,
        [&](const svmcut::Query* query, int64_t first, int64_t last, double* sums) {
            rows->code->evaluate(P, query, count, first, last, out + first * kTile, P.n, sums);
        });
}

namespace {

constexpr int64_t kMirrored = 64;  // columns of a block that is mirrored at once

// Pieces are tiles of queries, each with the tiles from its own on; what is below the diagonal is
// copied then.
template <class T, class Evaluate>
int gram(const svmcut::Points& P, const svmcut_csr& X, T* out, int threads, Evaluate&& evaluate) {
    const int64_t n = P.n;
    std::atomic<bool> starved{false};
    svmcut::for_pieces(P.tiles, threads, [&](int64_t tile) {
        const int64_t first = tile * kTile, count = std::min(kTile, n - first);
        int64_t which[kTile];
        for (int64_t k = 0; k < count; ++k) which[k] = first + k;
        svmcut::Queries block;
        svmcut::Lines<double> sums;
        if (!block.build(P, X, which, count) ||
            (P.layout == svmcut::Layout::kColumns &&
             !(sums = svmcut::lines<double>((P.tiles - tile) * kTile)))) {
            starved = true;
            return;
        }
        evaluate(block.query.get(), count, tile, out + first * n + first, sums.get());
    });
    if (starved) return SVMCUT_NO_MEMORY;
    svmcut::for_pieces(P.tiles, threads, [&](int64_t tile) {
        const int64_t first = tile * kTile, last = std::min(n, first + kTile);
        for (int64_t start = 0; start < first; start += kMirrored)
            for (int64_t p = first; p < last; ++p)
                for (int64_t q = start; q < start + kMirrored; ++q) out[p * n + q] = out[q * n + p];
    });
    return SVMCUT_OK;
}

}  // namespace

extern "C" int svmcut_kernel_rows_gram(const svmcut_kernel_rows* rows, const svmcut_csr* X,
                                       float* out, int threads) {
    const svmcut::Points& P = rows->points;
    return gram(
        P, *X, out, threads,
        [&](const svmcut::Query* query, int64_t count, int64_t tile, float* at, double* sums) {
            rows->code->evaluate(P, query, count, tile, P.tiles, at, P.n, sums);
        });
}

extern "C" int svmcut_kernel_rows_gram_double(const svmcut_kernel_rows* rows, const svmcut_csr* X,
                                              double* out, int threads) {
    const svmcut::Points& P = rows->points;
    return gram(P, *X, out, threads,
                [&](const svmcut::Query* query, int64_t count, int64_t tile, double* at, double*) {
                    rows->code->evaluate_double(P, query, count, tile, P.tiles, at, P.n);
                });
}

extern "C" int svmcut_kernel_rows_accumulate(const svmcut_kernel_rows* rows,
                                             const svmcut_csr* queries, const int64_t* which,
                                             int64_t count, const double* coef, double* out,
                                             int threads) {
    return svmcut::accumulate(rows->points, *rows->code, *queries, which, count, coef, out,
                              threads);
}

extern "C" int svmcut_kernel_rows_evaluate_double(const svmcut_kernel_rows* rows,
                                                  const svmcut_csr* queries, const int64_t* which,
                                                  int64_t count, double* out, int threads) {
    const svmcut::Points& P = rows->points;
    return svmcut::over_queries(
        P, *queries, which, count, threads,
        [&](const svmcut::Query* query, int64_t first, int64_t last, double*) {
            rows->code->evaluate_double(P, query, count, first, last, out + first * kTile, P.n);
        });
}

extern "C" int svmcut_kernel_rows_accumulate_double(const svmcut_kernel_rows* rows,
                                                    const svmcut_csr* queries, const int64_t* which,
                                                    int64_t count, const double* coef, double* out,
                                                    int threads) {
    return svmcut::accumulate_double(rows->points, *rows->code, *queries, which, count, coef, out,
                                     threads);
}

extern "C" void svmcut_kernel_exp(const float* x, int64_t n, float* out, int instructions) {
    svmcut::kernel_code(instructions).exp(x, n, out);
}
