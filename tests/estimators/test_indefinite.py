# SPDX-License-Identifier: BSD-3-Clause
"""Kernels that need not be definite claim nothing."""

import numpy as np
import pytest

from svmcut import KernelSVM, KernelSVMRegressor


def test_estimators_say_so(rng):
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    with pytest.raises(ValueError, match="'gamma' is -1"):
        KernelSVM(gamma=-1.0).fit(X, y)
    for kind in (KernelSVM, KernelSVMRegressor):
        with pytest.warns(UserWarning, match="need not be positive definite"):
            machine = kind(kernel="sigmoid", gamma=0.1).fit(X, y)
        assert machine.converged_ is False and np.isnan(machine.dual_).all()
