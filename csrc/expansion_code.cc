/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loops over responses, once for every set of instructions.
 */
#include "expansion.h"

#define SVMCUT_FAMILY expansion_loops
#define SVMCUT_LOOPS "expansion_lanes.h"
#include "instructions.h"

namespace svmcut {

const ExpansionCode& expansion_code(int instructions) { return expansion_loops::code_for(instructions); }

}  // namespace svmcut
