// SPDX-License-Identifier: BSD-3-Clause
//
// The loops over rows of machines side by side, once for every set of instructions.
#include "labels/label_cd.h"

#define SVMCUT_FAMILY label_loops
#define SVMCUT_LOOPS "labels/label_cd_lanes.h"
#include "core/instructions.h"

namespace svmcut {

const LabelCode& label_code(int64_t lanes, int instructions) {
    return label_loops::code_for(instructions)[lanes == 4 ? 0 : 1];
}

}  // namespace svmcut
