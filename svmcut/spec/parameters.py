# SPDX-License-Identifier: BSD-3-Clause
"""The parameters of training: name, default and kind of each stand here, once.

`svmcut.train` takes them by name; the command line gives them flags and texts. Standard library
only.
"""

from __future__ import annotations

from svmcut.base.records import field, fields, record
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
)
from svmcut.spec.entries import L2, NUMBERS, ONE_CLASS, PENALTIES
from svmcut.spec.kinds import (
    ANY,
    FLAG,
    PATH,
    TEXT,
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


def param(default: Any, kind: Kind) -> Any:
    """A field of that default, or of what a callable gives, and kind."""
    return (
        field(default_factory=default, kind=kind)
        if callable(default)
        else field(default=default, kind=kind)
    )


#: The originals compute their kernels.
_KERNEL = one_of({name: row.number for name, row in KERNELS.items()})._replace(
    plain=one_of({name: row.number for name, row in KERNELS.items() if not row.given})
)


@record(kw_only=True)
class Settings:
    """What to train. None leaves the choice to the task, the kernel or the solver.

    Attributes
    ----------
    task, loss, solver, kernel : str
        Names of svmcut.spec.catalog.
    cost : float or None
        C in the original's unit: of svm_perf, svm_rank or svm_hmm. Required for losses that are no
        sums over examples.
    example_cost : float or None
        C as the weight of one example's loss; of one query's, sequence's or label set's. 1 where no
        C is given.
    positive : float, ">0" or None
        Label of the positive class, all labels above 0, or of two labels the larger.
    class_weight : str, mapping or None
        "balanced", or weights by label: {1: 5.0, -1: 1.0}, "1=5,-1=1"; labels that are not named
        weigh 1.
    probability : bool
        Whether probabilities of the classes are fitted to scores of five folds, whose machines are
        trained beside.
    initial : str or None
        A model file of the same classes, or of numbers, from whose weights or support vectors
        training starts.
    keep_multipliers : bool
        Whether the model keeps the multipliers of its rows, from which `fit_more` and `forget`
        bound the optimum of others.
    p : float
        k of the losses at k, as a fraction of the positives; 0 for the loss's own.
    at : int, float or None
        Places of a ranking that loss ndcg counts, 10 by default; of classes the floor, 0.9 by
        default, under precision or recall of the losses recall-at-precision and
        precision-at-recall, or the two ends of the false-positive rates of partial-auc, (0, 0.1)
        by default.
    beta : float
        Weight of recall in loss fbeta, beta times that of precision; of the prevalences'
        disagreement in the losses q, qacc, qf1 and qgm.
    tube : float
        Errors up to this cost nothing in regression.
    penalty : {"l2", "l1", "elastic-net"}
        Of the weights of features: 1/2 |w|^2, |w|_1, or both.
    l1_ratio : float
        Of the elastic net: l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2.
    rescaling, slack_norm : {"margin", "slack"}, {1, 2}
    bias : float or None
        Value of the regularised constant feature, 0 for none; 1 by default where there may be one.
    free_bias : bool or None
        Whether a kernel machine has an unregularised bias.
    epsilon : float or None
        Stop at gap <= c epsilon, with c in the unit of cost; smo: tolerance of the KKT conditions.
    gap : float or None
        Stop at this relative gap instead of epsilon.
    max_iterations, time_limit : int, float or None
        End training with the best model so far; seconds, or a text with a unit: "1h".
    degree, gamma, scale_kernel, coef0 : int, float; gamma also "scale" or "auto"
        Of the polynomial (s x.z + r)^d, the rbf exp(-g |x - z|^2) and the sigmoid kernel tanh(s x.z
        + r).
    u : str
        Text stored with the model.
    basis : int
        Most basis vectors of a subspace and of the polish.
    basis_kind : {"pivoted", "even", "fourier"}
        What spans a subspace: rows by incomplete Cholesky factorisation, evenly spaced ones, or
        random Fourier features of the rbf kernel, half of them cosines.
    basis_method, basis_file : int, str or None
        How they are chosen, svm_perf's --t; a file of them.
    sample_size, patience : int
        Terms drawn for a cut; samples in a row without violation that end constant-cuts.
    polish : bool or None
        Exact training in the span of the points that a sampling or stepping solver chose.
    certify : bool or None
        Whether a dual bound of the full problem is computed where it costs kernel values of its
        own.
    budget : int
        Most centres of bsca and bsgd.
    maintenance : {"merge", "project", "remove"} or None
        What becomes of a centre too many.
    epochs : float or None
        Passes of solvers that go step by step.
    sampling : {"shuffled", "independent", "adaptive"}
        Which example is visited next.
    hold_out : float
        Part of the examples kept aside to choose among states of solvers that go step by step.
    nu : float or None
        The nu of smo: at most this part of the examples is on the wrong side of the margin, or
        outside of the tube, which the machine chooses by itself, and at least this part are support
        vectors; 0.5 of one class. With solver sbp the mean slack at |w| = 1, in place of what C
        stands for.
    average : {"suffix", "full"}
        Iterates sbp averages.
    line_search : bool or None
        False for cutting planes as printed in the paper of 2006, which take every cut at the
        minimiser of the model.
    quick : bool
        Whether training of sequences ends where the error on a part held out no longer falls, at no
        gap in particular.
    transitions, emissions, beam : int
        Orders of a chain, and states kept a token, 0 for all.
    multiclass : {"crammer-singer", "one-vs-rest", "one-vs-one"} or None
        Whether all classes are trained at once, each against the rest, or each against each other;
        None for the first, with a kernel the last.
    pairs : {"all", "none"}
        Whether pairs of labels have weights.
    tree : bool
        Whether labels without pairs are learnt in a tree of clusters of labels.
    prune : float, "auto" or None
        Weights of labels below this become 0 in the model, which says what that costs; "auto" for
        as many of every label as the gap allows, None for none.
    label_block : int or None
        Labels that are trained at once, rounded up to 64; None for what memory allows. The model is
        the same.
    model_format : {"text", "binary"} or None
        Of the file of a model of labels without pairs; None for text below a million weights.
    parts : int or None
        Parts of the labels or tags, of which gdmm searches one at a visit; None for 1 and for some
        100 tags each.
    qp : str or None
        Solver of the small QP.
    cache_size, max_memory : float, float or None
        Megabytes of kernel rows kept, and of all that is planned, or a text with a unit: "2G".
    threads, seed : int
        The model's bytes do not depend on threads.
    zero_based : bool
        Feature indices of files start at 0.
    input : {"svm", "crfsuite"}
        How files are written: crfsuite names tags and attributes, and the model keeps the names.
    given : frozenset of str or None
        Names of the parameters that were asked for, and are refused where they have no effect; None
        for those that differ from their defaults.
    original : bool
        Whether the originals' conventions hold, as in a program with an original's name: kernels
        have any parameters, a label above 0 is positive, measures of two classes accept one,
        classes have the numbers up to the largest, and files have eight digits.
    """

    task: str = param("classification", one_of(tuple(TASKS)))
    cost: Any = param(None, C)
    example_cost: Any = param(None, C)
    loss: str | None = param(None, one_of(tuple(dict.fromkeys(loss.name for loss in LOSSES))))
    positive: Any = param(None, label())
    class_weight: Any = param(None, class_weights())
    probability: bool = param(False, FLAG)
    initial: str | None = param(None, PATH)
    keep_multipliers: bool = param(False, FLAG)
    p: float = param(0.0, number(0))
    at: Any = param(None, place())
    beta: float = param(1.0, number(0, 1e6, above=True))
    tube: float = param(0.1, number(0))
    penalty: str = param(L2, one_of(tuple(PENALTIES)))
    l1_ratio: float = param(0.5, number(0, 1))
    rescaling: Literal["margin", "slack"] = param("margin", one_of(RESCALINGS))
    slack_norm: Literal[1, 2] = param(1, integer(1, 2))
    bias: float | None = param(None, ANY)
    free_bias: bool | None = param(None, FLAG)
    solver: str = param(AUTO, one_of((AUTO, *SOLVERS)))
    epsilon: float | None = param(None, number(0, above=True))
    gap: float | None = param(None, number(0, 1, above=True))
    max_iterations: int | None = param(None, integer(1))
    time_limit: float | None = param(None, duration(above=True))
    kernel: str = param("linear", _KERNEL)
    degree: Any = param(KERNEL_DEFAULTS["degree"], DEGREE)
    gamma: Any = param(KERNEL_DEFAULTS["gamma"], GAMMA)
    scale_kernel: Any = param(KERNEL_DEFAULTS["scale_kernel"], FACTOR)
    coef0: Any = param(KERNEL_DEFAULTS["coef0"], ANY)
    u: str = param(KERNEL_DEFAULTS["u"], TEXT)
    basis: int = param(500, integer(1))
    basis_kind: str = param(BASIS_KINDS[0], one_of(BASIS_KINDS))
    basis_method: int = param(0, integer(0, 2))
    basis_file: str | None = param(None, PATH)
    sample_size: int = param(400, integer(1))
    patience: int = param(40, integer(1))
    polish: bool | None = param(None, FLAG)
    certify: bool | None = param(None, FLAG)
    budget: int = param(500, integer(1))
    epochs: float | None = param(None, number(0, above=True))
    maintenance: str | None = param(None, one_of(MAINTENANCE))
    sampling: str = param("shuffled", one_of(SAMPLING))
    hold_out: float = param(0.0, number(0, 0.9))
    nu: float | None = param(None, number(0))
    average: str = param("suffix", one_of(AVERAGES))
    line_search: bool | None = param(None, FLAG)
    quick: bool = param(False, FLAG)
    transitions: int = param(1, integer(0, 3))
    emissions: int = param(0, integer(0, 1))
    beam: int = param(0, integer(0))
    multiclass: str | None = param(None, one_of(MULTICLASS))
    pairs: str = param("all", one_of(PAIRS))
    tree: bool = param(False, FLAG)
    prune: Any = param(None, number_or(number(0, above=True), AUTO_PRUNE))
    label_block: int | None = param(None, integer(1))
    model_format: str | None = param(None, one_of(MODEL_FORMATS))
    parts: int | None = param(None, integer(1))
    qp: str | None = param(None, one_of(tuple(QPS)))
    cache_size: float = param(40.0, size())
    max_memory: float | None = param(None, size())
    threads: int = param(usable_cpus, integer(1, 4096))
    seed: int = param(0, integer(0))
    zero_based: bool = param(False, FLAG)
    input: str = param(INPUTS[0], one_of(INPUTS))
    given: frozenset[str] | None = None
    original: bool = False

    @property
    def labels(self) -> str:
        """What the task's labels are, of svmcut.spec.entries."""
        return TASKS[self.task].labels

    @property
    def has_kernel(self) -> bool:
        """Whether the run is one on kernel values."""
        return (
            self.kernel != "linear"
            or self.is_nu
            or (self.solver != AUTO and SOLVERS[self.solver].on_values(self.task))
        )

    @property
    def is_nu(self) -> bool:
        """Whether nu says what C or a tube says elsewhere: nu-SVC, nu-SVR and one class."""
        if self.labels == ONE_CLASS:
            return True
        known = self.solver in (AUTO, SMO) and self.task in SOLVERS[SMO].kernel
        return known and self.nu is not None

    @property
    def is_given(self) -> bool:
        """Whether the examples are kernel values."""
        return KERNELS[self.kernel].given

    @property
    def has_cost(self) -> bool:
        """Whether a C weighs the losses, and not nu alone."""
        return TASKS[self.task].has_cost and not (self.is_nu and self.labels != NUMBERS)

    @property
    def is_definite(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        gamma = 1.0 if isinstance(self.gamma, str) else self.gamma
        return is_definite(self.kernel, self.degree, gamma, self.scale_kernel, self.coef0)

    @property
    def is_plain(self) -> bool:
        """Whether rescaling and slack norm are those every solver knows."""
        return self.rescaling == "margin" and self.slack_norm == 1

    @property
    def is_usual(self) -> bool:
        """Whether the risk is the plain one of the task's first loss."""
        return self.loss in (None, TASKS[self.task].loss) and self.is_plain

    @property
    def of_clicks(self) -> bool:
        """Whether weights are those of clicked rows."""
        loss = losses(self.task).get(self.loss or "")
        return loss is not None and loss.of_clicks

    @property
    def is_sum(self) -> bool:
        """Whether the loss is a sum over what example_cost weighs."""
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
        """Whether the risk is a sum over examples of losses of one score each, which has trainers
        of its own."""
        first = SOLVERS[DUAL_CD]
        name = self.loss or TASKS[self.task].loss
        return self.is_plain and self.task in first.linear and name in (first.losses or ())

    @property
    def l1_l2(self) -> tuple[float, float]:
        """The factors of |w|_1 and of 1/2 |w|^2."""
        return PENALTIES[self.penalty](self.l1_ratio)

    @property
    def is_joint(self) -> bool:
        """Whether functions of a kernel are trained at once, one a class: as sequences of one
        token."""
        known = TASKS[self.task].joint_plan is not None
        return known and self.has_kernel and self.multiclass == MULTICLASS[0]

    @property
    def is_open(self) -> bool:
        """Whether the labels decide between two classes and more."""
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
    return {item.name: item.kind for item in fields(settings) if item.kind is not None}


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
