# SPDX-License-Identifier: BSD-3-Clause
"""Choosing C and parameters of the kernel: by a grid, or with a proof over an interval."""
