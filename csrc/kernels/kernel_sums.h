// SPDX-License-Identifier: BSD-3-Clause
//
// Sums of machines over kernel values on vectors of rows. Inside the C++ side only.
#ifndef SVMCUT_KERNEL_SUMS_H
#define SVMCUT_KERNEL_SUMS_H

#include <cstdint>
#include <vector>

#include "include/kernels.h"
#include "kernels/kernel_points.h"

namespace svmcut {

// Machines over the same support vectors, as svmcut_kernel_machines takes them.
struct Machines {
    const svmcut_csr& support;
    const svmcut_kernel& kernel;
    int64_t count;
    const int64_t* starts;
    const int32_t* places;
    const double* alpha;
    const double* b;
};

// Decides by counts of features if vectors of rows pay, and that they can be used at all.
bool lanes_pay(const svmcut_csr& rows, const Machines& machines);

// gamma |x - z|^2 from norms and products is this exact, or distances are summed up as such.
bool far_from_zero(const svmcut_kernel& K, double largest, double own_norm);

// Sums as of svmcut_kernel_machines in float64, but of rows whose distances have to be summed up as
// such, which `aside` gets.
int lane_sums(const svmcut_csr& rows, const Machines& machines, int threads, double* out,
              std::vector<int64_t>* aside);

// In float32, where a bound of the error shows that labels are those of lane_sums; `aside` gets the
// other rows. of_largest: the label is the machine of the largest sum, else one by the sign of each.
int narrow_sums(const svmcut_csr& rows, const Machines& machines, bool of_largest, int threads,
                double* out, std::vector<int64_t>* aside);

}  // namespace svmcut
#endif
