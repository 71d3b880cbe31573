# SPDX-License-Identifier: BSD-3-Clause
"""The options of training by task: the rows of option_rows with their kinds, texts and defaults,
those of parameters.

What a task, its losses and its solvers cannot use is not offered; the rows of svmcut.spec.catalog
say which. The click commands, the originals' argument lists, the report and the tests all read
`options`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from svmcut.base.errors import UsageError
from svmcut.base.messages import join_names
from svmcut.base.records import field, fields, record, replace
from svmcut.base.typing import Any
from svmcut.cli import table_rows
from svmcut.cli.option_entry import COMPATIBILITY, PRINTED, Option
from svmcut.cli.option_rows import AT_HELP, SPREAD, biased, placed
from svmcut.cli.option_rows import ROWS as OWN_ROWS
from svmcut.files.names import input_of
from svmcut.spec.catalog import (
    AUTO,
    CUTTING_PLANE,
    INPUTS,
    KERNEL_DEFAULTS,
    KERNEL_PARAMETERS,
    KERNELS,
    OF_TAGS,
    OF_VALUES,
    PARTED,
    QPS,
    RESCALINGS,
    SBP,
    SOLVERS,
    SUBSPACE,
    TABLES,
    TASKS,
    losses,
    measures,
    solvers,
    takers,
    task_inputs,
)
from svmcut.spec.entries import (
    CDN,
    CLASSES,
    NUMBERS,
    ONE_CLASS,
    PROPENSITIES,
    SETS,
    TAGS,
    TWO_CLASSES,
)
from svmcut.spec.kinds import (
    ADDRESS,
    ANY,
    FLAG,
    GAMMAS,
    LEVEL,
    PATH,
    Kind,
    Span,
    Typed,
    dashed,
    duration,
    integer,
    number,
    one_of,
    several,
    several_or_span,
)
from svmcut.spec.parameters import (
    CERTIFIED_ROWS,
    DEFAULTS,
    DEGREE,
    EPSILON,
    FACTOR,
    FACTORS,
    GAMMA,
    KKT_TOLERANCE,
    C,
    Settings,
    kinds_of,
    param,
    task_defaults,
)
from svmcut.spec.places import CONFIDENCE, FLOORS, MAXIMISED, PLACE_KINDS
from svmcut.spec.spellings import OF_NO_TUBE, respelt
from svmcut.spec.task_refusals import OF_TASKS, STEERING
from svmcut.spec.trainers import chosen_solver
from svmcut.tables.options import OF_TABLES, OF_TOKENS, TableOptions, options_for
from svmcut.tables.options import OPTIONS as TABLE_OPTIONS

ROWS = (*OWN_ROWS, *table_rows.ROWS)
#: Weights of an example's loss that --cv compares where none is given.
COSTS = tuple(2.0**power for power in range(-7, 8, 2))
#: What it multiplies the gamma of "scale" by then, and the texts of them.
AROUND_SCALE = {"scale/4": 0.25, "scale": 1.0, "scale*4": 4.0}
#: Options of a threshold.
CHOICE = ("at_least", "maximise", "confidence")
#: Options of labels that training is to decide.
DECIDING = ("until_decided", "fraction")
#: Rows that changed since the initial model was trained.
CHANGED = ("added", "removed")
#: What proves a choice of C.
PROVING = "certify_choice"
#: Tasks of learn.
LEARNT = tuple(name for name, task in TASKS.items() if task.command == "learn")


def _values(name: str, kind: Kind) -> Any:
    """A field of one or several values of a parameter of the kernel."""
    default = KERNEL_DEFAULTS[name]
    return param((Typed(f"{default:g}", default),), several(kind, ANY if name in FACTORS else None))


@record(kw_only=True)
class LearnOptions(Settings):
    """Values of one run: the parameters, C as typed, and what the command line alone knows."""

    example_file: str
    model_file: str = "svm_struct_model"
    command: str = "learn"
    cost: tuple[Typed, ...] | None = param(None, several_or_span(C))
    example_cost: tuple[Typed, ...] | None = param(None, several_or_span(C))
    degree: tuple[Typed, ...] = _values("degree", DEGREE)
    gamma: tuple[Typed, ...] = _values("gamma", GAMMA)
    scale_kernel: tuple[Typed, ...] = _values("scale_kernel", FACTOR)
    coef0: tuple[Typed, ...] = _values("coef0", ANY)
    propensities: bool = param(False, FLAG)
    algorithm: int | None = param(None, integer(0, 9))
    weights: str | None = param(None, PATH)
    cv: int | None = param(None, integer(2))
    validate: str | None = param(None, PATH)
    select: str | None = param(None, PATH)
    certify_choice: float | None = param(None, number(0, 1, above=True))
    until_decided: str | None = param(None, PATH)
    added: str | None = param(None, PATH)
    removed: str | None = param(None, PATH)
    fraction: float | None = param(None, number(0, 1, above=True))
    at_least: tuple[tuple[str, float], ...] | None = param(None, FLOORS)
    maximise: str | None = param(None, MAXIMISED)
    confidence: float | None = param(None, CONFIDENCE)
    table: TableOptions = field(default_factory=TableOptions)
    checkpoint: str | None = param(None, PATH)
    checkpoint_every: float = param(60.0, duration())
    resume: bool = param(False, FLAG)
    cache: str | None = param(None, PATH)
    scheduler: str | None = param(None, ADDRESS)
    scheduler_file: str | None = param(None, PATH)
    work_dir: str | None = param(None, PATH)
    report: str | None = param(None, PATH)
    trace: str | None = param(None, PATH)
    format: str = param("plain", PRINTED)
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
    def reads_table(self) -> bool:
        """Whether the examples are a table or texts."""
        return self.input in TABLES

    @property
    def reads_costs(self) -> bool:
        """Whether ``cost:`` weighs examples, which programs with the originals' names ignore but of
        clicks."""
        return not self.original or self.of_clicks

    @property
    def table_options(self) -> tuple[str, ...]:
        """The options of tables that the examples can use."""
        return options_for(self.input)

    @property
    def scheduled(self) -> bool:
        """Whether the workers of a scheduler train."""
        return self.scheduler is not None or self.scheduler_file is not None

    @property
    def path(self) -> tuple[Typed, ...]:
        """The values of C, in whichever unit they were given."""
        return self.cost or self.example_cost or ()

    @property
    def span(self) -> tuple[float, float] | None:
        """The ends of the interval in which C is to be chosen, where it was given as one."""
        if not isinstance(self.path, Span):
            return None
        low, high = self.path
        return low.value, high.value

    @property
    def grid(self) -> dict[str, tuple[Typed, ...]]:
        """The values of the parameters that the kernel reads."""
        return {name: getattr(self, name) for name in KERNELS[self.kernel].takes}

    @property
    def searches(self) -> bool:
        """Whether one model is chosen from a grid, and not one trained for every C."""
        several = any(len(values) > 1 for values in self.grid.values())
        return self.cv is not None or several or self.span is not None

    def settings(self) -> Settings:
        """What the library is asked for: the first of several values, the solver of -w and --t
        without --solver."""
        values = {item.name: getattr(self, item.name) for item in fields(Settings)}
        for name in ("cost", "example_cost"):
            values[name] = values[name][0].value if values[name] else None
        for name in KERNEL_PARAMETERS:
            values[name] = values[name][0].value
        values["solver"] = solver_name(self)
        if self.added is not None or self.removed is not None:  # it is the one that changes
            values["initial"] = None
        if self.algorithm == 9:
            values["rescaling"] = DEFAULTS["rescaling"]
        return Settings(**values)

    def with_gamma(self, X: Any) -> LearnOptions:
        """These, with numbers for the words that gamma may be, of the rows X."""
        from svmcut.data.gamma import gamma_of

        def number(typed: Typed) -> Typed:
            value = AROUND_SCALE.get(typed.text, 1.0) * gamma_of(typed.value, X)
            return Typed(f"{value:.6g} ({typed.text})", value)

        if not any(isinstance(typed.value, str) for typed in self.gamma):
            return self
        numbers = [number(typed) if isinstance(typed.value, str) else typed for typed in self.gamma]
        return replace(self, gamma=tuple(numbers))

    def as_dict(self) -> dict[str, Any]:
        """The values for the report; of a list a single one is a number."""
        names = [item.name for item in fields(self) if item.name not in ("given", "original")]
        values = {name: getattr(self, name) for name in names}
        table = values.pop("table")
        values |= {name: getattr(table, name) for name in self.table_options}
        for name in ("cost", "example_cost", *KERNEL_PARAMETERS):
            if values[name] is not None:
                numbers = [typed.value for typed in values[name]]
                values[name] = numbers[0] if len(numbers) == 1 else numbers
        return values


def solver_name(options: LearnOptions) -> str:
    """The solver that -w and --solver name together."""
    if options.solver != AUTO or options.algorithm is None:
        return chosen_solver(options)
    if options.has_kernel and (options.basis_method or options.algorithm == 9):
        return SUBSPACE
    # of classes the descent ends in a hundredth of the passes; -a writes the multipliers of cuts
    classes = (
        options.labels == CLASSES
        and options.is_plain
        and not (options.has_kernel or options.alphas)
    )
    return AUTO if options.algorithm == 9 or classes else CUTTING_PLANE


_KINDS = kinds_of(LearnOptions) | kinds_of(TableOptions)


def offered(task: str) -> set[str]:
    """The fields a task has options for."""
    row, rows = TASKS[task], losses(task).values()
    names = {option.field for option in ROWS} - (STEERING | OF_TASKS | {"bias"})
    names |= {*row.takes} | {name for name in STEERING if takers(task, name)}
    names |= {*OF_VALUES} if row.of_rows else set()
    if task == DEFAULTS["task"]:  # the labels may name the other
        names.add("multiclass")
    needs = {
        "task": task in LEARNT,
        "p": any(loss.at for loss in rows),
        "propensities": any(loss.of_clicks for loss in rows),
        "slack_norm": any(len(loss.norms) > 1 for loss in rows),
        "rescaling": row.original is not None,
        **dict.fromkeys(("scheduler", "scheduler_file"), task in PARTED or row.labels == SETS),
        **dict.fromkeys(("work_dir", "cache"), task in PARTED),
        **dict.fromkeys(TABLE_OPTIONS, False),
        **dict.fromkeys(OF_TOKENS if row.labels == TAGS else OF_TABLES, True),
        **dict.fromkeys(("cost", "example_cost"), row.has_cost),
        **dict.fromkeys(CHOICE, row.labels == TWO_CLASSES),
        PROVING: row.labels == TWO_CLASSES,
        **dict.fromkeys(CHANGED, row.labels == TWO_CLASSES),
        **dict.fromkeys(DECIDING, row.labels in (TWO_CLASSES, CLASSES)),
    }
    of_kernels = {"kernel", "cache_size"}.union(*(kernel.takes for kernel in KERNELS.values()))
    needs |= dict.fromkeys(of_kernels, bool(solvers(task, True)))
    for option in ROWS:
        if option.panel == COMPATIBILITY or option.field == "alphas":
            needs[option.field] = row.original is not None and option.only in ("", row.original)
    return {name for name in names if needs.get(name, True)}


def numbered(rows) -> str:
    """Names with the originals' numbers, and what there is to say of each: f1 (1), error-rate
    (2)."""
    names = [row.name if row.number is None else f"{row.name} ({row.number})" for row in rows]
    told = any(row.help for row in rows)
    return (
        "; ".join(f"{name}, {row.help}" if row.help else name for name, row in zip(names, rows))
        if told
        else ", ".join(names)
    )


_INPUTS = (
    "svm, as above; csv, tsv, jsonl, parquet or arrow: a table, with --label; text: lines with a "
    "label, a tab and a text, or with __label__NAME and a text",
    "svm, as above; crfsuite: lines with a tag and named attributes, NAME or NAME:VALUE, separated "
    "by tabs (give it to classify too); conll: lines with columns separated by blanks, the last "
    "of them the tag. In both, an empty line ends a sequence",
)


#: The machine that nu stands for, by labels.
_NU = {
    ONE_CLASS: "At most this share of the examples is outside, and at least this share are support "
    "vectors: LIBSVM's -s 2.",
    NUMBERS: "nu-SVR, LIBSVM's -s 4: fit the width of the tube so that at most this share of the "
    "examples lies outside. Solver smo, any kernel.",
    "": "nu-SVC, LIBSVM's -s 1, instead of C: at most this share of the examples is on the wrong "
    "side of the margin. Solver smo, any kernel.",
}


_PROBABILITY = {
    TAGS: "Calibrate probabilities of tags on five-fold cross-validation; training takes longer. "
    "classify --confidence writes them. --quick does so by itself, on the sequences it holds out.",
    NUMBERS: "Estimate the noise around predictions, sigma of a Laplace distribution, on five-fold "
    "cross-validation; training takes longer. classify prints it.",
    "": "Calibrate class probabilities on five-fold cross-validation; training takes longer. "
    "classify --probability writes them. Models of -l logistic have probabilities without it.",
}


def _rules(row: Any) -> dict[str, str]:
    """What ends training of a task where nothing is said."""
    epsilon = f"{row.defaults.get('epsilon', EPSILON):g}"
    if row.gap is None:
        return {"epsilon": epsilon, "gap": "none"}
    if row.original is None:
        return {"epsilon": "none", "gap": f"{row.gap:g}"}
    return {"epsilon": f"{epsilon} with -c, else none", "gap": f"{row.gap:g}, with -c none"}


def _words(task: str) -> dict[str, Any]:
    """What the help texts of a task are filled with."""
    row, of_tags = TASKS[task], TASKS[task].labels == TAGS
    return (
        _words_of_losses(task)
        | _words_of_solvers(task)
        | {
            "inputs": _INPUTS[of_tags],
            "probability": _PROBABILITY[row.labels if row.labels in _PROBABILITY else ""],
            "tasks": join_names([f"{name} ({TASKS[name].help})" for name in LEARNT], "or"),
            "first": DEFAULTS["task"],
            "objective": row.objective,
            "spread": SPREAD[task in PARTED],
            "original": row.original or row.like,
            "one": f"{row.unit}'s {row.weighs}",
            "points": row.points,
            "single": row.unit,
            "bias": f"{row.defaults.get('bias', 1):g}"
            + (" without a kernel, 0 with one" if solvers(task, True) else ""),
            "biased": biased(task),
            "free_bias": "on only if you write --solver smo or sbp"
            if row.original
            else "on with kernels",
            "kernels": ", ".join(
                f"{name} ({kernel.number}) {kernel.formula}".strip()
                for name, kernel in KERNELS.items()
                if not kernel.given
            ),
            "given": " ".join(
                f"Or {name} ({kernel.number}): {kernel.formula}."
                for name, kernel in KERNELS.items()
                if kernel.given
            )
            if any(solver.given for solver in solvers(task, True).values())
            else "",
            "examples": row.units.capitalize() if of_tags else "Examples",
            "certified": f"{CERTIFIED_ROWS:,} "
            + ("tokens with a kernel, else off" if of_tags else "rows"),
            **_rules(row),
            "measures": ", ".join(name.replace("_", "-") for name in measures(task)),
            "measure": row.measure.replace("_", "-"),
            "algorithms": join_names([str(number) for number in row.algorithms], "or"),
            "parts": "tags" if of_tags else "labels",
            "parts_default": "1 for every 100 tags" if of_tags else "1",
            "qps": "; ".join(f"{name}, {qp.help}" for name, qp in QPS.items()),
            "qp": next(iter(QPS)),
        }
    )


def _words_of_losses(task: str) -> dict[str, str]:
    """Those of `_words` that come from the losses of a task."""
    rows = list(losses(task).values())
    sums = [loss.name for loss in rows if loss.is_sum]
    only = "" if len(sums) == len(rows) else join_names(sums)
    row = TASKS[task]
    usual = f"{row.example_cost:g} without -c"
    if row.quick_cost != row.example_cost:
        usual += f" ({row.quick_cost:g} with --quick)"
    known = {name for loss in rows for name in loss.rescalings}
    rescalings = [f"{name} ({RESCALINGS[name]})" for name in RESCALINGS if name in known]
    penalised = [row.name for row in rows if row.name in (SOLVERS[CDN].losses or ())]
    sparse = [name for name in penalised if name not in SOLVERS[CDN].with_square]
    return {
        "losses": numbered(rows),
        "needed": f" Required for every loss except {only}." if only else "",
        "example_cost": usual + (f", for {only} only" if only else ""),
        "weighing": join_names(sums),
        "at": join_names([loss.name for loss in rows if loss.at]),
        "placed": placed(rows),
        "place": "; ".join(
            PLACE_KINDS[place][2] for place in AT_HELP if any(loss.place == place for loss in rows)
        ),
        "mixed": join_names([loss.name for loss in rows if "beta" in loss.takes]),
        "penalised": join_names(penalised),
        "sparse": join_names(sparse),
        "at_default": join_names([f"{loss.at[2]:g}" for loss in rows if loss.at]),
        "rescalings": join_names(rescalings, "or"),
    }


def _words_of_solvers(task: str) -> dict[str, str]:
    """Those of `_words` that come from the solvers of a task and the upkeep of budgets."""
    known = solvers(task)
    tolerant = [name for name, solver in known.items() if solver.by_conditions]
    bare = [name for name, solver in known.items() if solver.polished is False]
    passes = {
        name: solver.defaults["epochs"]
        for name, solver in known.items()
        if "epochs" in solver.defaults
    }
    usual = max(passes.values(), default=0)
    others = [f"{name} {n:g}" for name, n in passes.items() if n != usual]
    by_data = [
        join_names((AUTO, *names), "or")
        for names in (solvers(task, False), solvers(task, True))
        if names
    ]
    ways = {
        way: [name for name, kernel in KERNELS.items() if kernel.maintenance[0] == way]
        for kernel in KERNELS.values()
        for way in kernel.maintenance
    }
    taking = takers(task, "nu")
    kkt = f"{join_names(tolerant)}: tolerance of the KKT conditions, {KKT_TOLERANCE:g}."
    return {
        "solvers": "; with kernels ".join(by_data),
        "kkt": kkt if tolerant else "",
        "polish": f"on, for {join_names(bare)} off" if bare else "on",
        "nu": _NU[TASKS[task].labels if TASKS[task].labels in _NU else ""],
        "nu_of_sbp": f"With --solver {SBP}: the mean slack of the examples at |w| = 1; C then only "
        "scales the reported objective."
        if SBP in taking
        else "",
        "nu_default": "0.5" if TASKS[task].labels == ONE_CLASS else "from C",
        "epochs": ", ".join((f"{usual:g}", *others)),
        "adaptive": join_names([name for name, solver in known.items() if solver.adaptive]),
        "maintenance": ", ".join(
            f"{way} for {join_names(names)}" for way, names in ways.items() if names
        ),
    }


def _kinds(task: str) -> dict[str, Kind]:
    """Kinds of the options, some of which hang on the task."""
    own, row = solvers(task), TASKS[task]
    foreign = dict.fromkeys(SOLVERS.keys() - own, f"does not train {row.objects}")
    others = {
        name: f"has a command of its own, svmcut {row.command}"
        for name, row in TASKS.items()
        if name not in LEARNT
    }
    return _KINDS | {
        "task": one_of(LEARNT, others),
        "loss": one_of(
            {name: loss.number for name, loss in losses(task).items()}, _losses_of_others(task)
        ),
        "solver": one_of((AUTO, *own), foreign),
        "select": dashed(tuple(measures(task))),
        "input": one_of(task_inputs(task), _texts_of_others(task)),
    }


def _losses_of_others(task: str) -> dict[str, str]:
    """Where the losses are that this task does not train for."""
    places = {}
    if TASKS[task].labels == NUMBERS:
        places = {name: f"is -l {loss} with --tube 0" for name, loss in OF_NO_TUBE.items()}
    for name, row in TASKS.items():
        place = f"svmcut learn --task {name}" if name in LEARNT else f"svmcut {row.command}"
        for loss in losses(name).keys() - losses(task).keys():
            places.setdefault(loss, f"is a loss of {place}")
    return places


def _texts_of_others(task: str) -> dict[str, str]:
    """What texts are for, of files of other tasks alone."""
    tags = TASKS[OF_TAGS].labels == TASKS[task].labels
    kind = "is for tables and texts" if tags else f"is for --task {OF_TAGS}"
    return dict.fromkeys([name for name in INPUTS if name not in task_inputs(task)], kind)


def _stated(value: Any) -> str:
    """A default, as help states it."""
    if isinstance(value, tuple):
        return ",".join(typed.text for typed in value)
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


@cache
def rows(task: str) -> tuple[Option, ...]:
    """The options of a task with their kinds, which is all that reading a command line takes."""
    known, kinds = offered(task), _kinds(task)
    return tuple(row._replace(kind=kinds[row.field]) for row in ROWS if row.field in known)


@cache
def options(task: str) -> tuple[Option, ...]:
    """The options of a task, with their kinds, texts and defaults."""
    words = _words(task)
    values = {item.name: item.default for item in fields(LearnOptions)} | task_defaults(task)

    def filled(row: Option) -> Option:
        taking = takers(task, row.field)
        spanned = [name for name in taking if row.field not in SOLVERS[name].after]
        kernels = [name for name, kernel in KERNELS.items() if row.field in kernel.takes]
        names = {"takers": taking, "spanned": spanned}
        polished = join_names([name for name in taking if name not in spanned])
        texts = words | {key: join_names(taken) for key, taken in names.items()}
        texts["kernels_of"] = f"{join_names(kernels)} kernel{'s' * (len(kernels) > 1)}"
        texts["polished"] = f", and by the polish of {polished}" if polished else ""
        default = _stated(values[row.field]) if row.default is None else row.default.format(**texts)
        help, more = (text.format(**texts) for text in (row.help, row.more))
        more = f"{more} {TASKS[task].notes.get(row.field, '')}".strip()
        return row._replace(help=help, more=more, default=default)

    return tuple(map(filled, rows(task)))


def named_task(command: str | None, words: Sequence[str]) -> str:
    """The task of a command line of learn or rank; where it is misspelt, the option itself says so
    later."""
    known = tuple(name for name, row in TASKS.items() if row.command == command) or LEARNT
    task = known[0]
    for k, text in enumerate(words):
        if text.startswith("--task="):
            task = text.removeprefix("--task=")
        elif text == "--task" and k + 1 < len(words):
            task = words[k + 1]
    task = respelt(task, known)
    return task if task in known else known[0]


def collected(command: str | None, words: Sequence[str], values: dict[str, Any]) -> LearnOptions:
    """The options of a run of learn or rank, whose command line gave these values."""
    asked = {*values}
    if any(word.partition("=")[0] == "--k" for word in words):  # svm_perf's, not refused
        asked.discard("basis")
    own = task_defaults(named_task(command, words))
    if values.get("propensities") and values.setdefault("loss", PROPENSITIES) != PROPENSITIES:
        raise UsageError(
            "{propensities} is {loss=}; leave out {loss=}", PROPENSITIES, values["loss"]
        )
    table = {name: values.pop(name) for name in TABLE_OPTIONS if name in values}
    if "input" not in values and (input := input_of(values["example_file"])) is not None:
        values["input"] = input
    own |= {"table": TableOptions(**table), "given": frozenset(asked)}
    taken = LearnOptions(**{"command": command, **own, **values})
    if not taken.path and taken.settings().is_sum:
        if taken.certify_choice is not None:
            ends = [Typed(f"{cost:g}", cost) for cost in (COSTS[0], COSTS[-1])]
            return replace(taken, example_cost=Span(ends))
        if taken.cv is None or not taken.has_cost:
            cost = taken.usual_cost
            return replace(taken, example_cost=(Typed(f"{cost:g}", cost),))
        grid: dict[str, Any] = {"example_cost": tuple(Typed(f"{cost:g}", cost) for cost in COSTS)}
        if taken.kernel == "rbf" and "gamma" not in asked:
            grid["gamma"] = tuple(Typed(text, GAMMAS[0]) for text in AROUND_SCALE)
        return replace(taken, **grid)
    return taken
