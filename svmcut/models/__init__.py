# SPDX-License-Identifier: BSD-3-Clause
"""What training yields and scoring needs: functions of a row, without data and without options.

A model may number its features on its own: with ``columns``, feature j of the model is column columns[j] of the data.
A file with one weight for the feature 2,147,483,646 then costs a few bytes and not 16 GB.
"""

from svmcut.models.chain import ChainModel, ChainShape, KernelChainModel, check_lattice
from svmcut.models.columns import renumber
from svmcut.models.kernel import KernelModel
from svmcut.models.label_sets import LabelDecoder, MultilabelModel
from svmcut.models.linear import LinearModel

ScoringModel = LinearModel | KernelModel
Model = ScoringModel | ChainModel | KernelChainModel | MultilabelModel

__all__ = [
    "ChainModel", "ChainShape", "KernelChainModel", "KernelModel", "LabelDecoder", "LinearModel", "Model",
    "MultilabelModel", "ScoringModel", "check_lattice", "renumber",
]  # fmt: skip
