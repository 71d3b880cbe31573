# SPDX-License-Identifier: BSD-3-Clause
"""Training: one driver from settings to a model, and a plan for every way of training."""
