# SPDX-License-Identifier: BSD-3-Clause
"""The parameters of svmcut.train with their types, for editors and type checkers; nothing imports
it at run time.

A parameter is a field of svmcut.spec.parameters.Settings or svmcut.tables.options.TableOptions,
which have their meaning, and check what is given.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypedDict

from svmcut.base.typing import Any, Literal

Path = str | os.PathLike[str]


class _Single(TypedDict, total=False):
    """Those of one value always."""

    loss: str | None
    positive: float | str | None
    class_weight: str | Mapping[Any, float] | None
    probability: bool
    initial: Path | None
    keep_multipliers: bool
    p: float
    at: float | tuple[float, float] | None
    beta: float
    tube: float
    penalty: str
    l1_ratio: float
    rescaling: str
    slack_norm: int
    bias: float | None
    free_bias: bool | None
    solver: str
    epsilon: float | None
    gap: float | None
    max_iterations: int | None
    time_limit: float | str | None
    kernel: str
    u: str
    basis: int
    basis_kind: str
    basis_method: int
    basis_file: Path | None
    sample_size: int
    patience: int
    polish: bool | None
    certify: bool | None
    budget: int
    epochs: float | None
    maintenance: str | None
    sampling: str
    hold_out: float
    nu: float | None
    average: str
    line_search: bool | None
    quick: bool
    transitions: int
    emissions: int
    beam: int
    multiclass: str | None
    pairs: str
    tree: bool
    prune: float | str | None
    label_block: int | None
    model_format: str | None
    parts: int | None
    qp: str | None
    cache_size: float | str
    max_memory: float | str | None
    threads: int
    seed: int
    zero_based: bool
    input: str
    template: Path | None
    original: bool
    label: str | None
    columns: str | Sequence[str]
    drop: str | Sequence[str]
    text: str | Sequence[str]
    categories: str | Sequence[str]
    group: str | None
    weight_column: str | None
    standardise: bool | str
    ngrams: tuple[int, int]
    min_count: int
    tf_idf: bool | str
    sublinear: bool | str
    smooth: bool | str
    hash_bits: int | None


class Parameters(_Single, total=False):
    """Of one training run."""

    cost: float | None
    example_cost: float | None
    degree: int
    gamma: float | Literal["scale", "auto"]
    scale_kernel: float
    coef0: float


class Training(Parameters, total=False):
    """Of svmcut.train, which may end where labels are decided."""

    until_decided: Any
    fraction: float


class Lists(_Single, total=False):
    """Of svmcut.cross_validate, which chooses among several values."""

    cost: float | Sequence[float] | None
    example_cost: float | Sequence[float] | None
    degree: int | Sequence[int]
    gamma: float | str | Sequence[float | str]
    scale_kernel: float | Sequence[float]
    coef0: float | Sequence[float]
