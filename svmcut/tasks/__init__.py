# SPDX-License-Identifier: BSD-3-Clause
"""The differences between tasks: reading, planning of training, prediction and measures. Rows of
svmcut.spec.catalog.TASKS name them."""
