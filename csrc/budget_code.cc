/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The vector loops of budgeted training, once for every set of instructions.
 */
#include <cmath>
#include <limits>

#include "budget.h"
#include "merge_table.h"

#define SVMCUT_LANES budget_portable
#define SVMCUT_LANE_BYTES 16
#include "budget_lanes.h"
#undef SVMCUT_LANES
#undef SVMCUT_LANE_BYTES

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SVMCUT_VECTOR_CODE 1
#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define SVMCUT_LANES budget_avx2
#define SVMCUT_LANE_BYTES 32
#include "budget_lanes.h"
#undef SVMCUT_LANES
#undef SVMCUT_LANE_BYTES
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#define SVMCUT_LANES budget_avx512
#define SVMCUT_LANE_BYTES 64
#include "budget_lanes.h"
#undef SVMCUT_LANES
#undef SVMCUT_LANE_BYTES
#pragma GCC pop_options
#endif

namespace svmcut {

const BudgetCode& budget_code(int instructions) {
#ifdef SVMCUT_VECTOR_CODE
    __builtin_cpu_init();
    const bool two = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool five = two && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (instructions == SVMCUT_FASTEST && five) return budget_avx512::code;
    if (instructions != SVMCUT_PORTABLE && two) return budget_avx2::code;
#endif
    return budget_portable::code;
}

}  // namespace svmcut
