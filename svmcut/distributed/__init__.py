# SPDX-License-Identifier: BSD-3-Clause
"""Training on rows that lie in parts, each a file: what a part answers, who asks, and the oracle of
the sums."""
