/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The vector loops of SMO, once for every set of instructions.
 */
#include "smo.h"

#define SVMCUT_FAMILY smo_loops
#define SVMCUT_LOOPS "smo_lanes.h"
#include "instructions.h"

namespace svmcut {

const SmoCode& smo_code(int instructions) { return smo_loops::code_for(instructions); }

}  // namespace svmcut
