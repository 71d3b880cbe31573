# SPDX-License-Identifier: BSD-3-Clause
"""The options of training in one table: flags, range, default, help. The click command, the reader of the originals'
argument lists, the report and the tests all read it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from svmcut.catalog import AUTO, KERNELS, QPS, SOLVERS, listed, losses, measures, solvers
from svmcut.catalog import TASKS as TASK_ROWS
from svmcut.kinds import LEVEL, PATH, Cost, Kind, costs, integer, number, one_of
from svmcut.parameters import DEFAULTS, EPSILON, KINDS, KKT_TOLERANCE, C, Settings
from svmcut.refusals import STEERING, chosen_solver

if TYPE_CHECKING:
    from collections.abc import Mapping

COSTS = costs(C)


class Option(NamedTuple):
    """One option: the field of LearnOptions, its flags, its kind, help text and section."""

    field: str
    flags: tuple[str, ...]
    kind: Kind
    help: str
    section: str


MAIN, STOP, KERNEL, RUN, COMPAT = "Objective", "Stopping", "Kernel", "Run", "Accepted as in svm_perf"

#: Tasks of learn.
TASKS = {name: task for name, task in TASK_ROWS.items() if name != "rank"}


def option(field: str, flags: tuple[str, ...], help: str, section: str, kind: Kind | None = None) -> Option:
    """An option, of the kind of the parameter it names."""
    return Option(field, flags, KINDS[field] if kind is None else kind, help, section)


def kinds(task: str) -> dict[str, Kind]:
    """Kinds of the options whose values hang on the task."""
    known = {name: loss.number for name, loss in losses(task).items()}
    own, objects = solvers(task), TASK_ROWS[task].objects
    foreign = dict.fromkeys(SOLVERS.keys() - own, f"does not train {objects}")
    return {
        "loss": one_of(known), "solver": one_of((AUTO, *own), foreign), "select": one_of(tuple(measures(task))),
    }  # fmt: skip


def numbered(rows) -> str:
    """Names with the originals' numbers: f1 (1), error-rate (2)."""
    return ", ".join(row.name if row.number is None else f"{row.name} ({row.number})" for row in rows)


def solver_names(task: str) -> str:
    """The solvers of a task on features, then those on kernel values, in a sentence."""
    linear, values = (listed((AUTO, *solvers(task, kernel)), "or") for kernel in (False, True))
    return f"{linear}; with kernels {values}" if solvers(task, True) else linear


def epochs() -> str:
    """The default number of passes, and the solvers that have another."""
    passes = {name: row.defaults["epochs"] for name, row in SOLVERS.items() if "epochs" in row.defaults}
    usual = max(passes.values())
    others = [f"{name} {number:g}" for name, number in passes.items() if number != usual]
    return ", ".join((f"{usual:g}", *others))


def kernel_formulas() -> str:
    """The kernels with their numbers and formulas."""
    return ", ".join(f"{row.name} ({row.number}) {row.formula}".strip() for row in KERNELS.values())


def at_k() -> str:
    """The losses at k and the k of each where none is given."""
    return listed([f"{row.name} (default {row.at[2]:g})" for row in losses("classification").values() if row.at])


def taking(parameter: str, last: str = "and") -> str:
    """The solvers that take a parameter, in a sentence."""
    return listed([name for name, row in SOLVERS.items() if parameter in row.takes], last)


