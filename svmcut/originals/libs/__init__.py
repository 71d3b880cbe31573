# SPDX-License-Identifier: BSD-3-Clause
"""LIBSVM's and LIBLINEAR's programs: their command lines, lines, models and exit statuses, on the
solvers of this package."""
