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
    """One loss of one task.

    Attributes
    ----------
    name : str
    where : str
        ``module:factory`` of its risk.
    number : int or None
        The original's -l; None where the original lacks the loss.
    rescalings, norms : tuple
        What is implemented: of {"margin", "slack"} and of {1, 2}, the power of the slack.
    squared : str or None
        ``module:factory`` of the risk of slack norm 2, where it is one of its own.
    is_sum : bool
        Whether the plain risk is a sum over examples, queries, sequences or label sets: C may weigh
        one of them.
    drawn : bool
        Whether the plain risk is a sum of terms that sampled cuts may draw.
    table : bool
        Whether it is a function of the contingency table.
    shared : bool
        Whether its factory makes several losses, and is given the name.
    takes : tuple of str
        Parameters that its factory is given.
    at : (float, float, float) or None
        Least and largest k as a fraction of the positives, and the default, of a loss at k.
    place : str or None
        What parameter at is, of a loss that takes it: PLACES of a ranking, a FLOOR, or a RANGE of
        false-positive rates.
    epsilon : float or None
        Where its values are small, what ends training in place of the task's.
    measure : str or None
        The measure that says what it is worth, where that has another name.
    in_pairs : bool
        Whether a query's loss counts its pairs: epsilon is multiplied by their mean number.
    of_clicks : bool
        Whether ``cost:`` weighs the clicked rows of a query, and no query.
    added : bool
        Whether the original lacks it and does not learn it.
    log_odds : bool
        Whether its scores are log odds, probabilities of their own.
    joint : bool
        Whether it is of all classes at once, and no sum over classes against the rest.
    help : str
    task : str
        Its task's row fills it in.
    """

    name: str
    where: str
    number: int | None = None
    rescalings: tuple[str, ...] = (MARGIN,)
    norms: tuple[int, ...] = (1,)
    squared: str | None = None
    is_sum: bool = False
    drawn: bool = False
    table: bool = False
    shared: bool = False
    takes: tuple[str, ...] = ()
    at: tuple[float, float, float] | None = None
    place: str | None = None
    epsilon: float | None = None
    measure: str | None = None
    in_pairs: bool = False
    of_clicks: bool = False
    added: bool = False
    log_odds: bool = False
    joint: bool = False
    help: str = ""
    task: str = ""


class Solver(NamedTuple):
    """One algorithm.

    Attributes
    ----------
    name : str
    where : str or mapping
        ``module:class``, by task where they differ.
    linear, kernel : tuple of str
        Tasks it trains on features, and on kernel values; those of `kernel` alone take the linear
        kernel's values too.
    losses : tuple of str or None
        None for every loss of the task.
    others : mapping
        ``module:class`` by loss, where another class trains for it.
    drawn : bool
        Whether it draws terms of the loss.
    plain : bool
        Whether it takes margin rescaling and slack norm 1 alone.
    plan : str
        How it is run where it works on kernel values: a name of `catalog.PLANS`.
    polished : bool or None
        Whether exact training in the span of the points it chose follows unless told otherwise;
        None where none can.
    free_bias : bool or None
        Whether it has an unregularised bias unless told otherwise; None where it can have none.
    joint : tuple of str
        Tasks whose classes it trains on kernel values at once alone.
    first_order : bool
        Whether its chains are those of transitions of order 1 and emissions of order 0.
    adaptive : bool
        Whether its sampling may follow the rises of its dual.
    binary : tuple of str
        Tasks of several classes or labels whose machines it trains one against the rest alone.
    definite : bool
        Whether on kernel values it needs a kernel that is known to be positive semidefinite: its
        lower bound, or the length of w, mean nothing with another.
    given : bool
        Whether it trains on kernel values that are given.
    takes : tuple of str
        Parameters that not every solver has.
    after : tuple of str
        Those of them that the polish alone reads.
    defaults : mapping
        Of its own parameters, where they differ.
    penalties : tuple of str
        Of PENALTIES.
    with_square : tuple of str
        Losses that it trains only where the penalty has a part of 1/2 w'w.
    """

    name: str
    where: str | Mapping[str, str]
    linear: tuple[str, ...] = ()
    kernel: tuple[str, ...] = ()
    losses: tuple[str, ...] | None = None
    others: Mapping[str, str] = {}
    drawn: bool = False
    plain: bool = True
    plan: str = "cuts"
    polished: bool | None = None
    free_bias: bool | None = None
    joint: tuple[str, ...] = ()
    first_order: bool = False
    adaptive: bool = False
    binary: tuple[str, ...] = ()
    definite: bool = False
    given: bool = False
    takes: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = {}
    penalties: tuple[str, ...] = (L2,)
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
    """One kernel.

    Attributes
    ----------
    name : str
    number : int
        In model files and csrc/kernels/kernel_forms.h; 0 to 3 are svm_light's.
    where : str
        ``module:name`` of its form in NumPy.
    maintenance : tuple of str
        What budgeted training can do with a centre too many; the first is the default.
    formula : str
        For help.
    takes : tuple of str
        The parameters it reads.
    of_distances : bool
        Whether it is a function of gamma |x - z|^2 rather than of x.z.
    definite : callable or None
        Of degree, gamma, scale and offset: whether every matrix of its values is known to be
        positive semidefinite. None where none is.
    given : bool
        Whether its values are those of the examples.
    formats : tuple of str
        The rows of EXPORTS that express it, beside those that express every model.
    """

    name: str
    number: int
    where: str
    maintenance: tuple[str, ...]
    formula: str = ""
    takes: tuple[str, ...] = ()
    of_distances: bool = False
    definite: Callable[[int, float, float, float], bool] | None = None
    given: bool = False
    formats: tuple[str, ...] = ()


