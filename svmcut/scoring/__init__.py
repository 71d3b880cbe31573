# SPDX-License-Identifier: BSD-3-Clause
"""Scoring: measures, probabilities and thresholds of scores."""
