# SPDX-License-Identifier: BSD-3-Clause
"""Slips of a user's script, one a line behind `# wrong`, which type checkers report."""

import svmcut

svmcut.train("data/text.train", exmaple_cost=1.0)  # wrong: a name
svmcut.train("data/text.train", gamma="wide")  # wrong: a value
svmcut.train("data/text.train", gap="small")  # wrong: a type
svmcut.cross_validate("data/text.train", 5, gama=[1.0])  # wrong: a name
print(svmcut.train("data/text.train", example_cost=1.0).primla)  # wrong: an attribute
svmcut.LinearSVM(penalti="l2")  # wrong: a name
print(svmcut.LinearSVM(C=1.0).fitt)  # wrong: an attribute
svmcut.KernelSVM(C="large")  # wrong: a type
print(svmcut.load("model").decision_functon)  # wrong: an attribute
