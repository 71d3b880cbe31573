// SPDX-License-Identifier: BSD-3-Clause
//
// The vector loops of budgeted training, once for every set of instructions.
#include <cmath>
#include <limits>

#include "budget/budget.h"
#include "budget/merge_table.h"

#define SVMCUT_FAMILY budget_loops
#define SVMCUT_LOOPS "budget/budget_lanes.h"
#include "core/instructions.h"

namespace svmcut {

const BudgetCode& budget_code(int instructions) { return budget_loops::code_for(instructions); }

}  // namespace svmcut
