# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's own checks of estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from svmcut import (
    KernelSVM,
    KernelSVMRegressor,
    LinearSVM,
    LinearSVMRegressor,
    OneClassSVM,
    PerfClassifier,
    compat,
)

#: The two are compared to 1e-7. A gap g bounds the weights by |w - w*| <= sqrt(2 g), so that asks
#: for a gap of 5e-15, beyond float64; scikit-learn leaves LinearSVC's dual solver out for it.
#: test_classes.py compares the objectives.
WEIGHTS_TO_1E7 = {
    f"check_sample_weight_equivalence_on_{kind}_data": "machines are compared to 1e-7, beyond "
    "what a gap certifies"
    for kind in ("dense", "sparse")
}


def expected(estimator):
    return {} if isinstance(estimator, PerfClassifier) else WEIGHTS_TO_1E7


@pytest.mark.filterwarnings(
    "ignore:C = .* leaves:UserWarning", "ignore::sklearn.exceptions.SkipTestWarning"
)
@parametrize_with_checks(
    [
        LinearSVM(),
        LinearSVM(multi_class="crammer_singer"),
        KernelSVM(),
        KernelSVM(multi_class="ovo"),
        PerfClassifier(),
        LinearSVMRegressor(),
        KernelSVMRegressor(),
        OneClassSVM(),
        compat.LinearSVC(),
        compat.SVC(),
        compat.LinearSVR(),
        compat.SVR(),
    ],
    expected_failed_checks=expected,
)
def test_estimators_are_those_of_scikit_learn(estimator, check):
    check(estimator)
