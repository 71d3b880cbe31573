# SPDX-License-Identifier: BSD-3-Clause
"""Training on parts: refusals, facts of all parts together, encodings of tables, and the plan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError, NoExamples, TrainingError, UsageError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.resources import usable_cpus
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.examples import Source
from svmcut.data.labels import SIGNS, Labels, choose_task, label_text, labels_of, number_labels
from svmcut.distributed.histograms import NO_WEIGHT, BinnedOracle, PartedClasses, names_of
from svmcut.distributed.newton import FromCuts, PartedNewton, RelayRun, has_curvature, smooth_of
from svmcut.distributed.oracle import (
    MOST_GATHERED,
    GatheredSpace,
    PartedOracle,
    PartedProblem,
    part_signs,
)
from svmcut.distributed.parts import Bound, Found, Reading, Sizes, group_files, name_of
from svmcut.distributed.rows import Rows
from svmcut.risks import make_risk
from svmcut.risks.binned_tables import binned_losses, make_binned
from svmcut.risks.protocol import GridRisk
from svmcut.risks.squared import SquaredRisk
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces.linear import WeightSpace
from svmcut.spec.catalog import AUTO, CUTTING_PLANE, MULTICLASS, NEWTON, PARTED, TASKS
from svmcut.spec.entries import CLASSES, GRADES, L2, NUMBERS, SETS, TWO_CLASSES
from svmcut.spec.kinds import BALANCED, weights_by_label
from svmcut.spec.parameters import Settings
from svmcut.spec.places import loss_marks
from svmcut.spec.refusals import check, no_sum
from svmcut.tables.encoded import TrainingTable
from svmcut.tables.encoding import Encoding
from svmcut.tables.parts import (
    Piece,
    check_options,
    check_same_columns,
    find_mixed_columns,
    fit_encoding,
    join_groups,
    list_pieces,
    summarise,
)
from svmcut.tasks.protocol import make_task
from svmcut.training.checks import check_memory
from svmcut.training.driver import Driver, Ended, Stage, make_solver
from svmcut.training.linear import Linear
from svmcut.training.multiclass import MulticlassPlan
from svmcut.training.outcome import Objective, Outcome, Units, units_of_examples
from svmcut.training.settings import resolve_settings
from svmcut.training.vectors import units_of_queries, weighted_sensitivity


class Encoded(NamedTuple):
    """The part of a table in parts that a model keeps."""

    encoding: Encoding


def encoded_parts(
    rows: Rows, paths: Sequence[str], path: str, table: TrainingTable, settings: Settings
) -> tuple[list[Piece], Encoded]:
    """The parts of the rows, and the encoding fitted to all of them; raises UsageError and
    DataError as `svmcut.tables.parts.summarise` and `fit_encoding` do."""
    options, kind = table.options, make_task(settings.task).label_kind
    check_options(table.input)
    by_path = rows.each(list_pieces, [(name, table.input) for name in paths])
    pieces: list[Any] = [piece for several in by_path for piece in several]
    names: frozenset[str] = frozenset()
    while True:
        summaries = rows.each(summarise, [(piece, options, names) for piece in pieces])
        check_same_columns(pieces, summaries)
        more = find_mixed_columns(summaries)
        count = len(pieces)
        if options.group:
            pieces = join_groups(pieces, summaries)
        if not more - names and len(pieces) == count:
            break
        names |= more
    encoding = fit_encoding(path, summaries, options, kind == NUMBERS, table.input)
    own = {"encoding": encoding, "weights": options.weight_column, "kind": kind}
    return [replace(piece, **own) for piece in pieces], Encoded(encoding)


class Shape(NamedTuple):
    """Numbers of rows, features and nonzeros, as a Csr has them."""

    n_rows: int
    n_features: int
    nnz: int


class Parted:
    """Rows that lie in parts, as far as they are known without being seen."""

    def __init__(self, path: str, sizes: list[Sizes], digest: str, y: NDArray[np.float64]):
        self.table: Encoded | None = None
        self.sizes, self.digest, self.source, self.y = sizes, digest, Source(path), y
        self.left_out = sum(size.left_out for size in sizes)
        features = max(size.features for size in sizes)
        self.X = Shape(
            sum(size.rows for size in sizes), features, sum(size.nonzeros for size in sizes)
        )

    def __len__(self) -> int:
        return self.X.n_rows

    def sum(self, name: str) -> float:
        """The sum of a field of Sizes over all parts."""
        return math.fsum(getattr(size, name) for size in self.sizes)


class PartedVectors:
    """Rows in parts; see svmcut.training.vectors.BoundRows. Their risk is a sum over the parts, or
    one of scores that are gathered, or of bins of them. most_gathered: as in `make_driver`."""

    def __init__(self, rows: Rows, parted: Parted, settings: Settings, most_gathered: int):
        s, self._rows, self.details, self._qp = settings, rows, rows.details, settings.qp
        self.examples, self.X, self.columns = parted, parted.X, None
        self.path, self.warnings = parted.source.path, list[str]()
        check_memory(self.path, parted.X.n_features, s.max_memory)
        self.units = Units(s.loss or "", s.epsilon or 0.0)
        self._risk: Any = None
        self._smooth = None
        if has_curvature(s):
            self._smooth = smooth_of(s, parted.X)._replace(weight=parted.sum("weight"))
        if s.of_scores or s.labels == GRADES:
            # while workers wait
            self._space = WeightSpace(parted.X.n_features, s.bias or 0.0, usable_cpus())
            self._oracle: Any = self._sum(s)
        elif len(parted) <= most_gathered:
            self._gather(s)
        else:
            self._bin(s, most_gathered)

    def _sum(self, s: Settings) -> PartedOracle:
        """An oracle for losses of examples, of queries or of their pairs."""
        scale, weight = 1.0, self.examples.sum("weight")
        if s.of_scores:
            self.units = units_of_examples(s, weight)
        else:
            pairs, queries = self.examples.sum("pairs"), int(self.examples.sum("queries"))
            self.units = units_of_queries(s, weight, pairs, queries)
            scale = 1 / ((pairs or 1.0) if s.loss == "pairs" else weight)
            if not pairs:
                self.warnings.append(
                    "no query has two rows with different labels; all weights will be 0"
                )
        gridded = s.of_scores and isinstance(make_risk(s).bind(np.ones(1)), GridRisk)
        return PartedOracle(self._rows, self._space, scale, gridded)

    def _gather(self, s: Settings) -> None:
        """Plans for a loss of all examples together."""
        risk, parted = make_risk(s), self.examples
        y = np.concatenate(self._rows.gather(part_signs, []))
        self._risk = (SquaredRisk(risk) if s.slack_norm == 2 else risk).bind(
            y, None, None, s.threads
        )
        bounds = np.cumsum([0, *(size.rows for size in parted.sizes)]).tolist()
        self._space = GatheredSpace(
            self._rows, bounds, parted.X.n_features, s.bias or 0.0, s.threads
        )
        at_zero = float(self._risk.linearize(np.zeros(len(parted))).value)
        self.units = self.units._replace(at_zero=at_zero or math.inf)

    def _bin(self, s: Settings, most_gathered: int) -> None:
        """The same of more examples than have their scores in one place."""
        n, positive = len(self.examples), int(self.examples.sum("positive"))
        binned = make_binned(make_risk(s), positive, n - positive)
        if binned is None:
            raise TrainingError(
                "{}: loss '{}' needs the scores of all {:,} examples in one place, where at most "
                "{:,} are gathered; "
                "use fewer examples, or one of the losses {}",
                self.path,
                s.loss,
                n,
                most_gathered,
                ", ".join(binned_losses()),
            )
        self._space = WeightSpace(self.X.n_features, s.bias or 0.0, s.threads)
        self._oracle = BinnedOracle(self._rows, self._space, binned)
        at_zero = self._oracle.risk(self._space.zero())
        self.units = self.units._replace(at_zero=at_zero or math.inf)

    def space(self, cuts: bool) -> WeightSpace:
        return self._space

    def problem(self, space: Any, C: float, stop: StoppingRule) -> Any:
        if self._risk is not None:
            return Problem(self._risk, space, C, stop, self._qp)
        return PartedProblem(self._oracle, C, stop, self._qp, smooth=self._smooth)

    def sensitivity(self, space: Any, w: Any) -> float:
        if not self.units.is_sum:
            return math.inf
        parted = self.examples
        features = parted.sum("squares") + len(parted) * space.bias**2
        return weighted_sensitivity(space, w, parted.sum("weight_squares"), features)


class PartedLinear(Linear):
    """Weights by cutting planes; of losses of one score by Newton's method, of those with corners
    where cutting planes are slow."""

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        s, name = self.settings, CUTTING_PLANE
        problem = self.vectors.problem(self.space, objective.C, self.stop(objective))
        solver = make_solver(name, s)
        if s.solver == NEWTON or (s.solver == AUTO and not problem.smooth.corners):
            name, solver = NEWTON, PartedNewton()
        elif s.solver == AUTO:
            solver = FromCuts(solver)
        return Stage(name, solver, problem, objective, warm=True, start=self._start())

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        outcome: Outcome = super().finish(objective, handed, ended)
        if isinstance(ended.run, RelayRun) and ended.run.handed:
            outcome.solver = ended.run.handed
        return outcome


def refuse(settings: Settings) -> None:
    """Refuses what does not train on parts, as a UsageError."""
    if settings.task not in PARTED:
        raise UsageError(
            "training on {} does not spread over parts in this version; leave out {scheduler} "
            "and train on one machine",
            TASKS[settings.task].objects,
        )
    if settings.probability:
        raise UsageError("probabilities need all scores of five folds; leave out {probability}")
    if settings.has_kernel:
        raise UsageError("kernels do not spread over parts in this version; use {kernel=linear}")
    if settings.free_bias:
        raise UsageError("{free_bias} does not spread over parts in this version; leave it out")
    if settings.penalty != L2:
        raise UsageError(
            "{penalty=} does not spread over parts in this version; leave it out", settings.penalty
        )
    by_newton = settings.solver == NEWTON and has_curvature(settings)
    if settings.solver not in (AUTO, CUTTING_PLANE) and not by_newton:
        raise UsageError(
            "solver '{}' needs all rows in one place; use {solver=}", settings.solver, CUTTING_PLANE
        )


def should_hold_all(settings: Settings, one_place: bool) -> bool:
    """Tells whether every worker holds all rows, and the workers share machines of classes, of
    kernels, and against the rest where the rows are in one place, a file or memory; or blocks of
    labels."""
    if TASKS[settings.task].labels == SETS:
        return True
    several = settings.is_open or TASKS[settings.task].labels == CLASSES
    return several and (settings.has_kernel or (one_place and settings.multiclass == MULTICLASS[1]))


class Files(NamedTuple):
    """The files or blocks to train on."""

    #: Parts in this order: paths, or blocks of svmcut.distributed.blocks.
    paths: Sequence[Any]
    reading: Reading
    #: The name of all of them in messages.
    path: str = ""
    #: (n,) weights given separately from the files.
    weights: NDArray | None = None
    #: The name of these weights in messages.
    where: str = "weights"
    #: Options for reading tables.
    table: TrainingTable | None = None

    @property
    def name(self) -> str:
        """The `path`, or a name of the files."""
        return self.path or (self.names[0] if len(self.paths) == 1 else f"{len(self.paths)} files")

    @property
    def sets(self) -> NDArray[np.bool_] | None:
        """All sets of labels that occur in blocks of label sets."""
        return self.paths[0].get("sets") if isinstance(self.paths[0], dict) else None

    @property
    def names(self) -> list[str]:
        """The name of each part in messages."""
        return [*map(name_of, self.paths)]


def make_driver(
    rows: Rows,
    files: Files,
    settings: Settings,
    time_limit: float | None = None,
    most_gathered: int = MOST_GATHERED,
) -> tuple[Parted, Driver]:
    """The rows of the files, and the driver that trains on them.

    settings: as a user gave them. most_gathered: up to so many examples a loss of all together has
    their scores in one place; beyond, it knows bins of them. Raises UsageError, DataError,
    TrainingError and MemoryLimitError.
    """
    check(settings)
    refuse(settings)
    path, count, table = files.name, len(files.paths), None
    if files.table is not None:
        pieces, table = encoded_parts(rows, files.paths, path, files.table, settings)
        files, count = files._replace(paths=pieces), len(pieces)
        settings = number_labels(settings, table.encoding.words, path)
    if settings.labels != GRADES:  # a query stands whole in one file
        files = files._replace(paths=group_files(files.paths))
    paths, parts, empty = _with_rows(files, count, rows.load(files.paths, files.reading))
    if settings.labels == GRADES:
        _check_queries(paths, parts)
    settings = _by_labels(settings, parts, path, table.encoding.words if table else ())
    several = settings.labels == CLASSES
    y = (
        names_of(path, parts)
        if several
        else np.unique(np.concatenate([part.labels for part in parts]))
    )
    if (sets := files.sets) is not None:
        y = np.arange(float(sets.shape[1]))
    labels = labels_of(y, settings.positive, path) if settings.labels == TWO_CLASSES else None
    n = sum(part.rows for part in parts)
    settings = resolve_settings(settings, n, time_limit)
    if not has_curvature(settings):
        settings = replace(settings, solver=CUTTING_PLANE)
    if not settings.is_sum and any(part.weighed for part in parts):
        raise TrainingError("{}: cost: {}; leave it out", path, no_sum(settings.loss))
    factors = _factors(settings, labels, parts, y, path, files.weights is not None)
    bound = Bound(settings, labels, y if several else None, factors, sets=sets)
    sizes = rows.bind(_bound(bound, parts, files))
    parted = Parted(path, sizes, "-".join(f"{part.digest:08x}" for part in parts), y)
    parted.table = table
    if not parted.sum("weight"):
        raise DataError(path, NO_WEIGHT)
    if several:
        driver = Driver(MulticlassPlan(PartedClasses(rows, parted, settings), settings))
        if sets is None:
            counts = [sum(part.counts[part.labels == name].sum() for part in parts) for name in y]
            driver.counts = {"labels": y.tolist(), "class_counts": [*map(int, counts)]}
    else:
        vectors = PartedVectors(rows, parted, settings, most_gathered)
        driver = Driver(PartedLinear(vectors, settings))
        if settings.labels == TWO_CLASSES:
            _mark_classes(driver, parted, labels, settings)
        elif TASKS[settings.task].marked:
            driver.task_fields = {"loss": settings.loss}
    driver.warnings += empty
    return parted, driver


#: Rows of a label in a part that say how many there are of it.
MOST_SAID = 1000


def _by_labels(
    settings: Settings, parts: Sequence[Found], path: str, words: Sequence[str]
) -> Settings:
    """The settings with the task that the labels name, where they are to."""
    if not settings.is_open:
        return settings
    labels = np.concatenate([part.labels for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    y = np.repeat(labels, np.minimum(counts, MOST_SAID).astype(int))
    return choose_task(settings, y, path, words)


def _bound(bound: Bound, parts: Sequence[Found], files: Files) -> list[Bound]:
    """The Bound of each part, with its share of the weights."""
    bounds = np.cumsum([0, *(part.rows for part in parts)])
    weights = files.weights
    if weights is not None and len(weights) != bounds[-1]:
        message = f"{len(weights)} weights for {files.name}; expected {bounds[-1]}, one for every"
        raise DataError(files.where, f"{message} row")
    return [
        replace(
            bound,
            digest=part.digest,
            given=None if weights is None else weights[start : start + part.rows],
        )
        for part, start in zip(parts, bounds, strict=False)
    ]


def _mark_classes(
    driver: Driver, parted: Parted, labels: Labels | None, settings: Settings
) -> None:
    """Sets the classes that there are, and warns where there is one; raises TrainingError where the
    loss needs two."""
    positive = int(parted.sum("positive"))
    counts = [len(parted) - positive, positive]
    if not all(counts):
        one = label_text(float(parted.y[0]))
        alone = f"all {len(parted)} labels of {parted.source.path} are {one}"
        if not settings.is_sum:
            raise TrainingError("{}; loss '{}' needs two classes", alone, settings.loss)
        driver.warnings.insert(0, f"{alone}; there is no other class to learn")
    driver.task_fields = {"labels": labels, **loss_marks(settings)}
    driver.counts = {"labels": list(labels or SIGNS), "class_counts": counts}


#: Files without rows that a warning names.
MOST_NAMED = 3


def _with_rows(
    files: Files, count: int, facts: Sequence[Found | None]
) -> tuple[list[str], list[Found], list[str]]:
    """The parts that have rows, what they say, and a warning of files without; a DataError where
    none of so many files has any."""
    full = [(name, one) for name, one in zip(files.names, facts, strict=True) if one is not None]
    if not full:
        raise NoExamples(files.name)
    empty: list[str] = []
    for path, one in zip(files.paths, facts, strict=True):
        of_group = path if isinstance(path, tuple) else [name_of(path)]
        empty += of_group if one is None else one.empty
    few = ", ".join(empty[:MOST_NAMED]) + (", ..." if len(empty) > MOST_NAMED else "")
    told = (
        [Message("no examples in {} of {} files, which are left out: {}", len(empty), count, few)]
        if empty
        else []
    )
    return [name for name, _ in full], [one for _, one in full], [*told]


def _check_queries(paths: Sequence[str], facts: Sequence[Found]) -> None:
    """Refuses queries that files share."""
    for (before, one), (after, two) in pairwise(zip(paths, facts, strict=True)):
        if one.queries is None or two.queries is None:
            without = after if two.queries is None else before
            raise DataError(without, "no qid; files of rankings need one in every line")
        if two.queries[0] <= one.queries[1]:
            raise DataError(
                after,
                f"begins with qid {two.queries[0]}, and {before} ends with {one.queries[1]}; a "
                "query "
                "stands whole in one file, and qids rise from file to file",
            )


def _factors(
    settings: Settings,
    labels: Labels | None,
    facts: Sequence[Found],
    y: NDArray,
    path: str,
    given: bool,
) -> tuple[tuple[float, float], ...]:
    """Labels and the factors of the weights of their rows."""
    if settings.class_weight is None:
        return ()
    if settings.class_weight != BALANCED:
        named = weights_by_label(settings.class_weight)
        for label in named:
            if label not in y:
                known = ", ".join(f"{known:g}" for known in y[:10])
                raise DataError(
                    path,
                    Message(
                        "no row has the label {:g} of {class_weight}; expected {}", label, known
                    ),
                )
        return tuple(named.items())
    if given:
        raise UsageError(
            "{class_weight=balanced} does not go with {weights} here; leave one of them out"
        )
    sums = {float(label): 0.0 for label in y}
    for part in facts:
        for label, cost in zip(part.labels, part.costs, strict=True):
            sums[float(label)] += float(cost)
    positive = 0.0 if labels is None else labels[1]
    sides: dict[float, Any] = {
        label: label > 0 if labels is None else label == positive for label in sums
    }
    if settings.labels == CLASSES:
        sides = {label: label for label in sums}
    of_side = dict.fromkeys(sides.values(), 0.0)
    for label, side in sides.items():
        of_side[side] += sums[label]
    whole, classes = sum(sums.values()), sum(cost > 0 for cost in of_side.values())
    return tuple(
        (label, whole / (classes * of_side[side])) for label, side in sides.items() if of_side[side]
    )
