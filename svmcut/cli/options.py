# SPDX-License-Identifier: BSD-3-Clause
"""The options of training in one table: flags, range, default, help. The click command, the reader of the originals'
argument lists, the report and the tests all read it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from svmcut.errors import UsageError
from svmcut.machine import usable_cpus

LOSSES = {
    "zero-one": 0, "f1": 1, "error-rate": 2, "prbep": 3, "prec-at-k": 4, "rec-at-k": 5, "roc-area": 10,
    "average-precision": 11,
}  # fmt: skip
RESCALINGS = {"slack": 1, "margin": 2}
KERNELS = {"linear": 0, "polynomial": 1, "rbf": 2, "sigmoid": 3}
SOLVERS = ("auto", "cutting-plane", "dual-cd", "newton")
RANK_LOSSES = {"swapped-pairs": 1, "swapped-fraction": 2, "pairs": None}
#: Measures --select knows, and whether more is better.
MEASURES = {
    "error_rate": False, "accuracy": True, "precision": True, "recall": True, "f1": True, "prbep": True,
    "roc_area": True, "average_precision": True,
}  # fmt: skip
RANK_MEASURES = {
    "swapped_pairs": False, "swapped_percent": False, "ndcg@1": True, "ndcg@5": True, "ndcg@10": True, "map": True,
}  # fmt: skip
LARGEST_C = 1e12


class Kind(NamedTuple):
    """How the text of a value is read: parse raises ValueError with what was expected."""

    name: str
    parse: Callable[[str], Any]


def number(low: float, high: float = math.inf, *, above: bool = False) -> Kind:
    """A finite number in [low, high], or in (low, high] with above."""
    range_text = f"a number {'above' if above else 'of at least'} {low:g}"
    if high < math.inf:
        range_text = f"a number {'above' if above else 'from'} {low:g} {'and at most' if above else 'to'} {high:g}"

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value > high or value < low or (above and value == low):
            raise ValueError(f"{text!r} is not {range_text}")
        return value

    return Kind("FLOAT", parse)


def integer(low: int, high: int = 2**31 - 1) -> Kind:
    """A whole number in [low, high]."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            limit = f"of at least {low}" if high == 2**31 - 1 else f"from {low} to {high}"
            raise ValueError(f"{text!r} is not a whole number {limit}")
        return value

    return Kind("INTEGER", parse)


class Cost(NamedTuple):
    """One value of C and its text as typed, which names the model file of a path."""

    text: str
    value: float


def costs(low: float, high: float) -> Kind:
    """One value of C in (low, high], or several, separated by commas."""
    one = number(low, high, above=True)

    def parse(text: str) -> tuple[Cost, ...]:
        return tuple(Cost(part.strip(), one.parse(part)) for part in text.split(","))

    return Kind("FLOAT[,FLOAT...]", parse)


def one_of(table: Mapping[str, int | None] | tuple[str, ...]) -> Kind:
    """A name, or its number where the originals have one; the name is kept."""
    numbers = {}
    if isinstance(table, Mapping):
        numbers = {str(value): name for name, value in table.items() if value is not None}
    known = ", ".join(table)
    if isinstance(table, Mapping):
        known = ", ".join(name if value is None else f"{name} ({value})" for name, value in table.items())

    def parse(text: str) -> str:
        name = numbers.get(text, text)
        if name not in table:
            raise ValueError(f"{text!r} is unknown; expected one of {known}")
        return name

    return Kind("NAME", parse)


def one_line(text: str) -> str:
    """Text for one line of a model file."""
    if "\n" in text or "\r" in text:
        raise ValueError(f"{text!r} is not one line of text")
    return text


