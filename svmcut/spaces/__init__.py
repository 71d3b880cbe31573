# SPDX-License-Identifier: BSD-3-Clause
"""Spaces: features as vectors, scores of a w, and the w of coefficients."""
