# SPDX-License-Identifier: BSD-3-Clause
"""Structured outputs: models that know joint features, losses and decoding; svmcut/solvers trains
them."""
