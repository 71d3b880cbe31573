// SPDX-License-Identifier: BSD-3-Clause
//
// Sums of kernels over support vectors. The support vectors are turned into columns once, so that
// the products of one row with all of them walk only the features the row has; each product still
// adds its features in their order.
#include "include/kernels.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "core/parallel.h"
#include "kernels/kernel_sums.h"
#include "kernels/kernel_value.h"

namespace {

using namespace svmcut::one_number;

constexpr int64_t kRowsPerPiece = 32;

template <class T>
std::unique_ptr<T[]> allocate(int64_t n) {
    return std::unique_ptr<T[]>(new (std::nothrow) T[static_cast<size_t>(std::max<int64_t>(n, 1))]);
}

// A product of features; Narrow rounds it to float32, which the scores that svm_multiclass prints
// show.
template <bool Narrow>
double product(double x, double z) {
    return Narrow ? static_cast<float>(x * z) : x * z;
}

template <bool Narrow>
double squared_norm(const svmcut_csr& X, int64_t row) {
    double sum = 0;
    for (int64_t e = X.indptr[row]; e < X.indptr[row + 1]; ++e)
        sum += product<Narrow>(X.data[e], X.data[e]);
    return sum;
}

// hi + lo grows by a, to twice the digits (Knuth's two-sum).
void add_exactly(double a, double& hi, double& lo) {
    const double sum = hi + a, part = sum - hi;
    lo += (hi - (sum - part)) + (a - part);
    hi = sum;
}

// The support vectors by feature, with their squared norms.
template <bool Narrow>
struct Columns {
    std::unique_ptr<int64_t[]> start;    // (d + 1)
    std::unique_ptr<int64_t[]> support;  // (nnz)
    std::unique_ptr<double[]> value;     // (nnz)
    std::unique_ptr<double[]> norm;      // (m)
    std::unique_ptr<double[]> rest;      // (m): what norm lacks of |z|^2
    double largest = 0;                  // of norm

    bool build(const svmcut_csr& Z) {
        const int64_t d = Z.n_features, first = Z.indptr[0], last = Z.indptr[Z.n_rows];
        start = allocate<int64_t>(d + 1);
        support = allocate<int64_t>(last - first);
        value = allocate<double>(last - first);
        norm = allocate<double>(Z.n_rows);
        rest = allocate<double>(Z.n_rows);
        if (!start || !support || !value || !norm || !rest) return false;
        std::fill_n(start.get(), d + 1, 0);
        for (int64_t e = first; e < last; ++e) ++start[Z.indices[e]];
        for (int64_t j = 0, sum = 0; j <= d; ++j) {
            sum += start[j];
            start[j] = sum;
        }
        // Filled from the back, start[j] comes to rest at the first entry of column j, support
        // vectors in order.
        for (int64_t k = Z.n_rows - 1; k >= 0; --k) {
            norm[k] = squared_norm<Narrow>(Z, k);
            largest = std::max(largest, norm[k]);
            double sum = 0, low = 0;
            for (int64_t e = Z.indptr[k]; e < Z.indptr[k + 1]; ++e)
                add_exactly(static_cast<double>(Z.data[e]) * Z.data[e], sum, low);
            rest[k] = low + (sum - norm[k]);
            for (int64_t e = Z.indptr[k]; e < Z.indptr[k + 1]; ++e) {
                const int64_t place = --start[Z.indices[e]];
                support[place] = k;
                value[place] = Z.data[e];
            }
        }
        return true;
    }

