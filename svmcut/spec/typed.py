# SPDX-License-Identifier: BSD-3-Clause
"""The parameters of svmcut.train with their types, for editors and type checkers; nothing imports
it at run time.

Written by `make docs` from svmcut.spec.parameters and svmcut.tables.options, which have their
meaning.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypedDict

from svmcut.base.typing import Any, Literal

Path = str | os.PathLike[str]


class _Single(TypedDict, total=False):
    """Parameters of one value always."""

    positive: float | str | None
    class_weight: str | Mapping[Any, float] | None
    zero_based: bool
    input: str
    loss: str | None
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
    transitions: int
    emissions: int
    multiclass: str | None
    probability: bool
    pairs: str
    tree: bool
    prune: float | str | None
    nu: float | None
    kernel: str
    basis: int
    basis_kind: str
    sample_size: int
    patience: int
    budget: int
    maintenance: str | None
    sampling: str
    average: str
    polish: bool | None
    certify: bool | None
    epsilon: float | None
    gap: float | None
    max_iterations: int | None
    time_limit: float | str | None
    epochs: float | None
    hold_out: float
    quick: bool
    model_format: str | None
    initial: Path | None
    keep_multipliers: bool
    label_block: int | None
    line_search: bool | None
    parts: int | None
    solver: str
    qp: str | None
    beam: int
    threads: int
    seed: int
    cache_size: float | str
    max_memory: float | str | None
    u: str
    basis_method: int
    basis_file: Path | None
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
    template: Path | None
    original: bool


class Parameters(_Single, total=False):
    """Parameters of one training run."""

    cost: float | None
    example_cost: float | None
    degree: int
    scale_kernel: float
    coef0: float
    gamma: float | Literal["scale", "auto"]


class Training(Parameters, total=False):
    """Parameters of svmcut.train, which may end where labels are decided."""

    until_decided: Any
    fraction: float


class Lists(_Single, total=False):
    """Parameters of svmcut.cross_validate, which chooses among several values."""

    cost: float | Sequence[float] | None
    example_cost: float | Sequence[float] | None
    degree: int | Sequence[int]
    scale_kernel: float | Sequence[float]
    coef0: float | Sequence[float]
    gamma: float | str | Sequence[float | str]
