# SPDX-License-Identifier: BSD-3-Clause
"""What there is to choose from: every task, loss, solver, kernel, measure, small QP and model format is one row.

Choices, checks, help texts, documentation and lists of the tests read these rows, and nobody types such a list again.
Modules are named, not imported: a run loads what it chose. Standard library only, so that help is quick.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

MARGIN, SLACK = "margin", "slack"
#: svm_perf's -o by name.
RESCALINGS = {SLACK: 1, MARGIN: 2}
BOTH_RESCALINGS, BOTH_NORMS = (MARGIN, SLACK), (1, 2)


class Task(NamedTuple):
    """One task.

    Attributes
    ----------
    name : str
    loss : str
        The default.
    objects : str
        What is trained, in the plural of a message.
    models : tuple of str
        Classes of svmcut.models; where two tasks share one, the later is that of examples with queries.
    where : str
        ``module:class`` of svmcut.tasks.
    defaults : mapping
        Of the other parameters, where they are the task's own.
    options : str
        ``module:table`` of its options on the command line.
    """

    name: str
    loss: str
    objects: str
    models: tuple[str, ...]
    where: str
    defaults: Mapping[str, Any]
    options: str


class Loss(NamedTuple):
    """One loss of one task.

    Attributes
    ----------
    name, task : str
    number : int or None
        The original's -l; None where the original lacks the loss.
    where : str
        ``module:factory`` of its risk.
    rescalings, norms : tuple
        What is implemented: of {"margin", "slack"} and of {1, 2}, the power of the slack.
    squared : str or None
        ``module:factory`` of the risk of slack norm 2, where it is one of its own.
    is_sum : bool
        Whether the plain risk is a sum over examples, queries, sequences or label sets: C may weigh one of them.
    drawn : bool
        Whether the plain risk is a sum of terms that sampled cuts may draw.
    at : (float, float, float) or None
        Least and largest k as a fraction of the positives, and the default, of a loss at k.
    help : str
    """

    name: str
    task: str
    number: int | None
    where: str
    rescalings: tuple[str, ...] = (MARGIN,)
    norms: tuple[int, ...] = (1,)
    squared: str | None = None
    is_sum: bool = False
    drawn: bool = False
    at: tuple[float, float, float] | None = None
    help: str = ""

    @property
    def table(self) -> bool:
        """Whether the loss is a function of the contingency table."""
        return self.task == "classification" and SLACK in self.rescalings


class Solver(NamedTuple):
    """One algorithm.

    Attributes
    ----------
    name : str
    where : str or mapping
        ``module:class``, by task where they differ.
    linear, kernel : tuple of str
        Tasks it trains on features, and on kernel values; those of `kernel` alone take the linear kernel's values too.
    losses : tuple of str or None
        None for every loss of the task.
    drawn : bool
        Whether it draws terms of the loss.
    plain : bool
        Whether it takes margin rescaling and slack norm 1 alone.
    plan : str
        How it is run where it works on kernel values: a name of `PLANS`.
    polished : bool or None
        Whether exact training in the span of the points it chose follows unless told otherwise; None where none can.
    free_bias : bool or None
        Whether it has an unregularised bias unless told otherwise; None where it can have none.
    first_order : bool
        Whether its chains are those of transitions of order 1 and emissions of order 0.
    takes : tuple of str
        Parameters of its own.
    defaults : mapping
        Of its own parameters, where they differ.
    """

    name: str
    where: str | Mapping[str, str]
    linear: tuple[str, ...] = ()
    kernel: tuple[str, ...] = ()
    losses: tuple[str, ...] | None = None
    drawn: bool = False
    plain: bool = True
    plan: str = "cuts"
    polished: bool | None = None
    free_bias: bool | None = None
    first_order: bool = False
    takes: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = {}

    @property
    def steps(self) -> bool:
        """Whether it goes example by example and ends after its epochs, without a gap to reach."""
        return self.plan == "steps"

    def on_values(self, task: str) -> bool:
        """Whether it works on kernel values whatever the kernel."""
        return task not in self.linear


class KernelRow(NamedTuple):
    """One kernel: svm_light's number, its formula, and what budgeted training does with a centre too many."""

    name: str
    number: int
    formula: str
    maintenance: tuple[str, ...]


class Measure(NamedTuple):
    """One key of a report that --select knows.

    Attributes
    ----------
    name, task : str
    rises : bool
        Whether more is better.
    heading : str or None
        Of its column in the table of a path; None where it has none.
    line : str or None
        What classify prints in front of it; None where it does not.
    digits : int
        Behind the point in the table.
    """

    name: str
    task: str
    rises: bool
    heading: str | None
    line: str | None = None
    digits: int = 2


