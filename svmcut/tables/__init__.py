# SPDX-License-Identifier: BSD-3-Clause
"""Tables, tokens and words read as examples: columns become features."""
