// SPDX-License-Identifier: BSD-3-Clause
//
// The forms of kernels on one float64 number. Inside the C++ side only.
#ifndef SVMCUT_KERNEL_VALUE_H
#define SVMCUT_KERNEL_VALUE_H

#include <cmath>
#include <cstdint>

#include "include/kernels.h"

namespace svmcut::one_number {

template <class V>
inline V of(double x) {
    return x;
}
inline double exp_of(double x) { return std::exp(x); }
inline double power_of(double x, int32_t degree) { return std::pow(x, degree); }
inline double tanh_of(double x) { return std::tanh(x); }

#include "kernels/kernel_forms.h"

inline bool of_distance(const svmcut_kernel& kernel) {
    bool found = false;
    with_form(kernel, [&](auto form) { found = form.kOfDistance; });
    return found;
}

}  // namespace svmcut::one_number
#endif
