// SPDX-License-Identifier: BSD-3-Clause
//
// A group of machines of wide_cd.cc, and the loops over its rows that are compiled for every set of
// instructions.
#ifndef SVMCUT_WIDE_CD_H
#define SVMCUT_WIDE_CD_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/prefetch.h"
#include "include/wide.h"

namespace svmcut {

constexpr int kChunk = 16;                           // lanes whose weights are a cache line
constexpr int kChunks = SVMCUT_WIDE_LANES / kChunk;  // of a group
constexpr int64_t kPollRows = 1 << 8;
constexpr int64_t kRowsFetched = 4;  // the row so many visits ahead is fetched now

struct WideGroup {
    const svmcut_wide_cd& run;
    svmcut_wide_group& state;
    svmcut_label_machine* machines;
    const uint64_t* positive;
    uint64_t* rows;
    int32_t *order, *visits;
    float *alpha, *W, *best;
    int64_t n, dim, used;  // `used`: how many machines there are

    WideGroup(const svmcut_wide_cd& given, int64_t g)
        : run(given),
          state(given.states[g]),
          n(given.X->n_rows),
          dim(given.X->n_features + (given.bias != 0)) {
        constexpr int64_t L = SVMCUT_WIDE_LANES;
        machines = given.machines + g * L;
        positive = given.positive + g * n;
        rows = given.rows + g * n;
        order = given.order + 2 * g * n;
        visits = order + n;
        alpha = given.alpha + g * n * L;
        W = given.W + g * dim * L;
        best = given.best + g * dim * L;
        used = std::min(L, given.count - g * L);
    }

    bool squared() const { return run.squared != 0; }
    // The largest alpha of a row; a float that is not above C.
    float box(int64_t i) const {
        if (squared()) return weight(i) > 0 ? std::numeric_limits<float>::infinity() : 0.0f;
        const double C = run.C * weight(i);
        const auto near = static_cast<float>(C);
        return near > C ? std::nextafter(near, 0.0f) : near;
    }
    double weight(int64_t i) const { return run.v ? run.v[i] : 1.0; }
    // What the dual has on the diagonal beside |x_i|^2.
    double diagonal(int64_t i) const {
        return squared() && weight(i) > 0 ? 0.5 / (run.C * weight(i)) : 0.0;
    }
    double target(const svmcut_label_machine& machine) const {
        return run.relative > 0 ? run.relative * machine.primal : run.absolute;
    }
    // A bit for each machine of a chunk that goes on.
    uint32_t open(int64_t chunk) const {
        uint32_t bits = 0;
        for (int64_t l = 0; l < kChunk && chunk * kChunk + l < used; ++l)
            bits |= static_cast<uint32_t>(machines[chunk * kChunk + l].end == SVMCUT_LABEL_OPEN)
                    << l;
        return bits;
    }
    int64_t chunks() const { return (used + kChunk - 1) / kChunk; }
};

// Multiples of w that a look tries: P falls fast where all rows at the margin come to lie behind it.
constexpr double kMultiples[] = {1.0, 0.98, 0.995, 1.0025, 1.006, 1.012, 1.025, 1.05};
constexpr int kTried = sizeof kMultiples / sizeof *kMultiples;

// What a look at the machines of a chunk finds, a lane each: |V|^2 of the V that alpha forms, the
// sum of alpha and of alpha^2 times the diagonal, and the losses at the multiples of V.
struct WideSums {
    double squared[kChunk], rise[kChunk], bent[kChunk], risk[kTried][kChunk];
};

constexpr int kRefitSteps = 48;  // halvings of an interval

// epoch: the rest of an epoch whose visits are drawn; false when cancelled. look: W of a chunk,
// formed afresh by way of V (dim, 16), the sums at it, and the rows that its machines `open` visit.
// risk: the losses of the machines of a chunk at weights W; V is room. refit: the same at the best
// weights of the constant feature, which it sets; apart (n, 16) is room.
struct WideCode {
    bool (*epoch)(const WideGroup& group, const volatile int* cancel);
    void (*look)(const WideGroup& group, int64_t chunk, uint32_t open, double* V, WideSums& sums);
    void (*risk)(const WideGroup& group, int64_t chunk, const float* W, double* V, double* risk);
    void (*refit)(const WideGroup& group, int64_t chunk, float* W, double* V, double* apart,
                  double* risk);
};

const WideCode& wide_code(int instructions);

}  // namespace svmcut
#endif
