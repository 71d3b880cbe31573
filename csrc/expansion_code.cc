/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loops over responses, once for every set of instructions.
 */
#include "expansion.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

#define SVMCUT_LANES expansion_portable
#include "expansion_lanes.h"
#undef SVMCUT_LANES

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SVMCUT_VECTOR_CODE 1
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define SVMCUT_LANES expansion_avx2
#include "expansion_lanes.h"
#undef SVMCUT_LANES
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#define SVMCUT_LANES expansion_avx512
#include "expansion_lanes.h"
#undef SVMCUT_LANES
#pragma GCC pop_options
#endif

namespace svmcut {

const ExpansionCode& expansion_code(int instructions) {
#ifdef SVMCUT_VECTOR_CODE
    __builtin_cpu_init();
    const bool two = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool five = two && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (instructions == SVMCUT_FASTEST && five) return expansion_avx512::code;
    if (instructions != SVMCUT_PORTABLE && two) return expansion_avx2::code;
#endif
    return expansion_portable::code;
}

}  // namespace svmcut
