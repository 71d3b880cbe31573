# SPDX-License-Identifier: BSD-3-Clause
"""Models of svmcut as ONNX graphs, for svmcut export; needs the package onnx.

    inputs   X        (rows, features) float, or of a table of numbers and categories its columns:
                      (rows, 1) double, nan where missing, and (rows, 1) texts without blanks around
    outputs  label    of classes: (rows,) whole numbers, or words
             scores   (rows, 1) of numbers, an order or one class; (rows, 2), less the score and the
                      score, of two classes; (rows, classes) of several: scores, or of pairs votes
                      as the runtime counts them
             probabilities   (rows, classes) of models that have them, but for pairs

Scores are float32. Operators of ai.onnx.ml that disagree about signs between runtimes are kept to
what all read alike: weights are two rows, and a kernel of two classes is a regression whose sign is
looked at.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import UsageError
from svmcut.base.typing import Any
from svmcut.files.output import Output
from svmcut.formats import exported
from svmcut.formats.libsvm_writing import text_of
from svmcut.models import JointKernelModel, KernelModel, LinearModel, MulticlassModel
from svmcut.tables.encoding import Category, Number, Text

#: Numbers of all support vectors with their zeros.
_MAX_NUMBERS = 200_000_000
_KERNELS = {"linear": "LINEAR", "polynomial": "POLY", "rbf": "RBF", "sigmoid": "SIGMOID"}
_OUTPUTS = ("", "label", "scores", "probabilities")
#: TensorProto.FLOAT.
_FLOAT = 1
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
    graph.add_probabilities()
    made = graph.build(onnx)
    output.write(made.SerializeToString())


def has_column_inputs(table: Any) -> bool:
    """True if ONNX has operators for what the columns of a table become, and their names."""
    return bool(table.columns) and not any(isinstance(one, Text) for one in table.columns)


class _Graph:
    """Nodes of the graph of a model, and their outputs."""

    def __init__(self, path: str, model: Any):
        self.path, self.model = path, model
        self._nodes: list[tuple[str, list[str], list[str], str, dict[str, Any]]] = []
        self._constants: dict[str, Any] = {}
        self._outputs: list[str] = []
        last = model.n_features if model.columns is None else int(model.columns.max(initial=-1)) + 1
        self._inputs: dict[str, bool] = {}  # whether each is text
        table = model.table
        if table is not None and has_column_inputs(table):
            last = table.n_features
            self._add_columns(table)
        self.features = last

    def _add_node(
        self, kind: str, inputs: str, outputs: str, ml: bool = False, **known: Any
    ) -> None:
        domain = "ai.onnx.ml" if ml else ""
        self._nodes.append((kind, inputs.split(), outputs.split(), domain, known))

    def build(self, onnx: Any) -> Any:
        """Builds and checks the ONNX model."""
        helper, kinds = onnx.helper, onnx.TensorProto
        outside = {*self._inputs, *self._outputs, *(["X"] if not self._inputs else [])}
        mark = "#"  # of names within, which no column has
        while any(name.startswith(mark) for name in self._inputs):
            mark += "#"

        def named(names: list[str]) -> list[str]:
            return [name if name in outside else mark + name for name in names]

        nodes = [
            helper.make_node(kind, named(inputs), named(outputs), domain=domain, **known)
            for kind, inputs, outputs, domain, known in self._nodes
        ]
        label = kinds.STRING if self.model.words else kinds.INT64
        outputs = [
            helper.make_tensor_value_info("label", label, [None])
            if name == "label"
            else helper.make_tensor_value_info(name, kinds.FLOAT, [None, None])
            for name in self._outputs
        ]
        inputs = [
            helper.make_tensor_value_info(name, kinds.STRING if text else kinds.DOUBLE, [None, 1])
            for name, text in self._inputs.items()
        ] or [helper.make_tensor_value_info("X", kinds.FLOAT, [None, self.features])]
        constants = [
            onnx.numpy_helper.from_array(np.asarray(value), mark + name)
            for name, value in self._constants.items()
        ]
        graph = helper.make_graph(nodes, "svmcut", inputs, outputs, constants)
        opsets = [helper.make_opsetid(name, version) for name, version in _OPSETS.items()]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="svmcut")
        onnx.checker.check_model(made)
        return made

    def _add_columns(self, table: Any) -> None:
        """Adds the features X of the columns of a table."""
        parts = []
        for k, column in enumerate(table.columns):
            if column.name in _OUTPUTS:
                raise UsageError(
                    "{}: the column '{}' would be an input of the name of an output; rename it",
                    self.path,
                    column.name,
                )
            self._inputs[column.name] = isinstance(column, Category)
            if isinstance(column, Category):
                parts += self._add_category(column, f"column {k}")
            else:
                parts += self._add_number(column, f"column {k}")
        self._nodes.append(("Concat", parts, ["X"], "", {"axis": 1}))

    def _add_number(self, column: Number, own: str) -> list[str]:
        known = {"mean": column.mean, "scale": column.scale, "fill": column.fill}
        self._constants |= {f"{own} {name}": np.float64(value) for name, value in known.items()}
        steps = [
            ("IsNaN", [column.name], f"{own} missing"),
            ("Where", [f"{own} missing", f"{own} fill", column.name], f"{own} there"),
            ("Sub", [f"{own} there", f"{own} mean"], f"{own} centred"),
            ("Mul", [f"{own} centred", f"{own} scale"], f"{own} scaled"),
        ]
        self._nodes += [(kind, inputs, [made], "", {}) for kind, inputs, made in steps]
        parts = ["scaled", "missing"][: 1 + column.missing]
        for part in parts:
            cast = {"to": _FLOAT}
            self._nodes.append(("Cast", [f"{own} {part}"], [f"{own} {part} X"], "", cast))
        return [f"{own} {part} X" for part in parts]

    def _add_category(self, column: Category, own: str) -> list[str]:
        self._constants["columns"] = np.array([1], np.int64)
        how = {"cats_strings": [*column.values, *[""] * column.missing], "zeros": 1}
        self._nodes.append(("OneHotEncoder", [column.name], [own], "ai.onnx.ml", how))
        self._nodes.append(("Squeeze", [own, "columns"], [f"{own} X"], "", {}))
        return [f"{own} X"]

    def add_probabilities(self) -> None:
        """Adds the probabilities of classes, where scores give them."""
        model = self.model
        if not getattr(model, "has_probabilities", False) or getattr(model, "paired", False):
            return
        two = not hasattr(model, "names")
        self._outputs.append("probabilities")
        if two:  # scores are -f and f
            A, B = model.calibration
            self._constants |= {"slope": np.float32(-A), "shift": np.array([[B, -B]], np.float32)}
            self._add_node("Mul", "scores slope", "sloped")
            self._add_node("Add", "sloped shift", "odds")
            self._add_node("Sigmoid", "odds", "probabilities")
        elif model.temperature is not None:
            self._constants["t"] = np.float32(model.temperature)
            self._add_node("Mul", "scores t", "heated")
            self._add_node("Softmax", "heated", "probabilities", axis=1)
        else:
            self._constants["last"] = np.array([1], np.int64)
            self._add_node("Sigmoid", "scores", "odds")
            self._add_node("ReduceSum", "odds last", "total", keepdims=1)
            self._add_node("Div", "odds total", "probabilities")

    def _in_all_features(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights of all features of a row."""
        own = exported.in_all_features(weights, self.model.columns)
        return np.concatenate([own, np.zeros((self.features - len(own), *own.shape[1:]))])

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
        w = _floats(self._in_all_features(model.w))
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
        W = self._in_all_features(model.W)
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
