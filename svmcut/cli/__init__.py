# SPDX-License-Identifier: BSD-3-Clause
"""The command line. Modules here import nothing heavy at their head: a run pays only for what it
uses."""

import sys

from svmcut.base.resources import load_single_blas

# Models would depend on the number of threads, and starting them costs half of a small run.
if "numpy" not in sys.modules:
    load_single_blas()
