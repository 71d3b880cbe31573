# SPDX-License-Identifier: BSD-3-Clause
"""The options of training in one table: flags, range, default, help. The click command, the reader of the originals'
argument lists, the report and the tests all read it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

from svmcut.cli.kinds import ANY, LEVEL, PATH, TEXT, Cost, Kind, costs, integer, number, one_of
from svmcut.kernel_options import BUDGET_SOLVERS, STOCHASTIC_SOLVERS
from svmcut.machine import usable_cpus
from svmcut.qp import QPS

LOSSES = {
    "zero-one": 0, "f1": 1, "error-rate": 2, "prbep": 3, "prec-at-k": 4, "rec-at-k": 5, "roc-area": 10,
    "average-precision": 11,
}  # fmt: skip
RESCALINGS = {"slack": 1, "margin": 2}
KERNELS = {"linear": 0, "polynomial": 1, "rbf": 2, "sigmoid": 3}
RANK_LOSSES = {"swapped-pairs": 1, "swapped-fraction": 2, "pairs": None}
SOLVERS = ("auto", "cutting-plane", "dual-cd", "newton", "smo", "subspace", "sampled-cuts", "constant-cuts",
           *BUDGET_SOLVERS, *STOCHASTIC_SOLVERS)  # fmt: skip
#: Trainers of the linear hinge loss.
LINEAR_ONLY = ("dual-cd", "newton")
SAMPLED_LOSSES = ("error-rate", "roc-area", *RANK_LOSSES)
#: Solvers that work on kernel values, -t 0 among them, and the losses they train for (None for all).
KERNEL_SOLVERS = {
    "smo": ("error-rate",), "subspace": None, "sampled-cuts": SAMPLED_LOSSES, "constant-cuts": ("error-rate",),
    **dict.fromkeys((*BUDGET_SOLVERS, *STOCHASTIC_SOLVERS), ("error-rate",)),
}  # fmt: skip
#: Measures --select knows, and whether more is better.
MEASURES = {
    "error_rate": False, "accuracy": True, "precision": True, "recall": True, "f1": True, "prbep": True,
    "roc_area": True, "average_precision": True,
}  # fmt: skip
RANK_MEASURES = {
    "swapped_pairs": False, "swapped_percent": False, "ndcg@1": True, "ndcg@5": True, "ndcg@10": True, "map": True,
}  # fmt: skip
MAINTENANCE = ("merge", "project", "remove")
SAMPLING = ("shuffled", "independent", "adaptive")
LARGEST_C = 1e12


class Option(NamedTuple):
    """One option: the field of LearnOptions, its flags, its kind, help text and section."""

    field: str
    flags: tuple[str, ...]
    kind: Kind
    help: str
    section: str


MAIN, STOP, KERNEL, RUN, COMPAT = "Objective", "Stopping", "Kernel", "Run", "Accepted as in svm_perf"

TASKS = {
    "classification": ("svmcut.cli.options", "LEARN"),
    "sequence": ("svmcut.cli.sequence_options", "SEQUENCE"),
    "multilabel": ("svmcut.cli.multilabel_options", "MULTILABEL"),
}
"""Task of learn -> module and name of its table; other defaults than LearnOptions' are its DEFAULTS."""

