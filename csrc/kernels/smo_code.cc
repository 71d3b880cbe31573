// SPDX-License-Identifier: BSD-3-Clause
//
// The vector loops of SMO, once for every set of instructions.
#include "kernels/smo.h"

#define SVMCUT_FAMILY smo_loops
#define SVMCUT_LOOPS "kernels/smo_lanes.h"
#include "core/instructions.h"

namespace svmcut {

const SmoCode& smo_code(int instructions) { return smo_loops::code_for(instructions); }

}  // namespace svmcut
