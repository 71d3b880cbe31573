# SPDX-License-Identifier: BSD-3-Clause
"""What differs between tasks: reading, planning of training, prediction, measuring. Rows of
svmcut.spec.catalog.TASKS."""
