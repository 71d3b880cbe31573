# SPDX-License-Identifier: BSD-3-Clause
"""The parameters of training: a field declares the default, kind, flags and help of one.

`svmcut.train` takes them by name, the command line by their flags. Standard library only.
"""

from __future__ import annotations

from svmcut.base.records import fields, record
from svmcut.base.resources import usable_cpus
from svmcut.base.typing import Any, Literal
from svmcut.spec.catalog import (
    AUTO,
    AUTO_PRUNE,
    AVERAGES,
    BASIS_KINDS,
    DUAL_CD,
    INPUTS,
    KERNEL_DEFAULTS,
    KERNELS,
    LOSSES,
    MAINTENANCE,
    MODEL_FORMATS,
    MULTICLASS,
    PAIRS,
    QPS,
    RESCALINGS,
    SAMPLING,
    SMO,
    SOLVERS,
    TASKS,
    is_definite,
    losses,
    solvers,
)
from svmcut.spec.entries import L2, NUMBERS, ONE_CLASS, PENALTIES, Task
from svmcut.spec.kinds import (
    ANY,
    FLAG,
    PATH,
    TEXT,
    THREAD_COUNT,
    Kind,
    class_weights,
    duration,
    gamma,
    integer,
    label,
    number,
    number_or,
    one_of,
    place,
    size,
)
from svmcut.spec.options import (
    COMPATIBILITY,
    DATA,
    KERNEL,
    OBJECTIVE,
    OUTPUT,
    RUNNING,
    STOPPING,
    param,
)

LARGEST_C = 1e12
#: The originals' default, where an objective is trained to a gap of c epsilon.
EPSILON = 0.1
#: LIBSVM's tolerance of the KKT conditions, the default of smo.
KKT_TOLERANCE = 1e-3
#: Rows, and tokens, below which a dual bound that costs kernel values of its own is computed unless
#: told otherwise.
CERTIFIED_ROWS = 50_000
C, DEGREE = number(0, LARGEST_C, above=True), integer(0)
#: Of products and distances in a kernel, which is not definite below 0; the originals take any.
FACTOR, FACTORS = number(0), ("gamma", "scale_kernel")
GAMMA = gamma(FACTOR)


#: The originals compute their kernels.
_KERNEL = one_of({name: row.number for name, row in KERNELS.items()})._replace(
    plain=one_of({name: row.number for name, row in KERNELS.items() if not row.given})
)


def _has_cost(task: Task) -> bool:
    return task.has_cost


def _has_kernels(task: Task) -> bool:
    return bool(solvers(task.name, True))


