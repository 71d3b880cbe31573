# SPDX-License-Identifier: BSD-3-Clause
"""Models, the results of training: functions of a row, without data and options. Each kind is
imported when it is used.

A model may number its features on its own: with ``columns``, feature j of the model is column
columns[j] of the data. A file with one weight for the feature 2,147,483,646 then costs a few bytes
and not 16 GB.
"""

from importlib import import_module

from svmcut.base.typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from svmcut.models.base import renumber
    from svmcut.models.chain import ChainModel, ChainShape, KernelChainModel, check_lattice
    from svmcut.models.classes import MulticlassModel
    from svmcut.models.fourier import FourierModel
    from svmcut.models.kernel_classes import (
        JointKernelModel,
        KernelMulticlassModel,
        most_probable,
        pairs_of,
    )
    from svmcut.models.label_sets import LabelDecoder, MultilabelModel, SparseLabelModel
    from svmcut.models.label_trees import LabelTreeModel
    from svmcut.models.two_classes import KernelModel, LinearModel

    ScoringModel: TypeAlias = LinearModel | KernelModel | FourierModel
    ClassModel: TypeAlias = MulticlassModel | KernelMulticlassModel
    SetModel: TypeAlias = MultilabelModel | SparseLabelModel | LabelTreeModel
    Model: TypeAlias = ScoringModel | ChainModel | KernelChainModel | SetModel | ClassModel

_WHERE = {
    "ChainModel": "chain",
    "ChainShape": "chain",
    "KernelChainModel": "chain",
    "check_lattice": "chain",
    "renumber": "base",
    "KernelModel": "two_classes",
    "LabelDecoder": "label_sets",
    "LabelTreeModel": "label_trees",
    "MultilabelModel": "label_sets",
    "SparseLabelModel": "label_sets",
    "LinearModel": "two_classes",
    "MulticlassModel": "classes",
    "KernelMulticlassModel": "kernel_classes",
    "FourierModel": "fourier",
    "most_probable": "kernel_classes",
    "JointKernelModel": "kernel_classes",
    "pairs_of": "kernel_classes",
}

__all__ = [
    "ChainModel",
    "ChainShape",
    "ClassModel",
    "FourierModel",
    "JointKernelModel",
    "KernelChainModel",
    "KernelModel",
    "KernelMulticlassModel",
    "LabelDecoder",
    "LabelTreeModel",
    "LinearModel",
    "Model",
    "MulticlassModel",
    "MultilabelModel",
    "ScoringModel",
    "SetModel",
    "SparseLabelModel",
    "check_lattice",
    "most_probable",
    "pairs_of",
    "renumber",
]


def __getattr__(name: str):
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    return value