_KINDS = kinds("classification")
LEARN = (
    option("task", ("--task",),
           "What to learn: classification, the default, sequence (tags of tokens, svm_hmm's files) or multilabel (sets "
           "of labels, LIBSVM's files). Each task has options of its own: --task sequence --help.", MAIN,
           one_of(tuple(TASKS))),
    option("cost", ("-c", "--cost"),
           "C in svm_perf's unit: 1/2 w'w + C * loss in percent. This or --example-cost is required. Several values, "
           "0.1,1,10, train a path: one model each, MODEL_FILE.0.1 and so on.", MAIN, COSTS),
    option("example_cost", ("--example-cost",),
           "C as the weight of one example's loss, as in LIBLINEAR, LIBSVM and svm_light. Several values as with -c.",
           MAIN, COSTS),
    option("loss", ("-l", "--loss"),
           f"What to minimise: {numbered(losses('classification').values())}. Default "
           f"{TASK_ROWS['classification'].loss}.", MAIN, _KINDS["loss"]),
    option("p", ("--p",),
           f"k of {at_k()} as a fraction of the positives.", MAIN),
    option("rescaling", ("-o", "--rescaling"), "margin (2) or slack (1) rescaling.", MAIN),
    option("slack_norm", ("-p",), "1 for C xi, 2 for C xi^2.", MAIN),
    option("bias", ("--b", "--bias"), "Value of the regularised constant feature; 0 for none.", MAIN),
    option("solver", ("--solver",), f"{solver_names('classification')}.", MAIN, _KINDS["solver"]),
    Option("algorithm", ("-w",), integer(0, 9),
           "svm_perf's algorithm number 0-4 or 9; all lead to the same optimum.", MAIN),
    option("epsilon", ("-e", "--epsilon"),
           f"Stop when primal - dual <= C * epsilon (percent points of the loss), default {EPSILON:g}. smo: tolerance "
           f"of the KKT conditions, default {KKT_TOLERANCE:g}.", STOP),
    option("gap", ("--gap",),
           "Stop when (primal - dual) / primal is at most this, instead of --epsilon.", STOP),
    option("max_iterations", ("--max-iterations",),
           "Stop after so many iterations, write the best model so far and exit with 3.", STOP),
    option("time_limit", ("--time-limit",), "The same after so many seconds.", STOP),
    option("epochs", ("--epochs",),
           f"Passes over the examples of stochastic and budgeted trainers. Default {epochs()}.", STOP),
    option("hold_out", ("--hold-out",),
           f"Part of the examples, 0.1 for a tenth, that {taking('hold_out')} do not train on "
           "but choose their best state by; the last four end once its error has not fallen in the second half of the "
           "run so far. Default 0: the best state by the primal value.", STOP),
    Option("validate", ("--validate",), PATH, "Measure every model on the examples of this file.", STOP),
    option("select", ("--select",),
           "Write the model that is best by this measure on --validate as MODEL_FILE too.", STOP, _KINDS["select"]),
    option("kernel", ("-t", "--kernel"), f"{kernel_formulas()}.", KERNEL),
    option("degree", ("-d", "--degree"), "Degree of the polynomial kernel.", KERNEL),
    option("gamma", ("-g", "--gamma"), "g of the rbf kernel exp(-g |x-z|^2).", KERNEL),
    option("scale_kernel", ("-s", "--scale-kernel"), "s of the polynomial and sigmoid kernels.", KERNEL),
    option("coef0", ("-r", "--coef0"), "r of the polynomial and sigmoid kernels.", KERNEL),
    option("u", ("-u",), "Text stored with the model.", KERNEL),
    option("basis", ("--basis", "--k"),
           "Most basis vectors of subspace training and of the polish. Default "
           f"{DEFAULTS['basis']}.", KERNEL),
    option("basis_method", ("--t",),
           "Subspace of a basis chosen in advance: 1 evenly spaced rows, 2 incomplete Cholesky; needs --i 0.", KERNEL),
    option("basis_file", ("--f",), "File of basis vectors for --t.", KERNEL),
    option("sample_size", ("--sample-size",),
           f"Examples drawn for a cut of {taking('sample_size')}. Default {DEFAULTS['sample_size']}.", KERNEL),
    option("patience", ("--patience",),
           f"Samples in a row without violation that end {taking('patience')}. Default "
           f"{DEFAULTS['patience']}.", KERNEL),
    option("budget", ("--budget",),
           f"Most support vectors of {taking('budget')}; they need not be training points. Default "
           f"{DEFAULTS['budget']}: --solver bsca --budget 200.", KERNEL),
    option("maintenance", ("--maintenance",),
           f"What {taking('maintenance')} do with a support vector too many: merge it with another (the rbf kernel "
           "only, its default), project it on the others (default of linear and polynomial) or remove it (of "
           "sigmoid).", KERNEL),
    option("sampling", ("--sampling",),
           f"Examples {taking('sampling')} visit: shuffled (the default) in a new order every "
           "epoch, independent draws, or adaptive, more often where that raised the dual (bsca only).", KERNEL),
    option("nu", ("--nu",),
           "sbp: mean slack of the examples at |w| = 1, in place of the one C stands for; C serves the reported "
           "objective alone then.", KERNEL),
    option("average", ("--average",),
           "sbp: the model is the average of the last half of the iterates (suffix, the default), or of all.", KERNEL),
    option("qp", ("--qp",),
           "Small QP of the cutting planes: " + "; ".join(f"{name}, {row.help}" for name, row in QPS.items())
           + ". Default auto.", RUN),
    option("threads", ("--threads",), "Threads; the model's bytes do not depend on it.", RUN),
    option("seed", ("--seed",), "Seed of whatever is drawn at random.", RUN),
    option("max_memory", ("--max-memory",), "Refuse work that needs more megabytes.", RUN),
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
    option("cache_size", ("-m", "--cache-size"), "Kernel rows kept, in MB.", KERNEL),
    Option("shrink_after", ("-h",), integer(1), "Iterations before shrinking.", COMPAT),
    Option("qp_iterations", ("-#",), integer(0), "QP iterations without progress.", COMPAT),
    Option("preimage", ("--i",), integer(0, 9), "Preimage method of -w 9 with a kernel.", COMPAT),
    Option("recompute", ("--r",), integer(0), "Recomputations of the reduced set.", COMPAT),
    Option("shrink", ("--s",), integer(0, 1), "Shrinking in -w 9.", COMPAT),
)  # fmt: skip


