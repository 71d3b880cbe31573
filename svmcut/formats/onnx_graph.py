# SPDX-License-Identifier: BSD-3-Clause
"""Models of svmcut as ONNX graphs, for svmcut export; needs the package onnx.

    input    X        (rows, features) float
    outputs  label    of classes: (rows,) whole numbers, or words
             scores   (rows, 1) of numbers, an order or one class; (rows, 2), less the score and the
                      score, of two classes; (rows, classes) of several: scores, or of pairs votes
                      as the runtime counts them

Scores are float32. Operators of ai.onnx.ml that disagree about signs between runtimes are kept to
what all read alike: weights are two rows, and a kernel of two classes is a regression whose sign is
looked at.
"""

from __future__ import annotations

import numpy as np

from svmcut.base.errors import UsageError
from svmcut.base.typing import Any
from svmcut.files.output import Output
from svmcut.formats import exported
from svmcut.formats.libsvm_writing import text_of
from svmcut.models import JointKernelModel, KernelModel, LinearModel, MulticlassModel

#: Numbers of all support vectors with their zeros.
_MAX_NUMBERS = 200_000_000
_KERNELS = {"linear": "LINEAR", "polynomial": "POLY", "rbf": "RBF", "sigmoid": "SIGMOID"}
#: Versions of ai.onnx and ai.onnx.ml.
_OPSETS = {"": 13, "ai.onnx.ml": 3}


def write(path: str, first: bytes, output: Output, model: Any, original: bool = False) -> None:
    """Writes the whole file; see svmcut.spec.entries.Format. Raises UsageError without the package
    onnx and for labels that are no whole numbers, and ModelError."""
    try:
        import onnx
    except ImportError:
        raise UsageError("ONNX needs the package onnx; install it with: pip install onnx") from None
    graph = _Graph(path, model)
    if isinstance(model, LinearModel):
        exported.check_finite(path, model.w, np.array(model.offset))
        graph.add_linear()
    elif isinstance(model, MulticlassModel):
        exported.check_finite(path, model.W, model.constant)
        graph.add_linear_classes()
    elif isinstance(model, KernelModel):
        exported.check_finite(path, model.alpha, np.array(model.offset))
        graph.add_kernel()
    elif model.paired and not isinstance(model, JointKernelModel):
        graph.add_kernel_pairs()
    else:
        exported.check_finite(path, model.alpha, model.b)
        graph.add_kernel_classes()
    made = graph.build(onnx)
    output.write(made.SerializeToString())


