# SPDX-License-Identifier: BSD-3-Clause
"""Random runs of svmcut, each held to what its model file is worth by definition.

Nothing of svmcut judges: the files are made, the model is parsed and its objective is evaluated
here, in extended precision where the machine has it.
"""
