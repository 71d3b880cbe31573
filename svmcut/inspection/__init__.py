# SPDX-License-Identifier: BSD-3-Clause
"""What there is to see of a model: facts, and their text and page."""
