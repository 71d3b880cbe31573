// SPDX-License-Identifier: BSD-3-Clause
//
// Rows to be scored are laid out in tiles as the points of training are, and support vectors are
// the queries: a vector has the values of one support vector with several rows, so that the sums of
// every row run over the support vectors in their order.
#include "kernels/kernel_sums.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <new>

#include "core/parallel.h"
#include "kernels/kernel_value.h"

namespace svmcut {
namespace {

// Tiles of a piece of work, support vectors whose values are held at once, rows below which tiles
// are mostly empty, and features from which a tile leaves the cache.
constexpr int64_t kTilesAtOnce = 4, kManyMachines = 256, kTogether = 48, kLeastRows = 24,
                  kMostFeatures = 4096;
constexpr double kExponentError = 1e-12;
constexpr double kUnit = 0x1p-24, kMostError = 0.01, kMostNumber = 1e30, kTiny = 0x1p-120;
// Roundings of a sum over kTogether values: of the coefficient, of products and of sums.
constexpr double kSumRoundings = kTogether + 4;

double squared_norm(const svmcut_csr& X, int64_t row) {
    double sum = 0;
    for (int64_t e = X.indptr[row]; e < X.indptr[row + 1]; ++e)
        sum += static_cast<double>(X.data[e]) * X.data[e];
    return sum;
}

// Entries of one machine among the support vectors of one chunk.
struct Range {
    int64_t machine, first, last;
};

struct Layouts {
    const Machines& machines;
    Points shape{};  // of every piece, without rows
    Queries queries;
    std::vector<int32_t> slot;   // of each entry in its chunk
    std::vector<float> narrow;   // coefficients over 2^exponent
    std::vector<double> size;    // sum |alpha| of each machine, over 2^exponent
    std::vector<Range> ranges;   // by chunk
    std::vector<int64_t> chunk;  // first range of each, and one behind the last
    double largest = 0, most_entries = 0, scale = 1;

    explicit Layouts(const Machines& all) : machines(all) {}

    bool build(int64_t features) {
        const svmcut_csr& Z = machines.support;
        const int64_t m = Z.n_rows, M = machines.count, entries = machines.starts[M];
        shape.kernel = machines.kernel;
        shape.layout = Layout::kProducts;
        shape.d = std::min(features, Z.n_features);
        if (!queries.build(shape, Z, nullptr, m)) return false;
        double most = 0;
        for (int64_t k = 0; k < m; ++k) largest = std::max(largest, queries.query[k].squared);
        for (int64_t e = 0; e < entries; ++e) most = std::max(most, std::abs(machines.alpha[e]));
        int exponent = 0;
        if (most > 0 && std::isfinite(most)) std::frexp(most, &exponent);
        scale = std::ldexp(1.0, exponent);
        slot.resize(entries);
        narrow.resize(entries);
        size.assign(M, 0.0);
        std::vector<int64_t> at(machines.starts, machines.starts + M);
        for (int64_t begin = 0; begin < m; begin += kTogether) {
            chunk.push_back(static_cast<int64_t>(ranges.size()));
            for (int64_t j = 0; j < M; ++j) {
                const int64_t first = at[j];
                int64_t e = first;
                for (; e < machines.starts[j + 1] && machines.places[e] < begin + kTogether; ++e) {
                    slot[e] = machines.places[e] - static_cast<int32_t>(begin);
                    const double part = machines.alpha[e] / scale;
                    narrow[e] = static_cast<float>(part);
                    size[j] += std::abs(part);
                }
                at[j] = e;
                if (e > first) ranges.push_back({j, first, e});
            }
        }
        chunk.push_back(static_cast<int64_t>(ranges.size()));
        return true;
    }
};

// Rows of a piece in tiles.
struct Piece {
    Points points{};
    std::vector<int64_t> entries;  // features below d, by row