    // dot[k] = x.z_k
    void products(const svmcut_csr& X, int64_t row, int64_t d, int64_t m, double* dot) const {
        std::fill_n(dot, m, 0.0);
        for (int64_t e = X.indptr[row]; e < X.indptr[row + 1]; ++e) {
            const int64_t j = X.indices[e];
            if (j >= d) continue;
            const double x = X.data[e];
            for (int64_t place = start[j]; place < start[j + 1]; ++place) {
                dot[support[place]] += product<Narrow>(x, value[place]);
            }
        }
    }
};

using svmcut::far_from_zero;

// out[k] = |x - z_k|^2: (x_j - z_j)^2 over the features of both, and what the norms have beside
// those.
template <bool Narrow>
void distances(const Columns<Narrow>& columns, const svmcut_csr& X, int64_t row, int64_t d,
               int64_t m, double own_norm, double* hi, double* lo, double* out) {
    std::fill_n(out, m, 0.0);
    for (int64_t k = 0; k < m; ++k) {
        hi[k] = columns.norm[k];
        lo[k] = columns.rest[k];
        add_exactly(own_norm, hi[k], lo[k]);
    }
    double own = 0, own_rest = 0;  // |x|^2 to twice the digits, less own_norm
    for (int64_t e = X.indptr[row]; e < X.indptr[row + 1]; ++e) {
        const double x = X.data[e];
        add_exactly(x * x, own, own_rest);
    }
    own_rest += own - own_norm;
    for (int64_t e = X.indptr[row]; e < X.indptr[row + 1]; ++e) {
        const int64_t j = X.indices[e];
        if (j >= d) continue;
        const double x = X.data[e];
        for (int64_t place = columns.start[j]; place < columns.start[j + 1]; ++place) {
            const int64_t k = columns.support[place];
            const double z = columns.value[place];
            out[k] += (x - z) * (x - z);
            add_exactly(-x * x, hi[k], lo[k]);
            add_exactly(-z * z, hi[k], lo[k]);
        }
    }
    for (int64_t k = 0; k < m; ++k) out[k] += std::max(hi[k] + (lo[k] + own_rest), 0.0);
}

// From products with the support vectors, or squared distances, to kernel values, in place.
void to_values(const svmcut_kernel& kernel, int64_t m, double* values) {
    svmcut::kernel_code(0).finish_double(kernel, values, m);
}

// From products to squared distances, in place. Rounding can leave one below zero, which a kernel of
// large norms would blow up.
void to_distances(int64_t m, const double* norm, double own_norm, double* dot) {
    for (int64_t k = 0; k < m; ++k) dot[k] = std::max((norm[k] + own_norm) - 2 * dot[k], 0.0);
}

// Rows so few that columns would not pay.
constexpr int64_t kFewRows = 4;

// As over_rows, of few rows without columns: every product adds the same numbers in the same order,
// and 0 for features that the row has not. False where distances have to be summed up as such.
template <bool Narrow, class Score>
bool over_few_rows(const svmcut_csr& rows, const svmcut_csr& support, const svmcut_kernel& kernel,
                   Score&& score, int* status) {
    const int64_t m = support.n_rows, d = support.n_features;
    const auto values = allocate<double>(m), norm = allocate<double>(m), x = allocate<double>(d);
    if (!values || !norm || !x) {
        *status = SVMCUT_NO_MEMORY;
        return true;
    }
    double largest = 0, largest_row = 0;
    for (int64_t k = 0; k < m; ++k)
        largest = std::max(largest, norm[k] = squared_norm<Narrow>(support, k));
    for (int64_t i = 0; i < rows.n_rows; ++i)
        largest_row = std::max(largest_row, squared_norm<Narrow>(rows, i));
    if (!Narrow && far_from_zero(kernel, largest, largest_row)) return false;
    std::fill_n(x.get(), d, 0.0);
    for (int64_t i = 0; i < rows.n_rows; ++i) {
        const int64_t first = rows.indptr[i], last = rows.indptr[i + 1];
        for (int64_t e = first; e < last; ++e)
            if (rows.indices[e] < d) x[rows.indices[e]] = rows.data[e];
        for (int64_t k = 0; k < m; ++k) {
            double sum = 0;
            for (int64_t e = support.indptr[k]; e < support.indptr[k + 1]; ++e)
                sum += product<Narrow>(x[support.indices[e]], support.data[e]);
            values[k] = sum;
        }
        for (int64_t e = first; e < last; ++e)
            if (rows.indices[e] < d) x[rows.indices[e]] = 0;
        if (of_distance(kernel))
            to_distances(m, norm.get(), squared_norm<Narrow>(rows, i), values.get());
        to_values(kernel, m, values.get());
        score(i, values.get());
    }
    *status = SVMCUT_OK;
    return true;
}

// Calls score(row, kernel values with the support vectors) for every row.
template <bool Narrow, class Score>
int over_rows(const svmcut_csr& rows, const svmcut_csr& support, const svmcut_kernel& kernel,
              int threads, Score&& score) {
    const int64_t n = rows.n_rows, m = support.n_rows;
    int status = SVMCUT_OK;
    if (n <= kFewRows && over_few_rows<Narrow>(rows, support, kernel, score, &status))
        return status;
    Columns<Narrow> columns;
    if (!columns.build(support)) return SVMCUT_NO_MEMORY;
    std::atomic<bool> starved{false};
    svmcut::for_pieces((n + kRowsPerPiece - 1) / kRowsPerPiece, threads, [&](int64_t piece) {
        const auto values = allocate<double>(m);
        std::unique_ptr<double[]> room;  // for distances
        if (!values) {
            starved = true;
            return;
        }
        const int64_t stop = std::min((piece + 1) * kRowsPerPiece, n);
        for (int64_t i = piece * kRowsPerPiece; i < stop; ++i) {
            const double own_norm = squared_norm<Narrow>(rows, i);
            if (!Narrow && far_from_zero(kernel, columns.largest, own_norm)) {
                if (!room) room = allocate<double>(2 * m);
                if (!room) {
                    starved = true;
                    return;
                }
                distances(columns, rows, i, support.n_features, m, own_norm, room.get(),
                          room.get() + m, values.get());
            } else {
                columns.products(rows, i, support.n_features, m, values.get());
                if (of_distance(kernel))
                    to_distances(m, columns.norm.get(), own_norm, values.get());
            }
            to_values(kernel, m, values.get());
            score(i, values.get());
        }
    });
    return starved ? SVMCUT_NO_MEMORY : SVMCUT_OK;
}

using svmcut::Machines;

template <bool Narrow>
int sums_by_columns(const svmcut_csr& rows, const Machines& all, int threads, double* out) {
    return over_rows<Narrow>(rows, all.support, all.kernel, threads,
                             [&](int64_t i, const double* values) {
                                 for (int64_t j = 0; j < all.count; ++j) {
                                     double sum = 0;
                                     for (int64_t e = all.starts[j]; e < all.starts[j + 1]; ++e)
                                         sum += all.alpha[e] * values[all.places[e]];
                                     out[i * all.count + j] = sum - all.b[j];
                                 }
                             });
}

// Calls work(some rows alone, their sums) and puts these where they belong.
template <class Work>
int over_some(const svmcut_csr& rows, const std::vector<int64_t>& some, int64_t machines,
              double* out, Work&& work) {
    if (some.empty()) return SVMCUT_OK;
    std::vector<int64_t> indptr{0};
    std::vector<float> data;
    std::vector<int32_t> indices;
    for (int64_t row : some) {
        data.insert(data.end(), rows.data + rows.indptr[row], rows.data + rows.indptr[row + 1]);
        indices.insert(indices.end(), rows.indices + rows.indptr[row],
                       rows.indices + rows.indptr[row + 1]);
        indptr.push_back(static_cast<int64_t>(data.size()));
    }
    svmcut_csr own = rows;
    own.data = data.data();
    own.indices = indices.data();
    own.indptr = indptr.data();
    own.n_rows = static_cast<int64_t>(some.size());
    std::vector<double> sums(some.size() * static_cast<size_t>(machines));
    const int status = work(own, sums.data());
    for (size_t k = 0; k < some.size(); ++k)
        std::copy_n(sums.data() + k * machines, machines, out + some[k] * machines);
    return status;
}

int exact_sums(const svmcut_csr& rows, const Machines& all, int threads, double* out) {
    if (!svmcut::lanes_pay(rows, all)) return sums_by_columns<false>(rows, all, threads, out);
    std::vector<int64_t> aside;
    if (const int status = svmcut::lane_sums(rows, all, threads, out, &aside)) return status;
    return over_some(rows, aside, all.count, out, [&](const svmcut_csr& own, double* sums) {
        return sums_by_columns<false>(own, all, threads, sums);
    });
}

}  // namespace