class Measure(NamedTuple):
    """One key of a report that --select knows.

    Attributes
    ----------
    name : str
    rises : bool
        Whether more is better.
    heading : str or None
        Of its column in the table of a path; None where it has none.
    line : str or None
        What classify prints in front of it; None where it does not.
    digits : int
        Behind the point in the table.
    plain : str or None
        What the report in plain words calls it; None where it does not have it.
    aimed : str or None
        What it calls it of a model that was trained for it, {} for the parameter of the loss.
    none : str
        What training examples of value 0 mean, for people; "" for nothing to tell.
    of_rows : bool
        Whether it is the percentage of rows that are right.
    of_chunks : bool
        Whether it is of tags that say chunks, and of others there is none.
    of_counts : bool
        Whether it needs the number of training rows of every label, which not all files of models
        have.
    task : str
        Its task's row fills it in.
    """

    name: str
    rises: bool = True
    heading: str | None = None
    line: str | None = None
    digits: int = 2
    plain: str | None = None
    aimed: str | None = None
    none: str = ""
    of_rows: bool = False
    of_chunks: bool = False
    of_counts: bool = False
    task: str = ""


class Task(NamedTuple):
    """One task.

    Attributes
    ----------
    name : str
    where : str
        ``module:class`` of svmcut.tasks.
    help : str
        What is learnt, and from which files.
    loss : str
        The default.
    losses : tuple of Loss
    measure : str
        What models are compared by where nothing is said.
    measures : tuple of Measure
    models : tuple of str
        Classes of svmcut.models; where two tasks share one, the later is that of examples with
        queries.
    objects : str
        What is trained, in the plural of a message.
    objective, points : str
        For help: the objective in C's unit, the unit of epsilon.
    weighs : str
        What of an example example_cost weighs.
    labels : str
        TWO_CLASSES, CLASSES, NUMBERS, GRADES that order the rows of a query, TAGS of the tokens of
        a sequence, SETS of labels, or those of ONE_CLASS, which training does not look at.
    command : str
        Of svmcut, that trains it.
    unit, plural : str
        What has a weight; its plural, where it is not formed with an s.
    marked : bool
        Whether its models always name their loss, which tells them from those of other tasks.
    plan, kernel_plan : str or None
        ``module:class`` of svmcut.training that plans training on features, and on kernel values;
        None for the plan of the solver.
    joint_plan : str or None
        The same of all classes at once on kernel values.
    auto, auto_kernel : tuple of str
        The solvers from small to large sets that AUTO stands for where the risk is the plain one of
        the task's loss, on features and on kernel values.
    takes : tuple of str
        Parameters that not every task has.
    lacks : tuple of str
        Parameters of its solvers that have no effect here.
    has_cost : bool
        Whether a C weighs its loss.
    example_cost, quick_cost : float
        C as the weight of one example's loss where none is given, and with `quick`.
    defaults : mapping
        Of the other parameters, where they are the task's own.
    gap : float or None
        Relative gap that ends training where neither gap nor epsilon is given; epsilon does where C
        is in the original's unit, and in the programs with the originals' names.
    parted : bool
        Whether its rows may lie in parts, with the workers of a scheduler.
    original : str or None
        Whose -c it takes, and whose options.
    algorithms : tuple of int
        The original's -w.
    like : str
        Whose C it takes, where there is no original.
    notes : mapping
        What help says more of an option, by field.
    reading : str
        For help: what the lines of its files are.
    examples : str
        For help: command lines.
    """

    name: str
    where: str
    help: str
    loss: str
    losses: tuple[Loss, ...]
    measure: str
    measures: tuple[Measure, ...]
    models: tuple[str, ...]
    objects: str
    objective: str
    points: str
    weighs: str = "loss"
    labels: str = NUMBERS
    command: str = "learn"
    unit: str = "example"
    plural: str = ""
    marked: bool = False
    plan: str = "svmcut.training.linear:plan_examples"
    kernel_plan: str | None = None
    joint_plan: str | None = None
    auto: tuple[str, ...] = (CUTTING_PLANE,)
    auto_kernel: tuple[str, ...] = (CUTTING_PLANE, SUBSPACE)
    takes: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    has_cost: bool = True
    example_cost: float = 1.0
    quick_cost: float = 1.0
    defaults: Mapping[str, Any] = {}
    gap: float | None = None
    parted: bool = False
    original: str | None = None
    algorithms: tuple[int, ...] = ()
    like: str = "svm_hmm"
    notes: Mapping[str, str] = {}
    reading: str = ""
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
    """One format of model files.

    Attributes
    ----------
    first : bytes
        Line 1; of a foreign format that or its first word.
    where : str
        Module with `read`, of (path, line 1, open file), and `write`, of (path, line 1, output,
        model, original), which raise as `svmcut.formats.read_model` and `write_model`.
    models : tuple of str
        Classes of svmcut.models.
    foreign : bool
        Whether it is read alone, and by svmcut alone: there is no `write`.
    most_probable : bool
        Whether its programs predict the most probable class where probabilities are asked for.
    from_zero : bool
        Whether features may be numbered from 0: `read` takes zero_based.
    mapped : bool
        Whether the file has arrays as svmcut.formats.mapped writes them, and no lines.
    whole : bool
        Whether an export has thresholds, tables and words as the model has them.
    columns : tuple of str
        Classes of svmcut.tables.encoding that an export takes; () for those of any model.
    takes : tuple of str
        Options of svmcut export that its `write` takes.
    ending : str
        Of names of files that are exported without --to.
    """

    first: bytes
    where: str
    models: tuple[str, ...]
    foreign: bool = False
    most_probable: bool = False
    from_zero: bool = False
    mapped: bool = False
    whole: bool = False
    columns: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    ending: str = ""
