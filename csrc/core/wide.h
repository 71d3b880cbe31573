// SPDX-License-Identifier: BSD-3-Clause
//
// Loops compiled for wider vectors too, without fused multiply-adds: the bytes are the same on
// every processor.
#ifndef SVMCUT_WIDE_H
#define SVMCUT_WIDE_H

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define SVMCUT_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define SVMCUT_WIDE
#endif

#endif
