# SPDX-License-Identifier: BSD-3-Clause
"""The options of training: flags, panel and help of each stand here, once; kinds and defaults are those of parameters.

What a task, its losses and its solvers cannot use is not offered; the rows of svmcut.catalog say which. The click
commands, the originals' argument lists, the report and the tests all read `options`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Any, NamedTuple

from svmcut.catalog import (
    AUTO,
    CUTTING_PLANE,
    KERNELS,
    QPS,
    RESCALINGS,
    SOLVERS,
    SUBSPACE,
    TASKS,
    listed,
    losses,
    measures,
    solvers,
    takers,
)
from svmcut.kinds import FLAG, LEVEL, PATH, Cost, Kind, costs, dashed, duration, integer, number, one_of
from svmcut.parameters import (
    CERTIFIED_ROWS,
    DEFAULTS,
    EPSILON,
    EXAMPLE_COST,
    KKT_TOLERANCE,
    C,
    Settings,
    kinds_of,
    param,
    task_defaults,
)
from svmcut.refusals import OF_TASKS, STEERING, chosen_solver

DATA, OBJECTIVE, KERNEL, STOPPING, OUTPUT, RUNNING, COMPATIBILITY = PANELS = (
    "Data", "Objective", "Kernel", "Stopping", "Output", "Running", "Compatibility"
)  # fmt: skip
#: Tasks of learn.
LEARNT = tuple(name for name in TASKS if name != "rank")


class Option(NamedTuple):
    """One option.

    Attributes
    ----------
    field : str
        Of LearnOptions, or of what else the command fills.
    flags : tuple of str
    panel : str
    help : str
        For svmcut and the originals.
    more : str
        For svmcut alone.
    default : str or None
        What help says of it; None for the value of the field, "" for nothing.
    inert : bool
        Whether it is taken for compatibility and never has an effect.
    kind : Kind
    """

    field: str
    flags: tuple[str, ...]
    panel: str
    help: str
    more: str = ""
    default: str | None = None
    inert: bool = False
    kind: Kind = FLAG

    @property
    def stated(self) -> str:
        """The help with the default."""
        return self.help + (f"  [default: {self.default}]" if self.default else "")


@dataclass(frozen=True, kw_only=True, slots=True, repr=False, eq=False)  # quickly made
class LearnOptions(Settings):
    """Values of one run: the parameters, C as typed, and what the command line alone knows."""

    example_file: str
    model_file: str = "svm_struct_model"
    command: str = "learn"
    cost: tuple[Cost, ...] | None = param(None, costs(C))
    example_cost: tuple[Cost, ...] | None = param(None, costs(C))
    algorithm: int | None = param(None, integer(0, 9))
    weights: str | None = param(None, PATH)
    validate: str | None = param(None, PATH)
    select: str | None = param(None, PATH)
    checkpoint: str | None = param(None, PATH)
    checkpoint_every: float = param(60.0, duration())
    resume: bool = param(False, FLAG)
    report: str | None = param(None, PATH)
    trace: str | None = param(None, PATH)
    progress: bool | None = param(None, FLAG)
    alphas: str | None = param(None, PATH)
    verbosity: int = param(1, LEVEL)
    light_verbosity: int = param(0, LEVEL)
    new_constraints: int = param(100, integer(1))
    constraint_cache: int = param(5, integer(-(2**31)))
    refresh: float = param(100.0, number(0, 100, above=True))
    qp_new: int = param(0, integer(0))
    qp_size: int = param(10, integer(2))
    shrink_after: int = param(100, integer(1))
    qp_iterations: int = param(100_000, integer(0))
    preimage: int = param(2, integer(0, 9))
    recompute: int = param(0, integer(0))
    shrink: int = param(1, integer(0, 1))

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
            values["rescaling"] = DEFAULTS["rescaling"]
        return Settings(**values)

    def as_dict(self) -> dict[str, Any]:
        """The values for the report; a single C is a number."""
        values = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "given"}
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
        return SUBSPACE
    return AUTO if options.algorithm == 9 else CUTTING_PLANE


_KINDS = kinds_of(LearnOptions)
ROWS = (
    Option("task", ("--task",), DATA,
           "What to learn: {tasks}. Each task has options of its own: --task sequence --help.",
           default="{first}; of three or more whole labels multiclass"),
    Option("positive", ("--positive",), DATA,
           "Label of the positive class, or '>0' for all labels above 0; all other labels are negative.",
           default="the larger of two labels"),
    Option("weights", ("--weights",), DATA,
           "File of one number a line, what each {single} weighs: 2 as if it stood there twice, 0 for none; times "
           "cost: of its lines."),
    Option("class_weight", ("--class-weight",), DATA,
           "What the examples of a class weigh beside that: by label, 1=5,-1=0.5, or balanced, every class as much as "
           "another. Weights of any kind are for -l {weighing} alone."),
    Option("validate", ("--validate",), DATA, "Measure every model on the examples of this file."),
    Option("zero_based", ("--zero-based",), DATA,
           "Feature indices of the files start at 0: index k is feature k + 1 of the model. classify needs it too.",
           default="off"),
    Option("cost", ("-c", "--cost"), OBJECTIVE, "C: {objective}.",
           "The unit is that of {original}.{needed} Several values, 0.1,1,10, train a path: one model each, "
           "MODEL_FILE.0.1 and so on.", ""),
    Option("example_cost", ("--example-cost",), OBJECTIVE, "C as the weight of one {one}. Several values as with -c.",
           default="{example_cost}"),
    Option("loss", ("-l", "--loss"), OBJECTIVE, "What to minimise: {losses}."),
    Option("p", ("--p",), OBJECTIVE, "k of {at} as a fraction of the positives; 0 for {at_default}."),
    Option("at", ("--at",), OBJECTIVE, "Places of a ranking that {ranked} counts."),
    Option("tube", ("--tube",), OBJECTIVE, "Errors up to this cost nothing."),
    Option("rescaling", ("-o", "--rescaling"), OBJECTIVE, "Rescaling of the loss: {rescalings}."),
    Option("slack_norm", ("-p",), OBJECTIVE, "1 for C xi, 2 for C xi^2."),
    Option("bias", ("--b", "--bias"), OBJECTIVE, "Value of the regularised constant feature; 0 for none.",
           default="{bias}"),
    Option("free_bias", ("--free-bias/--no-free-bias",), OBJECTIVE, "Unregularised bias of {takers}.",
           default="on where --solver names one of them"),
    Option("transitions", ("--t", "--transitions"), OBJECTIVE,
           "How many tags before it a tag depends on: 0 to 3. Time and memory grow K-fold with each."),
    Option("emissions", ("--e", "--emissions"), OBJECTIVE,
           "1 for weights of features at two neighbouring tags too; needs --t of at least 1."),
    Option("multiclass", ("--multiclass",), OBJECTIVE,
           "Of three classes or more: crammer-singer trains all at once; one-vs-rest each against the rest, the one "
           "way of losses other than the default."),
    Option("pairs", ("--pairs",), OBJECTIVE,
           "all: a weight for every pair of labels that an example may have together; none: every label is learnt on "
           "its own."),
    Option("kernel", ("-t", "--kernel"), KERNEL, "{kernels}."),
    Option("degree", ("-d", "--degree"), KERNEL, "d of the {kernels_of} kernel."),
    Option("gamma", ("-g", "--gamma"), KERNEL, "g of the {kernels_of} kernel exp(-g |x-z|^2)."),
    Option("scale_kernel", ("-s", "--scale-kernel"), KERNEL, "s of the {kernels_of} kernels."),
    Option("coef0", ("-r", "--coef0"), KERNEL, "r of the {kernels_of} kernels."),
    Option("basis", ("--basis", "--k"), KERNEL, "Most vectors that span a subspace.",
           "Used by {spanned}, and by the polish of {polished}."),
    Option("sample_size", ("--sample-size",), KERNEL, "{examples} drawn for a cut of {takers}."),
    Option("patience", ("--patience",), KERNEL, "Samples in a row without violation that end {takers}."),
    Option("budget", ("--budget",), KERNEL,
           "Most support vectors of {takers}; they need not be training points: --solver bsca --budget 200."),
    Option("maintenance", ("--maintenance",), KERNEL,
           "What {takers} do with a support vector too many: merge it with another (the rbf kernel only), project it "
           "on the others (no sigmoid kernel) or remove it.", default="{maintenance}"),
    Option("sampling", ("--sampling",), KERNEL,
           "Examples {takers} visit: shuffled in a new order every epoch, independent draws, or adaptive, more often "
           "where that raised the dual ({adaptive} only)."),
    Option("nu", ("--nu",), KERNEL,
           "{takers}: mean slack of the examples at |w| = 1, in place of the one C stands for; C serves the reported "
           "objective alone then.", default="from C"),
    Option("average", ("--average",), KERNEL,
           "{takers}: the model is the average of the last half of the iterates (suffix), or of all (full)."),
    Option("polish", ("--polish/--no-polish",), KERNEL, "Exact training in the span of the points that {takers} chose.",
           default="{polish}"),
    Option("certify", ("--certify/--no-certify",), KERNEL, "With a kernel, compute a dual bound and the gap.",
           default="on below {certified}"),
    Option("epsilon", ("-e", "--epsilon"), STOPPING, "Stop when primal - dual <= C * epsilon ({points}).", "{kkt}",
           "{epsilon}"),
    Option("gap", ("--gap",), STOPPING,
           "Stop when (primal - dual) / primal is at most this, instead of --epsilon.",
           default="{gap}"),
    Option("max_iterations", ("--max-iterations",), STOPPING,
           "Stop after so many iterations, write the best model so far and exit with 3."),
    Option("time_limit", ("--time-limit",), STOPPING, "The same after this time: seconds, or 30s, 5m, 1h, 2d."),
    Option("epochs", ("--epochs",), STOPPING, "Passes over the examples of {takers}.", default="{epochs}"),
    Option("hold_out", ("--hold-out",), STOPPING,
           "Part of the examples, 0.1 for a tenth, that {takers} do not train on but choose their best state by; those "
           "without a budget end once its error has not fallen in the second half of the run so far. 0: the best state "
           "by the primal value."),
    Option("select", ("--select",), OUTPUT,
           "Write the model that is best by this measure on --validate as MODEL_FILE too: {measures}."),
    Option("report", ("--report",), OUTPUT, "Write the report as one JSON document."),
    Option("trace", ("--trace",), OUTPUT, "Write one JSON line per iteration."),
    Option("alphas", ("-a",), OUTPUT, "Write the multipliers of the final constraints, one a line."),
    Option("verbosity", ("-v",), OUTPUT, "Verbosity of the report on standard output."),
    Option("progress", ("--progress/--no-progress",), OUTPUT, "Progress bar on standard error.",
           default="on a terminal"),
    Option("solver", ("--solver",), RUNNING, "{solvers}."),
    Option("qp", ("--qp",), RUNNING, "Small QP of the cutting planes: {qps}.", default="{qp}"),
    Option("beam", ("--b", "--beam"), RUNNING,
           "Keep so many states a token while the best tags are sought; 0 keeps all and is exact. A certificate is one "
           "of the beam's labellings then."),
    Option("threads", ("--threads",), RUNNING, "Threads; the model's bytes do not depend on it.", default="all"),
    Option("seed", ("--seed",), RUNNING, "Seed of whatever is drawn at random."),
    Option("cache_size", ("-m", "--cache-size"), RUNNING, "Kernel rows kept, in MB.", "Or with a unit: 500K, 2G."),
    Option("max_memory", ("--max-memory",), RUNNING, "Refuse work that needs more: MB, or 512M, 2G."),
    Option("checkpoint", ("--checkpoint",), RUNNING,
           "Write the state of training to this file at intervals, on SIGUSR1 and SIGTERM; removed at the end."),
    Option("checkpoint_every", ("--checkpoint-every",), RUNNING,
           "Time between checkpoints: seconds, or 30s, 5m, 1h."),
    Option("resume", ("--resume",), RUNNING, "Go on from --checkpoint where there is one.", default="off"),
    Option("algorithm", ("-w",), COMPATIBILITY,
           "{original}'s algorithm number {algorithms}; all lead to the same optimum."),
    Option("u", ("-u",), COMPATIBILITY, "Text stored with the model."),
    Option("light_verbosity", ("-y",), COMPATIBILITY, "svm_light's verbosity.", inert=True),
    Option("new_constraints", ("-k",), COMPATIBILITY, "New constraints before the QP is solved.", inert=True),
    Option("constraint_cache", ("-f",), COMPATIBILITY, "Constraints cached per example (-w 4).", inert=True),
    Option("refresh", ("-b",), COMPATIBILITY, "Percent of examples refreshed (-w 4).", inert=True),
    Option("qp_new", ("-n",), COMPATIBILITY, "New variables per QP iteration.", inert=True),
    Option("qp_size", ("-q",), COMPATIBILITY, "Variables per QP iteration.", inert=True),
    Option("shrink_after", ("-h",), COMPATIBILITY, "Iterations before shrinking.", inert=True),
    Option("qp_iterations", ("-#",), COMPATIBILITY, "QP iterations without progress.", inert=True),
    Option("basis_method", ("--t",), COMPATIBILITY,
           "Subspace of a basis chosen in advance: 1 evenly spaced rows, 2 incomplete Cholesky; needs --i 0."),
    Option("basis_file", ("--f",), COMPATIBILITY, "File of basis vectors for --t."),
    Option("preimage", ("--i",), COMPATIBILITY, "Preimage method of -w 9 with a kernel."),
    Option("recompute", ("--r",), COMPATIBILITY, "Recomputations of the reduced set.", inert=True),
    Option("shrink", ("--s",), COMPATIBILITY, "Shrinking in -w 9.", inert=True),
)  # fmt: skip

#: What is to be said of one task alone.
NOTES = {
    ("rank", "slack_norm"): "The root of the loss is inside xi then; not for pairs, map and ndcg.",
    ("sequence", "slack_norm"): "The root of the loss is inside xi then, at the cost of -o slack.",
    ("sequence", "rescaling"): "Time and memory of slack grow with the square of a sequence's tokens.",
    ("sequence", "kernel"): "Emissions are functions of the kernel. The model file is one of svmcut then, but with "
    "linear.",
    ("sequence", "solver"): "No pass of gdmm costs the square of the tags. -l zero-one, -o slack and -p 2 train by "
    "cutting-plane alone, which auto takes then. With a kernel auto takes sampled-cuts where four bytes for every pair "
    "of tokens, and the cuts, would not fit in 4 GB.",
}  # fmt: skip


def offered(task: str) -> set[str]:
    """The fields a task has options for."""
    row, rows = TASKS[task], losses(task).values()
    found = {option.field for option in ROWS} - (STEERING | OF_TASKS | {"bias"})
    found |= {*row.takes} | {name for name in STEERING if takers(task, name)}
    if task == DEFAULTS["task"]:  # the labels may name the other
        found.add("multiclass")
    needs = {
        "task": task in LEARNT,
        "p": any(loss.at for loss in rows),
        "slack_norm": any(len(loss.norms) > 1 for loss in rows),
        "rescaling": row.original is not None,
    }
    of_kernels = {"kernel", "cache_size"}.union(*(kernel.takes for kernel in KERNELS.values()))
    needs |= dict.fromkeys(of_kernels, bool(solvers(task, True)))
    for option in ROWS:
        if option.panel == COMPATIBILITY or option.field == "alphas":  # two dashes and a letter: svm_perf alone
            needs[option.field] = row.original is not None and (
                len(option.flags[0]) == 2 or row.original == TASKS[LEARNT[0]].original
            )
    return {name for name in found if needs.get(name, True)}


def numbered(rows) -> str:
    """Names with the originals' numbers, and what there is to say of each: f1 (1), error-rate (2)."""
    names = [row.name if row.number is None else f"{row.name} ({row.number})" for row in rows]
    told = any(row.help for row in rows)
    return "; ".join(f"{name}, {row.help}" for name, row in zip(names, rows)) if told else ", ".join(names)