class QpRow(NamedTuple):
    """One way to solve the small QP: the number of cuts from which OSQP is asked first, and what the help says."""

    osqp_from: float
    help: str


class Format(NamedTuple):
    """One format of model files.

    Attributes
    ----------
    first : bytes
        Line 1.
    where : str
        Module with `read`, of (path, line 1, open file), and `write`, of (path, line 1, output, model).
    models : tuple of str
        Classes of svmcut.models.
    """

    first: bytes
    where: str
    models: tuple[str, ...]


_OF_ROWS = ("LinearModel", "KernelModel")
TASKS = {
    task.name: task
    for task in (
        Task("classification", "error-rate", "two classes", _OF_ROWS, "svmcut.tasks.classification:Classification", {},
             "svmcut.cli.options:LEARN"),
        Task("rank", "swapped-pairs", "rankings", _OF_ROWS, "svmcut.tasks.ranking:Ranking", {"epsilon": 0.001},
             "svmcut.cli.options:RANK"),
        Task("sequence", "hamming", "sequences", ("ChainModel", "KernelChainModel"), "svmcut.tasks.sequences:Tagging",
             {}, "svmcut.cli.sequence_options:SEQUENCE"),
        Task("multilabel", "hamming", "label sets", ("MultilabelModel",), "svmcut.tasks.label_sets:Labelling",
             {"bias": 1.0}, "svmcut.cli.multilabel_options:MULTILABEL"),
    )
}  # fmt: skip

_TABLES = ("svmcut.risks.contingency:ContingencyRisk", BOTH_RESCALINGS, BOTH_NORMS)
_ORDINAL, _SQUARED = "svmcut.risks.ordinal:OrdinalRisk", "svmcut.risks.ordinal_squared:SquaredOrdinalRisk"
_TAGS = (BOTH_RESCALINGS, BOTH_NORMS)
LOSSES = (
    Loss("zero-one", "classification", 0, *_TABLES),
    Loss("f1", "classification", 1, *_TABLES),
    Loss("error-rate", "classification", 2, "svmcut.risks.hinge:HingeRisk", *_TABLES[1:], is_sum=True, drawn=True),
    Loss("prbep", "classification", 3, *_TABLES),
    Loss("prec-at-k", "classification", 4, *_TABLES, at=(0.0, 1.0, 0.5)),
    Loss("rec-at-k", "classification", 5, *_TABLES, at=(1.0, math.inf, 2.0)),
    Loss("roc-area", "classification", 10, "svmcut.risks.rocarea:RocAreaRisk", drawn=True),
    Loss("average-precision", "classification", 11, "svmcut.risks.average_precision:AveragePrecisionRisk"),
    Loss("swapped-pairs", "rank", 1, _ORDINAL, (MARGIN,), BOTH_NORMS, _SQUARED, is_sum=True, drawn=True,
         help="pairs per query"),
    Loss("swapped-fraction", "rank", 2, _ORDINAL, (MARGIN,), BOTH_NORMS, _SQUARED, is_sum=True, drawn=True,
         help="their fraction per query"),
    Loss("pairs", "rank", None, _ORDINAL, is_sum=True, drawn=True, help="the fraction of all pairs"),
    Loss("hamming", "sequence", 1, "svmcut.risks.chain:ChainRisk", *_TAGS, is_sum=True, drawn=True,
         help="the number of wrong tags"),
    Loss("zero-one", "sequence", 0, "svmcut.risks.chain_scaled:zero_one", *_TAGS, is_sum=True,
         help="1 for a sequence with any"),
    Loss("hamming", "multilabel", 1, "svmcut.risks.multilabel:LabelRisk", is_sum=True,
         help="the number of wrong labels"),
)  # fmt: skip

