// SPDX-License-Identifier: BSD-3-Clause
//
// The loops over responses, once for every set of instructions.
#include "steps/expansion.h"

#define SVMCUT_FAMILY expansion_loops
#define SVMCUT_LOOPS "steps/expansion_lanes.h"
#include "core/instructions.h"

namespace svmcut {

const ExpansionCode& expansion_code(int instructions) {
    return expansion_loops::code_for(instructions);
}

}  // namespace svmcut