def adapted(task: str, texts: Mapping[str, str], without: set[str], original: str) -> tuple[Option, ...]:
    """The options of learn as another task has them: with its losses, solvers and measures."""
    own = {**kinds(task), **({"algorithm": integer(0, 4)} if task == "sequence" else {})}
    taken = {name for row in solvers(task).values() for name in row.takes}
    left_out = without | (STEERING - taken)
    return tuple(
        row._replace(
            help=texts.get(row.field, row.help),
            kind=own.get(row.field, row.kind),
            section=row.section.replace("svm_perf", original),
        )
        for row in LEARN
        if row.field not in left_out
    )


_RANKING = losses("rank").values()
_RANK_TEXTS = {
    "cost": "C in svm_rank's unit: 1/2 w'w + C * loss averaged over the queries. This or --example-cost is required.",
    "example_cost": "C as the weight of one query's loss.",
    "loss": "; ".join(f"{numbered([row])}: {row.help}" for row in _RANKING) + f". Default {TASK_ROWS['rank'].loss}.",
    "slack_norm": "1 for C xi of every query, 2 for C xi^2 with the root of the loss inside xi; not for pairs.",
    "solver": f"{solver_names('rank')}.",
    "algorithm": "svm_rank's algorithm number 0-4; all lead to the same optimum.",
    "epsilon": "Stop when primal - dual <= C * epsilon (swapped-pairs: times the mean number of pairs). Default "
    f"{TASK_ROWS['rank'].defaults['epsilon']:g}.",
}
RANK = adapted(
    "rank", _RANK_TEXTS, {"task", "p", "bias", "basis_method", "preimage", "recompute", "shrink", "basis_file"},
    "svm_rank",
)  # fmt: skip


@dataclass(kw_only=True, slots=True)
class LearnOptions(Settings):
    """Values of one run: the parameters, C as typed, and what the command line alone knows."""

    example_file: str
    model_file: str = "svm_struct_model"
    command: str = "learn"
    cost: tuple[Cost, ...] | None = None
    example_cost: tuple[Cost, ...] | None = None
    algorithm: int | None = None
    validate: str | None = None
    select: str | None = None
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
    shrink_after: int = 100
    qp_iterations: int = 100_000
    preimage: int = 2
    recompute: int = 0
    shrink: int = 1

    @property
    def path(self) -> tuple[Cost, ...]:
        """The values of C, in whichever unit they were given."""
        return self.cost or self.example_cost or ()

    def settings(self) -> Settings:
        """What the library is asked for: the first C, and the solver that -w and --t name where --solver does not."""
        values = {item.name: getattr(self, item.name) for item in fields(Settings)}
        for name in ("cost", "example_cost"):
            values[name] = values[name][0].value if values[name] else None
        values["solver"] = solver_name(self)
        if self.algorithm == 9:
            values["rescaling"] = Settings().rescaling
        return Settings(**values)

    def as_dict(self) -> dict[str, Any]:
        """The values for the report; a single C is a number."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        for name in ("cost", "example_cost"):
            if values[name] is not None:
                numbers = [cost.value for cost in values[name]]
                values[name] = numbers[0] if len(numbers) == 1 else numbers
        return values


def solver_name(options: LearnOptions) -> str:
    """The solver that -w and --solver name together."""
    if options.solver != AUTO or options.algorithm is None:
        return chosen_solver(options)
    if options.has_kernel and (options.basis_method or options.algorithm == 9):
        return "subspace"
    return AUTO if options.algorithm == 9 else "cutting-plane"
