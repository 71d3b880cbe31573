# SPDX-License-Identifier: BSD-3-Clause
"""Structured outputs: joint features, losses and decoding, as svmcut/solvers needs them for
training."""
