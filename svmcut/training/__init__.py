# SPDX-License-Identifier: BSD-3-Clause
"""From settings to a model: one driver, and a plan for every way of training. No algorithm
inside."""
