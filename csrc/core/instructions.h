// SPDX-License-Identifier: BSD-3-Clause
//
// Vector loops, once for every set of instructions. SVMCUT_LOOPS names the file of the loops, which
// stand in namespace SVMCUT_LANES on vectors of SVMCUT_LANE_BYTES and end with a table of
// themselves, `code`; SVMCUT_FAMILY is the namespace around all of them. Every header the loops
// need comes before this one: none may be compiled for a target.
#include <cstddef>
#include <type_traits>
#include <utility>

#pragma GCC diagnostic ignored "-Wpsabi"

#define SVMCUT_LANES SVMCUT_FAMILY::portable
#define SVMCUT_LANE_BYTES 16
#include SVMCUT_LOOPS
#undef SVMCUT_LANES
#undef SVMCUT_LANE_BYTES

#if defined(__x86_64__)
#define SVMCUT_VECTOR_CODE 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define SVMCUT_LANES SVMCUT_FAMILY::avx2
#define SVMCUT_LANE_BYTES 32
#include SVMCUT_LOOPS
#undef SVMCUT_LANES
#undef SVMCUT_LANE_BYTES
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push( \
    __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#endif
#define SVMCUT_LANES SVMCUT_FAMILY::avx512
#define SVMCUT_LANE_BYTES 64
#include SVMCUT_LOOPS
#undef SVMCUT_LANES
#undef SVMCUT_LANE_BYTES
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace svmcut::SVMCUT_FAMILY {

// The table for the instructions asked for; where the machine lacks them, the next one below.
inline const auto& code_for(int instructions) {
#ifdef SVMCUT_VECTOR_CODE
    __builtin_cpu_init();
    const bool two = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool five = two && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
    if (instructions == SVMCUT_FASTEST && five) return avx512::code;
    if (instructions != SVMCUT_PORTABLE && two) return avx2::code;
#endif
    return portable::code;
}

}  // namespace svmcut::SVMCUT_FAMILY
