// SPDX-License-Identifier: BSD-3-Clause
//
// Merging of two weighted gaussians into one. Inside the C++ side only.
#ifndef SVMCUT_MERGE_TABLE_H
#define SVMCUT_MERGE_TABLE_H

#include <cstdint>

namespace svmcut {

constexpr int64_t kMergeGrid = 400;  // nodes of either axis

// What a merge loses, as a part of the smaller weight: |m phi_a + (1 - m) phi_b - s phi_z| / m at
// the best z, at m = 1/2 i / (kMergeGrid - 1) and kappa = K(a, b) = k / (kMergeGrid - 1), in
// table[i * kMergeGrid + k].
void merge_table(float* table, int threads);

// The best z = h a + (1 - h) b lies at this h in [0, 1/2], for m in [0, 1/2].
double merge_place(double m, double kappa);

}  // namespace svmcut
#endif