_CLASSES, _VECTORS = ("classification",), ("classification", "rank")
_HINGE, _SUMS = ("error-rate",), ("hamming",)
_BLOCKS, _EPOCHS = ("sequence", "multilabel"), ("epochs", "hold_out", "polish", "basis")
_BUDGET = (*_EPOCHS, "sampling", "budget", "maintenance")
SOLVERS = {
    solver.name: solver
    for solver in (
        Solver("cutting-plane", "svmcut.solvers.cutting_plane:CuttingPlane", tuple(TASKS), (*_VECTORS, "sequence"),
               plain=False),
        Solver("dual-cd", "svmcut.solvers.dual_cd:DualCd", _CLASSES, losses=_HINGE),
        Solver("newton", "svmcut.solvers.newton:Newton", _CLASSES, losses=_HINGE),
        Solver("bcfw", {"sequence": "svmcut.solvers.bcfw:Bcfw", "multilabel": "svmcut.solvers.label_blocks:LabelBcfw"},
               _BLOCKS, losses=_SUMS),
        Solver("ssg", {"sequence": "svmcut.solvers.ssg:Ssg", "multilabel": "svmcut.solvers.label_blocks:LabelSsg"},
               _BLOCKS, losses=_SUMS),
        Solver("soft-bcfw", "svmcut.solvers.soft_bcfw:SoftBcfw", _BLOCKS, losses=_SUMS, first_order=True),
        Solver("gdmm", "svmcut.solvers.gdmm:Gdmm", _BLOCKS, losses=_SUMS, first_order=True),
        Solver("smo", "svmcut.solvers.smo:Smo", (), _CLASSES, _HINGE, plan="smo", free_bias=True),
        Solver("subspace", "svmcut.solvers.cutting_plane:CuttingPlane", (), _VECTORS, plain=False, takes=("basis",)),
        Solver("sampled-cuts", "svmcut.solvers.sampled_cuts:SampledCuts", (), (*_VECTORS, "sequence"), drawn=True,
               plan="draws", polished=True, takes=("sample_size", "polish", "basis")),
        Solver("constant-cuts", "svmcut.solvers.constant_cuts:ConstantCuts", (), _CLASSES, _HINGE, drawn=True,
               plan="draws", polished=True, takes=("sample_size", "patience", "polish", "basis")),
        Solver("bsca", "svmcut.solvers.bsca:Bsca", (), _CLASSES, _HINGE, plan="budget", polished=True, takes=_BUDGET,
               defaults={"epochs": 10.0}),
        Solver("bsgd", "svmcut.solvers.bsgd:Bsgd", (), _CLASSES, _HINGE, plan="budget", polished=True, takes=_BUDGET,
               defaults={"epochs": 10.0}),
        Solver("sbp", "svmcut.solvers.sbp:Sbp", (), _CLASSES, _HINGE, plan="steps", polished=False, free_bias=True,
               takes=(*_EPOCHS, "nu", "average"), defaults={"epochs": 3.0}),
        Solver("pegasos", "svmcut.solvers.pegasos:Pegasos", (), _CLASSES, _HINGE, plan="steps", polished=False,
               takes=(*_EPOCHS, "sampling"), defaults={"epochs": 10.0}),
        Solver("sdca", "svmcut.solvers.sdca:Sdca", (), _CLASSES, _HINGE, plan="steps", polished=False,
               takes=(*_EPOCHS, "sampling", "gap"), defaults={"epochs": 10.0}),
        Solver("perceptron", "svmcut.solvers.perceptron:Perceptron", (), _CLASSES, _HINGE, plan="steps", polished=False,
               takes=(*_EPOCHS, "sampling"), defaults={"epochs": 10.0}),
    )
}  # fmt: skip

#: What plans training on features, by task; on kernel values, by plan of the solver where the task has none of its own.
PLANS = {
    "classification": "svmcut.training.linear:Linear",
    "rank": "svmcut.training.linear:Linear",
    "sequence": "svmcut.training.chains:chains",
    "sequence kernel": "svmcut.training.emissions:Emissions",
    "multilabel": "svmcut.training.label_sets:label_sets",
    "cuts": "svmcut.training.span:KernelCuts",
    "draws": "svmcut.training.draws:draws",
    "smo": "svmcut.training.smo:SmoPlan",
    "budget": "svmcut.training.budget:budget",
    "steps": "svmcut.training.steps:steps",
}

KERNELS = {
    kernel.name: kernel
    for kernel in (
        KernelRow("linear", 0, "x.z", ("project", "remove")),
        KernelRow("polynomial", 1, "(s x.z + r)^d", ("project", "remove")),
        KernelRow("rbf", 2, "", ("merge", "project", "remove")),
        KernelRow("sigmoid", 3, "tanh(s x.z + r)", ("remove",)),
    )
}

#: Parameters of kernels, which a model file holds whether its kernel uses them or not.
KERNEL_DEFAULTS: Mapping[str, Any] = {"degree": 3, "gamma": 1.0, "scale_kernel": 1.0, "coef0": 1.0, "u": "empty"}

