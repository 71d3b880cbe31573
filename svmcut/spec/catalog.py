# SPDX-License-Identifier: BSD-3-Clause
"""What there is to choose from: every task, loss, solver, kernel, measure, small QP and model
format is one row.

Choices, checks, help texts, documentation and lists of the tests read these rows, and nobody types
such a list again. Modules are named, not imported: a run loads what it chose. Standard library
only, so that help is quick.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from svmcut.spec.entries import MARGIN, SLACK, Format, KernelRow, Loss, Measure, QpRow, Solver, Task

#: svm_perf's -o by name.
RESCALINGS = {SLACK: 1, MARGIN: 2}
BOTH_RESCALINGS, BOTH_NORMS = (MARGIN, SLACK), (1, 2)

_SVM_LIGHT = ("LinearModel", "KernelModel")
_OF_ROWS = (*_SVM_LIGHT, "FourierModel")
_BASIS = ("basis_kind", "basis_method", "basis_file")
_CHAIN = ("input", "transitions", "emissions", "beam")
TASKS = {
    task.name: task
    for task in (
        Task(
            "classification",
            "error-rate",
            "two classes",
            _OF_ROWS,
            "svmcut.tasks.classification:Classification",
            {},
            "two classes of any labels",
            "svm_perf",
            "1/2 w'w + C * loss in percent",
            "example's loss, as in LIBLINEAR, LIBSVM and svm_light",
            "percent points of the loss",
            "accuracy",
            (0, 1, 2, 3, 4, 9),
            ("bias", "positive", "class_weight", "probability", "initial", *_BASIS),
        ),
        Task(
            "rank",
            "swapped-pairs",
            "rankings",
            _OF_ROWS,
            "svmcut.tasks.ranking:Ranking",
            {"epsilon": 0.001},
            "the order of the rows of a query",
            "svm_rank",
            "1/2 w'w + C * loss averaged over the queries",
            "query's loss",
            "with swapped-pairs times the mean number of pairs",
            "swapped_percent",
            (0, 1, 2, 3, 4),
            (*_BASIS, "at"),
        ),
        Task(
            "sequence",
            "hamming",
            "sequences",
            ("ChainModel", "KernelChainModel"),
            "svmcut.tasks.sequences:Tagging",
            {},
            "tags of tokens, svm_hmm's files",
            "svm_hmm",
            "1/2 w'w + C * wrong tags averaged over the sequences",
            "sequence's wrong tags",
            "wrong tags a sequence; of squared slack the mean of xi^2",
            "token_error",
            (0, 1, 2, 3, 4),
            _CHAIN,
            ("polish", "basis"),
        ),
        Task(
            "regression",
            "epsilon-insensitive",
            "targets",
            _OF_ROWS,
            "svmcut.tasks.regression:Regression",
            {},
            "numbers",
            None,
            "1/2 w'w + C * sum of the losses",
            "example's loss, as in LIBLINEAR and LIBSVM",
            "the loss of an example, summed",
            "mse",
            takes=("bias", "tube", "initial", *_BASIS),
            marked=True,
            gap=1e-3,
            like="LIBLINEAR and LIBSVM",
        ),
        Task(
            "multilabel",
            "hamming",
            "label sets",
            ("MultilabelModel",),
            "svmcut.tasks.label_sets:Labelling",
            {"bias": 1.0},
            "sets of labels, LIBSVM's files",
            None,
            "1/2 w'w + C * wrong labels averaged over the examples",
            "example's wrong labels: without pairs the C of LIBLINEAR for every label",
            "wrong labels an example",
            "micro_f1",
            takes=("bias", "pairs"),
            lacks=("quick",),
        ),
        Task(
            "multiclass",
            "error-rate",
            "classes",
            ("MulticlassModel", "KernelMulticlassModel", "JointKernelModel"),
            "svmcut.tasks.multiclass:Multiclass",
            {},
            "classes of whole labels, each with weights of its own",
            "svm_multiclass",
            "1/2 w'w + C * loss in percent, with weights 100 times those of a unit loss",
            "example's loss, as in LIBLINEAR",
            "percent points of the loss",
            "accuracy",
            (0, 1, 2, 3, 4),
            ("bias", "multiclass", "class_weight", "probability"),
        ),
    )
}

_TABLES = ("svmcut.risks.contingency:ContingencyRisk", BOTH_RESCALINGS, BOTH_NORMS)
SQUARED_HINGE, LOGISTIC, SQUARED_DIFFERENCE = "squared-hinge", "logistic", "squared-difference"
_ORDINAL = "svmcut.risks.ordinal:OrdinalRisk"
_SQUARED = "svmcut.risks.ordinal_squared:SquaredOrdinalRisk"
_MEASURE, _TAGS = "svmcut.risks.rankings:RankingRisk", (BOTH_RESCALINGS, BOTH_NORMS)
LOSSES = (
    Loss("zero-one", "classification", 0, *_TABLES),
    Loss("f1", "classification", 1, *_TABLES),
    Loss(
        "error-rate",
        "classification",
        2,
        "svmcut.risks.hinge:HingeRisk",
        *_TABLES[1:],
        is_sum=True,
        drawn=True,
    ),
    Loss("prbep", "classification", 3, *_TABLES),
    Loss("prec-at-k", "classification", 4, *_TABLES, at=(0.0, 1.0, 0.5)),
    Loss("rec-at-k", "classification", 5, *_TABLES, at=(1.0, math.inf, 2.0)),
    Loss(
        "roc-area",
        "classification",
        10,
        "svmcut.risks.rocarea:RocAreaRisk",
        norms=BOTH_NORMS,
        drawn=True,
    ),
    Loss(
        "average-precision",
        "classification",
        11,
        "svmcut.risks.average_precision:AveragePrecisionRisk",
        norms=BOTH_NORMS,
    ),
    Loss(
        SQUARED_HINGE,
        "classification",
        None,
        "svmcut.risks.squared_hinge:SquaredHingeRisk",
        is_sum=True,
        added=True,
    ),
    Loss(
        LOGISTIC,
        "classification",
        None,
        "svmcut.risks.logistic:LogisticRisk",
        is_sum=True,
        added=True,
        log_odds=True,
    ),
    Loss(
        "epsilon-insensitive",
        "regression",
        None,
        "svmcut.risks.epsilon_insensitive:EpsilonInsensitiveRisk",
        is_sum=True,
    ),
    Loss(
        "swapped-pairs",
        "rank",
        1,
        _ORDINAL,
        (MARGIN,),
        BOTH_NORMS,
        _SQUARED,
        is_sum=True,
        drawn=True,
        in_pairs=True,
        help="pairs per query",
    ),
    Loss(
        "swapped-fraction",
        "rank",
        2,
        _ORDINAL,
        (MARGIN,),
        BOTH_NORMS,
        _SQUARED,
        is_sum=True,
        drawn=True,
        help="their fraction per query",
    ),
    Loss(
        "pairs", "rank", None, _ORDINAL, is_sum=True, drawn=True, help="the fraction of all pairs"
    ),
    Loss(
        "map", "rank", None, _MEASURE, is_sum=True, added=True, help="average precision per query"
    ),
    Loss(
        "ndcg",
        "rank",
        None,
        _MEASURE,
        is_sum=True,
        added=True,
        ranked=True,
        help="NDCG of the first places",
    ),
    Loss(
        "hamming",
        "sequence",
        1,
        "svmcut.risks.chain:ChainRisk",
        *_TAGS,
        is_sum=True,
        drawn=True,
        help="the number of wrong tags",
    ),
    Loss(
        "zero-one",
        "sequence",
        0,
        "svmcut.risks.chain_scaled:zero_one",
        *_TAGS,
        is_sum=True,
        added=True,
        help="1 for a sequence with any",
    ),
    Loss(
        "error-rate",
        "multiclass",
        0,
        "svmcut.risks.multiclass:CrammerSingerRisk",
        *_TAGS,
        is_sum=True,
        drawn=True,
    ),
    Loss(
        SQUARED_DIFFERENCE,
        "multiclass",
        1,
        "svmcut.risks.class_costs:ClassCostRisk",
        *_TAGS,
        is_sum=True,
        joint=True,
        help="(class - predicted class)^2",
    ),
    Loss(
        SQUARED_HINGE,
        "multiclass",
        None,
        "svmcut.risks.squared_hinge:SquaredHingeRisk",
        is_sum=True,
        added=True,
    ),
    Loss(
        LOGISTIC,
        "multiclass",
        None,
        "svmcut.risks.logistic:LogisticRisk",
        is_sum=True,
        added=True,
        log_odds=True,
    ),
    Loss(
        "hamming",
        "multilabel",
        1,
        "svmcut.risks.multilabel:LabelRisk",
        is_sum=True,
        help="the number of wrong labels",
    ),
)

#: Losses whose scores are log odds.
LOG_ODDS_OF = frozenset(row.name for row in LOSSES if row.log_odds)

_CLASSES, _VECTORS = ("classification", "multiclass"), ("classification", "rank", "multiclass")
_HINGE = ("error-rate",)
_SUMS = ("hamming",)
_ADDED = (SQUARED_HINGE, LOGISTIC, "epsilon-insensitive")
_SCORED = ("classification", "regression", "multiclass")
_SINGLE, _TUBE = (*_CLASSES, "regression"), (*_HINGE, "epsilon-insensitive")
_BLOCKS = ("sequence", "multilabel")
_QP = ("qp",)  # cutting planes go on where they stand still
_CUTS = ("certify", "qp")
_SPAN = ("polish", "basis")
_PASSES = ("certify", "qp", "polish", "epochs", "hold_out")
_BUDGET, _STEPS = (*_PASSES, "sampling", "budget", "maintenance"), (*_PASSES, "basis")
SOLVERS = {
    solver.name: solver
    for solver in (
        Solver(
            "cutting-plane",
            "svmcut.solvers.cutting_plane:CuttingPlane",
            tuple(TASKS),
            (*_VECTORS, "regression", "sequence"),
            plain=False,
            definite=True,
            takes=(*_CUTS, "line_search"),
        ),
        Solver(
            "dual-cd",
            {
                "classification": "svmcut.solvers.dual_cd:DualCd",
                "multiclass": "svmcut.solvers.multiclass_cd:MulticlassCd",
                "multilabel": "svmcut.solvers.dual_cd:DualCd",
            },
            (*_SCORED, "multilabel"),
            ("multiclass",),
            joint=("multiclass",),
            definite=True,
            losses=(*_HINGE, *_SUMS, *_ADDED),
            others=dict.fromkeys(_ADDED, "svmcut.solvers.loss_cd:LossCd"),
            takes=_QP,
            binary=("multilabel",),
        ),
        Solver(
            "newton",
            "svmcut.solvers.newton:Newton",
            (*_SCORED, "multilabel"),
            losses=(*_HINGE, *_SUMS, *_ADDED),
            takes=_QP,
            binary=("multiclass", "multilabel"),
        ),
        Solver(
            "bcfw",
            {
                "sequence": "svmcut.solvers.bcfw:Bcfw",
                "multilabel": "svmcut.solvers.label_blocks:LabelBcfw",
            },
            _BLOCKS,
            losses=_SUMS,
            takes=_QP,
        ),
        Solver(
            "ssg",
            {
                "sequence": "svmcut.solvers.ssg:Ssg",
                "multilabel": "svmcut.solvers.label_blocks:LabelSsg",
            },
            _BLOCKS,
            losses=_SUMS,
            takes=(*_QP, "quick"),
        ),
        Solver(
            "soft-bcfw",
            "svmcut.solvers.soft_bcfw:SoftBcfw",
            _BLOCKS,
            losses=_SUMS,
            first_order=True,
            takes=_QP,
        ),
        Solver(
            "gdmm",
            "svmcut.solvers.gdmm:Gdmm",
            _BLOCKS,
            losses=_SUMS,
            first_order=True,
            takes=(*_QP, "parts"),
        ),
        Solver(
            "smo",
            "svmcut.solvers.smo:Smo",
            (),
            _SINGLE,
            _TUBE,
            plan="smo",
            free_bias=True,
            takes=("free_bias",),
        ),
        Solver(
            "subspace",
            "svmcut.solvers.cutting_plane:CuttingPlane",
            (),
            (*_VECTORS, "regression"),
            plain=False,
            takes=(*_CUTS, "basis"),
        ),
        Solver(
            "sampled-cuts",
            "svmcut.solvers.sampled_cuts:SampledCuts",
            (),
            (*_VECTORS, "sequence"),
            drawn=True,
            definite=True,
            plan="draws",
            polished=True,
            takes=(*_CUTS, *_SPAN, "sample_size"),
            after=("basis",),
        ),
        Solver(
            "constant-cuts",
            "svmcut.solvers.constant_cuts:ConstantCuts",
            (),
            _CLASSES,
            _HINGE,
            drawn=True,
            definite=True,
            plan="draws",
            polished=True,
            takes=(*_CUTS, *_SPAN, "sample_size", "patience"),
            after=("basis",),
        ),
        Solver(
            "bsca",
            "svmcut.solvers.bsca:Bsca",
            (),
            _SINGLE,
            _TUBE,
            plan="budget",
            polished=True,
            takes=_BUDGET,
            adaptive=True,
            after=("qp",),
            defaults={"epochs": 10.0},
        ),
        Solver(
            "bsgd",
            "svmcut.solvers.bsgd:Bsgd",
            (),
            _SINGLE,
            _TUBE,
            plan="budget",
            polished=True,
            takes=_BUDGET,
            after=("qp",),
            defaults={"epochs": 10.0},
        ),
        Solver(
            "sbp",
            "svmcut.solvers.sbp:Sbp",
            (),
            _CLASSES,
            _HINGE,
            plan="steps",
            polished=False,
            free_bias=True,
            definite=True,
            takes=(*_STEPS, "free_bias", "nu", "average"),
            after=("basis", "qp"),
            defaults={"epochs": 3.0},
        ),
        Solver(
            "pegasos",
            "svmcut.solvers.pegasos:Pegasos",
            (),
            _CLASSES,
            _HINGE,
            plan="steps",
            polished=False,
            takes=(*_STEPS, "sampling"),
            after=("basis", "qp"),
            defaults={"epochs": 10.0},
        ),
        Solver(
            "sdca",
            "svmcut.solvers.sdca:Sdca",
            (),
            _CLASSES,
            _HINGE,
            plan="steps",
            polished=False,
            takes=(*_STEPS, "sampling", "gap"),
            after=("basis", "qp"),
            defaults={"epochs": 10.0},
        ),
        Solver(
            "perceptron",
            "svmcut.solvers.perceptron:Perceptron",
            (),
            _CLASSES,
            _HINGE,
            plan="steps",
            polished=False,
            takes=(*_STEPS, "sampling"),
            after=("basis", "qp"),
            defaults={"epochs": 10.0},
        ),
    )
}

#: Parameters that a solver which takes them reads with kernel values alone.
OF_VALUES = ("certify",)
#: And with features alone.
OF_FEATURES = ("line_search",)
CUTTING_PLANE, SUBSPACE = "cutting-plane", "subspace"
#: What parameter quick trains with.
QUICK = "ssg"
#: What AUTO stands for by size: (task, whether on kernel values, whether the risk is the task's
#: plain one or, on features, any that Settings.of_scores tells) -> solvers from small to large
#: sets; cutting planes for all others.
CHOICES = {
    ("classification", False, True): ("dual-cd", "newton"),
    ("regression", False, True): ("dual-cd", "newton"),
    ("classification", True, True): ("smo", SUBSPACE),
    ("regression", True, True): ("smo", SUBSPACE),
    ("classification", True, False): (CUTTING_PLANE, SUBSPACE),
    ("multiclass", True, True): ("smo", SUBSPACE),
    ("multiclass", True, False): (CUTTING_PLANE, SUBSPACE),
    ("rank", True, True): (CUTTING_PLANE, SUBSPACE),
    ("rank", True, False): (CUTTING_PLANE, SUBSPACE),
    ("sequence", False, True): ("bcfw", "gdmm"),
    ("sequence", True, True): (CUTTING_PLANE, "sampled-cuts"),
    ("multilabel", False, True): ("dual-cd", "newton", "bcfw", "gdmm"),
    ("multiclass", False, True): ("dual-cd", "newton"),
}

#: The solvers of classes that are trained at once on kernel values; AUTO stands for the first, for
#: the others where the kernel need not be definite or the rows are many.
JOINT = ("dual-cd", CUTTING_PLANE, "sampled-cuts")

#: What plans training on features, by task; on kernel values, by plan of the solver where the task
#: has none of its own.
PLANS = {
    "classification": "svmcut.training.linear:Linear",
    "rank": "svmcut.training.linear:Linear",
    "regression": "svmcut.training.linear:Linear",
    "sequence": "svmcut.training.chains:Chains",
    "sequence kernel": "svmcut.training.emissions:Emissions",
    "multilabel": "svmcut.training.label_sets:LabelSetPlan",
    "multiclass": "svmcut.training.multiclass:MulticlassPlan",
    "multiclass kernel": "svmcut.training.kernel_classes:MachinesPlan",
    "multiclass crammer-singer kernel": "svmcut.training.joint_classes:JointPlan",
    "cuts": "svmcut.training.kernel_cuts:KernelCuts",
    "draws": "svmcut.training.draws:DrawPlan",
    "smo": "svmcut.training.smo:SmoPlan",
    "budget": "svmcut.training.budget:BudgetPlan",
    "steps": "svmcut.training.steps:StepPlan",
}

KERNELS = {
    kernel.name: kernel
    for kernel in (
        KernelRow("linear", 0, "x.z", (), ("project", "remove")),
        KernelRow(
            "polynomial",
            1,
            "(s x.z + r)^d",
            ("degree", "scale_kernel", "coef0"),
            ("project", "remove"),
        ),
        KernelRow("rbf", 2, "", ("gamma",), ("merge", "project", "remove")),
        KernelRow("sigmoid", 3, "tanh(s x.z + r)", ("scale_kernel", "coef0"), ("remove",)),
    )
}


def is_definite(kernel: str, degree: int, gamma: float, scale: float, offset: float) -> bool:
    """Whether every matrix of values of a kernel of these parameters is known to be positive
    semidefinite."""
    if kernel == "polynomial":
        return (scale >= 0 and offset >= 0) or (offset == 0 and degree % 2 == 0)
    return kernel == "linear" or (kernel == "rbf" and gamma >= 0)


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

MEASURES = (
    Measure("error_rate", "classification", False, "error"),
    Measure("accuracy", "classification", True, None, "Accuracy ", plain="Accuracy"),
    Measure("precision", "classification", True, "prec", "Precision", plain="Precision"),
    Measure("recall", "classification", True, "recall", "Recall   ", plain="Recall"),
    Measure("f1", "classification", True, "F1", "F1       ", plain="F1"),
    Measure("prbep", "classification", True, "PRBEP", "PRBEP    "),
    Measure("roc_area", "classification", True, "ROC", "ROCArea  ", plain="ROC area"),
    Measure(
        "average_precision", "classification", True, "AP", "AvgPrec  ", plain="Average precision"
    ),
    Measure("mse", "regression", False, "MSE", "Mean squared error ", 6),
    Measure("mae", "regression", False, "MAE", "Mean absolute error", 6),
    Measure("r2", "regression", True, "R2", "R2                 ", 6),
    Measure("token_error", "sequence", False, "tokens", "Average loss per token"),
    Measure("sequence_error", "sequence", False, "sequences"),
    Measure("hamming_loss", "multilabel", False, "Hamming", "Hamming loss     "),
    Measure("subset_accuracy", "multilabel", True, "subset", "Subset accuracy  "),
    Measure("micro_f1", "multilabel", True, "micro F1", "Micro F1         "),
    Measure("macro_f1", "multilabel", True, "macro F1", "Macro F1         "),
    Measure("precision@1", "multilabel", True, "P@1", "Precision@1      ", 4),
    Measure("precision@3", "multilabel", True, "P@3", "Precision@3      ", 4),
    Measure("precision@5", "multilabel", True, "P@5", "Precision@5      ", 4),
    Measure("error_rate", "multiclass", False, "error"),
    Measure("accuracy", "multiclass", True, None, plain="Accuracy"),
    Measure("precision", "multiclass", True, "prec", plain="Macro precision"),
    Measure("recall", "multiclass", True, "recall", plain="Macro recall"),
    Measure("f1", "multiclass", True, "F1", plain="Macro F1"),
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
    Format(b"SVM-light Version V6.20", "svmcut.files.models.svm_light", _SVM_LIGHT),
    Format(b"SVM-HMM Version V3.10", "svmcut.files.models.chains", ("ChainModel",)),
    Format(
        b"svmcut kernel chain model 1", "svmcut.files.models.kernel_chains", ("KernelChainModel",)
    ),
    Format(
        b"SVM-multiclass Version V2.20",
        "svmcut.files.models.svm_multiclass",
        ("MulticlassModel", "JointKernelModel"),
    ),
    Format(b"svmcut multilabel model 1", "svmcut.files.models.label_sets", ("MultilabelModel",)),
    Format(
        b"svmcut multiclass 1", "svmcut.files.models.kernel_classes", ("KernelMulticlassModel",)
    ),
    Format(b"svmcut fourier 1", "svmcut.files.models.fourier", ("FourierModel",)),
    Format(b"SVM-light Version V6.02", "svmcut.files.models.svm_light", _SVM_LIGHT, foreign=True),
    Format(
        b"solver_type",
        "svmcut.files.models.liblinear",
        ("LinearModel", "MulticlassModel"),
        foreign=True,
    ),
    Format(
        b"svm_type",
        "svmcut.files.models.libsvm",
        (*_SVM_LIGHT, "KernelMulticlassModel"),
        foreign=True,
        most_probable=True,
        from_zero=True,
    ),
)

MAINTENANCE = ("merge", "project", "remove")
SAMPLING = ("shuffled", "independent", "adaptive")
AVERAGES = ("suffix", "full")
PAIRS = ("all", "none")
#: How a subspace is spanned: rows by incomplete Cholesky factorisation, evenly spaced ones, random
#: Fourier features.
FOURIER = "fourier"
BASIS_KINDS = ("pivoted", "even", FOURIER)
#: Tasks whose rows may lie in parts, with the workers of a scheduler.
PARTED = ("classification", "rank", "regression", "multiclass")
#: Texts of example files.
INPUTS = ("svm", "crfsuite")
#: All classes at once, one against the rest, and one against one; the first is the default, with
#: kernels the last.
MULTICLASS = ("crammer-singer", "one-vs-rest", "one-vs-one")
AUTO = "auto"


def losses(task: str) -> dict[str, Loss]:
    """The losses of a task by name."""
    return {loss.name: loss for loss in LOSSES if loss.task == task}


def measures(task: str) -> dict[str, Measure]:
    """The measures of a task by name."""
    return {measure.name: measure for measure in MEASURES if measure.task == task}


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
    return {name for name in SOLVERS[solver].takes if name not in left_out}


@cache
def _read(task: str) -> dict[str, set[str]]:
    """What each solver of a task reads, of what not every solver does, in the order of the
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
    """What ``module:name`` stands for, imported now."""
    module, name = where.split(":")
    return getattr(importlib.import_module(module), name)


def solver_class(name: str, task: str = "classification", loss: str | None = None) -> Any:
    """The class of a solver, imported now; without a loss that of the task's own."""
    row = SOLVERS[name]
    where = row.others.get(loss or TASKS[task].loss) or (
        row.where if isinstance(row.where, str) else row.where[task]
    )
    return load(where)


def plan_of(task: str, kernel: bool, solver: str, way: str | None) -> str:
    """``module:name`` of what plans the training, from `PLANS`; way: of `MULTICLASS`."""
    if not kernel:
        return PLANS[task]
    return (
        PLANS.get(f"{task} {way} kernel")
        or PLANS.get(f"{task} kernel")
        or PLANS[SOLVERS[solver].plan]
    )
