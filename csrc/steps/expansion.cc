// SPDX-License-Identifier: BSD-3-Clause
//
// Expansions over training points: a kernel row is computed piece by piece and added to the
// responses while the piece is in the nearest cache. Positives stand before negatives, so that a
// class is one run of memory.
#include "steps/expansion.h"

#include <algorithm>
#include <memory>
#include <new>

int svmcut_expansion::add(int64_t p, double step, double weight, double* c, double* correction,
                          svmcut::Crew& crew, double* means) {
    using svmcut::kStretch;
    using svmcut::kTile;
    svmcut::Queries query;
    if (!query.build(points, X, &p, 1)) return SVMCUT_NO_MEMORY;
    const bool columns = points.layout == svmcut::Layout::kColumns;
    const int64_t tiles = (columns ? 8 : 1) * kStretch / kTile,
                  pieces = (points.tiles + tiles - 1) / tiles;
    const int own = sign(p);
    std::vector<double> found(static_cast<size_t>(2 * pieces), 0.0);
    crew.run(pieces, [&](int64_t piece) {
        alignas(64) float near[kStretch];
        const int64_t first = piece * tiles, last = std::min(first + tiles, points.tiles);
        const int64_t begin = first * kTile, end = std::min(last * kTile, n);
        float* values = columns ? row.data() + begin : near;
        kernel_code->evaluate(points, query.query.get(), 1, first, last, values, n,
                              columns ? sums.data() + begin : nullptr);
        const auto run = [&](int64_t from, int64_t to, int side) {
            if (from >= to) return 0.0;
            const double s = own * side;
            const float* K = values + (from - begin);
            return correction ? code->add_two(c + from, correction + from, K, s * step, s * weight,
                                              to - from)
                              : code->add(c + from, K, s * step, to - from);
        };
        found[2 * piece] = run(begin, std::min(end, positives), 1);
        found[2 * piece + 1] = run(std::max(begin, positives), std::min(end, trained), -1);
        for (int64_t k = std::max(begin, trained); k < end; ++k) run(k, k + 1, signs[k - trained]);
    });
    if (means) {
        means[0] = means[1] = 0;
        for (int64_t piece = 0; piece < pieces; ++piece)
            for (int side : {0, 1}) means[side] += found[2 * piece + side];
        means[0] /= static_cast<double>(std::max<int64_t>(1, positives));
        means[1] /= static_cast<double>(std::max<int64_t>(1, trained - positives));
    }
    return SVMCUT_OK;
}

extern "C" svmcut_expansion* svmcut_expansion_new(const svmcut_csr* X, int64_t positives,
                                                  int64_t trained, const int8_t* signs,
                                                  const svmcut_kernel* kernel, int instructions) {
    try {
        std::unique_ptr<svmcut_expansion> made(new svmcut_expansion);
        made->X = *X;
        made->n = X->n_rows;
        made->positives = positives;
        made->trained = trained;
        made->signs = signs;
        made->kernel_code = &svmcut::kernel_code(instructions);
        made->code = &svmcut::expansion_code(instructions);
        if (!made->points.build(*X, *kernel, nullptr, 0)) return nullptr;
        if (made->points.layout == svmcut::Layout::kColumns) {
            const auto room = static_cast<size_t>(made->points.tiles * svmcut::kTile);
            made->row.resize(room);
            made->sums.resize(room);
        }
        return made.release();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

extern "C" void svmcut_expansion_delete(svmcut_expansion* expansion) { delete expansion; }

extern "C" void svmcut_expansion_diagonal(const svmcut_expansion* expansion, double* out) {
    for (int64_t p = 0; p < expansion->n; ++p) out[p] = expansion->points.diagonal(p);
}
