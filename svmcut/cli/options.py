# SPDX-License-Identifier: BSD-3-Clause
"""The options of a training run, and the rows of those that a task has.

An option of the command line alone is a field of LearnOptions; all others are parameters
(svmcut.spec.parameters) and options of tables (svmcut.tables.options).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from svmcut.base.errors import UsageError
from svmcut.base.messages import quote_word
from svmcut.base.records import field, fields, record, replace
from svmcut.base.typing import Any
from svmcut.files.names import input_by_ending
from svmcut.spec.catalog import (
    AUTO,
    CUTTING_PLANE,
    INPUTS,
    KERNEL_DEFAULTS,
    KERNEL_PARAMETERS,
    KERNELS,
    OF_TAGS,
    OF_VALUES,
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
from svmcut.spec.entries import CLASSES, NUMBERS, PROPENSITIES, SETS, TAGS, TWO_CLASSES, Task
from svmcut.spec.kinds import (
    ADDRESS,
    ANY,
    FLAG,
    GAMMAS,
    LEVEL,
    PATH,
    PRINTED,
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
from svmcut.spec.options import (
    COMPATIBILITY,
    DATA,
    OBJECTIVE,
    OUTPUT,
    RUNNING,
    STOPPING,
    Option,
    options_of,
    param,
    replace_kind,
)
from svmcut.spec.parameters import (
    DEFAULTS,
    DEGREE,
    FACTOR,
    FACTORS,
    GAMMA,
    C,
    Settings,
    task_defaults,
)
from svmcut.spec.places import CONFIDENCE, FLOORS, MAXIMISED, USUAL_CONFIDENCE
from svmcut.spec.spellings import OF_NO_TUBE, respelt
from svmcut.spec.task_refusals import OF_TASKS, STEERING
from svmcut.spec.trainers import chosen_solver
from svmcut.tables.options import (
    COLUMN_OPTIONS,
    TABLE_DEFAULTS,
    TABLE_OPTIONS,
    TOKEN_OPTIONS,
    TableOptions,
    options_for,
)

#: Weights of an example's loss that --cv compares where none is given.
COSTS = tuple(2.0**power for power in range(-7, 8, 2))
#: What it multiplies the gamma of "scale" by then, and the texts of them.
AROUND_SCALE = {"scale/4": 0.25, "scale": 1.0, "scale*4": 4.0}
#: Tasks of learn.
LEARNT = tuple(name for name, task in TASKS.items() if task.command == "learn")


def _has_two_classes(task: Task) -> bool:
    return task.labels == TWO_CLASSES


def _has_classes(task: Task) -> bool:
    return task.has_classes


def _has_parts(task: Task) -> bool:
    return task.parted


def _has_workers(task: Task) -> bool:
    return task.parted or task.labels == SETS


def _values(name: str, kind: Kind) -> Any:
    """Return a field of one or several values of a parameter of the kernel."""
    default = KERNEL_DEFAULTS[name]
    kinds = several(kind, ANY if name in FACTORS else None)
    return replace_kind(Settings, name, (Typed(f"{default:g}", default),), kinds)


def _idle(default: Any, kind: Kind, letter: str, only: str = "", after: str = "u") -> Any:
    """Return a field of an option that is taken for compatibility and never has an effect."""
    return param(default, kind, COMPATIBILITY, letter=letter, only=only, after=after, inert=True)


@record(kw_only=True)
class LearnOptions(Settings):
    """Values of one run: the parameters, C as typed, and what the command line alone knows."""

    example_file: str
    model_file: str = "svm_struct_model"
    command: str = "learn"
    table: TableOptions = field(default_factory=TableOptions)

    # One or several values in the place of one
    cost: tuple[Typed, ...] | None = replace_kind(Settings, "cost", None, several_or_span(C))
    example_cost: tuple[Typed, ...] | None = replace_kind(
        Settings, "example_cost", None, several_or_span(C)
    )
    degree: tuple[Typed, ...] = _values("degree", DEGREE)
    gamma: tuple[Typed, ...] = _values("gamma", GAMMA)
    scale_kernel: tuple[Typed, ...] = _values("scale_kernel", FACTOR)
    coef0: tuple[Typed, ...] = _values("coef0", ANY)

    # Data
    weights: str | None = param(None, PATH, DATA, after="positive").describe(
        "File with one number per line, the weight of each {single}: 2 counts it twice, 0 leaves "
        "it out. It multiplies any cost: in EXAMPLE_FILE."
    )
    cv: int | None = param(None, integer(2), DATA, after="class_weight").describe(
        "Cross-validate on this many folds each combination of C and the kernel's parameters; "
        "the best by --select is trained on all examples. Without C it tries --example-cost "
        "2^-7, 2^-5, ..., 2^7; with -t rbf and without -g each with a quarter of -g scale, that, "
        "and four times that."
    )
    validate: str | None = param(None, PATH, DATA, after="class_weight").describe(
        "Measure every model on this file."
    )
    certify_choice: float | None = param(
        None, number(0, 1, above=True), DATA, where=_has_two_classes, after="class_weight"
    ).describe(
        "Choose C from an interval, -c LOW:HIGH or --example-cost LOW:HIGH, with a proof: no "
        "other C of it has fewer errors on --validate, or on the folds of --cv, by more than "
        "this share of the examples (0.01: one in a hundred). Without C the interval is "
        "--example-cost 2^-7:2^7. For two classes on features."
    )

    # Objective
    propensities: bool = param(
        False,
        FLAG,
        OBJECTIVE,
        where=lambda task: any(loss.of_clicks for loss in task.losses),
        after="loss",
    ).describe(
        "Lines with label 1 are clicks; their cost: is 1 / propensity (1 if missing). The same "
        "as -l propensities."
    )
    at_least: tuple[tuple[str, float], ...] | None = param(
        None, FLOORS, OBJECTIVE, where=_has_two_classes
    ).describe(
        "Promise for new rows like these: precision=0.95, recall=0.9 or specificity=0.99; can be "
        "repeated."
    )
    maximise: str | None = param(
        None,
        MAXIMISED,
        OBJECTIVE,
        shown="recall; precision if only recall is promised",
        where=_has_two_classes,
    ).describe("What to maximise among the thresholds that keep the promises: precision or recall.")
    confidence: float | None = param(
        None, CONFIDENCE, OBJECTIVE, shown=f"{USUAL_CONFIDENCE:g}", where=_has_two_classes
    ).describe("Probability that all promises hold.")

    # Stopping
    until_decided: str | None = param(
        None, PATH, STOPPING, where=_has_classes, after="gap"
    ).describe(
        "Stop when a share (--fraction) of the labels that the model predicts for this file are "
        "proven to be those of the exact optimum, instead of --gap."
    )
    fraction: float | None = param(
        None, number(0, 1, above=True), STOPPING, shown="0.99", where=_has_classes, after="gap"
    ).describe("Share of labels to prove for --until-decided.")

    # Output
    select: str | None = param(None, PATH, OUTPUT).describe(
        "Measure that chooses; --validate also writes the best model as MODEL_FILE, --cv "
        "(default {measure}) it alone: {measures}."
    )
    report: str | None = param(None, PATH, OUTPUT).describe(
        "Write the report as one JSON document."
    )
    trace: str | None = param(None, PATH, OUTPUT).describe(
        "Write one JSON object per iteration, a line each."
    )
    alphas: str | None = param(
        None,
        PATH,
        OUTPUT,
        letter="-a",
        flags=(),
        where=lambda task: task.original is not None,
    ).describe("Write the multipliers of the final constraints, one per line.")
    format: str = param("plain", PRINTED, OUTPUT).describe(
        "Report on standard output: plain (a summary) or original (the lines of {original})."
    )
    verbosity: int = param(1, LEVEL, OUTPUT, letter="-v", flags=()).describe(
        "Verbosity of the report on standard output.",
        "2 adds the lines of --format original to the summary.",
    )
    progress: bool | None = param(None, FLAG, OUTPUT, shown="on a terminal").describe(
        "Progress bar on standard error."
    )

    # Running
    added: str | None = param(
        None, PATH, RUNNING, where=_has_two_classes, after="keep_multipliers"
    ).describe(
        "With --initial MODEL, and the file that this was trained on with --keep-multipliers as "
        "EXAMPLE_FILE: the optimum with the rows of this file, too. What the multipliers prove "
        "of it is known at once; training follows with --gap, --epsilon or --until-decided alone."
    )
    removed: str | None = param(
        None, PATH, RUNNING, where=_has_two_classes, after="keep_multipliers"
    ).describe("The same without the rows of this file, which are some of EXAMPLE_FILE.")
    checkpoint: str | None = param(None, PATH, RUNNING).describe(
        "Save the state of training to this file at intervals and on SIGUSR1, SIGTERM and "
        "SIGHUP. It is removed at the end."
    )
    checkpoint_every: float = param(60.0, duration(), RUNNING).describe(
        "Time between checkpoints: seconds, or 30s, 5m, 1h."
    )
    resume: bool = param(False, FLAG, RUNNING).describe(
        "Continue from --checkpoint if the file exists."
    )
    cache: str | None = param(None, PATH, RUNNING, where=_has_parts).describe(
        "Folder for parsed rows as binary arrays, which later runs read instead of the text. "
        "--solver cutting-plane can then train on more rows than fit in memory."
    )
    scheduler: str | None = param(None, ADDRESS, RUNNING, where=_has_workers).describe(
        "Train on the workers of this Dask scheduler; local:N starts N workers here. {spread} "
        "With --cv and grids the workers train the cells, by any solver."
    )
    scheduler_file: str | None = param(None, PATH, RUNNING, where=_has_workers).describe(
        "The same, with the file that the Dask scheduler wrote."
    )
    work_dir: str | None = param(None, PATH, RUNNING, where=_has_parts).describe(
        "Folder that all workers see; weights above 10 MB are passed through files there, which "
        "are removed."
    )

    # Compatibility; in the lists of the originals -w follows -m
    algorithm: int | None = param(
        None, integer(0, 9), COMPATIBILITY, letter="-w", after="cache_size"
    ).describe("{original}'s algorithm number {algorithms}; all lead to the same optimum.")
    light_verbosity: int = _idle(0, LEVEL, "-y").describe("svm_light's verbosity.")
    new_constraints: int = _idle(100, integer(1), "-k").describe(
        "New constraints before the QP is solved."
    )
    constraint_cache: int = _idle(5, integer(-(2**31)), "-f").describe(
        "Constraints cached per example (-w 4)."
    )
    refresh: float = _idle(100.0, number(0, 100, above=True), "-b").describe(
        "Percent of examples refreshed (-w 4)."
    )
    qp_new: int = _idle(0, integer(0), "-n").describe("New variables per QP iteration.")
    qp_size: int = _idle(10, integer(2), "-q").describe("Variables per QP iteration.")
    shrink_after: int = _idle(100, integer(1), "-h").describe("Iterations before shrinking.")
    qp_iterations: int = _idle(100_000, integer(0), "-#").describe(
        "QP iterations without progress."
    )
    preimage: int = param(2, integer(0, 9), COMPATIBILITY, letter="--i", only="svm_perf").describe(
        "Preimage method of -w 9 with a kernel."
    )
    recompute: int = _idle(0, integer(0), "--r", only="svm_perf", after="").describe(
        "Recomputations of the reduced set."
    )
    shrink: int = _idle(1, integer(0, 1), "--s", only="svm_perf", after="").describe(
        "Shrinking in -w 9."
    )

    @property
    def reads_table(self) -> bool:
        """Tell whether the examples are a table or texts."""
        return self.input in TABLES

    @property
    def reads_costs(self) -> bool:
        """Tell whether ``cost:`` weighs examples; programs with the originals' names ignore it
        except for clicks."""
        return not self.original or self.of_clicks

    @property
    def table_options(self) -> tuple[str, ...]:
        """The options of tables that the examples can use."""
        return options_for(self.input)

    @property
    def scheduled(self) -> bool:
        """Tell whether the workers of a scheduler train."""
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
        """Tell whether one model is chosen from a grid, and not one trained for every C."""
        several = any(len(values) > 1 for values in self.grid.values())
        return self.cv is not None or several or self.span is not None

    def settings(self) -> Settings:
        """Return the settings of the library: the first of several values, the solver of -w and --t
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
        from svmcut.models.kernels import resolve_gamma

        def number(typed: Typed) -> Typed:
            value = AROUND_SCALE.get(typed.text, 1.0) * resolve_gamma(typed.value, X)
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


