# SPDX-License-Identifier: BSD-3-Clause
"""Rows in memory: matrices, examples, their labels and parts."""
