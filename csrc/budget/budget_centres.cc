// SPDX-License-Identifier: BSD-3-Clause
//
// The centres of a budget: points in tiles that change one by one, and the factor of their Gram
// matrix.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "budget/budget.h"

namespace svmcut {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Kernel values are float32. What they leave of a point outside the span of the others, squared, is
// not taken for less than this part: the rounding of 1e-7 would be divided by it in every
// projection to come.
constexpr double kLeastPivot = 1e-4;

}  // namespace

bool Centres::open(const svmcut_kernel& kernel, int64_t d, double largest_norm, int64_t n) {
    points.kernel = kernel;
    points.d = d;
    points.n = points.tiles = 0;
    points.layout = tile_layout(kernel, d, largest_norm);
    return reserve(std::max<int64_t>(1, (n + kTile - 1) / kTile));
}

bool Centres::reserve(int64_t tiles) {
    if (tiles <= points.tiles) return true;
    const int64_t width = points.d * kTile, before = points.tiles;
    auto tile = lines<float>(tiles * width);
    auto norm = lines<float>(tiles * kTile);
    if (!tile || !norm) return false;
    try {
        beta.resize(tiles * kTile, 0.0);
        root.resize(tiles * kTile, kInfinity);
        owner.resize(tiles * kTile, -1);
    } catch (...) {
        return false;
    }
    std::copy_n(points.tile.get(), before * width, tile.get());
    std::copy_n(points.norm.get(), before * kTile, norm.get());
    std::fill_n(tile.get() + before * width, (tiles - before) * width, 0.0f);
    std::fill_n(norm.get() + before * kTile, (tiles - before) * kTile, 0.0f);
    points.tile = std::move(tile);
    points.norm = std::move(norm);
    points.tiles = tiles;
    points.n = tiles * kTile;
    return true;
}

double Centres::squared_norm(int64_t k) const {
    const float* column = points.tile.get() + k / kTile * kTile * points.d + k % kTile;
    double sum = 0;
    for (int64_t j = 0; j < points.d; ++j) {
        const double x = column[j * kTile];
        sum += x * x;
    }
    return sum;
}

void Centres::put(int64_t k, const float* values) {
    float* column = points.tile.get() + k / kTile * kTile * points.d + k % kTile;
    for (int64_t j = 0; j < points.d; ++j) column[j * kTile] = values[j];
    const double squared = squared_norm(k);
    points.norm[k] = static_cast<float>(squared);
    root[k] = std::sqrt(std::max(0.0, diagonal_of(points.kernel, squared)));
}

void Centres::get(int64_t k, float* values) const {
    const float* column = points.tile.get() + k / kTile * kTile * points.d + k % kTile;
    for (int64_t j = 0; j < points.d; ++j) values[j] = column[j * kTile];
}

bool Centres::append(const Probe& probe, double weight, int32_t from) {
    if (count == places()) {
        const int64_t tiles = points.tiles;
        if (!reserve(tiles + std::max<int64_t>(1, tiles / 4))) return false;
    }
    const Query& q = probe.query;
    float* column = points.tile.get() + count / kTile * kTile * points.d + count % kTile;
    if (!q.dense) {
        for (int64_t e = 0; e < q.count; ++e) column[q.columns[e] * kTile] = q.values[e];
    } else {
        for (int64_t j = 0; j < points.d; ++j) column[j * kTile] = q.dense[j];
    }
    points.norm[count] = static_cast<float>(q.squared);
    root[count] = std::sqrt(std::max(0.0, diagonal_of(points.kernel, q.squared)));
    beta[count] = weight;
    owner[count++] = from;
    return true;
}

void Centres::remove(int64_t k) {
    const int64_t last = count - 1;
    float* to = points.tile.get() + k / kTile * kTile * points.d + k % kTile;
    float* from = points.tile.get() + last / kTile * kTile * points.d + last % kTile;
    for (int64_t j = 0; j < points.d; ++j) {
        to[j * kTile] = from[j * kTile];
        from[j * kTile] = 0.0f;
    }
    points.norm[k] = points.norm[last];
    beta[k] = beta[last];
    root[k] = root[last];
    owner[k] = owner[last];
    points.norm[last] = 0.0f;
    beta[last] = 0.0;
    root[last] = kInfinity;
    owner[last] = -1;
    count = last;
}

