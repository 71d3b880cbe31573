// SPDX-License-Identifier: BSD-3-Clause
//
// The loops over rows of many machines in step, once for every set of instructions.
#include "labels/wide_cd.h"

#define SVMCUT_FAMILY wide_loops
#define SVMCUT_LOOPS "labels/wide_cd_lanes.h"
#include "core/instructions.h"

namespace svmcut {

const WideCode& wide_code(int instructions) { return wide_loops::code_for(instructions)[0]; }

}  // namespace svmcut
