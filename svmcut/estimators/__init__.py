# SPDX-License-Identifier: BSD-3-Clause
"""Estimators of scikit-learn: arrays in, attributes with the certificate out."""

try:
    import sklearn  # noqa: F401
except ImportError:
    raise ImportError(
        "the estimators need scikit-learn; install it with: pip install scikit-learn",
        name="sklearn",
    ) from None
