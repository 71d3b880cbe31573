# SPDX-License-Identifier: BSD-3-Clause
"""The catalog: every task, loss, solver, kernel, measure, small QP and model
format is one row.

Tasks with their losses and measures stand in svmcut.spec.tasks, solvers in svmcut.spec.solvers,
all others here. Choices, checks, help texts, documentation and lists of the tests read these rows,
and nobody types such a list again. Modules are named, not imported: a run loads what it chose.
Standard library only, so that help is quick.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from functools import cache

from svmcut.base.typing import Any
from svmcut.spec.entries import (
    BCFW,
    CUTTING_PLANE,
    DUAL_CD,
    GDMM,
    LOGISTIC,
    MARGIN,
    NEWTON,
    ONE_CLASS,
    PRECOMPUTED,
    SAMPLED_CUTS,
    SBP,
    SLACK,
    SMO,
    SQUARED_DIFFERENCE,
    SQUARED_HINGE,
    SUBSPACE,
    TAGS,
    Format,
    KernelRow,
    Loss,
    Measure,
    QpRow,
    Solver,
)
from svmcut.spec.solvers import SOLVERS
from svmcut.spec.tasks import TASKS

__all__ = [
    "BCFW",
    "CUTTING_PLANE",
    "DUAL_CD",
    "GDMM",
    "LOGISTIC",
    "NEWTON",
    "PRECOMPUTED",
    "SAMPLED_CUTS",
    "SBP",
    "SMO",
    "SOLVERS",
    "SQUARED_DIFFERENCE",
    "SQUARED_HINGE",
    "SUBSPACE",
    "TASKS",
]

#: svm_perf's -o by name.
RESCALINGS = {SLACK: 1, MARGIN: 2}

LOSSES = tuple(loss for task in TASKS.values() for loss in task.losses)
MEASURES = tuple(measure for task in TASKS.values() for measure in task.measures)
#: Losses whose scores are log odds.
LOG_ODDS_OF = frozenset(row.name for row in LOSSES if row.log_odds)
#: Losses that a model names where it is of the task alone.
MARKED = frozenset(loss.name for task in TASKS.values() if task.marked for loss in task.losses)

#: What a model of one class names.
ONE_CLASS_LOSS = next(name for name, row in TASKS.items() if row.labels == ONE_CLASS)

#: Parameters that a solver which takes them reads with kernel values alone.
OF_VALUES = ("certify",)
#: And with features alone.
OF_FEATURES = ("line_search",)
#: What parameter quick trains with.
QUICK = "ssg"
#: The solvers of classes that are trained at once on kernel values; AUTO stands for the first, for
#: the others where the kernel need not be definite or the rows are many. Those train them as
#: sequences of one token.
JOINT = (DUAL_CD, CUTTING_PLANE, SAMPLED_CUTS)
OF_TAGS = next(name for name, task in TASKS.items() if task.labels == TAGS)

#: What plans training on kernel values where the task has no plan of its own, by plan of the
#: solver.
PLANS = {
    "cuts": "svmcut.training.kernel_cuts:KernelCuts",
    "draws": "svmcut.training.steps:DrawPlan",
    "smo": "svmcut.training.smo:plan_machine",
    "budget": "svmcut.training.steps:BudgetPlan",
    "steps": "svmcut.training.steps:StepPlan",
}

_PROJECTED, _PROGRAMS = ("project", "remove"), ("c", "javascript", "python")
_EVERYWHERE = ("libsvm", "svm_light", "svm_perf", "onnx", *_PROGRAMS)
KERNELS = {
    kernel.name: kernel
    for kernel in (
        KernelRow(
            "linear",
            number=0,
            where="svmcut.models.kernel_forms:Linear",
            formula="x.z",
            maintenance=_PROJECTED,
            definite=lambda degree, gamma, scale, offset: True,
            formats=("liblinear", "sql", *_EVERYWHERE),
        ),
        KernelRow(
            "polynomial",
            number=1,
            where="svmcut.models.kernel_forms:Polynomial",
            formula="(s x.z + r)^d",
            takes=("degree", "scale_kernel", "coef0"),
            maintenance=_PROJECTED,
            definite=lambda degree, gamma, scale, offset: (
                (scale >= 0 and offset >= 0) or (offset == 0 and degree % 2 == 0)
            ),
            formats=_EVERYWHERE,
        ),
        KernelRow(
            "rbf",
            number=2,
            where="svmcut.models.kernel_forms:Rbf",
            formula="exp(- g |x-z|^2)",
            takes=("gamma",),
            maintenance=("merge", *_PROJECTED),
            of_distances=True,
            definite=lambda degree, gamma, scale, offset: gamma >= 0,
            formats=_EVERYWHERE,
        ),
        KernelRow(
            "sigmoid",
            number=3,
            where="svmcut.models.kernel_forms:Sigmoid",
            formula="tanh(s x.z + r)",
            takes=("scale_kernel", "coef0"),
            maintenance=("remove",),
            formats=_EVERYWHERE,
        ),
        KernelRow(
            PRECOMPUTED,
            number=4,
            where="svmcut.models.kernel_forms:Linear",
            formula="the file has kernel values, LABEL 0:SERIAL 1:K1 2:K2 .., or is a .npy of "
            "labels and values",
            maintenance=("remove",),
            given=True,
            formats=("libsvm",),
        ),
    )
}


def is_definite(kernel: str, degree: int, gamma: float, scale: float, offset: float) -> bool:
    """Tell whether every matrix of values of a kernel of these parameters is known to be positive
    semidefinite."""
    definite = KERNELS[kernel].definite
    return definite is not None and definite(degree, gamma, scale, offset)


#: Parameters that kernels read, of which a grid may have several values.
KERNEL_PARAMETERS = tuple(dict.fromkeys(name for row in KERNELS.values() for name in row.takes))
#: Parameters of kernels, which a model file holds whether its kernel uses them or not.
KERNEL_DEFAULTS: Mapping[str, Any] = {
    "degree": 3,
    "gamma": 1.0,
    "scale_kernel": 1.0,
    "coef0": 1.0,
    "u": "empty",
}

QPS = {
    "auto": QpRow(osqp_from=500, help="the exact solver, after OSQP from 500 cuts on"),
    "osqp": QpRow(osqp_from=2, help="OSQP, checked and corrected by the exact solver"),
    "exact": QpRow(osqp_from=math.inf, help="only the active-set method"),
}

_SVM_LIGHT = ("LinearModel", "KernelModel")
FORMATS = (
    Format(b"SVM-light Version V6.20", where="svmcut.formats.svm_light", models=_SVM_LIGHT),
    Format(b"SVM-HMM Version V3.10", where="svmcut.formats.chains", models=("ChainModel",)),
    Format(
        b"svmcut kernel chain model 1",
        where="svmcut.formats.kernel_chains",
        models=("KernelChainModel",),
    ),
    Format(
        b"SVM-multiclass Version V2.20",
        where="svmcut.formats.svm_multiclass",
        models=("MulticlassModel", "JointKernelModel"),
    ),
    Format(
        b"svmcut multilabel model 1",
        where="svmcut.formats.label_sets",
        models=("MultilabelModel",),
    ),
    Format(
        b"svmcut label sets binary 1",
        where="svmcut.formats.sparse_labels",
        models=("SparseLabelModel",),
        mapped=True,
    ),
    *(
        Format(
            first,
            where="svmcut.formats.label_trees",
            models=("LabelTreeModel",),
            mapped=mapped,
        )
        for first, mapped in (
            (b"svmcut label tree 1", False),
            (b"svmcut label tree binary 1", True),
        )
    ),
    Format(
        b"svmcut multiclass 1",
        where="svmcut.formats.kernel_classes",
        models=("KernelMulticlassModel",),
    ),
    Format(b"svmcut fourier 1", where="svmcut.formats.fourier", models=("FourierModel",)),
    Format(
        b"SVM-light Version V6.02",
        where="svmcut.formats.svm_light",
        models=_SVM_LIGHT,
        foreign=True,
    ),
    Format(
        b"solver_type",
        where="svmcut.formats.liblinear",
        models=("LinearModel", "MulticlassModel"),
        foreign=True,
    ),
    Format(
        b"svm_type",
        where="svmcut.formats.libsvm",
        models=(*_SVM_LIGHT, "KernelMulticlassModel"),
        foreign=True,
        most_probable=True,
        from_zero=True,
    ),
)
#: Databases that queries are written for; the first is the default.
DIALECTS = ("sqlite", "postgresql", "duckdb")
#: What programs and queries score rows with.
_SCORED = (*_SVM_LIGHT, "MulticlassModel", "KernelMulticlassModel", "JointKernelModel")
#: What svmcut export writes, by name; a row without models takes all.
EXPORTS = {
    "liblinear": Format(
        b"solver_type",
        where="svmcut.formats.liblinear",
        models=("LinearModel", "MulticlassModel"),
    ),
    "libsvm": Format(
        b"svm_type",
        where="svmcut.formats.libsvm_writing",
        models=(*_SVM_LIGHT, "MulticlassModel", "KernelMulticlassModel", "JointKernelModel"),
    ),
    "svm_light": Format(
        b"SVM-light Version V6.02", where="svmcut.formats.svm_light", models=_SVM_LIGHT
    ),
    "svm_perf": Format(
        b"SVM-light Version V6.20", where="svmcut.formats.svm_light", models=_SVM_LIGHT
    ),
    "onnx": Format(
        b"",
        where="svmcut.formats.onnx_graph",
        models=_SCORED,
        ending=".onnx",
    ),
    "json": Format(b"", where="svmcut.formats.exported", models=(), whole=True, ending=".json"),
    "c": Format(
        b"", where="svmcut.scorers.c", models=_SCORED, whole=True, ending=".h", takes=("name",)
    ),
    "javascript": Format(
        b"", where="svmcut.scorers.javascript", models=_SCORED, whole=True, ending=".mjs"
    ),
    "python": Format(b"", where="svmcut.scorers.python", models=_SCORED, whole=True, ending=".py"),
    "sql": Format(
        b"",
        where="svmcut.scorers.sql",
        models=(*_SVM_LIGHT, "MulticlassModel"),
        whole=True,
        columns=("Number", "Category"),
        takes=("dialect", "table"),
        ending=".sql",
    ),
}

MAINTENANCE = ("merge", "project", "remove")
SAMPLING = ("shuffled", "independent", "adaptive")
AVERAGES = ("suffix", "full")
PAIRS = ("all", "none")
#: How the file of a model of many labels is written.
MODEL_FORMATS = ("text", "binary")
BINARY = MODEL_FORMATS[1]
#: Prunes weights as far as the gap allows.
AUTO_PRUNE = "auto"
#: How a subspace is spanned: rows by incomplete Cholesky factorisation, evenly spaced ones, random
#: Fourier features.
FOURIER = "fourier"
BASIS_KINDS = ("pivoted", "even", FOURIER)
#: Tasks whose rows may lie in parts, with the workers of a scheduler.
PARTED = tuple(name for name, task in TASKS.items() if task.parted)
#: Texts of sequences whose tags and attributes have names, and whose tokens stand in columns.
NAMED, COLUMNS = "crfsuite", "conll"
#: Letters of the tags that say where chunks begin and end, by scheme.
SCHEMES = {"iob1": "BIO", "iob2": "BIO", "iobes": "BIESO"}
#: Tables, and lines of a label and a text.
TABLES = ("csv", "tsv", "jsonl", "parquet", "arrow", "text")
INPUTS = ("svm", *TABLES, NAMED, COLUMNS)
#: All classes at once, one against the rest, and one against one; the first is the default, with
#: kernels the last.
MULTICLASS = ("crammer-singer", "one-vs-rest", "one-vs-one")
AUTO = "auto"


def task_inputs(task: str) -> tuple[str, ...]:
    """The texts of a task's files."""
    return (INPUTS[0], NAMED, COLUMNS) if TASKS[task].labels == TAGS else (INPUTS[0], *TABLES)


