# SPDX-License-Identifier: BSD-3-Clause
"""One part of the rows, and the tasks it answers: pure functions of the part and of a few vectors,
whose answers are added.

Parts keep the last few vectors of a run by name. Small neighbouring files form one part, as each
part costs some tasks and a little every round; groups depend on the files alone, and so do the sums
and the model.

A normal may be computed from the one before it and the rows whose coefficient changed, with the
same bytes, if sums of the rows are exact: sums of float32 numbers that are multiples of u are exact
in float64 if sum |x_i| <= 2^53 u.
"""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut._native import sparse
from svmcut.base.errors import DataError, NoExamples, TrainingError
from svmcut.base.records import record, replace
from svmcut.base.typing import Any, NamedTuple
from svmcut.cutting.oracle import REFRESH, Normals
from svmcut.data.examples import Csr, Examples
from svmcut.data.labels import SIGNS, Labels, classes_of
from svmcut.distributed.blocks import block_examples
from svmcut.files.cache import join_examples, read_files
from svmcut.files.remote import file_size
from svmcut.files.weights import click_weights
from svmcut.risks import make_risk
from svmcut.risks.hinge import BoundHinge
from svmcut.risks.one_vs_rest import OneVsRestRisk
from svmcut.risks.protocol import GridRisk
from svmcut.risks.weights import total
from svmcut.spaces.linear import LinearSpace
from svmcut.spaces.structures import LabelSpace
from svmcut.spec.entries import GRADES, TWO_CLASSES
from svmcut.spec.parameters import Settings
from svmcut.tables.parts import Piece, join_neighbours
from svmcut.training.multiclass import class_risk

BLOCK = 1 << 16


def are_sums_exact(X: Csr, bias: float) -> bool:
    """Return whether sums over the rows of a feature, and of the constant one, with coefficients
    -1, 0 and 1 are exact.

    Every value is a multiple of the spacing of float32 at the smallest.
    """
    data, indices = X.data[X.stored], X.indices[X.stored]
    sums, least = np.zeros(X.n_features), np.inf
    for start in range(0, len(data), BLOCK):
        values = np.abs(data[start : start + BLOCK])
        sums += np.bincount(indices[start : start + BLOCK], values, len(sums))
        least = min(least, np.min(values, where=values > 0, initial=np.inf))
    if not np.isfinite(least):
        return not bias
    unit = float(np.spacing(np.float32(least)))
    whole = not bias or X.n_rows * abs(bias) <= 2.0**53 * _unit(bias)
    return whole and float(sums.max()) <= 2.0**53 * unit


def _unit(x: float) -> float:
    """Return the largest power of two that x is a multiple of."""
    whole, parts = float(x).as_integer_ratio()
    return (whole & -whole) / parts


#: Files up to which each is a part.
MAX_SINGLE_FILES = 64


def group_files(paths: Sequence[Any]) -> list[Any]:
    """The parts of many files: a name, or a tuple of those that follow each other.

    Blocks, few files, and files whose sizes are not known here stay as they are.
    """
    if len(paths) <= MAX_SINGLE_FILES or not isinstance(paths[0], str):
        return list(paths)
    sizes = [file_size(path) for path in paths]
    known = [size for size in sizes if size is not None]
    if len(known) < len(paths):
        return list(paths)
    ranges = join_neighbours(known)
    return [tuple(paths[a:b]) if b - a > 1 else paths[a] for a, b in ranges]


def name_of(path: Any) -> str:
    """The name of a part in messages."""
    if isinstance(path, dict):
        return path["name"]
    if hasattr(path, "encoding"):
        return path.name
    return path if isinstance(path, str) else f"{path[0]} to {path[-1]}"


#: Moves after which the scores of a point are formed from its w again: a part that is lost is
#: brought to where it was by a pass for every move. Of long vectors fewer are kept, and none from
#: LARGE_DIM numbers on.
MOST_MOVES, LARGE_DIM = 24, 1_000_000


