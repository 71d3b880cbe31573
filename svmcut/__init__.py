# SPDX-License-Identifier: BSD-3-Clause
"""svmcut: certified training of support vector machines from the command line.

Nothing is imported here beyond the version: a run pays only for what it uses.
"""

from svmcut._version import __version__

__all__ = ["__version__"]
