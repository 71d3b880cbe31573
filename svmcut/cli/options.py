# SPDX-License-Identifier: BSD-3-Clause
"""The options of training in one table: flags, range, default, help. The click command, the reader of the originals'
argument lists, the report and the tests all read it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from svmcut.cli.kinds import ANY, PATH, TEXT, Cost, Kind, costs, integer, number, one_of
from svmcut.errors import UsageError
from svmcut.kernel_options import BUDGET_SOLVERS, STOCHASTIC_SOLVERS
from svmcut.machine import usable_cpus

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
}
"""Task of learn -> module and name of its table; other defaults than LearnOptions' are its DEFAULTS."""

LEARN = (
    Option("task", ("--task",), one_of(tuple(TASKS)),
           "What to learn: classification, the default, or sequence (tags of tokens, svm_hmm's files). Each task has "
           "options of its own: --task sequence --help.", MAIN),
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
    Option("threads", ("--threads",), integer(1, 4096), "Threads; the model's bytes do not depend on it.", RUN),
    Option("seed", ("--seed",), integer(0), "Seed of whatever is drawn at random.", RUN),
    Option("max_memory", ("--max-memory",), number(0, above=True), "Refuse work that needs more megabytes.", RUN),
    Option("checkpoint", ("--checkpoint",), PATH,
           "Write the state of training to this file at intervals, on SIGUSR1 and SIGTERM; removed at the end.", RUN),
    Option("checkpoint_every", ("--checkpoint-every",), number(0), "Seconds between checkpoints. Default 60.", RUN),
    Option("report", ("--report",), PATH, "Write the report as one JSON document.", RUN),
    Option("trace", ("--trace",), PATH, "Write one JSON line per iteration.", RUN),
    Option("alphas", ("-a",), PATH, "Write the multipliers of the final constraints, one a line.", RUN),
    Option("verbosity", ("-v",), integer(0, 10), "Verbosity of the report on standard output.", RUN),
    Option("light_verbosity", ("-y",), integer(0, 10), "svm_light's verbosity.", COMPAT),
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
    rescaling: str = "margin"
    slack_norm: int = 1
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


def check(options: LearnOptions) -> None:
    """Refusals that concern more than one option.

    Raises
    ------
    UsageError
        Names the options and the remedy.
    """
    check_path(options)
    _check_vector_machine(options)


def check_path(options: LearnOptions) -> None:
    """Refusals of C, of paths of C and of what is asked of a path.

    Raises
    ------
    UsageError
    """
    if options.cost is None and options.example_cost is None:
        raise UsageError("C is missing; give -c (the original's unit) or --example-cost (weight of one example)")
    if options.cost is not None and options.example_cost is not None:
        raise UsageError("-c and --example-cost exclude each other")
    if len({cost.text for cost in options.path}) < len(options.path):
        raise UsageError("the same C stands twice; each value of a path names a model file")
    if options.select and not options.validate:
        raise UsageError(f"--select {options.select} needs --validate FILE to measure the models on")
    if options.alphas and len(options.path) > 1:
        raise UsageError("-a writes the multipliers of one model; give a single C")


def _check_vector_machine(options: LearnOptions) -> None:
    algorithms = (0, 1, 2, 3, 4) if options.task == "rank" else (0, 1, 2, 3, 4, 9)
    if options.algorithm is not None and options.algorithm not in algorithms:
        known = ", ".join(map(str, algorithms))
        raise UsageError(f"-w {options.algorithm} is no algorithm of {options.command}; expected one of {known}")
    if options.algorithm == 9 and options.loss != "error-rate":
        raise UsageError(f"-w 9 trains for error-rate only; use -w 3 with loss '{options.loss}'")
    if options.algorithm == 4 and options.constraint_cache <= 0:
        raise UsageError("-f must be at least 1 with -w 4")
    if options.qp_new > options.qp_size:
        raise UsageError(f"-n {options.qp_new} exceeds -q {options.qp_size}")
    if options.algorithm in (0, 1, 2, 3, 4) and options.solver not in ("auto", "cutting-plane"):
        raise UsageError(f"-w {options.algorithm} trains with cutting planes; leave it out with --solver")
    if options.slack_norm == 2 and options.algorithm not in (0, 1, None):
        raise UsageError("-p 2 (squared slack) goes with -w 0 or 1")
    if options.resume and options.checkpoint is None:
        raise UsageError("--resume goes on from a checkpoint; name it with --checkpoint FILE")
    if options.has_kernel:
        check_kernel(options)
    elif options.solver in LINEAR_ONLY and (options.task == "rank" or options.loss != "error-rate"):
        raise UsageError(f"solver '{options.solver}' trains for error-rate only; use --solver cutting-plane")
    elif options.free_bias:
        raise UsageError("--free-bias needs a solver with an unregularised bias; add --solver smo")
    elif options.basis_method:
        raise UsageError("--t chooses a basis for a kernel; give -t 1, 2 or 3")
    from svmcut.risks import make_risk

    make_risk(options.loss, p=options.p, rescaling=options.rescaling, slack_norm=options.slack_norm)


def check_kernel(options: LearnOptions) -> None:
    """Refusals of runs with a kernel; of --t, --i and -w as svm_perf refuses them.

    Raises
    ------
    UsageError
    """
    what = f"the {options.kernel} kernel" if options.kernel != "linear" else f"solver '{options.solver}'"
    if options.bias:
        raise UsageError(
            f"{what} takes no constant feature, but --b {options.bias:g} asks for one; give --b 0 (and --solver smo "
            "for an unregularised bias)"
        )
    solver = solver_name(options)
    if options.free_bias and solver not in ("auto", "smo", "sbp"):
        raise UsageError(f"solver '{solver}' has no unregularised bias; use --solver smo or sbp")
    check_stochastic(options, solver)
    if options.preimage not in (0, 1, 2, 4):
        raise UsageError(f"--i {options.preimage} is unknown; expected 0, 1, 2 or 4")
    if options.maintenance == "merge" and options.kernel != "rbf":
        raise UsageError(f"--maintenance merge is for the rbf kernel; with {what} use project or remove")
    if options.maintenance == "project" and options.kernel == "sigmoid":
        raise UsageError("--maintenance project needs a positive definite kernel; with the sigmoid kernel use remove")
    losses = KERNEL_SOLVERS.get(solver)
    if losses and (options.loss not in losses or options.rescaling == "slack"
                   or options.slack_norm == 2):  # fmt: skip
        known = ", ".join(losses)
        raise UsageError(f"solver '{solver}' trains for {known} only; use --solver cutting-plane or subspace")
    if options.basis_method and options.algorithm == 9:
        raise UsageError("--t chooses the basis in advance and does not go with -w 9; use -w 3")
    if options.basis_method and options.preimage:
        raise UsageError(f"--t {options.basis_method} needs --i 0")
    if options.basis_method and solver != "subspace":
        raise UsageError(f"--t chooses a basis for solver 'subspace', not for '{solver}'")
    if options.basis_file and not options.basis_method:
        raise UsageError("--f names the basis for --t 1 or 2")
    if options.algorithm == 9 and options.preimage == 0:
        raise UsageError("-w 9 with a kernel trains on a basis of its own and needs --i 1, 2 or 4; use -w 3 with --i 0")
    if options.algorithm == 9 and options.preimage in (2, 4) and options.kernel != "rbf":
        raise UsageError(f"--i {options.preimage} is for the rbf kernel; use --i 1 with the {options.kernel} kernel")


def check_stochastic(options: LearnOptions, solver: str) -> None:
    """Refusals of the options of stochastic trainers, with and without one.

    Raises
    ------
    UsageError
    """
    if options.hold_out and solver not in (*BUDGET_SOLVERS, *STOCHASTIC_SOLVERS):
        known = ", ".join((*BUDGET_SOLVERS, *STOCHASTIC_SOLVERS))
        raise UsageError(f"--hold-out is for stochastic and budgeted trainers; give --solver one of {known}")
    if options.sampling == "adaptive" and solver != "bsca":
        raise UsageError("--sampling adaptive follows the rises of the dual in budgeted ascent; use --solver bsca")
    if options.nu is not None and solver != "sbp":
        raise UsageError(f"--nu is for --solver sbp; solver '{solver}' takes C alone")
    if solver not in STOCHASTIC_SOLVERS:
        return
    if options.epsilon is not None or (options.gap is not None and solver != "sdca"):
        raise UsageError(f"solver '{solver}' ends after --epochs, or by --hold-out; leave out -e and --gap "
                         "(sdca takes --gap)")  # fmt: skip
    if options.polish and solver == "sbp" and options.free_bias is not False:
        raise UsageError("--polish trains without the free bias; add --no-free-bias")


def solver_name(options: LearnOptions) -> str:
    """The solver that -w, --t and --solver name together."""
    if options.solver != "auto" or (options.algorithm is None and not options.basis_method):
        return options.solver
    if options.has_kernel and (options.basis_method or options.algorithm == 9):
        return "subspace"
    return "auto" if options.algorithm == 9 else "cutting-plane"