LEARN = (
    Option("task", ("--task",), one_of(tuple(TASKS)),
           "What to learn: classification, the default, sequence (tags of tokens, svm_hmm's files) or multilabel (sets "
           "of labels, LIBSVM's files). Each task has options of its own: --task sequence --help.", MAIN),
    Option("cost", ("-c", "--cost"), costs(0, LARGEST_C),
           "C in svm_perf's unit: 1/2 w'w + C * loss in percent. This or --example-cost is required. Several values, "
           "0.1,1,10, train a path: one model each, MODEL_FILE.0.1 and so on.", MAIN),
    Option("example_cost", ("--example-cost",), costs(0, LARGEST_C),
           "C as the weight of one example's loss, as in LIBLINEAR, LIBSVM and svm_light. Several values as with -c.",
           MAIN),
    Option("loss", ("-l", "--loss"), one_of(LOSSES),
           "What to minimise: zero-one (0), f1 (1), error-rate (2), prbep (3), prec-at-k (4), rec-at-k (5), "
           "roc-area (10), average-precision (11). Default error-rate.", MAIN),
    Option("p", ("--p",), number(0),
           "k of prec-at-k (default 0.5) and rec-at-k (default 2) as a fraction of the positives.", MAIN),
    Option("rescaling", ("-o", "--rescaling"), one_of(RESCALINGS), "margin (2) or slack (1) rescaling.", MAIN),
    Option("slack_norm", ("-p",), integer(1, 2), "1 for C xi, 2 for C xi^2.", MAIN),
    Option("bias", ("--b", "--bias"), ANY, "Value of the regularised constant feature; 0 for none.", MAIN),
    Option("solver", ("--solver",), one_of(SOLVERS),
           "auto, cutting-plane, dual-cd or newton; with kernels auto, cutting-plane, smo, subspace, sampled-cuts, "
           "constant-cuts, bsca, bsgd, sbp, pegasos, sdca or perceptron.", MAIN),
    Option("algorithm", ("-w",), integer(0, 9),
           "svm_perf's algorithm number 0-4 or 9; all lead to the same optimum.", MAIN),
    Option("epsilon", ("-e", "--epsilon"), number(0, above=True),
           "Stop when primal - dual <= C * epsilon (percent points of the loss), default 0.1. smo: tolerance of the "
           "KKT conditions, default 0.001.", STOP),
    Option("gap", ("--gap",), number(0, 1, above=True),
           "Stop when (primal - dual) / primal is at most this, instead of --epsilon.", STOP),
    Option("max_iterations", ("--max-iterations",), integer(1),
           "Stop after so many iterations, write the best model so far and exit with 3.", STOP),
    Option("time_limit", ("--time-limit",), number(0, above=True), "The same after so many seconds.", STOP),
    Option("epochs", ("--epochs",), number(0, above=True),
           "Passes over the examples of stochastic and budgeted trainers. Default 10, sbp 3.", STOP),
    Option("hold_out", ("--hold-out",), number(0, 0.9),
           "Part of the examples, 0.1 for a tenth, that bsca, bsgd, sbp, pegasos, sdca and perceptron do not train on "
           "but choose their best state by; the last four end once its error has not fallen in the second half of the "
           "run so far. Default 0: the best state by the primal value.", STOP),
    Option("validate", ("--validate",), PATH, "Measure every model on the examples of this file.", STOP),
    Option("select", ("--select",), one_of(tuple(MEASURES)),
           "Write the model that is best by this measure on --validate as MODEL_FILE too.", STOP),
    Option("kernel", ("-t", "--kernel"), one_of(KERNELS),
           "linear (0) x.z, polynomial (1) (s x.z + r)^d, rbf (2), sigmoid (3) tanh(s x.z + r).", KERNEL),
    Option("degree", ("-d",), integer(0), "Degree of the polynomial kernel.", KERNEL),
    Option("gamma", ("-g",), ANY, "g of the rbf kernel exp(-g |x-z|^2).", KERNEL),
    Option("s", ("-s",), ANY, "s of the polynomial and sigmoid kernels.", KERNEL),
    Option("r", ("-r",), ANY, "r of the polynomial and sigmoid kernels.", KERNEL),
    Option("u", ("-u",), TEXT, "Text stored with the model.", KERNEL),
    Option("basis_size", ("--k", "--basis"), integer(1),
           "Most basis vectors of subspace training and of the polish. Default 500.", KERNEL),
    Option("basis_method", ("--t",), integer(0, 2),
           "Subspace of a basis chosen in advance: 1 evenly spaced rows, 2 incomplete Cholesky; needs --i 0.", KERNEL),
    Option("basis_file", ("--f",), PATH, "File of basis vectors for --t.", KERNEL),
    Option("sample_size", ("--sample-size",), integer(1),
           "Examples drawn for a cut of sampled-cuts and constant-cuts. Default 400.", KERNEL),
    Option("patience", ("--patience",), integer(1),
           "Samples in a row without violation that end constant-cuts. Default 5.", KERNEL),
    Option("budget", ("--budget",), integer(1),
           "Most support vectors of bsca and bsgd; they need not be training points. Default 500: --solver bsca "
           "--budget 200.", KERNEL),
    Option("maintenance", ("--maintenance",), one_of(MAINTENANCE),
           "What bsca and bsgd do with a support vector too many: merge it with another (the rbf kernel only, its "
           "default), project it on the others (default of linear and polynomial) or remove it (of sigmoid).", KERNEL),
    Option("sampling", ("--sampling",), one_of(SAMPLING),
           "Examples bsca, bsgd, pegasos, sdca and perceptron visit: shuffled (the default) in a new order every "
           "epoch, independent draws, or adaptive, more often where that raised the dual (bsca only).", KERNEL),
    Option("nu", ("--nu",), number(0),
           "sbp: mean slack of the examples at |w| = 1, in place of the one C stands for; C serves the reported "
           "objective alone then.", KERNEL),
    Option("average", ("--average",), one_of(("suffix", "full")),
           "sbp: the model is the average of the last half of the iterates (suffix, the default), or of all.", KERNEL),
    Option("qp", ("--qp",), one_of(tuple(QPS)),
           "Small QP of the cutting planes: " + "; ".join(f"{name}, {row.help}" for name, row in QPS.items())
           + ". Default auto.", RUN),
    Option("threads", ("--threads",), integer(1, 4096), "Threads; the model's bytes do not depend on it.", RUN),
    Option("seed", ("--seed",), integer(0), "Seed of whatever is drawn at random.", RUN),
    Option("max_memory", ("--max-memory",), number(0, above=True), "Refuse work that needs more megabytes.", RUN),
    Option("checkpoint", ("--checkpoint",), PATH,
           "Write the state of training to this file at intervals, on SIGUSR1 and SIGTERM; removed at the end.", RUN),
    Option("checkpoint_every", ("--checkpoint-every",), number(0), "Seconds between checkpoints. Default 60.", RUN),
    Option("report", ("--report",), PATH, "Write the report as one JSON document.", RUN),
    Option("trace", ("--trace",), PATH, "Write one JSON line per iteration.", RUN),
    Option("alphas", ("-a",), PATH, "Write the multipliers of the final constraints, one a line.", RUN),
    Option("verbosity", ("-v",), LEVEL, "Verbosity of the report on standard output.", RUN),
    Option("light_verbosity", ("-y",), LEVEL, "svm_light's verbosity.", COMPAT),
    Option("new_constraints", ("-k",), integer(1), "New constraints before the QP is solved.", COMPAT),
    Option("constraint_cache", ("-f",), integer(-(2**31)), "Constraints cached per example (-w 4).", COMPAT),
    Option("refresh", ("-b",), number(0, 100, above=True), "Percent of examples refreshed (-w 4).", COMPAT),
    Option("qp_new", ("-n",), integer(0), "New variables per QP iteration.", COMPAT),
    Option("qp_size", ("-q",), integer(2), "Variables per QP iteration.", COMPAT),
    Option("cache_size", ("-m", "--cache-size"), number(0, above=True), "Kernel rows kept, in MB.", KERNEL),
    Option("shrink_after", ("-h",), integer(1), "Iterations before shrinking.", COMPAT),
    Option("qp_iterations", ("-#",), integer(0), "QP iterations without progress.", COMPAT),
    Option("preimage", ("--i",), integer(0, 9), "Preimage method of -w 9 with a kernel.", COMPAT),
    Option("recompute", ("--r",), integer(0), "Recomputations of the reduced set.", COMPAT),
    Option("shrink", ("--s",), integer(0, 1), "Shrinking in -w 9.", COMPAT),
)  # fmt: skip


