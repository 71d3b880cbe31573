# SPDX-License-Identifier: BSD-3-Clause
"""The version, apart so that reading it imports nothing."""

__version__ = "2.0.0"
