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

ScoringModel: TypeAlias = "LinearModel | KernelModel | FourierModel"
ClassModel: TypeAlias = "MulticlassModel | KernelMulticlassModel"
SetModel: TypeAlias = "MultilabelModel | SparseLabelModel | LabelTreeModel"
Model: TypeAlias = "ScoringModel | ChainModel | KernelChainModel | SetModel | ClassModel"

#: Names by the module that defines them.
_NAMES = {
    "base": ("renumber",),
    "chain": ("ChainModel", "ChainShape", "KernelChainModel", "check_lattice"),
    "classes": ("MulticlassModel",),
    "fourier": ("FourierModel",),
    "kernel_classes": ("JointKernelModel", "KernelMulticlassModel", "most_probable", "pairs_of"),
    "label_sets": ("LabelDecoder", "MultilabelModel", "SparseLabelModel"),
    "label_trees": ("LabelTreeModel",),
    "two_classes": ("KernelModel", "LinearModel"),
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
    module = next((module for module, names in _NAMES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(f"{__name__}.{module}"), name)
    return value
