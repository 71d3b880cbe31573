# SPDX-License-Identifier: BSD-3-Clause
"""What other programs' formats ask of a model of svmcut: whole labels, and what is said where they
cannot have it."""

from __future__ import annotations

import numpy as np

from svmcut.data.labels import SIGNS
from svmcut.errors import ModelError, UsageError
from svmcut.messages import join_names
from svmcut.spec.catalog import MARKED, TASKS, losses
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LARGEST = 2**31 - 1
#: Losses of models whose scores are numbers, or an order, and no sign.
_OF_SCORES = {loss for name in ("rank", "regression") if name in TASKS for loss in losses(name)}


def whole_label(path: str, label: float | None) -> int:
    """A label as a 32-bit integer.

    Raises
    ------
    UsageError
        Where it is none.
    """
    if label is None:
        raise UsageError(
            "{}: the negative class is every label but one, and the format names each; train with "
            "two labels",
            path,
        )
    if label != int(label) or abs(label) > _LARGEST:
        raise UsageError("{}: the format has whole labels, and {:g} is none", path, label)
    return int(label)


def two_names(path: str, model: Any) -> list[int]:
    """The labels of the positive and of the negative class; of words 1 and -1."""
    if model.words:
        return [1, -1]
    negative, positive = model.labels or SIGNS
    return [whole_label(path, positive), whole_label(path, negative)]


def names_of(path: str, model: Any) -> list[int]:
    """The labels of classes, in the order of their scores; of words their numbers from 1."""
    return [whole_label(path, label) for label in model.names.tolist()]


def is_of_classes(model: Any) -> bool:
    """Whether the sign of a score names a class."""
    return model.loss not in MARKED and model.loss not in _OF_SCORES


def in_all_features(w: NDArray[np.float64], columns: NDArray | None) -> NDArray[np.float64]:
    """Weights of the features 0 to the last there is."""
    if columns is None:
        return w
    out = np.zeros((int(columns.max(initial=-1)) + 1, *w.shape[1:]))
    out[columns] = w
    return out


def check_finite(path: str, *arrays: NDArray) -> None:
    """Refuses a model with a number that is none.

    Raises
    ------
    ModelError
    """
    if not all(np.isfinite(array).all() for array in arrays):
        raise ModelError(path, "a number of the model is not finite; it is not exported")


def cannot(path: str, model: Any, to: str, able: list[str]) -> UsageError:
    """What is said of a model that a format does not express, and of those that do."""
    return UsageError(
        "{}: {} has no {}; {} {} it",
        path,
        to,
        _kind(model),
        join_names(able, "and"),
        "take" if len(able) > 1 else "takes",
    )


def _kind(model: Any) -> str:
    kernel = f"the {getattr(getattr(model, 'kernel', None), 'name', '')} kernel"
    named = {
        "LinearModel": "linear machine of two classes, numbers or an order",
        "MulticlassModel": "linear machine of several classes",
        "KernelModel": f"machine with {kernel}",
        "KernelMulticlassModel": f"machine of classes with {kernel}",
        "JointKernelModel": "machine of classes with a kernel that were trained at once",
        "FourierModel": "machine on random Fourier features",
        "ChainModel": "machine of sequences",
        "KernelChainModel": "machine of sequences with a kernel",
        "MultilabelModel": "machine of label sets",
        "SparseLabelModel": "machine of label sets",
        "LabelTreeModel": "tree of labels",
    }
    return named.get(type(model).__name__, type(model).__name__)