@record(kw_only=True)
class Settings:
    """Parameters of training. None leaves the choice to the task, the kernel or the solver.

    Every field is a parameter of `svmcut.train` and an option of the command line. A `#:` line adds
    what the help does not say.
    """

    # Data
    task: str = param(
        "classification",
        one_of(tuple(TASKS)),
        DATA,
        shown="{first}; of three or more whole labels multiclass",
        where=lambda task: task.command == "learn",
    ).describe("What to learn: {tasks}. Each task has its own options: see --task sequence --help.")
    positive: Any = param(None, label(), DATA, shown="the larger of two labels").describe(
        "Label of the positive class, or '>0' for all labels above 0; all other labels are "
        "negative."
    )
    #: Or a mapping: {1: 5.0, -1: 1.0}. Labels that are not named weigh 1.
    class_weight: Any = param(None, class_weights(), DATA).describe(
        "Weights of the classes, multiplied with the others: by label, as in 1=5,-1=0.5, or "
        "balanced, so that every class weighs the same. Weights of any kind work with -l "
        "{weighing} only."
    )
    zero_based: bool = param(False, FLAG, DATA).describe(
        "Feature indices in the files start at 0: index k is feature k + 1 of the model. Give it "
        "to classify too."
    )
    input: str = param(
        INPUTS[0], one_of(INPUTS), DATA, shown="by the file's ending, else svm"
    ).describe("Format of the files: {inputs}. The model keeps the names.")

    # Objective
    cost: Any = param(None, C, OBJECTIVE, letter="-c", shown="", where=_has_cost).describe(
        "C: {objective}.",
        "In the unit of {original}.{needed} Several values, 0.1,1,10, train a path, "
        "MODEL_FILE.0.1 and so on; --cv compares them.",
    )
    #: In one example's place a query, a sequence or a label set.
    example_cost: Any = param(None, C, OBJECTIVE, shown="{example_cost}", where=_has_cost).describe(
        "C as the weight of one {one}. Takes several values, as -c does."
    )
    loss: str | None = param(
        None,
        one_of(tuple(dict.fromkeys(loss.name for loss in LOSSES))),
        OBJECTIVE,
        letter="-l",
        shown="{loss}",
    ).describe("What to minimise: {losses}.")
    p: float = param(
        0.0,
        number(0),
        OBJECTIVE,
        letter="--p",
        flags=(),
        where=lambda task: any(loss.at for loss in task.losses),
    ).describe("k of {at} as a fraction of the positives; 0 for {at_default}.")
    #: A whole number, a share, or two shares: what it is depends on the loss.
    at: Any = param(None, place(), OBJECTIVE, shown="{place}").describe("{placed}.")
    #: Weight of recall in loss fbeta, beta times that of precision; of the prevalences'
    #: disagreement in the losses q, qacc, qf1 and qgm.
    beta: float = param(1.0, number(0, 1e6, above=True), OBJECTIVE).describe("beta of {mixed}.")
    tube: float = param(0.1, number(0), OBJECTIVE).describe("Errors up to this size cost nothing.")
    penalty: str = param(L2, one_of(tuple(PENALTIES)), OBJECTIVE).describe(
        "Penalty on the weights: l2, 1/2 w'w; l1, the sum of |w|, which leaves many weights at "
        "0; elastic-net, a mix of both.",
        "On features: l1 works with {sparse}; elastic-net with {penalised}.",
    )
    l1_ratio: float = param(0.5, number(0, 1), OBJECTIVE).describe(
        "R of --penalty elastic-net: R times the sum of |w| plus 1 - R times 1/2 w'w."
    )
    rescaling: Literal["margin", "slack"] = param(
        "margin",
        one_of(RESCALINGS),
        OBJECTIVE,
        letter="-o",
        where=lambda task: task.original is not None,
    ).describe("Rescaling of the loss: {rescalings}.")
    slack_norm: Literal[1, 2] = param(
        1,
        integer(1, 2),
        OBJECTIVE,
        letter="-p",
        flags=(),
        where=lambda task: any(len(loss.norms) > 1 for loss in task.losses),
    ).describe("1 for C xi, 2 for C xi^2.")
    #: 1 by default where there may be one.
    bias: float | None = param(None, ANY, OBJECTIVE, letter="--b", shown="{bias}").describe(
        "Value of the regularised constant feature; 0 for none."
    )
    free_bias: bool | None = param(None, FLAG, OBJECTIVE, shown="{free_bias}").describe(
        "Unregularised bias: {biased}."
    )
    transitions: int = param(1, integer(0, 3), OBJECTIVE, letter="--t").describe(
        "Order of the transitions: a tag depends on this many tags before it, 0 to 3. Time and "
        "memory grow K-fold with each."
    )
    emissions: int = param(0, integer(0, 1), OBJECTIVE, letter="--e").describe(
        "1 adds weights of features for pairs of neighbouring tags; needs --t of at least 1."
    )
    multiclass: str | None = param(
        None, one_of(MULTICLASS), OBJECTIVE, shown="crammer-singer; one-vs-one with a kernel"
    ).describe(
        "With three or more classes: crammer-singer trains all at once (with a kernel by "
        "dual-cd, cutting-plane or sampled-cuts); one-vs-rest trains each class against the "
        "rest, and is the only way for other losses than the default on features; one-vs-one "
        "trains each pair, with a kernel."
    )
    probability: bool = param(False, FLAG, OBJECTIVE).describe("{probability}")
    pairs: str = param("all", one_of(PAIRS), OBJECTIVE).describe(
        "all: a weight for every pair of labels; none: every label is learnt on its own."
    )
    tree: bool = param(False, FLAG, OBJECTIVE).describe(
        "With --pairs none: group labels of like examples and learn a tree of the groups, in a "
        "fraction of the time; classify searches it with --beam."
    )
    prune: Any = param(None, number_or(number(0, above=True), AUTO_PRUNE), OBJECTIVE).describe(
        "With --pairs none: leave weights closer to 0 than this out of the model; the report "
        "says what that costs. auto: as many of every label as --gap allows."
    )
    #: The machine chooses the tube by itself.
    nu: float | None = param(None, number(0), OBJECTIVE, shown="{nu_default}").describe(
        "{nu}", "{nu_of_sbp}"
    )

    # Kernel
    kernel: str = param("linear", _KERNEL, KERNEL, letter="-t", where=_has_kernels).describe(
        "{kernels}.", "{given}"
    )
    degree: Any = param(
        KERNEL_DEFAULTS["degree"], DEGREE, KERNEL, letter="-d", where=_has_kernels
    ).describe("d of the {kernels_of}.", "Takes several values, as -g does.")
    gamma: Any = param(
        KERNEL_DEFAULTS["gamma"], GAMMA, KERNEL, letter="-g", where=_has_kernels
    ).describe(
        "g of the {kernels_of}.",
        "scale is 1 / (features x variance of all values) of the training rows, auto is 1 / "
        "features. Several values, 0.01,0.1,1, make a grid with those of C: add --cv, or "
        "--validate and --select.",
    )
    scale_kernel: Any = param(
        KERNEL_DEFAULTS["scale_kernel"], FACTOR, KERNEL, letter="-s", where=_has_kernels
    ).describe("s of the {kernels_of}.", "Takes several values, as -g does.")
    coef0: Any = param(
        KERNEL_DEFAULTS["coef0"], ANY, KERNEL, letter="-r", where=_has_kernels
    ).describe("r of the {kernels_of}.", "Takes several values, as -g does.")
    #: Of the polish, too.
    basis: int = param(500, integer(1), KERNEL, letter="--k", flags=("--basis", "--k")).describe(
        "Maximum number of vectors that span a subspace.", "Used by {spanned}{polished}."
    )
    #: Half of the Fourier features are cosines.
    basis_kind: str = param(BASIS_KINDS[0], one_of(BASIS_KINDS), KERNEL).describe(
        "What spans the subspace: pivoted rows (incomplete Cholesky), even (evenly spaced rows), "
        "or fourier (random Fourier features of the rbf kernel; --seed)."
    )
    sample_size: int = param(400, integer(1), KERNEL).describe(
        "{examples} drawn for each cut of {takers}."
    )
    patience: int = param(40, integer(1), KERNEL).describe(
        "{takers}: stop after this many samples in a row without progress."
    )
    budget: int = param(500, integer(1), KERNEL).describe(
        "Maximum number of support vectors of {takers}, which need not be training points. "
        "Example: --solver bsca --budget 200."
    )
    maintenance: str | None = param(
        None, one_of(MAINTENANCE), KERNEL, shown="{maintenance}"
    ).describe(
        "How {takers} remove a support vector beyond the budget: merge it with another (rbf "
        "only), project it on the others (not with sigmoid), or remove it."
    )
    sampling: str = param("shuffled", one_of(SAMPLING), KERNEL).describe(
        "Order in which {takers} visit examples: shuffled (a new order every epoch), independent "
        "draws, or adaptive (more often where the dual rose; {adaptive} only)."
    )
    average: str = param("suffix", one_of(AVERAGES), KERNEL).describe(
        "{takers}: the model is the average of the last half of the iterates (suffix) or of all "
        "(full)."
    )
    polish: bool | None = param(None, FLAG, KERNEL, shown="{polish}").describe(
        "Afterwards train exactly in the span of the points that {takers} chose."
    )
    #: Of sequences on features, too.
    certify: bool | None = param(None, FLAG, KERNEL, shown="on below {certified}").describe(
        "With a kernel, compute a dual bound and the gap. The model keeps the part of the "
        "certificate that classify --certify needs."
    )

    # Stopping
    epsilon: float | None = param(
        None, number(0, above=True), STOPPING, letter="-e", shown="{epsilon}"
    ).describe("Stop when primal - dual <= C * epsilon ({points}).", "{kkt}")
    gap: float | None = param(None, number(0, 1, above=True), STOPPING, shown="{gap}").describe(
        "Stop when (primal - dual) / primal is at most this, instead of --epsilon."
    )
    max_iterations: int | None = param(None, integer(1), STOPPING).describe(
        "Stop after this many iterations, write the best model so far and exit with 3."
    )
    time_limit: float | None = param(None, duration(above=True), STOPPING).describe(
        "The same after this much time, reading included: seconds, or 30s, 5m, 1h, 2d."
    )
    epochs: float | None = param(None, number(0, above=True), STOPPING, shown="{epochs}").describe(
        "Passes of {takers} over the examples."
    )
    hold_out: float = param(0.0, number(0, 0.9), STOPPING).describe(
        "Share of the examples on which {takers} do not train but choose their best state. Those "
        "without a budget stop once the error there has not fallen for half of the run. 0: "
        "choose by the primal value."
    )
    quick: bool = param(False, FLAG, STOPPING).describe(
        "Early stopping with {takers}: train until the error on a held-out tenth of the "
        "sequences stops falling, or the chunk F1 rising where tags say chunks, then make as many "
        "passes over all; the tenth also calibrates confidences. The report states the gap that "
        "is left."
    )

    # Output
    model_format: str | None = param(
        None, one_of(MODEL_FORMATS), OUTPUT, shown="text below a million weights"
    ).describe("With --pairs none: text, or binary, which svmcut reads in place and checks.")

    # Running
    initial: str | None = param(None, PATH, RUNNING).describe(
        "Start from the weights or support vectors of this model, of any format and with the "
        "same classes. The optimum stays the same. Works with newton, cutting-plane and smo."
    )
    #: `fit_more` and `forget` bound the optimum of other rows by them.
    keep_multipliers: bool = param(False, FLAG, RUNNING).describe(
        "Keep the multipliers of the rows in the model, for --added and --removed later."
    )
    label_block: int | None = param(None, integer(1), RUNNING, shown="by --max-memory").describe(
        "With --pairs none: train so many labels at once, a multiple of 64; the model is the same."
    )
    #: Without it every cut is taken at the minimiser of the model.
    line_search: bool | None = param(None, FLAG, RUNNING, shown="on").describe(
        "Line search of {takers}. Off: the plain Algorithm 1 of KDD 2006."
    )
    parts: int | None = param(None, integer(1), RUNNING, shown="{parts_default}").describe(
        "Split the {parts} into this many parts; each visit of {takers} searches one random part "
        "and those in use. The gap covers all."
    )
    solver: str = param(AUTO, one_of((AUTO, *SOLVERS)), RUNNING).describe("{solvers}.")
    qp: str | None = param(None, one_of(tuple(QPS)), RUNNING, shown="{qp}").describe(
        "Solver of the small QP in cutting planes: {qps}."
    )
    beam: int = param(0, integer(0), RUNNING, letter="--b").describe(
        "Keep this many states per token while searching for the best tags; 0 keeps all and is "
        "exact. With a beam, the certificate covers only the labellings it finds."
    )
    threads: int = param(usable_cpus, THREAD_COUNT, RUNNING, shown="all").describe(
        "Number of threads; the model is byte-identical for any number."
    )
    seed: int = param(0, integer(0), RUNNING).describe("Seed of the random number generator.")
    cache_size: float = param(40.0, size(), RUNNING, letter="-m", where=_has_kernels).describe(
        "Memory for kernel rows, in MB.", "Or with a unit: 500K, 2G."
    )
    max_memory: float | None = param(None, size(), RUNNING).describe(
        "Refuse work that needs more than this: MB, or 512M, 2G."
    )

    # Compatibility
    u: str = param(KERNEL_DEFAULTS["u"], TEXT, COMPATIBILITY, letter="-u").describe(
        "Text stored with the model."
    )
    basis_method: int = param(
        0, integer(0, 2), COMPATIBILITY, letter="--t", only="svm_perf"
    ).describe(
        "Choose the basis of the subspace in advance: 1 evenly spaced rows, 2 incomplete "
        "Cholesky; needs --i 0."
    )
    basis_file: str | None = param(
        None, PATH, COMPATIBILITY, letter="--f", only="svm_perf"
    ).describe("File of basis vectors for --t.")
    #: Names of the parameters that were given, which are refused where they have no effect; None
    #: for those that differ from their defaults.
    given: frozenset[str] | None = None
    #: The conventions of the programs with the originals' names hold: kernels have any parameters,
    #: a label above 0 is positive, measures of two classes accept one, classes have the numbers up
    #: to the largest, and files have eight digits.
    original: bool = False

    @property
    def labels(self) -> str:
        """The kind of the task's labels, of svmcut.spec.entries."""
        return TASKS[self.task].labels

    @property
    def has_kernel(self) -> bool:
        """Tell whether the run is one on kernel values."""
        return (
            self.kernel != "linear"
            or self.is_nu
            or (self.solver != AUTO and SOLVERS[self.solver].on_values(self.task))
        )

    @property
    def is_nu(self) -> bool:
        """Tell whether nu says what C or a tube says elsewhere: nu-SVC, nu-SVR and one class."""
        if self.labels == ONE_CLASS:
            return True
        known = self.solver in (AUTO, SMO) and self.task in SOLVERS[SMO].kernel
        return known and self.nu is not None

    @property
    def is_given(self) -> bool:
        """Tell whether the examples are kernel values."""
        return KERNELS[self.kernel].given

    @property
    def has_cost(self) -> bool:
        """Tell whether a C weighs the losses, and not nu alone."""
        return TASKS[self.task].has_cost and not (self.is_nu and self.labels != NUMBERS)

    @property
    def is_definite(self) -> bool:
        """Tell whether the kernel is known to be positive semidefinite."""
        gamma = 1.0 if isinstance(self.gamma, str) else self.gamma
        return is_definite(self.kernel, self.degree, gamma, self.scale_kernel, self.coef0)

    @property
    def is_plain(self) -> bool:
        """Tell whether rescaling and slack norm are those every solver knows."""
        return self.rescaling == "margin" and self.slack_norm == 1

    @property
    def is_usual(self) -> bool:
        """Tell whether the risk is the plain one of the task's first loss."""
        return self.loss in (None, TASKS[self.task].loss) and self.is_plain

    @property
    def of_clicks(self) -> bool:
        """Tell whether weights are those of clicked rows."""
        loss = losses(self.task).get(self.loss or "")
        return loss is not None and loss.of_clicks

    @property
    def is_sum(self) -> bool:
        """Tell whether the loss is a sum over what example_cost weighs."""
        loss = losses(self.task).get(self.loss or TASKS[self.task].loss)
        return loss is not None and loss.is_sum and (self.is_plain or not loss.table)

    @property
    def chosen_basis(self) -> str | None:
        """The parameter that chooses a basis in advance."""
        if self.basis_method:
            return "basis_method"
        return None if self.basis_kind == BASIS_KINDS[0] else "basis_kind"

    @property
    def of_scores(self) -> bool:
        """Tell whether the risk is a sum over examples of losses of one score each, which has
        trainers of its own."""
        first = SOLVERS[DUAL_CD]
        name = self.loss or TASKS[self.task].loss
        return self.is_plain and self.task in first.linear and name in (first.losses or ())

    @property
    def l1_l2(self) -> tuple[float, float]:
        """The factors of |w|_1 and of 1/2 |w|^2."""
        return PENALTIES[self.penalty](self.l1_ratio)

    @property
    def is_joint(self) -> bool:
        """Tell whether functions of a kernel are trained at once, one a class: as sequences of one
        token."""
        known = TASKS[self.task].joint_plan is not None
        return known and self.has_kernel and self.multiclass == MULTICLASS[0]

    @property
    def is_open(self) -> bool:
        """Tell whether the labels decide between two classes and more."""
        named = self.given is not None and "task" in self.given
        return self.task == DEFAULTS["task"] and not named and self.positive is None

    @property
    def usual_cost(self) -> float:
        """C as the weight of one example's loss, where none is given and the loss is a sum."""
        row = TASKS[self.task]
        return row.quick_cost if self.quick else row.example_cost

    def wishes(self) -> set[str]:
        """The parameters that were asked for."""
        if self.given is not None:
            return {name for name in self.given & KINDS.keys() if getattr(self, name) is not None}
        return {name for name in KINDS if getattr(self, name) != DEFAULTS[name]} - UNASKED


def kinds_of(settings: type) -> dict[str, Kind]:
    """The kinds of a record of parameters by field."""
    return {item.name: item.option.kind for item in fields(settings) if item.option is not None}


KINDS = kinds_of(Settings)
#: What is not None or a callable.
DEFAULTS: dict[str, Any] = {item.name: item.default for item in fields(Settings)}
#: Taken without a word where they have no effect.
UNASKED = {"threads", "seed", "cache_size"}


def task_defaults(task: str) -> dict[str, Any]:
    """The defaults that are the task's own."""
    return {"task": task, "loss": TASKS[task].loss, **TASKS[task].defaults}


@record
class StoppingRule:
    """gap <= absolute (the original's C epsilon), or gap <= relative * primal where that is given
    instead."""

    absolute: float
    relative: float | None = None

    def target(self, primal: float) -> float:
        """The gap to be reached at this primal value."""
        return self.absolute if self.relative is None else self.relative * abs(primal)

    def met(self, primal: float, dual: float) -> bool:
        return primal - dual <= self.target(primal)