#: Every option of training, with the help of no task in particular.
ROWS = options_of(LearnOptions, TableOptions)
_FOR_SOME_TASKS = STEERING | OF_TASKS | {"bias"}


def offered(task: str) -> set[str]:
    """Return the fields that a task has options for."""
    return {option.field for option in ROWS if _is_offered(option, TASKS[task])}


def _is_offered(option: Option, task: Task) -> bool:
    name = option.field
    if name in TABLE_OPTIONS:
        return name in (TOKEN_OPTIONS if task.labels == TAGS else COLUMN_OPTIONS)
    if option.panel == COMPATIBILITY and (
        task.original is None or option.only not in ("", task.original)
    ):
        return False
    if name in _FOR_SOME_TASKS and not (
        name in task.takes
        or (name in STEERING and takers(task.name, name))
        or (name in OF_VALUES and task.of_rows)
        or (name == "multiclass" and task.name == DEFAULTS["task"])  # which the labels may name
    ):
        return False
    return option.where is None or option.where(task)


def _kinds(task: str) -> dict[str, Kind]:
    """Return the kinds of the options that depend on the task."""
    own, row = solvers(task), TASKS[task]
    foreign = dict.fromkeys(SOLVERS.keys() - own, f"does not train {row.objects}")
    others = {
        name: f"has a command of its own, svmcut {row.command}"
        for name, row in TASKS.items()
        if name not in LEARNT
    }
    return {
        "task": one_of(LEARNT, others),
        "loss": one_of(
            {name: loss.number for name, loss in losses(task).items()}, _describe_other_losses(task)
        ),
        "solver": one_of((AUTO, *own), foreign),
        "select": dashed(tuple(measures(task))),
        "input": one_of(task_inputs(task), _describe_other_texts(task)),
    }