// Products walk the entries of a query where those are few, else its dense copy.
void Centres::settle(Probe& probe) const {
    Query& q = probe.query;
    const int64_t d = points.d;
    q.outside = 0.0;
    q.dense = nullptr;
    if (points.layout == Layout::kProducts && 5 * q.count < 4 * d) return;
    if (q.count == d) {
        q.dense = q.values;
        return;
    }
    probe.dense.assign(d, 0.0f);
    for (int64_t e = 0; e < q.count; ++e) probe.dense[q.columns[e]] = q.values[e];
    q.dense = probe.dense.data();
}

void Centres::aim(Probe& probe, const svmcut_csr& X, int64_t row) const {
    const int64_t begin = X.indptr[row];
    Query& q = probe.query;
    q.values = X.data + begin;
    q.columns = X.indices + begin;
    q.count = X.indptr[row + 1] - begin;
    q.squared = q.outside = 0;
    for (int64_t e = 0; e < q.count; ++e)
        q.squared += static_cast<double>(q.values[e]) * q.values[e];
    settle(probe);
}

void Centres::aim(Probe& probe, int64_t k) const {
    const float* column = points.tile.get() + k / kTile * kTile * points.d + k % kTile;
    probe.values.clear();
    probe.columns.clear();
    double squared = 0;
    for (int64_t j = 0; j < points.d; ++j) {
        const float x = column[j * kTile];
        if (x == 0.0f) continue;
        squared += static_cast<double>(x) * x;
        probe.values.push_back(x);
        probe.columns.push_back(static_cast<int32_t>(j));
    }
    probe.query = {probe.values.data(),
                   probe.columns.data(),
                   static_cast<int64_t>(probe.values.size()),
                   nullptr,
                   squared,
                   0.0};
    settle(probe);
}

void Factor::append(const float* K, double diagonal, int32_t place) {
    const auto n = static_cast<int64_t>(rank.size());
    rows.resize((n + 1) * (n + 2) / 2);
    double* own = row(n);
    double rest = diagonal;
    for (int64_t r = 0; r < n; ++r) {
        const double* L = row(r);
        double sum = K[rank[r]];
        for (int64_t c = 0; c < r; ++c) sum -= L[c] * own[c];
        own[r] = sum / L[r];
        rest -= own[r] * own[r];
    }
    own[n] = std::sqrt(std::max(rest, kLeastPivot * std::max(diagonal, 1e-300)));
    rank.push_back(place);
}

// Without row r, the rows below keep their products once the column they lose is rotated into the
// rest.
void Factor::remove(int32_t place, int32_t last) {
    const auto n = static_cast<int64_t>(rank.size());
    const int64_t r = std::find(rank.begin(), rank.end(), place) - rank.begin();
    std::vector<double> lost(n);
    for (int64_t k = r + 1; k < n; ++k) {
        const double* from = row(k);
        lost[k] = from[r];
        double* to = row(k - 1);
        for (int64_t c = 0; c < r; ++c) to[c] = from[c];
        for (int64_t c = r; c < k; ++c) to[c] = from[c + 1];
        rank[k - 1] = rank[k];
    }
    rank.pop_back();
    rows.resize((n - 1) * n / 2);
    for (int64_t c = r; c < n - 1; ++c) {
        double* pivot = row(c) + c;
        const double length = std::hypot(*pivot, lost[c + 1]), cosine = length / *pivot,
                     sine = lost[c + 1] / *pivot;
        *pivot = length;
        for (int64_t k = c + 1; k < n - 1; ++k) {
            double* at = row(k) + c;
            *at = (*at + sine * lost[k + 1]) / cosine;
            lost[k + 1] = cosine * lost[k + 1] - sine * *at;
        }
    }
    std::replace(rank.begin(), rank.end(), last, place);
}

void Factor::solve(std::vector<double>& x) const {
    const auto n = static_cast<int64_t>(rank.size());
    for (int64_t r = 0; r < n; ++r) {
        const double* L = row(r);
        for (int64_t c = 0; c < r; ++c) x[r] -= L[c] * x[c];
        x[r] /= L[r];
    }
    for (int64_t r = n - 1; r >= 0; --r) {
        const double* L = row(r);
        x[r] /= L[r];
        for (int64_t c = 0; c < r; ++c) x[c] -= L[c] * x[r];
    }
}

}  // namespace svmcut
