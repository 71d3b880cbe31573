# SPDX-License-Identifier: BSD-3-Clause
"""``python -m svmcut`` is ``svmcut``."""

import sys

from svmcut.cli.start import main

if __name__ == "__main__":
    sys.exit(main())
