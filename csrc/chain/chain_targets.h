// SPDX-License-Identifier: BSD-3-Clause
//
// One source, compiled for three instruction sets: NAME_portable, NAME_avx2 and NAME_avx512;
// SVMCUT_PICK(NAME) is the widest the machine has.
#ifndef SVMCUT_CHAIN_TARGETS_H
#define SVMCUT_CHAIN_TARGETS_H

#if defined(__x86_64__)
#define SVMCUT_FOR_TARGETS 1
#define SVMCUT_AVX2 __attribute__((target("avx2")))
#define SVMCUT_AVX512 __attribute__((target("avx2,avx512f,avx512dq,avx512vl,avx512bw")))
#define SVMCUT_PICK(name)                                                             \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&       \
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") \
         ? name##_avx512                                                              \
     : __builtin_cpu_supports("avx2") ? name##_avx2                                   \
                                      : name##_portable)
#else
#define SVMCUT_PICK(name) name##_portable
#endif

#endif
