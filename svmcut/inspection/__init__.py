# SPDX-License-Identifier: BSD-3-Clause
"""Facts of a model, and their text and page."""
