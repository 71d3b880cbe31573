// SPDX-License-Identifier: BSD-3-Clause
//
// A group of machines of label_cd.cc, and the loops over its rows that are compiled for every set
// of instructions.
#ifndef SVMCUT_LABEL_CD_H
#define SVMCUT_LABEL_CD_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/prefetch.h"
#include "include/labels.h"

namespace svmcut {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kIdle = 1e-12;  // projected gradients below this do not move a coordinate
constexpr int64_t kPollEvery = 1 << 8;
constexpr int64_t kRowsAhead = 4;  // the row so many visits ahead is fetched now

struct Group {
    const svmcut_label_cd& run;
    svmcut_label_group& state;
    svmcut_label_machine* machines;
    const uint8_t* positive;
    uint8_t* rows;
    int32_t *order, *visits;
    double *alpha, *W, *best;
    int64_t n, dim, first, used;  // of its machines the first of the run's, and how many there are

    Group(const svmcut_label_cd& given, int64_t g)
        : run(given),
          state(given.states[g]),
          n(given.X->n_rows),
          dim(given.X->n_features + (given.bias != 0)) {
        const int64_t L = given.lanes;
        machines = given.machines + g * L;
        positive = given.positive + g * n;
        rows = given.rows + g * n;
        order = given.order + 2 * g * n;
        visits = order + n;
        alpha = given.alpha + g * n * L;
        W = given.W + g * dim * L;
        first = g * given.count / given.groups;
        used = (g + 1) * given.count / given.groups - first;
        best = given.best + first;
    }

    double box(int64_t i) const { return run.v ? run.C * run.v[i] : run.C; }
    double target(const svmcut_label_machine& machine) const {
        return run.relative > 0 ? run.relative * machine.primal : run.absolute;
    }
    uint8_t open() const {
        uint8_t bits = 0;
        for (int64_t l = 0; l < used; ++l)
            bits |= static_cast<uint8_t>((machines[l].end == SVMCUT_LABEL_OPEN) << l);
        return bits;
    }
};

// epoch: the rest of an epoch whose visits are drawn; false when cancelled. form: W of alpha,
// formed afresh, and its scores s (n, lanes).
struct LabelCode {
    bool (*epoch)(const Group& group, const volatile int* cancel);
    void (*form)(const Group& group, double* s);
};

// Of so many lanes.
const LabelCode& label_code(int64_t lanes, int instructions);

}  // namespace svmcut
#endif
