# SPDX-License-Identifier: BSD-3-Clause
"""The command line. Modules here import nothing heavy at their head: a run pays only for what it uses."""

import os

# Read when numpy loads its BLAS, which nothing here needs many threads of; starting them costs half of a small run.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
