// SPDX-License-Identifier: BSD-3-Clause
//
// A multiple of one array added to another. The wide loop holds no fused multiply-add: the bytes
// are the same on every processor.
#ifndef SVMCUT_ADD_SCALED_H
#define SVMCUT_ADD_SCALED_H

#include <cstdint>

#include "core/wide.h"

namespace svmcut {

// y += c x
SVMCUT_WIDE static void add_scaled(int64_t n, double c, const double* __restrict x,
                                   double* __restrict y) {
    for (int64_t k = 0; k < n; ++k) y[k] += c * x[k];
}

}  // namespace svmcut
#endif