MEASURES = (
    Measure("error_rate", "classification", False, "error"),
    Measure("accuracy", "classification", True, None, "Accuracy "),
    Measure("precision", "classification", True, "prec", "Precision"),
    Measure("recall", "classification", True, "recall", "Recall   "),
    Measure("f1", "classification", True, "F1", "F1       "),
    Measure("prbep", "classification", True, "PRBEP", "PRBEP    "),
    Measure("roc_area", "classification", True, "ROC", "ROCArea  "),
    Measure("average_precision", "classification", True, "AP", "AvgPrec  "),
    Measure("token_error", "sequence", False, "tokens", "Average loss per token"),
    Measure("sequence_error", "sequence", False, "sequences"),
    Measure("hamming_loss", "multilabel", False, "Hamming", "Hamming loss     "),
    Measure("subset_accuracy", "multilabel", True, "subset", "Subset accuracy  "),
    Measure("micro_f1", "multilabel", True, "micro F1", "Micro F1         "),
    Measure("macro_f1", "multilabel", True, "macro F1", "Macro F1         "),
    Measure("precision@1", "multilabel", True, "P@1", "Precision@1      ", 4),
    Measure("precision@3", "multilabel", True, "P@3", "Precision@3      ", 4),
    Measure("precision@5", "multilabel", True, "P@5", "Precision@5      ", 4),
    Measure("swapped_pairs", "rank", False, None, "Total Num Swappedpairs  "),
    Measure("swapped_percent", "rank", False, "swapped", "Avg Swappedpairs Percent"),
    Measure("ndcg@1", "rank", True, "NDCG@1", digits=4),
    Measure("ndcg@5", "rank", True, "NDCG@5", digits=4),
    Measure("ndcg@10", "rank", True, "NDCG@10", digits=4),
    Measure("map", "rank", True, "MAP", digits=4),
)

QPS = {
    "auto": QpRow(500, "the exact solver, and OSQP before it from 500 cuts on"),
    "osqp": QpRow(2, "OSQP, whose answers the exact solver checks and mends"),
    "exact": QpRow(math.inf, "an active-set method alone"),
}

FORMATS = (
    Format(b"SVM-light Version V6.20", "svmcut.files.models.svm_light", ("LinearModel", "KernelModel")),
    Format(b"SVM-HMM Version V3.10", "svmcut.files.models.chains", ("ChainModel",)),
    Format(b"svmcut kernel chain model 1", "svmcut.files.models.kernel_chains", ("KernelChainModel",)),
    Format(b"svmcut multilabel model 1", "svmcut.files.models.label_sets", ("MultilabelModel",)),
)

MAINTENANCE = ("merge", "project", "remove")
SAMPLING = ("shuffled", "independent", "adaptive")
AVERAGES = ("suffix", "full")
PAIRS = ("all", "none")
AUTO = "auto"


def losses(task: str) -> dict[str, Loss]:
    """The losses of a task by name."""
    return {loss.name: loss for loss in LOSSES if loss.task == task}


def measures(task: str) -> dict[str, Measure]:
    """The measures of a task by name."""
    return {measure.name: measure for measure in MEASURES if measure.task == task}


def solvers(task: str, kernel: bool | None = None) -> dict[str, Solver]:
    """The solvers of a task by name: those on kernel values, those on features, or with None all."""
    tasks = {True: lambda row: row.kernel, False: lambda row: row.linear, None: lambda row: row.linear + row.kernel}
    return {name: row for name, row in SOLVERS.items() if task in tasks[kernel](row)}


def has_kernel(task: str, kernel: str, solver: str) -> bool:
    """Whether a run is one on kernel values."""
    return kernel != "linear" or (solver != AUTO and SOLVERS[solver].on_values(task))


def listed(names, last: str = "and") -> str:
    """Names in a sentence: a, b and c."""
    *rest, end = names
    return f"{', '.join(rest)} {last} {end}" if rest else end


def load(where: str) -> Any:
    """What ``module:name`` stands for, imported now."""
    module, name = where.split(":")
    return getattr(importlib.import_module(module), name)


def solver_class(name: str, task: str = "classification") -> Any:
    """The class of a solver, imported now."""
    where = SOLVERS[name].where
    return load(where if isinstance(where, str) else where[task])


def plan_of(task: str, kernel: bool, solver: str) -> str:
    """``module:name`` of what plans the training, from `PLANS`."""
    if not kernel:
        return PLANS[task]
    return PLANS.get(f"{task} kernel") or PLANS[SOLVERS[solver].plan]
