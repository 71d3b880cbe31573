# SPDX-License-Identifier: BSD-3-Clause
"""From columns of a table to features: what each becomes, fitted to training rows, and the rows
themselves."""
