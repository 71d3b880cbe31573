# SPDX-License-Identifier: BSD-3-Clause
"""The encoding of a table: columns fitted to rows, which a model keeps, and the features they make.

    numbers     (x - mean) scale, mean and deviation over the training rows; missing is the mean
    booleans    1 for true
    categories  a feature per name; an unknown name has none
    words       tf idf of a text, of length 1: idf = ln((n + s) / (df + s)) + 1, s = 1 if smooth

Missing cells have a feature of their own if a training row misses one. The definitions are
scikit-learn's: StandardScaler, OneHotEncoder, CountVectorizer, TfidfVectorizer, HashingVectorizer.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut._native import words as native
from svmcut._native.words import UNICODE
from svmcut.base.errors import DataError
from svmcut.base.messages import Message, escape
from svmcut.base.records import record, replace
from svmcut.base.typing import Any, NamedTuple, TypeAlias
from svmcut.data.examples import Csr, stack_rows
from svmcut.tables.options import TableOptions

MISSING = "(missing)"
_NUMBERS, _CODES, _WORDS = range(3)


class Values(NamedTuple):
    """The numbers of rows: (n,) float64, nan if missing."""

    values: NDArray[np.float64]
    boolean: bool

    def take(self, rows: NDArray) -> Values:
        return Values(self.values[rows], self.boolean)


class Codes(NamedTuple):
    """The names of rows: (n,) int32 places in ``texts``, -1 if missing, -2 if unknown; ``order``
    sorts the texts."""

    ids: NDArray[np.int32]
    texts: list[bytes]
    order: NDArray[np.int64]

    def take(self, rows: NDArray) -> Codes:
        return self._replace(ids=self.ids[rows])


class Counts(NamedTuple):
    """The words of rows: row i has ids[ends[i] : ends[i + 1]], each with its count.

    ``texts`` are the words, None if they are hashed, and ``order`` sorts them.
    """

    ends: NDArray[np.int64]
    ids: NDArray[np.int32]
    counts: NDArray[np.float32]
    texts: list[bytes] | None
    order: NDArray[np.int64] | None

    def take(self, rows: NDArray) -> Counts:
        starts, stops = self.ends[rows], self.ends[rows + 1]
        ends = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(stops - starts, out=ends[1:])
        entries = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], stops - starts)
        return self._replace(ends=ends, ids=self.ids[entries], counts=self.counts[entries])


Gathered: TypeAlias = Values | Codes | Counts


class PlacedColumn(NamedTuple):
    """A fitted column, and the place of each gathered id among its features, -1 for none; None if
    ids are places."""

    column: Any
    places: NDArray[np.int32] | None = None


@record
class Number:
    """A column of numbers."""

    name: str
    #: x becomes (x - mean) scale.
    mean: float = 0.0
    scale: float = 1.0
    #: Replaces a missing number.
    fill: float = 0.0
    #: True if a feature says that the number is missing.
    missing: bool = False
    boolean: bool = False

    @classmethod
    def fit(cls, name: str, values: Values, options: TableOptions) -> PlacedColumn:
        known = values.values[~np.isnan(values.values)]
        missing = len(known) < len(values.values)
        if values.boolean:
            return PlacedColumn(cls(name, missing=missing, boolean=True))
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(known.mean()) if len(known) else 0.0
            deviation = float(known.std()) if len(known) else 0.0
        return PlacedColumn(
            cls.from_statistics(name, len(known), mean, deviation, missing, options)
        )

    @classmethod
    def from_statistics(
        cls, name: str, n: int, mean: float, deviation: float, missing: bool, options: TableOptions
    ) -> Number:
        """Fit to n known numbers with this mean and deviation."""
        if not options.standardise:
            return cls(name, fill=mean, missing=missing)
        # as StandardScaler: what is constant up to rounding has the deviation 1
        eps = np.finfo(np.float64).eps
        constant = deviation**2 <= n * eps * deviation**2 + (n * mean * eps) ** 2
        return cls(name, mean, 1.0 if constant else 1 / deviation, mean, missing)

    @property
    def width(self) -> int:
        return 1 + self.missing

    def features(self) -> list[str]:
        return [self.name] + [f"{self.name} {MISSING}"] * self.missing

    def encoder(self, values: Values, first: int, places: Any) -> dict[str, Any]:
        """Return the description of the column for `_native.words.rows`."""
        how = {"mean": self.mean, "scale": self.scale, "fill": self.fill}
        last = first + 1 if self.missing else -1
        return {"kind": _NUMBERS, "first": first, "missing": last, "values": values.values, **how}

    def describe(self) -> str:
        """Return a sentence about the features that the column became."""
        what = "true or false" if self.boolean else "number"
        return what + ", some missing" * self.missing


@record
class Category:
    """A column of names, with a feature for each."""

    name: str
    values: tuple[str, ...]
    missing: bool = False

    @classmethod
    def fit(cls, name: str, codes: Codes, options: TableOptions) -> PlacedColumn:
        """Fit to the training rows; names that occur in none of them are unknown."""
        there = np.bincount(codes.ids[codes.ids >= 0], minlength=len(codes.texts)) > 0
        chosen, places = _select(there, codes.order)
        values = tuple(codes.texts[k].decode() for k in chosen)
        return PlacedColumn(cls(name, values, bool((codes.ids == -1).any())), places)

    @property
    def width(self) -> int:
        return len(self.values) + self.missing

    def features(self) -> list[str]:
        return [f"{self.name}={value}" for value in [*self.values, *[MISSING] * self.missing]]

    def encoder(self, codes: Codes, first: int, places: Any) -> dict[str, Any]:
        last = first + len(self.values) if self.missing else -1
        known = len(self.values) if places is None else len(places)
        how = {"ids": codes.ids, "places": places, "n_places": known, "width": len(self.values)}
        return {"kind": _CODES, "first": first, "missing": last, **how}

    def describe(self) -> str:
        count = len(self.values)
        what = "category" if count == 1 else "categories"
        return f"{count} {what}" + ", some missing" * self.missing


@record
class Text:
    """A column of texts."""

    name: str
    ngrams: tuple[int, int]
    #: True to count a word as 1 + ln of its count in the text.
    log: bool
    #: "smooth", "plain" or "none".
    idf: str
    #: True to scale rows to length 1.
    normed: bool
    #: Number of training rows.
    rows: int
    #: Words, in order, with (terms,) numbers of training rows that have them.
    terms: tuple[str, ...]
    df: NDArray[np.int64]
    #: Features are hashes of this many bits instead of terms.
    hash_bits: int | None = None
    #: Version of Unicode that splits words.
    unicode: str = UNICODE

    @classmethod
    def fit(cls, name: str, counts: Counts, options: TableOptions) -> PlacedColumn:
        """Fit to the training rows; words in fewer than min_count rows are left out."""
        n = len(counts.ends) - 1
        if counts.texts is None or counts.order is None:
            return PlacedColumn(cls.from_counts(name, n, None, np.zeros(0, np.int64), options))
        df = np.bincount(counts.ids, minlength=len(counts.texts))
        chosen, places = _select(df >= options.min_count, counts.order)
        return PlacedColumn(
            cls.from_counts(name, n, [counts.texts[k] for k in chosen], df[chosen], options), places
        )

    @classmethod
    def from_counts(
        cls, name: str, n: int, terms: list[bytes] | None, df: NDArray, options: TableOptions
    ) -> Text:
        """Fit to n rows with these words, in order, each in df rows; terms are None for hashes.

        Raises UsageError for options that have no effect on hashed words.
        """
        options.check_hashing()
        bits = options.hash_bits
        if terms is None:
            return cls(name, options.ngrams, False, "none", True, n, (), df, bits)
        idf = ("smooth" if options.smooth else "plain") if options.tf_idf else "none"
        how = options.ngrams, options.sublinear, idf, options.tf_idf
        return cls(name, *how, n, tuple(term.decode() for term in terms), df)

    @property
    def width(self) -> int:
        return len(self.terms) if self.hash_bits is None else 1 << self.hash_bits

    def features(self) -> list[str]:
        if self.hash_bits is not None:
            return [f"{self.name}#{k}" for k in range(self.width)]
        return [f"{self.name}:{term}" for term in self.terms]

    def idf_weights(self) -> NDArray[np.float64] | None:
        """Return the factor of every term; None for none."""
        if self.idf == "none":
            return None
        s = float(self.idf == "smooth")
        return np.log((self.rows + s) / (self.df + s)) + 1

    def encoder(self, counts: Counts, first: int, places: Any) -> dict[str, Any]:
        weights = self.idf_weights()
        known = self.width if places is None else len(places)
        how = {"places": places, "n_places": known, "weights": weights, "width": self.width}
        own = {"ids": counts.ids, "counts": counts.counts, "ends": counts.ends}
        flags = {"log": self.log, "normed": self.normed}
        return {"kind": _WORDS, "first": first, **how, **own, **flags}

    def describe(self) -> str:
        words = "words" if self.ngrams == (1, 1) else "words and runs of words"
        if self.hash_bits is not None:
            return f"{words} by hash, {self.width} features"
        return f"{self.width} {words}"


@record
class Unused:
    """A column that gives no features: label, group, weight, dropped or empty."""

    name: str
    role: str


Fitted: TypeAlias = Number | Category | Text
FITS: dict[type, Any] = {Values: Number.fit, Codes: Category.fit, Counts: Text.fit}


def _select(keep: NDArray[np.bool_], order: NDArray) -> tuple[list[int], NDArray[np.int32]]:
    """Return the ids to keep, in order, and the place of every id among them, -1 for none."""
    chosen = order[keep[order]]
    places = np.full(len(keep), -1, np.int32)
    places[chosen] = np.arange(len(chosen), dtype=np.int32)
    return chosen.tolist(), places


#: Values of dense columns that are encoded at once; they fit in the cache.
_BLOCK = 1 << 18
_MAX_FEATURES = 2**31 - 2


@record(eq=False)
class Encoding:
    """The part of a training table that a model keeps."""

    #: Fitted columns in the order of their features.
    columns: tuple[Fitted, ...] = ()
    #: Columns of the training table without features.
    unused: tuple[Unused, ...] = ()
    #: Names of the labels 1, 2, ...; none if labels are numbers.
    words: tuple[str, ...] = ()
    #: Input format of the training table, one of svmcut.spec.catalog.TABLES.
    format: str = "csv"

    @property
    def n_features(self) -> int:
        return sum(column.width for column in self.columns)

    def role(self, role: str) -> str | None:
        """Return the name of the column with this role; None without one."""
        return next((column.name for column in self.unused if column.role == role), None)

    def features(self) -> list[str]:
        """Return the name of every feature; words of an only column are their own names."""
        if len(self.columns) == 1 and isinstance(self.columns[0], Text):
            column = self.columns[0]
            return column.features() if column.hash_bits is not None else [*column.terms]
        return [name for column in self.columns for name in column.features()]

    def document(self) -> list[dict[str, Any]]:
        """Return the name, the description and the number of features of every column."""
        return [
            {"name": column.name, "became": column.describe(), "features": column.width}
            for column in self.columns
        ] + [{"name": one.name, "became": one.role, "features": 0} for one in self.unused]

    def describe(self) -> str:
        """Return one line about all columns, with the first names of each kind."""
        by_kind: dict[str, list[str]] = {}
        for column in self.columns:
            by_kind.setdefault(column.describe(), []).append(column.name)
        return "; ".join(f"{escape(_list_some(names))}: {what}" for what, names in by_kind.items())


def _list_some(names: list[str], most: int = 4) -> str:
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} others"


class Rows:
    """Gathered columns of rows, which can be fitted to any of the rows.

    `gathered` has the cells of each name; `encoding` has the columns without features and the words
    of labels; `path` is for messages.
    """

    def __init__(
        self,
        path: str,
        names: list[str],
        gathered: list[Gathered],
        options: TableOptions,
        encoding: Encoding,
    ):
        self.path, self._names, self._gathered = path, names, gathered
        self._options, self._frame = options, encoding
        self._fitted: list[PlacedColumn] | None = None

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """Return some of the rows, fitted to themselves."""
        taken = [gathered.take(rows) for gathered in self._gathered]
        return Rows(self.path, self._names, taken, self._options, self._frame)

    def contents(self) -> Iterator[Any]:
        """Yield the names of columns and labels, and the cells."""
        unused = [(column.name, column.role) for column in self._frame.unused]
        yield (self._names, unused, self._frame.words)
        for gathered in self._gathered:
            yield from gathered

    def split(self, train: NDArray[np.int64], held: NDArray[np.int64]) -> tuple[Rows, Csr, Csr]:
        """Return some of the rows, their features, and the features of others as fitted to the
        first."""
        own = self.take(train)
        other = self.take(held)
        return own, own.features(), other.features(own)

    @property
    def encoding(self) -> Encoding:
        """The encoding fitted to these rows."""
        columns = tuple(placed.column for placed in self._fit_columns())
        return replace(self._frame, columns=columns)

    def features(self, fitted: Rows | None = None) -> Csr:
        """Return the features of the rows as fitted to others or to themselves; raise as
        `encode`."""
        columns = (fitted or self)._fit_columns()
        return encode(self.path, columns, self._gathered)

    def _fit_columns(self) -> list[PlacedColumn]:
        if self._fitted is None:
            pairs = zip(self._names, self._gathered, strict=True)
            self._fitted = [FITS[type(cells)](name, cells, self._options) for name, cells in pairs]
        return self._fitted


def encode(path: str, columns: list[PlacedColumn], gathered: list[Gathered]) -> Csr:
    """Return gathered columns as features of fitted columns.

    Raises DataError for too many features and for values beyond float32.
    """
    first, told = 0, []
    for (column, places), cells in zip(columns, gathered, strict=True):
        told.append(column.encoder(cells, first, places))
        first += column.width
    if first > _MAX_FEATURES:
        message = "{:,} features; expected at most {:,}"
        raise DataError(path, Message(message, first, _MAX_FEATURES))
    n = len(gathered[0][0]) - isinstance(gathered[0], Counts) if gathered else 0
    step, parts = max(64, _BLOCK // max(1, len(told))), []
    for start in range(0, max(n, 1), step):
        indptr, indices, data = native.rows(told, start, min(n, start + step))
        parts.append(Csr(data, indices, indptr, first, True))
    X = stack_rows(parts)
    wrong = ~np.isfinite(X.data)
    if wrong.any():
        at = int(np.argmax(wrong))
        row, feature = int(np.searchsorted(X.indptr, at, side="right")), int(X.indices[at])
        name = next(c["first"] for c in reversed(told) if c["first"] <= feature)
        column = next(p.column for p, c in zip(columns, told) if c["first"] == name)
        message = "row {}, column '{}': the number does not fit a float; scale the column"
        raise DataError(path, Message(message, row, column.name))
    return X
