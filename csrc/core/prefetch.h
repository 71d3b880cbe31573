// SPDX-License-Identifier: BSD-3-Clause
//
// Hints to the processor, which change no result.
#ifndef SVMCUT_PREFETCH_H
#define SVMCUT_PREFETCH_H

namespace svmcut {

// Brings what will be read soon into the second cache.
inline void prefetch(const void* p) { __builtin_prefetch(p, 0, 2); }

}  // namespace svmcut
#endif
