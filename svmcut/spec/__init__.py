# SPDX-License-Identifier: BSD-3-Clause
"""What there is to choose from, what it may be, and how it is refused: the catalog, parameters,
messages."""