extern "C" int svmcut_kernel_scores(const svmcut_csr* rows, const svmcut_csr* support,
                                    const double* alpha, const svmcut_kernel* kernel, double b,
                                    int threads, double* out) {
    try {
        std::vector<int32_t> places(support->n_rows);
        std::iota(places.begin(), places.end(), 0);
        const int64_t starts[2] = {0, support->n_rows};
        return exact_sums(*rows, {*support, *kernel, 1, starts, places.data(), alpha, &b}, threads,
                          out);
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}

extern "C" int svmcut_kernel_machines(const svmcut_csr* rows, const svmcut_csr* support,
                                      int64_t machines, const int64_t* starts,
                                      const int32_t* places, const double* alpha,
                                      const svmcut_kernel* kernel, const double* b, int narrow,
                                      int threads, double* out) {
    const Machines all{*support, *kernel, machines, starts, places, alpha, b};
    try {
        if (narrow) return sums_by_columns<true>(*rows, all, threads, out);
        return exact_sums(*rows, all, threads, out);
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}

extern "C" int svmcut_kernel_labels(const svmcut_csr* rows, const svmcut_csr* support,
                                    int64_t machines, const int64_t* starts, const int32_t* places,
                                    const double* alpha, const svmcut_kernel* kernel,
                                    const double* b, int of_largest, int threads, double* out) {
    const Machines all{*support, *kernel, machines, starts, places, alpha, b};
    try {
        if (!svmcut::lanes_pay(*rows, all)) return exact_sums(*rows, all, threads, out);
        std::vector<int64_t> aside;
        if (const int status = svmcut::narrow_sums(*rows, all, of_largest, threads, out, &aside))
            return status;
        return over_some(*rows, aside, machines, out, [&](const svmcut_csr& own, double* sums) {
            return exact_sums(own, all, threads, sums);
        });
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}