_NOT_IN_RANK = {"task", "p", "bias", "basis_method", "preimage", "recompute", "shrink", "basis_file", "epochs",
                "budget", "maintenance", "sampling", "hold_out"}  # fmt: skip
_RANK_TEXTS = {
    "cost": "C in svm_rank's unit: 1/2 w'w + C * loss averaged over the queries. This or --example-cost is required.",
    "example_cost": "C as the weight of one query's loss.",
    "loss": "swapped-pairs (1, the default): pairs per query; swapped-fraction (2): their fraction per query; pairs: "
    "the fraction of all pairs.",
    "slack_norm": "1 for C xi of every query, 2 for C xi^2 with the root of the loss inside xi; not for pairs.",
    "algorithm": "svm_rank's algorithm number 0-4; all lead to the same optimum.",
    "epsilon": "Stop when primal - dual <= C * epsilon (swapped-pairs: times the mean number of pairs). Default 0.001.",
}
_RANK_KINDS = {"loss": one_of(RANK_LOSSES), "select": one_of(tuple(RANK_MEASURES))}
RANK = tuple(
    option._replace(
        help=_RANK_TEXTS.get(option.field, option.help),
        kind=_RANK_KINDS.get(option.field, option.kind),
        section=option.section.replace("svm_perf", "svm_rank"),
    )
    for option in LEARN
    if option.field not in _NOT_IN_RANK
)
RANK_DEFAULTS = {"command": "rank", "task": "rank", "loss": "swapped-pairs", "epsilon": 0.001}


