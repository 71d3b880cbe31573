# SPDX-License-Identifier: BSD-3-Clause
"""The records of which svmcut.spec.catalog holds rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from svmcut.base.typing import Any, NamedTuple

MARGIN, SLACK = "margin", "slack"
BOTH_RESCALINGS, BOTH_NORMS = (MARGIN, SLACK), (1, 2)
SQUARED_HINGE, LOGISTIC, SQUARED_DIFFERENCE = "squared-hinge", "logistic", "squared-difference"
SQUARED_TUBE = "squared-epsilon-insensitive"
#: Solvers that others name.
CUTTING_PLANE, SUBSPACE, SAMPLED_CUTS, SMO = "cutting-plane", "subspace", "sampled-cuts", "smo"
DUAL_CD, NEWTON, BCFW, GDMM, SBP, CDN = "dual-cd", "newton", "bcfw", "gdmm", "sbp", "cdn"
#: What parameter at is.
PLACES, FLOOR, RANGE = "places", "floor", "range"
#: Penalties of weights: 1/2 |w|^2, |w|_1, and both.
L2, L1, ELASTIC_NET = "l2", "l1", "elastic-net"
#: Their factors of |w|_1 and of 1/2 |w|^2, by l1_ratio.
PENALTIES: dict[str, Callable[[float], tuple[float, float]]] = {
    L2: lambda ratio: (0.0, 1.0),
    L1: lambda ratio: (1.0, 0.0),
    ELASTIC_NET: lambda ratio: (ratio, 1.0 - ratio),
}
PRECOMPUTED = "precomputed"
#: The loss of clicks.
PROPENSITIES = "propensities"
#: What labels are.
TWO_CLASSES, CLASSES, GRADES, NUMBERS = "two classes", "classes", "grades", "numbers"
TAGS, SETS, ONE_CLASS = "tags", "sets", "one class"


class Loss(NamedTuple):
    """One loss of one task."""

    name: str
    #: ``module:factory`` of its risk.
    where: str
    #: The original's -l; None where the original lacks the loss.
    number: int | None = None
    #: What is implemented: of {"margin", "slack"} and of {1, 2}, the power of the slack.
    rescalings: tuple[str, ...] = (MARGIN,)
    norms: tuple[int, ...] = (1,)
    #: ``module:factory`` of the risk of slack norm 2, where it is one of its own.
    squared: str | None = None
    #: True if the plain risk is a sum over examples, queries, sequences or label sets: C may weigh
    #: one of them.
    is_sum: bool = False
    #: True if the plain risk is a sum of terms that sampled cuts may draw.
    drawn: bool = False
    #: True if it is a function of the contingency table.
    table: bool = False
    #: True if its factory makes several losses, and is given the name.
    shared: bool = False
    #: Parameters that its factory is given.
    takes: tuple[str, ...] = ()
    #: Least and largest k as a fraction of the positives, and the default, of
    #: a loss at k.
    at: tuple[float, float, float] | None = None
    #: What parameter at is, of a loss that takes it: PLACES of a ranking, a FLOOR, or a RANGE of
    #: false-positive rates.
    place: str | None = None
    #: Where its values are small, what ends training in place of the task's.
    epsilon: float | None = None
    #: The measure that says what it is worth, where that has another name.
    measure: str | None = None
    #: True if a query's loss counts its pairs: epsilon is multiplied by their mean number.
    in_pairs: bool = False
    #: True if ``cost:`` weighs the clicked rows of a query, and no query.
    of_clicks: bool = False
    #: True if the original lacks it and does not learn it.
    added: bool = False
    #: True if its scores are log odds, probabilities of their own.
    log_odds: bool = False
    #: True if it is of all classes at once, and no sum over classes against the rest.
    joint: bool = False
    help: str = ""
    #: Its task's row fills it in.
    task: str = ""


class Solver(NamedTuple):
    """One algorithm."""

    name: str
    #: ``module:class``, by task where they differ.
    where: str | Mapping[str, str]
    #: Tasks it trains on features, and on kernel values; those of `kernel` alone take the linear
    #: kernel's values too.
    linear: tuple[str, ...] = ()
    kernel: tuple[str, ...] = ()
    #: None for every loss of the task.
    losses: tuple[str, ...] | None = None
    #: ``module:class`` by loss, where another class trains for it.
    others: Mapping[str, str] = {}
    #: True if it draws terms of the loss.
    drawn: bool = False
    #: True if it takes margin rescaling and slack norm 1 alone.
    plain: bool = True
    #: How it is run where it works on kernel values: a name of `catalog.PLANS`.
    plan: str = "cuts"
    #: True if exact training in the span of the points it chose follows unless told otherwise; None
    #: where none can.
    polished: bool | None = None
    #: True if it has an unregularised bias unless told otherwise; None where it can have none.
    free_bias: bool | None = None
    #: Tasks whose classes it trains on kernel values at once alone.
    joint: tuple[str, ...] = ()
    #: True if its chains are those of transitions of order 1 and emissions of order 0.
    first_order: bool = False
    #: True if its sampling may follow the rises of its dual.
    adaptive: bool = False
    #: Tasks of several classes or labels whose machines it trains one against the rest alone.
    binary: tuple[str, ...] = ()
    #: True if on kernel values it needs a kernel that is known to be positive semidefinite: its
    #: lower bound, or the length of w, mean nothing with another.
    definite: bool = False
    #: True if it trains on kernel values that are given.
    given: bool = False
    #: Parameters that not every solver has.
    takes: tuple[str, ...] = ()
    #: Those of them that the polish alone reads.
    after: tuple[str, ...] = ()
    #: Of its own parameters, where they differ.
    defaults: Mapping[str, Any] = {}
    #: Of PENALTIES.
    penalties: tuple[str, ...] = (L2,)
    #: Losses that it trains only where the penalty has a part of 1/2 w'w.
    with_square: tuple[str, ...] = ()

    @property
    def steps(self) -> bool:
        """Tell whether it goes example by example and ends after its epochs, not at a gap."""
        return self.plan == "steps"

    @property
    def by_conditions(self) -> bool:
        """Tell whether its epsilon is a tolerance of the KKT conditions."""
        return self.plan == "smo"

    def on_values(self, task: str) -> bool:
        """Tell whether it works on kernel values whatever the kernel."""
        return task not in self.linear


class KernelRow(NamedTuple):
    """One kernel."""

    name: str
    #: In model files and csrc/kernels/kernel_forms.h; 0 to 3 are svm_light's.
    number: int
    #: ``module:name`` of its form in NumPy.
    where: str
    #: What budgeted training can do with a centre too many; the first is the default.
    maintenance: tuple[str, ...]
    #: For help.
    formula: str = ""
    #: The parameters it reads.
    takes: tuple[str, ...] = ()
    #: True if it is a function of gamma |x - z|^2 rather than of x.z.
    of_distances: bool = False
    #: Of degree, gamma, scale and offset: whether every matrix of its values is known to be
    #: positive semidefinite. None where none is.
    definite: Callable[[int, float, float, float], bool] | None = None
    #: True if its values are those of the examples.
    given: bool = False
    #: The rows of EXPORTS that express it, beside those that express every model.
    formats: tuple[str, ...] = ()


class Measure(NamedTuple):
    """One key of a report that --select knows."""

    name: str
    #: True if more is better.
    rises: bool = True
    #: Of its column in the table of a path; None where it has none.
    heading: str | None = None
    #: What classify prints in front of it; None where it does not.
    line: str | None = None
    #: Behind the point in the table.
    digits: int = 2
    #: What the report in plain words calls it; None where it does not have it.
    plain: str | None = None
    #: What it calls it of a model that was trained for it, {} for the parameter of the loss.
    aimed: str | None = None
    #: What training examples of value 0 mean, for people; "" for nothing to tell.
    none: str = ""
    #: True if it is the percentage of rows that are right.
    of_rows: bool = False
    #: True if it is of tags that say chunks, and of others there is none.
    of_chunks: bool = False
    #: True if it needs the number of training rows of every label, which not all files of models
    #: have.
    of_counts: bool = False
    #: Its task's row fills it in.
    task: str = ""


class Task(NamedTuple):
    """One task."""

    name: str
    #: ``module:class`` of svmcut.tasks.
    where: str
    #: What is learnt, and from which files.
    help: str
    #: The default.
    loss: str
    losses: tuple[Loss, ...]
    #: What models are compared by where nothing is said.
    measure: str
    measures: tuple[Measure, ...]
    #: Classes of svmcut.models; where two tasks share one, the later is that of examples with
    #: queries.
    models: tuple[str, ...]
    #: What is trained, in the plural of a message.
    objects: str
    #: For help: the objective in C's unit, the unit of epsilon.
    objective: str
    points: str
    #: What of an example example_cost weighs.
    weighs: str = "loss"
    #: TWO_CLASSES, CLASSES, NUMBERS, GRADES that order the rows of a query, TAGS of the tokens of a
    #: sequence, SETS of labels, or those of ONE_CLASS, which training does not look at.
    labels: str = NUMBERS
    #: Of svmcut, that trains it.
    command: str = "learn"
    #: What has a weight; its plural, where it is not formed with an s.
    unit: str = "example"
    plural: str = ""
    #: True if its models always name their loss, which tells them from those of other tasks.
    marked: bool = False
    #: ``module:class`` of svmcut.training that plans training on features, and on kernel values;
    #: None for the plan of the solver.
    plan: str = "svmcut.training.linear:plan_examples"
    kernel_plan: str | None = None
    #: The same of all classes at once on kernel values.
    joint_plan: str | None = None
    #: The solvers from small to large sets that AUTO stands for where the risk is the plain one of
    #: the task's loss, on features and on kernel values.
    auto: tuple[str, ...] = (CUTTING_PLANE,)
    auto_kernel: tuple[str, ...] = (CUTTING_PLANE, SUBSPACE)
    #: Parameters that not every task has.
    takes: tuple[str, ...] = ()
    #: Parameters of its solvers that have no effect here.
    lacks: tuple[str, ...] = ()
    #: True if a C weighs its loss.
    has_cost: bool = True
    #: C as the weight of one example's loss where none is given, and with `quick`.
    example_cost: float = 1.0
    quick_cost: float = 1.0
    #: Of the other parameters, where they are the task's own.
    defaults: Mapping[str, Any] = {}
    #: Relative gap that ends training where neither gap nor epsilon is given; epsilon does where C
    #: is in the original's unit, and in the programs with the originals' names.
    gap: float | None = None
    #: True if its rows may lie in parts, with the workers of a scheduler.
    parted: bool = False
    #: Whose -c it takes, and whose options.
    original: str | None = None
    #: The original's -w.
    algorithms: tuple[int, ...] = ()
    #: Whose C it takes, where there is no original.
    like: str = "svm_hmm"
    #: What help says more of an option, by field.
    notes: Mapping[str, str] = {}
    #: For help: what the lines of its files are.
    reading: str = ""
    #: For help: command lines.
    examples: str = ""

    @property
    def units(self) -> str:
        """The plural of `unit`."""
        return self.plural or f"{self.unit}s"

    @property
    def has_classes(self) -> bool:
        """Tell whether a label names the class of a row, of two or more."""
        return self.labels in (TWO_CLASSES, CLASSES)

    @property
    def has_scores(self) -> bool:
        """Tell whether a model gives each row one score."""
        return self.labels in (TWO_CLASSES, GRADES, NUMBERS, ONE_CLASS)

    @property
    def of_rows(self) -> bool:
        """Tell whether a row has one label, and none depends on another's."""
        return self.has_scores or self.has_classes


