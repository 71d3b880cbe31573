# SPDX-License-Identifier: BSD-3-Clause
"""What scores are worth: measures and probabilities."""
