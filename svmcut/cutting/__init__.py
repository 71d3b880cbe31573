# SPDX-License-Identifier: BSD-3-Clause
"""Cutting planes: the oracle of a risk and a space, the bundle of cuts, and line search."""
