// SPDX-License-Identifier: BSD-3-Clause
//
// Points laid out for kernel rows, and the vector code that walks them. Inside the C++ side only.
#ifndef SVMCUT_KERNEL_POINTS_H
#define SVMCUT_KERNEL_POINTS_H

#include <cstdlib>
#include <memory>

#include "include/kernels.h"

namespace svmcut {

constexpr int64_t kTile = 64;  // points a tile

struct Free {
    void operator()(void* p) const { std::free(p); }
};

// Memory on cache lines; null when there is none.
template <class T>
using Lines = std::unique_ptr<T[], Free>;

template <class T>
Lines<T> lines(int64_t count) {
    const auto bytes = (static_cast<size_t>(count > 0 ? count : 1) * sizeof(T) + 63) / 64 * 64;
    return Lines<T>(static_cast<T*>(std::aligned_alloc(64, bytes)));
}

enum class Layout {
    kProducts,     // tiles of all features, x.z in float32
    kDifferences,  // tiles of all features, |x - z|^2 term by term in float32: no cancellation
    kColumns,      // lists of points by feature, x.z in float64
    // features that are 0 or 1, one bit each: the same sums as kProducts from a 32nd of the memory
    kBits
};

// K(x, x) from |x|^2.
double diagonal_of(const svmcut_kernel& kernel, double squared);
// Which of the two tiled layouts keeps the values exact where no |x|^2 is larger.
Layout tile_layout(const svmcut_kernel& kernel, int64_t d, double largest);

struct Points {
    svmcut_csr X;
    svmcut_kernel kernel;
    Layout layout;
    int64_t n, d, tiles;
    Lines<float> tile;      // (tiles, d, kTile)
    Lines<uint64_t> bits;   // (tiles, d): bit p of a word is point p of the tile
    Lines<float> norm;      // (tiles * kTile): |x|^2
    Lines<double> squared;  // (n): |x|^2
    Lines<int64_t> start;   // (d + 1)
    Lines<int32_t> point;   // (nnz): increasing within a feature
    Lines<float> value;     // (nnz)

    // Point p is row order[p] of X, p below count, or row p of all where order is null. The arrays
    // of X must outlive the points. wanted: a Layout, or -1 for the one that suits. False when
    // there is no memory.
    bool build(const svmcut_csr& rows, const svmcut_kernel& K, const int64_t* order, int64_t count,
               int wanted = -1);
    double diagonal(int64_t p) const;
    // No float32 kernel value of these points is further from its float64 one than this, by the
    // rounding of its sum.
    double value_error() const;
};

struct Query {
    const float* values;
    const int32_t* columns;
    int64_t count;       // entries below d
    const float* dense;  // (d), or null
    double squared;      // |q|^2
    double outside;      // the part of it on features the points do not have
};

// Queries of one block, with dense copies where those pay.
struct Queries {
    std::unique_ptr<Query[]> query;
    Lines<float> dense;
    // Entries of queries that have columns of no point between those of points.
    std::unique_ptr<float[]> values;
    std::unique_ptr<int32_t[]> columns;
    // Rows `rows` of X, or rows 0 to count - 1 where rows is null.
    bool build(const Points& P, const svmcut_csr& X, const int64_t* rows, int64_t count);
};

// Code for one set of instructions.
struct KernelCode {
    // out[q * stride + p - 64 first] = K(queries[q], point p) for the points of tiles first to
    // last, up to point n. sums: a float64 for each of those points where the layout is kColumns.
    void (*evaluate)(const Points&, const Query* queries, int64_t count, int64_t first,
                     int64_t last, float* out, int64_t stride, double* sums);
    // sums[k] += sum_q coef[q] values[q * stride + k], k below count; queries in their order.
    void (*weigh)(const float* values, int64_t stride, const double* coef, int64_t queries,
                  int64_t count, double* sums);
    void (*exp)(const float* x, int64_t n, float* out);
    // As evaluate, in float64 throughout.
    void (*evaluate_double)(const Points&, const Query* queries, int64_t count, int64_t first,
                            int64_t last, double* out, int64_t stride);
    // From float64 products, or squared distances, to kernel values, in place.
    void (*finish_double)(const svmcut_kernel&, double* values, int64_t count);
    // sums[p] += sum_e coef[e] values[slot[e] * kTile + p] of the points p of a tile, in the order
    // of e.
    void (*weigh_tile)(const double* values, const int32_t* slot, const double* coef,
                       int64_t entries, double* sums);
    // The same of float32 values, summed up in float32 before they are added; sizes: of |coef|.
    void (*weigh_tile_narrow)(const float* values, const int32_t* slot, const float* coef,
                              int64_t entries, double* sums, double* sizes);
};
const KernelCode& kernel_code(int instructions);

// As svmcut_kernel_rows_accumulate.
int accumulate(const Points& P, const KernelCode& code, const svmcut_csr& X, const int64_t* which,
               int64_t count, const double* coef, double* out, int threads);
// As accumulate, with kernel values in float64.
int accumulate_double(const Points& P, const KernelCode& code, const svmcut_csr& X,
                      const int64_t* which, int64_t count, const double* coef, double* out,
                      int threads);

}  // namespace svmcut
#endif
