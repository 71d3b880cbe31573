# SPDX-License-Identifier: BSD-3-Clause
"""The version, apart so that reading it imports nothing."""

__version__ = "0.1.0"