def losses(task: str) -> dict[str, Loss]:
    """The losses of a task by name."""
    return {loss.name: loss for loss in TASKS[task].losses}


def measures(task: str) -> dict[str, Measure]:
    """The measures of a task by name."""
    return {measure.name: measure for measure in TASKS[task].measures}


def solvers(task: str, kernel: bool | None = None) -> dict[str, Solver]:
    """The solvers of a task by name: those on kernel values, those on features, or with None
    all."""
    tasks = {
        True: lambda row: row.kernel,
        False: lambda row: row.linear,
        None: lambda row: row.linear + row.kernel,
    }
    return {name: row for name, row in SOLVERS.items() if task in tasks[kernel](row)}


def takes(task: str, solver: str, kernel: bool) -> set[str]:
    """The parameters, of those not every solver has, that one reads on features or on kernel
    values."""
    left_out = (*TASKS[task].lacks, *(OF_FEATURES if kernel else OF_VALUES))
    row = SOLVERS[solver]
    if kernel and row.free_bias is None:
        left_out = (*left_out, "free_bias")
    return {name for name in row.takes if name not in left_out}


@cache
def _read(task: str) -> dict[str, set[str]]:
    """Return what each solver of a task reads, of what not every solver does, in the order of the
    solvers."""
    known = {
        name: [kernel for kernel in (False, True) if name in solvers(task, kernel)]
        for name in SOLVERS
    }
    return {
        name: set().union(*(takes(task, name, kernel) for kernel in on))
        for name, on in known.items()
    }