ANY = number(-1e300, 1e300)
TEXT = Kind("TEXT", one_line)
PATH = Kind("FILE", str)


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
    Option("solver", ("--solver",), one_of(SOLVERS), "auto, cutting-plane, dual-cd or newton.", MAIN),
    Option("algorithm", ("-w",), integer(0, 9),
           "svm_perf's algorithm number 0-4 or 9; all lead to the same optimum.", MAIN),
    Option("epsilon", ("-e", "--epsilon"), number(0, above=True),
           "Stop when primal - dual <= C * epsilon (percent points of the loss).", STOP),
    Option("gap", ("--gap",), number(0, 1, above=True),
           "Stop when (primal - dual) / primal is at most this, instead of --epsilon.", STOP),
    Option("max_iterations", ("--max-iterations",), integer(1),
           "Stop after so many iterations, write the best model so far and exit with 3.", STOP),
    Option("time_limit", ("--time-limit",), number(0, above=True), "The same after so many seconds.", STOP),
    Option("validate", ("--validate",), PATH, "Measure every model on the examples of this file.", STOP),
    Option("select", ("--select",), one_of(tuple(MEASURES)),
           "Write the model that is best by this measure on --validate as MODEL_FILE too.", STOP),
    Option("kernel", ("-t", "--kernel"), one_of(KERNELS), "linear (0).", KERNEL),
    Option("degree", ("-d",), integer(0), "Degree of the polynomial kernel.", KERNEL),
    Option("gamma", ("-g",), ANY, "g of the rbf kernel exp(-g |x-z|^2).", KERNEL),
    Option("s", ("-s",), ANY, "s of the polynomial and sigmoid kernels.", KERNEL),
    Option("r", ("-r",), ANY, "r of the polynomial and sigmoid kernels.", KERNEL),
    Option("u", ("-u",), TEXT, "Text stored with the model.", KERNEL),
    Option("threads", ("--threads",), integer(1, 4096), "Threads; the model's bytes do not depend on it.", RUN),
    Option("seed", ("--seed",), integer(0), "Seed of whatever is drawn at random.", RUN),
    Option("max_memory", ("--max-memory",), number(0, above=True), "Refuse work that needs more megabytes.", RUN),
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
    Option("cache_size", ("-m", "--cache-size"), number(0, above=True), "Kernel cache in MB.", COMPAT),
    Option("shrink_after", ("-h",), integer(1), "Iterations before shrinking.", COMPAT),
    Option("qp_iterations", ("-#",), integer(0), "QP iterations without progress.", COMPAT),
    Option("basis_method", ("--t",), integer(0, 2), "How a kernel basis is chosen in advance.", COMPAT),
    Option("preimage", ("--i",), integer(0, 9), "Preimage method of -w 9 with a kernel.", COMPAT),
    Option("basis_size", ("--k", "--basis"), integer(1), "Basis vectors of subspace training.", COMPAT),
    Option("recompute", ("--r",), integer(0), "Recomputations of the reduced set.", COMPAT),
    Option("shrink", ("--s",), integer(0, 1), "Shrinking in -w 9.", COMPAT),
    Option("basis_file", ("--f",), PATH, "File of basis vectors.", COMPAT),
)  # fmt: skip


_NOT_IN_RANK = {"task", "p", "bias", "basis_method", "preimage", "recompute", "shrink", "basis_file"}
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
    solver: str = "auto"
    algorithm: int | None = None
    epsilon: float = 0.1
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
    recompute: int = 0
    shrink: int = 1
    basis_file: str | None = None
    transition_order: int = 1
    emission_order: int = 0
    beam: int = 0
    pairs: str = "all"

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
    if options.kernel != "linear":
        raise UsageError(f"training with the {options.kernel} kernel is not in this version; use -t 0")
    if options.solver not in ("auto", "cutting-plane") and (options.task == "rank" or options.loss != "error-rate"):
        raise UsageError(f"solver '{options.solver}' trains for error-rate only; use --solver cutting-plane")
    from svmcut.risks import make_risk

    make_risk(options.loss, p=options.p, rescaling=options.rescaling, slack_norm=options.slack_norm)