    bool build(const Points& shape, const svmcut_csr& X, const int64_t* rows, int64_t count) {
        points.kernel = shape.kernel;
        points.layout = shape.layout;
        points.d = shape.d;
        points.n = count;
        points.tiles = (count + kTile - 1) / kTile;
        const int64_t room = points.tiles * kTile;
        points.tile = lines<float>(room * points.d);
        points.norm = lines<float>(room);
        points.squared = lines<double>(room);
        if (!points.tile || !points.norm || !points.squared) return false;
        std::fill_n(points.tile.get(), room * points.d, 0.0f);
        std::fill_n(points.norm.get(), room, 0.0f);
        std::fill_n(points.squared.get(), room, 0.0);
        entries.assign(room, 0);
        for (int64_t p = 0; p < count; ++p) {
            const int64_t row = rows[p];
            points.squared[p] = squared_norm(X, row);
            points.norm[p] = static_cast<float>(points.squared[p]);
            float* column = points.tile.get() + p / kTile * kTile * points.d + p % kTile;
            for (int64_t e = X.indptr[row]; e < X.indptr[row + 1]; ++e) {
                if (X.indices[e] >= points.d) continue;
                column[X.indices[e] * kTile] = X.data[e];
                ++entries[p];
            }
        }
        // Whole tiles are computed: what lies behind the last row is no row.
        points.n = room;
        return true;
    }
};

// Bounds of the error of float32 sums of one row: `relative` to the sum of |alpha| K, and `absolute`
// for a sum of |alpha| of 1.
struct Errors {
    double relative, absolute;
};

// K32 = K (1 + r) with |r| <= relative for kernels of distances, as t = gamma |x - z|^2 errs by at
// most what follows; else |K32 - K| <= absolute.
Errors errors_of(const svmcut_kernel& K, double largest, double own, int64_t entries) {
    const double none = std::numeric_limits<double>::infinity();
    const auto terms = static_cast<double>(entries);
    const auto is_moderate = [](double x) {
        return x == 0 || (std::abs(x) > 1 / kMostNumber && std::abs(x) < kMostNumber);
    };
    Errors found{0, none};
    if (!(largest + own < kMostNumber && is_moderate(K.gamma) && is_moderate(K.scale) &&
          is_moderate(K.offset)))
        return found;
    one_number::with_form(K, [&](auto form) {
        if constexpr (form.kOfDistance) {
            // products and their sums, both norms, three sums, gamma and its product
            const double t = K.gamma * ((terms + 9) * kUnit * (largest + own) + terms * kTiny);
            if (t > kMostError) return;
            found = {1.05 * (t + (3 + kSumRoundings) * kUnit), kTiny};
        } else {
            const double product = std::sqrt(largest * own);
            const double reach = std::abs(K.scale) * product + std::abs(K.offset);
            const double value = form.kNumber == one_number::Linear::kNumber ? product
                                 : form.kNumber == one_number::Sigmoid::kNumber
                                     ? 1.0
                                     : std::pow(reach, K.degree);
            if (!(value < kMostNumber && reach < kMostNumber)) return;
            const double error = form.error(K, product, terms, kUnit);
            found = {0, 1.05 * (error + value * kSumRoundings * kUnit) + kTiny};
        }
    });
    return found;
}

// Calls work(rows of a piece, how many) on all pieces.
template <class Work>
int over_pieces(const int64_t* rows, int64_t count, int64_t machines, int threads, Work&& work) {
    std::atomic<bool> starved{false};
    const int64_t size = (machines > kManyMachines ? 1 : kTilesAtOnce) * kTile;
    for_pieces((count + size - 1) / size, threads, [&](int64_t piece) {
        const int64_t first = piece * size;
        try {
            if (!work(rows + first, std::min(size, count - first))) starved = true;
        } catch (const std::bad_alloc&) {
            starved = true;
        }
    });
    return starved ? SVMCUT_NO_MEMORY : SVMCUT_OK;
}

std::vector<int64_t> all_rows(int64_t n) {
    std::vector<int64_t> rows(n);
    for (int64_t i = 0; i < n; ++i) rows[i] = i;
    return rows;
}

}  // namespace

bool far_from_zero(const svmcut_kernel& K, double largest, double own_norm) {
    return one_number::of_distance(K) &&
           4 * K.gamma * (largest + own_norm) * 0x1p-53 > kExponentError;
}

bool lanes_pay(const svmcut_csr& rows, const Machines& machines) {
    const svmcut_csr& Z = machines.support;
    const int64_t d = std::min(rows.n_features, Z.n_features);
    if (rows.n_rows < kLeastRows || d > kMostFeatures || !Z.n_rows) return false;
    for (int64_t j = 0; j < machines.count; ++j)
        for (int64_t e = machines.starts[j] + 1; e < machines.starts[j + 1]; ++e)
            if (machines.places[e] <= machines.places[e - 1]) return false;
    // Lists by feature touch the support vectors that share a feature, tiles all of them.
    std::vector<double> count(d, 0.0);
    for (int64_t e = Z.indptr[0]; e < Z.indptr[Z.n_rows]; ++e)
        if (Z.indices[e] < d) ++count[Z.indices[e]];
    double shared = 0;
    for (int64_t e = rows.indptr[0]; e < rows.indptr[rows.n_rows]; ++e)
        if (rows.indices[e] < d) shared += count[rows.indices[e]];
    const auto entries = static_cast<double>(Z.indptr[Z.n_rows] - Z.indptr[0]);
    return entries * static_cast<double>(rows.n_rows) < 8 * shared;
}

int lane_sums(const svmcut_csr& rows, const Machines& machines, int threads, double* out,
              std::vector<int64_t>* aside) {
    Layouts layouts(machines);
    if (!layouts.build(rows.n_features)) return SVMCUT_NO_MEMORY;
    std::vector<int64_t> near;
    for (int64_t i = 0; i < rows.n_rows; ++i)
        (far_from_zero(machines.kernel, layouts.largest, squared_norm(rows, i)) ? *aside : near)
            .push_back(i);
    const KernelCode& code = kernel_code(0);
    const int64_t M = machines.count, m = machines.support.n_rows;
    return over_pieces(
        near.data(), static_cast<int64_t>(near.size()), M, threads,
        [&](const int64_t* which, int64_t count) {
            Piece piece;
            if (!piece.build(layouts.shape, rows, which, count)) return false;
            const auto values = lines<double>(kTogether * kTile);
            const auto sums = lines<double>(piece.points.tiles * M * kTile);
            if (!values || !sums) return false;
            std::fill_n(sums.get(), piece.points.tiles * M * kTile, 0.0);
            for (int64_t begin = 0, c = 0; begin < m; begin += kTogether, ++c) {
                const int64_t here = std::min(kTogether, m - begin);
                for (int64_t t = 0; t < piece.points.tiles; ++t) {
                    code.evaluate_double(piece.points, layouts.queries.query.get() + begin, here, t,
                                         t + 1, values.get(), kTile);
                    for (int64_t r = layouts.chunk[c]; r < layouts.chunk[c + 1]; ++r) {
                        const Range& range = layouts.ranges[r];
                        code.weigh_tile(values.get(), layouts.slot.data() + range.first,
                                        machines.alpha + range.first, range.last - range.first,
                                        sums.get() + (t * M + range.machine) * kTile);
                    }
                }
            }
            for (int64_t p = 0; p < count; ++p)
                for (int64_t j = 0; j < M; ++j)
                    out[which[p] * M + j] =
                        sums[(p / kTile * M + j) * kTile + p % kTile] - machines.b[j];
            return true;
        });
}

int narrow_sums(const svmcut_csr& rows, const Machines& machines, bool of_largest, int threads,
                double* out, std::vector<int64_t>* aside) {
    Layouts layouts(machines);
    if (!layouts.build(rows.n_features)) return SVMCUT_NO_MEMORY;
    const KernelCode& code = kernel_code(0);
    const int64_t M = machines.count, m = machines.support.n_rows;
    const std::vector<int64_t> every = all_rows(rows.n_rows);
    std::mutex lock;
    std::atomic<int64_t> seen{0}, left{0};
    const int status = over_pieces(
        every.data(), rows.n_rows, M, threads, [&](const int64_t* which, int64_t count) {
            std::vector<int64_t> own;
            const auto leave = [&] {
                const std::lock_guard<std::mutex> guard(lock);
                aside->insert(aside->end(), own.begin(), own.end());
                seen += count;
                left += static_cast<int64_t>(own.size());
                return true;
            };
            if (2 * left > seen) {  // where float32 decides nothing
                own.assign(which, which + count);
                return leave();
            }
            Piece piece;
            if (!piece.build(layouts.shape, rows, which, count)) return false;
            const int64_t places = piece.points.tiles * M * kTile;
            const auto values = lines<float>(kTogether * kTile);
            const auto sums = lines<double>(2 * places);
            if (!values || !sums) return false;
            std::fill_n(sums.get(), 2 * places, 0.0);
            for (int64_t begin = 0, c = 0; begin < m; begin += kTogether, ++c) {
                const int64_t here = std::min(kTogether, m - begin);
                for (int64_t t = 0; t < piece.points.tiles; ++t) {
                    code.evaluate(piece.points, layouts.queries.query.get() + begin, here, t, t + 1,
                                  values.get(), kTile, nullptr);
                    for (int64_t r = layouts.chunk[c]; r < layouts.chunk[c + 1]; ++r) {
                        const Range& range = layouts.ranges[r];
                        double* const to = sums.get() + (t * M + range.machine) * kTile;
                        code.weigh_tile_narrow(values.get(), layouts.slot.data() + range.first,
                                               layouts.narrow.data() + range.first,
                                               range.last - range.first, to, to + places);
                    }
                }
            }
            std::vector<double> error(M);
            for (int64_t p = 0; p < count; ++p) {
                const Errors errors = errors_of(machines.kernel, layouts.largest,
                                                piece.points.squared[p], piece.entries[p]);
                const double* const sum = sums.get() + p / kTile * M * kTile + p % kTile;
                double* const score = out + which[p] * M;
                int64_t best = 0;
                for (int64_t j = 0; j < M; ++j) {
                    score[j] = layouts.scale * sum[j * kTile] - machines.b[j];
                    error[j] = layouts.scale * (errors.relative * sum[places + j * kTile] +
                                                errors.absolute * layouts.size[j]) +
                               0x1p-48 * std::abs(machines.b[j]);
                    if (score[j] > score[best]) best = j;
                }
                bool is_certain = true;
                for (int64_t j = 0; j < M && is_certain; ++j)
                    is_certain =
                        of_largest
                            ? j == best || score[best] - score[j] > error[best] + error[j]
                            : std::abs(score[j]) > error[j] &&
                                  std::abs(score[j]) < std::numeric_limits<double>::infinity();
                if (of_largest && !std::isfinite(score[best] + error[best])) is_certain = false;
                if (!is_certain) own.push_back(which[p]);
            }
            return leave();
        });
    std::sort(aside->begin(), aside->end());
    return status;
}

}  // namespace svmcut