def _words(task: str) -> dict[str, Any]:
    """What the help texts of a task are filled with."""
    row, known, rows = TASKS[task], solvers(task), list(losses(task).values())
    rescalings = {name for loss in rows for name in loss.rescalings}
    tolerant = [name for name, solver in known.items() if solver.by_conditions]
    passes = {name: solver.defaults["epochs"] for name, solver in known.items() if "epochs" in solver.defaults}
    usual = max(passes.values(), default=0)
    by_data = [listed((AUTO, *names), "or") for names in (solvers(task, False), solvers(task, True)) if names]
    sums = "" if all(loss.is_sum for loss in rows) else listed([loss.name for loss in rows if loss.is_sum])
    bare = [name for name, solver in known.items() if solver.polished is False]
    ways = {way: [name for name, kernel in KERNELS.items() if kernel.maintenance[0] == way]
            for kernel in KERNELS.values() for way in kernel.maintenance}  # fmt: skip
    return {
        "tasks": listed([f"{name} ({TASKS[name].help})" for name in LEARNT], "or"),
        "needed": f" Required for every loss but {sums}." if sums else "",
        "example_cost": f"{EXAMPLE_COST:g} without -c" + (f", for {sums} alone" if sums else ""),
        "objective": row.objective, "original": row.original or row.like, "one": row.one, "points": row.points,
        "single": row.one.partition("'")[0], "weighing": listed([loss.name for loss in rows if loss.is_sum]),
        "losses": numbered(rows), "first": DEFAULTS["task"],
        "at": listed([loss.name for loss in rows if loss.at]),
        "ranked": listed([loss.name for loss in rows if loss.ranked]),
        "at_default": listed([f"{loss.at[2]:g}" for loss in rows if loss.at]),
        "rescalings": listed([f"{name} ({RESCALINGS[name]})" for name in RESCALINGS if name in rescalings], "or"),
        "bias": f"{row.defaults.get('bias', 1):g}" + (" without a kernel, 0 with one" if solvers(task, True) else ""),
        "kernels": ", ".join(f"{name} ({kernel.number}) {kernel.formula}".strip() for name, kernel in KERNELS.items()),
        "examples": row.objects.capitalize() if task == "sequence" else "Examples",
        "maintenance": ", ".join(f"{way} for {listed(names)}" for way, names in ways.items() if names),
        "adaptive": listed([name for name, solver in known.items() if solver.adaptive]),
        "polish": f"on, for {listed(bare)} off" if bare else "on",
        "certified": f"{CERTIFIED_ROWS:,} {'tokens' if task == 'sequence' else 'rows'}",
        "kkt": f"{listed(tolerant)}: tolerance of the KKT conditions, {KKT_TOLERANCE:g}." if tolerant else "",
        "epsilon": "none" if row.gap else f"{row.defaults.get('epsilon', EPSILON):g}",
        "gap": f"{row.gap:g}" if row.gap else "none",
        "epochs": ", ".join((f"{usual:g}", *(f"{name} {n:g}" for name, n in passes.items() if n != usual))),
        "measures": ", ".join(name.replace("_", "-") for name in measures(task)),
        "solvers": "; with kernels ".join(by_data),
        "algorithms": listed([str(number) for number in row.algorithms], "or"),
        "qps": "; ".join(f"{name}, {qp.help}" for name, qp in QPS.items()), "qp": next(iter(QPS)),
    }  # fmt: skip


