# SPDX-License-Identifier: BSD-3-Clause
"""Models as programs and queries, from raw columns to scores, labels and probabilities; a row of
svmcut.spec.catalog.EXPORTS names the file here that writes each."""