class _Graph:
    """Nodes of the graph of a model, and their outputs."""

    def __init__(self, path: str, model: Any):
        self.path, self.model = path, model
        self._nodes: list[tuple[str, list[str], list[str], str, dict[str, Any]]] = []
        self._constants: dict[str, Any] = {}
        self._outputs: list[str] = []
        last = model.n_features if model.columns is None else int(model.columns.max(initial=-1)) + 1
        self.features = last

    def _add_node(
        self, kind: str, inputs: str, outputs: str, ml: bool = False, **known: Any
    ) -> None:
        domain = "ai.onnx.ml" if ml else ""
        self._nodes.append((kind, inputs.split(), outputs.split(), domain, known))

    def build(self, onnx: Any) -> Any:
        """Builds and checks the ONNX model."""
        helper, kinds = onnx.helper, onnx.TensorProto
        nodes = [
            helper.make_node(kind, inputs, outputs, domain=domain, **known)
            for kind, inputs, outputs, domain, known in self._nodes
        ]
        label = kinds.STRING if self.model.words else kinds.INT64
        outputs = [
            helper.make_tensor_value_info("label", label, [None])
            if name == "label"
            else helper.make_tensor_value_info(name, kinds.FLOAT, [None, None])
            for name in self._outputs
        ]
        X = helper.make_tensor_value_info("X", kinds.FLOAT, [None, self.features])
        constants = [
            onnx.numpy_helper.from_array(np.asarray(value), name)
            for name, value in self._constants.items()
        ]
        graph = helper.make_graph(nodes, "svmcut", [X], outputs, constants)
        opsets = [helper.make_opsetid(name, version) for name, version in _OPSETS.items()]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="svmcut")
        onnx.checker.check_model(made)
        return made

    def _names(self, two: bool) -> list[Any]:
        """Labels: the negative and the positive one, or those of all classes."""
        if self.model.words:
            return [*self.model.words]
        if two:
            return exported.two_names(self.path, self.model)[::-1]
        return exported.names_of(self.path, self.model)

    def _label_attribute(self, two: bool) -> dict[str, Any]:
        names = self._names(two)
        key = "classlabels_strings" if self.model.words else "classlabels_ints"
        return {key: names}

    def add_linear(self) -> None:
        """Adds a linear machine."""
        model = self.model
        w = _floats(exported.in_all_features(model.w, model.columns))
        b = float(-model.offset)
        if not exported.has_class_signs(model):
            self._add_node("LinearRegressor", "X", "scores", True, coefficients=w, intercepts=[b])
            self._outputs = ["scores"]
            return
        both = [*(-value for value in w), *w]
        self._add_node(
            "LinearClassifier",
            "X",
            "label scores",
            True,
            coefficients=both,
            intercepts=[-b, b],
            **self._label_attribute(True),
        )
        self._outputs = ["label", "scores"]

    def add_linear_classes(self) -> None:
        """Adds classes with their own weights."""
        model = self.model
        W = exported.in_all_features(model.W, model.columns)
        self._add_node(
            "LinearClassifier",
            "X",
            "label scores",
            True,
            coefficients=_floats(W.T.ravel()),
            intercepts=_floats(model.bias * model.constant),
            **self._label_attribute(False),
        )
        self._outputs = ["label", "scores"]

    def add_kernel(self) -> None:
        """Adds a kernel machine: two classes, numbers, an order, or one class."""
        model = self.model
        of_classes = exported.has_class_signs(model)
        every = np.arange(len(model.alpha))
        self._add_kernel_sum("f" if of_classes else "scores", every, model.alpha, -model.offset)
        self._outputs = ["scores"]
        if not of_classes:
            return
        names = self._names(True)
        kind = np.array(names) if self.model.words else np.array(names, np.int64)
        self._constants |= {"zero": np.float32(0), "negative": kind[0], "positive": kind[1]}
        self._constants["column"] = np.array([1], np.int64)
        self._add_node("Neg", "f", "other")
        self._add_node("Concat", "other f", "scores", axis=1)
        self._add_node("Squeeze", "f column", "value")
        self._add_node("Greater", "value zero", "above")
        self._add_node("Where", "above positive negative", "label")
        self._outputs = ["label", "scores"]

    def add_kernel_classes(self) -> None:
        """Adds machines of classes against the rest."""
        model = self.model
        K = len(model.names)
        for k in range(K):
            own = slice(model.starts[k], model.starts[k + 1])
            self._add_kernel_sum(f"f{k}", model.places[own], model.alpha[own], -float(model.b[k]))
        names = self._names(False)
        self._constants["names"] = np.array(names) if model.words else np.array(names, np.int64)
        self._add_node("Concat", " ".join(f"f{k}" for k in range(K)), "scores", axis=1)
        self._add_node("ArgMax", "scores", "best", axis=1, keepdims=0)
        self._add_node("Gather", "names best", "label", axis=0)
        self._outputs = ["label", "scores"]

    def add_kernel_pairs(self) -> None:
        """Adds machines of pairs of classes, with their votes."""
        text = text_of(self.path, self.model)
        vectors = np.zeros((len(text.coefs), self.features))
        self._check_size(vectors.shape)
        indptr, indices, values = text.rows
        vectors[np.repeat(np.arange(len(vectors)), np.diff(indptr)), indices - 1] = values
        self._add_node(
            "SVMClassifier",
            "X",
            "label scores",
            True,
            vectors_per_class=text.counts,
            support_vectors=_floats(vectors.ravel()),
            coefficients=_floats(text.coefs.T.ravel()),
            rho=[-value for value in text.rho],
            **self._kernel(),
            **self._label_attribute(False),
        )
        self._outputs = ["label", "scores"]

    def _add_kernel_sum(self, name: str, places: Any, alpha: Any, rho: float) -> None:
        """Adds a sum of kernel values and rho, over some of the support vectors."""
        model = self.model
        if not len(places):  # no operator takes a sum of none
            self._constants |= {f"{name}_w": np.zeros((self.features, 1), np.float32)}
            self._constants |= {f"{name}_b": np.float32(rho)}
            self._add_node("MatMul", f"X {name}_w", f"{name}_0")
            self._add_node("Add", f"{name}_0 {name}_b", name)
            return
        self._check_size((len(places), self.features))
        part = model.support.take(np.asarray(places))
        vectors = np.zeros((len(places), self.features), np.float32)
        columns = part.indices if model.columns is None else model.columns[part.indices]
        vectors[np.repeat(np.arange(len(places)), np.diff(part.indptr)), columns] = part.data
        self._add_node(
            "SVMRegressor",
            "X",
            name,
            True,
            n_supports=len(places),
            support_vectors=_floats(vectors.ravel()),
            coefficients=_floats(alpha),
            rho=[rho],
            **self._kernel(),
        )

    def _kernel(self) -> dict[str, Any]:
        kernel = self.model.kernel
        gamma = kernel.gamma if kernel.row.of_distances else kernel.scale
        return {
            "kernel_type": _KERNELS[kernel.name],
            "kernel_params": [float(gamma), float(kernel.offset), float(kernel.degree)],
        }

    def _check_size(self, shape: tuple[int, int]) -> None:
        if shape[0] * shape[1] > _MAX_NUMBERS:
            raise UsageError(
                "{}: ONNX has all {:,} values of each of {:,} support vectors, zeros too; that is "
                "more than it can hold",
                self.path,
                shape[1],
                shape[0],
            )


def _floats(values: Any) -> list[float]:
    return np.asarray(values, np.float64).tolist()