def _describe_other_losses(task: str) -> dict[str, str]:
    """Say where the losses are that this task does not train for."""
    places = {}
    if TASKS[task].labels == NUMBERS:
        places = {name: f"is -l {loss} with --tube 0" for name, loss in OF_NO_TUBE.items()}
    for name, row in TASKS.items():
        place = f"svmcut learn --task {name}" if name in LEARNT else f"svmcut {row.command}"
        for loss in losses(name).keys() - losses(task).keys():
            places.setdefault(loss, f"is a loss of {place}")
    return places


def _describe_other_texts(task: str) -> dict[str, str]:
    """Say what the formats of other tasks are for."""
    tags = TASKS[OF_TAGS].labels == TASKS[task].labels
    kind = "is for tables and texts" if tags else f"is for --task {OF_TAGS}"
    return dict.fromkeys([name for name in INPUTS if name not in task_inputs(task)], kind)


@cache
def rows(task: str) -> tuple[Option, ...]:
    """Return the options of a task with their kinds, which is all that reading a command line
    takes."""
    known, kinds = offered(task), _kinds(task)
    return tuple(
        row._replace(kind=kinds[row.field]) if row.field in kinds else row
        for row in ROWS
        if row.field in known
    )


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
    if "input" not in values and (input := input_by_ending(values["example_file"])) is not None:
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


#: What changes no model.
_PRINTED = {"report", "trace", "alphas", "format", "verbosity", "progress", "threads", "checkpoint"}


def command_line(report: dict[str, Any]) -> str:
    """The command line of a run of learn, from its report, without what it prints."""
    given = report["options"]
    defaults = {item.name: item.default for item in fields(LearnOptions)} | TABLE_DEFAULTS
    words = ["svmcut", given["command"], given["example_file"], given["model_file"]]
    for row in ROWS:
        value, known = given.get(row.field), defaults.get(row.field)
        known = [*known] if isinstance(known, tuple) else known
        if row.field in _PRINTED or row.inert or value is None or value == known:
            continue
        if row.kind is FLAG:
            words.append(row.full if value else f"--no-{row.full.removeprefix('--')}")
            continue
        text = {True: "on", False: "off"}.get(value) if isinstance(value, bool) else None
        joined = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        words += [row.full, text or joined]
    return " ".join(map(quote_word, words))