class QpRow(NamedTuple):
    """One way to solve the small QP: the number of cuts from which OSQP is asked first, and what
    the help says."""

    osqp_from: float
    help: str


class Format(NamedTuple):
    """One format of model files."""

    #: Line 1; of a foreign format that or its first word.
    first: bytes
    #: Module with `read`, of (path, line 1, open file), and `write`, of (path, line 1, output,
    #: model, original), which raise as `svmcut.formats.read_model` and `write_model`.
    where: str
    #: Classes of svmcut.models.
    models: tuple[str, ...]
    #: True if it is read alone, and by svmcut alone: there is no `write`.
    foreign: bool = False
    #: True if its programs predict the most probable class where probabilities are asked for.
    most_probable: bool = False
    #: True if features may be numbered from 0: `read` takes zero_based.
    from_zero: bool = False
    #: True if the file has arrays as svmcut.formats.mapped writes them, and no lines.
    mapped: bool = False
    #: True if an export has thresholds, tables and words as the model has them.
    whole: bool = False
    #: Classes of svmcut.tables.encoding that an export takes; () for those of any model.
    columns: tuple[str, ...] = ()
    #: Options of svmcut export that its `write` takes.
    takes: tuple[str, ...] = ()
    #: Of names of files that are exported without --to.
    ending: str = ""
