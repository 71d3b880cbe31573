# SPDX-License-Identifier: BSD-3-Clause
"""Choices, their values, and how they are refused: the catalog, parameters,
messages."""