def _kinds(task: str) -> dict[str, Kind]:
    """Kinds of the options, some of which hang on the task."""
    own, row = solvers(task), TASKS[task]
    foreign = dict.fromkeys(SOLVERS.keys() - own, f"does not train {row.objects}")
    return _KINDS | {
        "task": one_of(LEARNT),
        "loss": one_of({name: loss.number for name, loss in losses(task).items()}),
        "solver": one_of((AUTO, *own), foreign),
        "select": dashed(tuple(measures(task))),
    }


def _stated(value: Any) -> str:
    """A default, as help states it."""
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


@cache
def options(task: str) -> tuple[Option, ...]:
    """The options of a task, with their kinds, texts and defaults."""
    known, words, kinds = offered(task), _words(task), _kinds(task)
    values = {item.name: item.default for item in fields(LearnOptions)} | task_defaults(task)

    def filled(row: Option) -> Option:
        taking = takers(task, row.field)
        spanned = [name for name in taking if row.field not in SOLVERS[name].after]
        kernels = [name for name, kernel in KERNELS.items() if row.field in kernel.takes]
        names = {"takers": taking, "spanned": spanned, "kernels_of": kernels,
                 "polished": [name for name in taking if name not in spanned]}  # fmt: skip
        texts = words | {key: listed(found) for key, found in names.items()}
        default = _stated(values[row.field]) if row.default is None else row.default.format(**texts)
        help, more = (text.format(**texts) for text in (row.help, row.more))
        more = f"{more} {NOTES.get((task, row.field), '')}".strip()
        return row._replace(help=help, more=more, default=default, kind=kinds[row.field])

    return tuple(filled(row) for row in ROWS if row.field in known)
