# SPDX-License-Identifier: BSD-3-Clause
"""Converters of skl2onnx: importing this module registers them, and skl2onnx.to_onnx takes
LinearSVM and all machines of svmcut.compat, within pipelines too.

The machines have the attributes of scikit-learn's, so that the converters of these serve; of linear
classes the second output is the scores, as of LinearSVC.
"""

from __future__ import annotations

import numpy as np
from skl2onnx import update_registered_converter
from skl2onnx.common.shape_calculator import (
    calculate_linear_classifier_output_shapes,
    calculate_linear_regressor_output_shapes,
)
from skl2onnx.operator_converters.linear_regressor import convert_sklearn_linear_regressor
from skl2onnx.operator_converters.support_vector_machines import (
    convert_sklearn_svm_classifier,
    convert_sklearn_svm_regressor,
)
from skl2onnx.shape_calculators.support_vector_machines import calculate_sklearn_svm_output_shapes

from svmcut.base.errors import UsageError
from svmcut.base.typing import Any
from svmcut.estimators.liblinear import LinearSVC, LinearSVR
from svmcut.estimators.libsvm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from svmcut.estimators.linear import LinearSVM

#: Options of classes, as scikit-learn's have them.
_OF_CLASSES = {
    "zipmap": [True, False, "columns"],
    "nocl": [True, False],
    "output_class_labels": [False, True],
    "raw_scores": [True, False],
}


def convert_linear_classes(scope: Any, operator: Any, container: Any) -> None:
    """Adds the nodes of linear machines of classes. Raises UsageError for a machine with
    probabilities, whose second output would be taken for these."""
    machine = operator.raw_operator
    if hasattr(machine, "predict_proba"):
        raise UsageError("the machine has probabilities; save it, and export its file to ONNX")
    W = np.asarray(getattr(machine.coef_, "toarray", lambda: machine.coef_)(), np.float64)
    b = np.broadcast_to(np.asarray(machine.intercept_, np.float64), len(W))
    if len(W) == 1:
        W, b = np.vstack([-W, W]), np.concatenate([-b, b])
    labels = machine.classes_.tolist()
    kind = "strings" if isinstance(labels[0], str) else "ints"
    container.add_node(
        "LinearClassifier",
        operator.inputs[0].full_name,
        [output.full_name for output in operator.outputs],
        op_domain="ai.onnx.ml",
        name=scope.get_unique_operator_name("LinearClassifier"),
        coefficients=W.ravel().tolist(),
        intercepts=b.tolist(),
        post_transform="NONE",
        **{f"classlabels_{kind}": labels},
    )


_LINEAR = calculate_linear_classifier_output_shapes, convert_linear_classes
_NUMBERS = calculate_linear_regressor_output_shapes, convert_sklearn_linear_regressor
_KERNEL = calculate_sklearn_svm_output_shapes, convert_sklearn_svm_classifier
_KERNEL_NUMBERS = calculate_sklearn_svm_output_shapes, convert_sklearn_svm_regressor
_MACHINES: tuple[tuple[Any, str, tuple[Any, Any], Any], ...] = (
    (LinearSVM, "SvmcutLinearSVM", _LINEAR, _OF_CLASSES),
    (LinearSVC, "SvmcutLinearSVC", _LINEAR, _OF_CLASSES),
    (LinearSVR, "SvmcutLinearSVR", _NUMBERS, None),
    (SVC, "SklearnSVC", _KERNEL, _OF_CLASSES),
    (NuSVC, "SklearnSVC", _KERNEL, _OF_CLASSES),
    (SVR, "SklearnSVR", _KERNEL_NUMBERS, None),
    (NuSVR, "SklearnSVR", _KERNEL_NUMBERS, None),
    (OneClassSVM, "SklearnOneClassSVM", _KERNEL_NUMBERS, None),
)
for _machine, _name, _functions, _options in _MACHINES:
    update_registered_converter(_machine, _name, *_functions, overwrite=True, options=_options)