def most_moves(dim: int) -> int:
    """The most moves of a point with so many numbers."""
    return min(MOST_MOVES, 8 * LARGE_DIM // dim) if dim < LARGE_DIM else 0


class UnknownVector(LookupError):
    """A vector that a part was never sent, or has let go."""


def kept_last(vectors: OrderedDict[Any, Any], length: Callable[[Any], int] = len) -> None:
    """Lets go of all but the last few: those of a point with its moves, of targets, and what is
    looked at beside."""
    if not vectors:
        return
    moves = most_moves(length(next(reversed(vectors.values()))))
    while len(vectors) > (moves + 8 if moves else 4):
        vectors.popitem(last=False)


class Told:
    """Vectors sent to a part, by name."""

    def __init__(self) -> None:
        self._vectors: OrderedDict[str, NDArray] = OrderedDict()

    def of(self, names: Sequence[Sequence[str]], new: Mapping[str, NDArray]) -> list[list[NDArray]]:
        """The vectors of these names, new ones or earlier ones; raises UnknownVector."""
        self._vectors |= new
        try:
            for name in (name for some in names for name in some):
                self._vectors.move_to_end(name)
        except KeyError as error:
            raise UnknownVector(*error.args) from None
        vectors = [[self._vectors[name] for name in some] for some in names]
        kept_last(self._vectors)
        return vectors


#: Steps along a line at which sums of losses with corners are known in one round: by 1/512 to
#: STEPS[EVEN] = 2, then 20 in every octave. No function of a library makes them, so they are the
#: same numbers everywhere.
EVEN = 1024
STEPS = np.concatenate(
    [np.arange(EVEN + 1) / 512, [2.0**k * (1 + j / 20) for k in range(1, 14) for j in range(1, 21)]]
)
STEPS = STEPS[: EVEN + 256]
#: Vectors of scores that a part keeps: those of the best point, of the target, and of the next best
#: point.
KEPT_SCORES = 3
#: A part keeps its last normal where that is no more than this share of its rows.
SHARE = 8
#: Most distinct labels of a part that are counted one by one.
MOST_LABELS = 1000


class Place(NamedTuple):
    """A point w as the way to it: w_0, then (1 - t_k) w + t_k w_k for every k."""

    #: Of the vectors, the same for the same vector in a run.
    names: tuple[str, ...]
    #: t_1 to t_K.
    steps: tuple[float, ...]
    #: w_0 to w_K, (dim,) each.
    vectors: Any


class Reading(NamedTuple):
    """Options for reading files."""

    zero_based: bool
    max_memory: float | None = None
    threads: int = 1
    cache: str | None = None


class Found(NamedTuple):
    """Facts of the rows of a part before the labels are known."""

    rows: int
    #: (k,) distinct labels.
    labels: NDArray[np.float64]
    #: (k,) rows of each label.
    counts: NDArray[np.float64]
    #: (k,) sums of their weights of ``cost:``.
    costs: NDArray[np.float64]
    #: Whether a row weighs other than 1.
    weighed: bool
    #: The first and the last, where lines have one.
    queries: tuple[int, int] | None
    #: Of all that was read: the same after every reading while the file is the same.
    digest: int
    #: Files without rows, of several.
    empty: tuple[str, ...] = ()


@record
class Bound:
    """The labels, weights and settings of training, the same for all parts but for `digest` and
    `given`."""

    #: Resolved; threads are those of a part.
    settings: Settings
    #: Of two classes; see svmcut.data.labels.
    labels: Labels | None
    #: (K,) labels of several classes, increasing.
    names: NDArray[np.float64] | None = None
    #: Labels, and the factors of the weights of their rows.
    factors: tuple[tuple[float, float], ...] = ()
    #: The digest that the rows must have.
    digest: int = 0
    #: (rows,) weights given separately from the file.
    given: NDArray[np.float64] | None = None
    #: (S, K) which of K labels are on in the set that a row's label names by its place.
    sets: NDArray[np.bool_] | None = None


class Sizes(NamedTuple):
    """Sizes of a bound part: numbers of rows that weigh above 0, sums of weights and of squares."""

    rows: int
    features: int
    nonzeros: int
    left_out: int
    positive: int
    weight: float
    weight_squares: float
    squares: float
    queries: int
    pairs: float
    nbytes: int


class Part:
    """The rows of one file, on the worker that trains on them.

    Pickled, it is the name of its file: rows never travel, and whoever gets a part reads it. path:
    a file or URL, several, a Piece of a table, or a block of svmcut.distributed.blocks, whose rows
    do travel when their worker is lost.
    """

    def __init__(self, path: Any, reading: Reading, bound: Bound | None = None):
        self.path, self.reading = path, reading
        how: dict[str, Any] = reading._asdict()
        self.empty: tuple[str, ...] = ()
        self._read: Examples | None
        if isinstance(path, dict):
            self._read = block_examples(path)
        elif isinstance(path, Piece):
            self._read = path.read()
        else:
            self._read = self._of_files((path,) if isinstance(path, str) else path, how)
        self._bound: Bound | None = None
        self._scores: OrderedDict[tuple, NDArray] = OrderedDict()
        self._told = Told()
        #: What svmcut.distributed.margin found at the last point.
        self.banded: tuple | None = None
        self._lock = threading.Lock()
        if bound is not None:
            self.bind(bound)

    def _of_files(self, paths: Sequence[str], how: dict[str, Any]) -> Examples:
        """The rows of files, of which some may have none."""
        read, empty = [], []
        for path in paths:
            try:
                read.append(read_files(path, [path], **how))
            except NoExamples:
                empty.append(path)
        self.empty = tuple(empty)
        if not read:
            raise NoExamples(paths[0])
        return join_examples(name_of(self.path), read)

    def __reduce__(self):
        return Part, (self.path, self.reading, self._bound)

    def __sizeof__(self) -> int:
        """Bytes of the rows, for those who plan memory."""
        return (self.examples if self._read is None else self._read).X.nbytes

    def facts(self) -> Found:
        """See Found."""
        examples = self._read
        assert examples is not None
        labels, places = np.unique(examples.y, return_inverse=True)
        if len(labels) > MOST_LABELS:
            labels, places = labels[[0, -1]], np.where(places == 0, 0, 1)
        cost = examples.weights
        counts = np.bincount(places, minlength=len(labels)).astype(np.float64)
        costs = (
            counts if cost is None else np.bincount(places, cost, len(labels)).astype(np.float64)
        )
        queries = None if examples.qid is None else (int(examples.qid[0]), int(examples.qid[-1]))
        return Found(
            len(examples),
            labels,
            counts,
            costs,
            cost is not None,
            queries,
            digest_of(examples),
            self.empty,
        )

    def bind(self, bound: Bound) -> Part:
        """Binds the part to its labels, weights and risk, and returns it; raises DataError where
        the file has changed, for negative weights, and for queries that decrease."""
        examples = self._read
        if examples is None:
            return self
        if digest_of(examples) != bound.digest:
            changed = (
                "the file changed since training began; start again with the files as they are"
            )
            raise DataError(examples.source.path, changed)
        s, self._bound = bound.settings, bound
        examples, self._left_out = apply_weights(examples, bound)
        y = examples.y
        if s.labels == TWO_CLASSES and bound.labels is not None:
            y = np.where(classes_of(y, bound.labels)[0], *reversed(SIGNS))
        self.examples, self._read = replace(examples, y=y), None
        self._risk: Any = None
        if len(examples) and bound.sets is not None:
            on, threads = bound.sets[y.astype(np.intp)], self.reading.threads
            self._risk = OneVsRestRisk(make_risk(s), on, threads, examples.weights)
        elif len(examples) and bound.names is not None:
            places = np.minimum(np.searchsorted(bound.names, y), len(bound.names) - 1)
            if (bound.names[places] != y).any():
                raise DataError(
                    examples.source.path, f"more than {MOST_LABELS} labels; train on one machine"
                )
            self._risk = class_risk(s, places, bound.names, self.reading.threads, examples.weights)
        elif len(examples) and (
            s.of_scores or s.labels == GRADES
        ):  # else the loss is one of all parts together
            try:
                self._risk = make_risk(s).bind(
                    y, examples.qid, examples.weights, self.reading.threads
                )
            except TrainingError as error:
                raise TrainingError("{}: {}", examples.source.path, error) from None
        self._space: LinearSpace | None = None
        self._normals: Normals | None = None
        self._weigh()
        return self

    def _weigh(self) -> None:
        """Sets the factor of the part's risk in the sum: of a mean over queries or pairs, its
        divisor."""
        v, n = self.examples.weights, len(self.examples)
        self._weight, self._queries, self._pairs, self.factor = float(total(v, n)), 0, 0.0, 1.0
        if self.bound.settings.labels == GRADES:
            self._weight = 0.0
            if n:
                v, each = self._risk.weights, self._risk.pairs_per_query
                self._queries, self._weight = len(each), float(total(v, len(each)))
                self._pairs = float(self._risk.n_pairs if v is None else v @ each)
            self.factor = self._pairs if self.bound.settings.loss == "pairs" else self._weight

    def sizes(self) -> Sizes:
        """See Sizes."""
        X, v, n = self.examples.X, self.examples.weights, len(self.examples)
        data = X.data[X.stored]
        squares = float(n) if v is None else float(v @ v)
        positive = int(np.count_nonzero(self.examples.y > 0))
        return Sizes(
            n,
            X.n_features,
            X.nnz,
            self._left_out,
            positive,
            self._weight,
            squares,
            float(np.dot(data, data)),
            self._queries,
            self._pairs,
            X.nbytes,
        )

    def places(self, places: Sequence[tuple], new: Mapping[str, NDArray]) -> list[Place]:
        """Places of these names and steps, with vectors that are new or of earlier rounds; raises
        UnknownVector."""
        with self._lock:
            vectors = self._told.of([names for names, _ in places], new)
        return [
            Place(names, steps, known)
            for (names, steps), known in zip(places, vectors, strict=True)
        ]

    def scores(self, place: Place) -> NDArray[np.float64]:
        """The scores at a point; they must not be changed."""
        key = place.names, place.steps
        with self._lock:
            if key in self._scores:
                self._scores.move_to_end(key)
                return self._scores[key]
        names, steps, vectors = place
        if steps:
            before = self.scores(Place(names[:-1], steps[:-1], vectors[:-1]))
            target = self.scores(Place(names[-1:], (), vectors[-1:]))
            scores = move_scores(before, target, steps[-1])
        else:
            scores = self.space(len(vectors[0])).scores(vectors[0])
        with self._lock:
            self._scores[key] = scores
            while len(self._scores) > KEPT_SCORES:
                self._scores.popitem(last=False)
        return scores

    def space(self, dim: int) -> LinearSpace:
        """The space of the rows, with as many features as all parts have together."""
        if self._space is None or self._space.dim != dim:
            bias, names = self.bound.settings.bias or 0.0, self.bound.names
            K = 1 if names is None else len(names)
            X = replace(self.examples.X, n_features=dim // K - (bias != 0))
            threads = self.reading.threads
            self._space = (
                LinearSpace(X, bias, threads)
                if names is None
                else LabelSpace(X, K, 0, bias, threads)
            )
            signs = isinstance(self._risk, BoundHinge) and self._risk.weights is None
            light = SHARE * 8 * dim <= X.nbytes  # a normal beside the rows
            carry = signs and light and are_sums_exact(X, bias)
            self._normals = Normals(self._space, REFRESH) if carry else None
        return self._space

    def normal(self, dim: int, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """A^T coef, not to be changed; by the rows whose coefficient changed, where that makes no
        difference."""
        space = self.space(dim)
        if self._normals is None:
            return space.adjoint(coef)
        with self._lock:
            return self._normals.of(coef)

    @property
    def bound(self) -> Bound:
        """The labels and settings that the part is bound to."""
        assert self._bound is not None
        return self._bound

    @property
    def risk(self) -> Any:
        """The risk of its rows; None where no row is left."""
        return self._risk


def move_scores(before: NDArray, target: NDArray, t: float) -> NDArray[np.float64]:
    """before + t (target - before)"""
    point = target - before
    point *= t
    point += before
    return point


def digest_of(examples: Examples) -> int:
    """A checksum of all arrays."""
    digest, X = 0, examples.X
    for array in (X.indptr, X.indices, X.data, examples.y, examples.qid, examples.weights):
        if array is not None:
            digest = zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data, digest)
    return digest


def apply_weights(examples: Examples, bound: Bound) -> tuple[Examples, int]:
    """The rows that weigh above 0, with their weights, and how many are left out."""
    v = examples.weights
    if bound.settings.of_clicks:
        clicks = click_weights(v, bound.given, examples.y, examples.source, "weights")
        return replace(examples, weights=clicks), 0
    if v is not None and (v < 0).any():
        row = int(np.argmax(v < 0))
        message = f"cost {v[row]:g} is negative; expected a number of at least 0"
        raise DataError(examples.source.path, message, examples.source.line_of(row))
    for factor in (bound.given, _factors(examples, bound)):
        if factor is not None:
            v = factor if v is None else v * factor
    if v is None or (v == 1).all():
        return replace(examples, weights=None), 0
    keep = v > 0
    if keep.all():
        return replace(examples, weights=v), 0
    left = examples.take(keep)
    return replace(left, X=left.X.tight(), weights=v[keep]), int(len(v) - keep.sum())


def _factors(examples: Examples, bound: Bound) -> NDArray[np.float64] | None:
    if not bound.factors:
        return None
    factors = np.ones(len(examples))
    for label, factor in bound.factors:
        factors[examples.y == label] = factor
    return factors


def value(part: Part, at: Place) -> NDArray[np.float64]:
    """(1,): R at a point."""
    return np.array(
        [part.factor * part.risk.linearize(part.scores(at)).value if part.risk else 0.0]
    )


def grid(part: Part, here: Place, target: Place) -> NDArray[np.float64]:
    """(2, steps): R and its slopes at STEPS from here towards the target."""
    if not part.risk:
        return np.zeros((2, len(STEPS)))
    assert isinstance(part.risk, GridRisk)
    return part.risk.on_grid(part.scores(here), part.scores(target), STEPS, EVEN)


def along(part: Part, here: Place, target: Place, *steps: float) -> NDArray[np.float64]:
    """(steps, 2): R and its slope at these steps from here towards the target."""
    values = np.zeros((len(steps), 2))
    if part.risk:
        s, e = part.scores(here), part.scores(target) - part.scores(here)
        for k, t in enumerate(steps):
            cut = part.risk.linearize(s + t * e)
            values[k] = part.factor * cut.value, part.factor * sparse.dot(cut.coef, e)
    return values


def cut(part: Part, here: Place, target: Place, t: float) -> NDArray[np.float64]:
    """(2 + dim,): R, offset and normal of the cut at this step from here towards the target."""
    dim = len(here.vectors[0])
    if not part.risk:
        return np.zeros(2 + dim)
    s = part.scores(here)
    tangent = part.risk.linearize(move_scores(s, part.scores(target), t) if t else s)
    row = np.concatenate([[tangent.value, tangent.offset], part.normal(dim, tangent.coef)])
    return row if part.factor == 1 else np.multiply(part.factor, row, out=row)