@dataclass(slots=True)
class LearnOptions:
    """Values of one run; fields without a comment in the table are arguments, not options."""

    example_file: str
    model_file: str = "svm_struct_model"
    command: str = "learn"
    task: str = "classification"
    cost: tuple[Cost, ...] | None = None
    example_cost: tuple[Cost, ...] | None = None
    loss: str = "error-rate"
    rescaling: Literal["margin", "slack"] = "margin"
    slack_norm: Literal[1, 2] = 1
    bias: float | None = None
    free_bias: bool | None = None
    solver: str = "auto"
    algorithm: int | None = None
    epsilon: float | None = None
    gap: float | None = None
    max_iterations: int | None = None
    time_limit: float | None = None
    validate: str | None = None
    select: str | None = None
    kernel: str = "linear"
    degree: int = 3
    gamma: float = 1.0
    s: float = 1.0
    r: float = 1.0
    u: str = "empty"
    threads: int = field(default_factory=usable_cpus)
    seed: int = 0
    qp: str | None = None
    max_memory: float | None = None
    checkpoint: str | None = None
    checkpoint_every: float = 60.0
    resume: bool = False
    report: str | None = None
    trace: str | None = None
    progress: bool | None = None
    alphas: str | None = None
    verbosity: int = 1
    light_verbosity: int = 0
    new_constraints: int = 100
    constraint_cache: int = 5
    refresh: float = 100.0
    qp_new: int = 0
    qp_size: int = 10
    cache_size: float = 40.0
    shrink_after: int = 100
    qp_iterations: int = 100_000
    p: float = 0.0
    basis_method: int = 0
    preimage: int = 2
    basis_size: int = 500
    sample_size: int = 400
    patience: int = 5
    polish: bool | None = None
    certify: bool | None = None
    budget: int = 500
    epochs: float | None = None
    maintenance: str | None = None
    nu: float | None = None
    average: str = "suffix"
    sampling: str = "shuffled"
    hold_out: float = 0.0
    recompute: int = 0
    shrink: int = 1
    basis_file: str | None = None
    transition_order: int = 1
    emission_order: int = 0
    beam: int = 0
    pairs: str = "all"

    @property
    def has_kernel(self) -> bool:
        """Whether a kernel trainer serves the run."""
        return self.kernel != "linear" or self.solver in KERNEL_SOLVERS

    @property
    def path(self) -> tuple[Cost, ...]:
        """The values of C, in whichever unit they were given."""
        return self.cost or self.example_cost or ()

    def as_dict(self) -> dict[str, Any]:
        """The values for the report; a single C is a number."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        for name in ("cost", "example_cost"):
            if values[name] is not None:
                numbers = [cost.value for cost in values[name]]
                values[name] = numbers[0] if len(numbers) == 1 else numbers
        return values