def takers(task: str, parameter: str) -> list[str]:
    """The solvers of a task that read a parameter, of those not every solver has."""
    return [name for name, read in _read(task).items() if parameter in read]


def load(where: str) -> Any:
    """Import and return what ``module:name`` stands for."""
    module, name = where.split(":")
    return getattr(importlib.import_module(module), name)


def solver_class(name: str, task: str = "classification", loss: str | None = None) -> Any:
    """The class of a solver, imported now; without a loss that of the task's own."""
    row = SOLVERS[name]
    where = row.others.get(loss or TASKS[task].loss) or (
        row.where if isinstance(row.where, str) else row.where[task]
    )
    return load(where)


def choices(task: str, kernel: bool, usual: bool) -> tuple[str, ...]:
    """Return what AUTO stands for, from small to large sets, on kernel values or on features.
    `usual` tells whether the risk is the task's plain one or, on features, any that
    Settings.of_scores tells."""
    if not usual:
        return (CUTTING_PLANE, SUBSPACE) if kernel else (CUTTING_PLANE,)
    return TASKS[task].auto_kernel if kernel else TASKS[task].auto


def plan_of(task: str, kernel: bool, solver: str, way: str | None) -> str:
    """``module:name`` of what plans the training; way: of `MULTICLASS`."""
    row = TASKS[task]
    if not kernel:
        return row.plan
    joint = row.joint_plan if way == MULTICLASS[0] else None
    return joint or row.kernel_plan or PLANS[SOLVERS[solver].plan]
