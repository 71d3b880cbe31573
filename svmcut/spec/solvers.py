# SPDX-License-Identifier: BSD-3-Clause
"""The solvers: a row an algorithm, which says what it trains and how it is run."""

from __future__ import annotations

from svmcut.base.typing import Any
from svmcut.spec.entries import (
    BCFW,
    CDN,
    CUTTING_PLANE,
    DUAL_CD,
    GDMM,
    LOGISTIC,
    NEWTON,
    ONE_CLASS,
    PENALTIES,
    SAMPLED_CUTS,
    SBP,
    SMO,
    SQUARED_HINGE,
    SQUARED_TUBE,
    SUBSPACE,
    Solver,
)
from svmcut.spec.tasks import TASKS

_CLASSES, _VECTORS = ("classification", "multiclass"), ("classification", "rank", "multiclass")
_SINGLE, _BLOCKS = (*_CLASSES, "regression"), ("sequence", "multilabel")
_HINGE, _TUBE = ("error-rate",), ("error-rate", "epsilon-insensitive")
_ADDED = (SQUARED_HINGE, LOGISTIC, "epsilon-insensitive", SQUARED_TUBE)
_CUTS = ("certify", "qp")
_PASSES = (*_CUTS, "polish", "epochs", "hold_out")

_ON_FEATURES: dict[str, Any] = {
    "linear": (*_SINGLE, "multilabel"),
    "losses": (*_HINGE, "hamming", *_ADDED),
    "takes": ("qp",),  # cutting planes go on where they stand still
}
_OF_BLOCKS: dict[str, Any] = {"linear": _BLOCKS, "losses": ("hamming",), "takes": ("qp",)}
_SAMPLED: dict[str, Any] = {
    "drawn": True,
    "definite": True,
    "plan": "draws",
    "polished": True,
    "takes": (*_CUTS, "polish", "basis", "sample_size"),
    "after": ("basis",),
}
_BUDGETED: dict[str, Any] = {
    "kernel": _SINGLE,
    "losses": _TUBE,
    "plan": "budget",
    "polished": True,
    "takes": (*_PASSES, "sampling", "budget", "maintenance"),
    "after": ("qp",),
    "defaults": {"epochs": 10.0},
}
_STEPPING: dict[str, Any] = {
    "kernel": _CLASSES,
    "losses": _HINGE,
    "plan": "steps",
    "polished": False,
    "takes": (*_PASSES, "basis", "sampling"),
    "after": ("basis", "qp"),
    "defaults": {"epochs": 10.0},
}

_ROWS = (
    Solver(
        CUTTING_PLANE,
        where="svmcut.solvers.cutting_plane:CuttingPlane",
        linear=tuple(name for name, task in TASKS.items() if task.labels != ONE_CLASS),
        kernel=(*_VECTORS, "regression", "survival", "sequence"),
        plain=False,
        definite=True,
        takes=(*_CUTS, "line_search", "free_bias"),
    ),
    Solver(
        DUAL_CD,
        where={
            "classification": "svmcut.solvers.dual_cd:DualCd",
            "multiclass": "svmcut.solvers.multiclass_cd:MulticlassCd",
            "multilabel": "svmcut.solvers.dual_cd:DualCd",
        },
        others=dict.fromkeys(_ADDED, "svmcut.solvers.dual_cd:LossCd"),
        kernel=("multiclass",),
        joint=("multiclass",),
        binary=("multilabel",),
        definite=True,
        **_ON_FEATURES,
    ),
    Solver(
        NEWTON,
        where="svmcut.solvers.newton:Newton",
        binary=("multiclass", "multilabel"),
        **_ON_FEATURES | {"takes": ("qp", "free_bias")},
    ),
    Solver(
        CDN,
        where="svmcut.solvers.cdn:Cdn",
        others=dict.fromkeys(_HINGE, "svmcut.solvers.cdn:HingeCdn"),
        linear=_SINGLE,
        losses=(*_HINGE, SQUARED_HINGE, LOGISTIC, SQUARED_TUBE),
        binary=("multiclass",),
        takes=("free_bias",),
        penalties=tuple(PENALTIES),
        with_square=_HINGE,
    ),
    Solver(
        BCFW,
        where={
            "sequence": "svmcut.solvers.bcfw:Bcfw",
            "multilabel": "svmcut.solvers.label_blocks:LabelBcfw",
        },
        **_OF_BLOCKS,
    ),
    Solver(
        "ssg",
        where={
            "sequence": "svmcut.solvers.ssg:Ssg",
            "multilabel": "svmcut.solvers.label_blocks:LabelSsg",
        },
        **_OF_BLOCKS | {"takes": ("qp", "quick")},
    ),
    Solver(
        "soft-bcfw",
        where="svmcut.solvers.bcfw:SoftBcfw",
        first_order=True,
        **_OF_BLOCKS,
    ),
    Solver(
        GDMM,
        where="svmcut.solvers.gdmm:Gdmm",
        first_order=True,
        **_OF_BLOCKS | {"takes": ("qp", "parts")},
    ),
    Solver(
        SMO,
        where="svmcut.solvers.smo:Smo",
        kernel=(*_SINGLE, "one-class"),
        losses=(*_TUBE, "one-class"),
        plan="smo",
        free_bias=True,
        given=True,
        takes=("free_bias", "nu"),
    ),
    Solver(
        SUBSPACE,
        where="svmcut.solvers.cutting_plane:CuttingPlane",
        kernel=(*_VECTORS, "regression", "survival"),
        plain=False,
        takes=(*_CUTS, "basis"),
    ),
    Solver(
        SAMPLED_CUTS,
        where="svmcut.solvers.sampled_cuts:SampledCuts",
        kernel=(*_VECTORS, "sequence"),
        **_SAMPLED,
    ),
    Solver(
        "constant-cuts",
        where="svmcut.solvers.constant_cuts:ConstantCuts",
        kernel=_CLASSES,
        losses=_HINGE,
        **_SAMPLED | {"takes": (*_SAMPLED["takes"], "patience")},
    ),
    Solver("bsca", where="svmcut.solvers.budget:Bsca", adaptive=True, **_BUDGETED),
    Solver("bsgd", where="svmcut.solvers.budget:Bsgd", **_BUDGETED),
    Solver(
        SBP,
        where="svmcut.solvers.sbp:Sbp",
        free_bias=True,
        definite=True,
        **_STEPPING
        | {
            "takes": (*_PASSES, "basis", "free_bias", "nu", "average"),
            "defaults": {"epochs": 3.0},
        },
    ),
    Solver("pegasos", where="svmcut.solvers.visits:Pegasos", **_STEPPING),
    Solver(
        "sdca",
        where="svmcut.solvers.visits:Sdca",
        **_STEPPING | {"takes": (*_STEPPING["takes"], "gap")},
    ),
    Solver("perceptron", where="svmcut.solvers.visits:Perceptron", **_STEPPING),
)

SOLVERS = {solver.name: solver for solver in _ROWS}
