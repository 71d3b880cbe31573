# SPDX-License-Identifier: BSD-3-Clause
"""Examples in memory: sparse rows, labels, queries, and where they came from."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError
from svmcut.base.records import field, record, replace
from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

#: Largest number of a tag of sequences.
MAX_TAGS = 1_000_000
#: Number of features from which counting those that occur pays off.
MIN_COUNTED_COLUMNS = 1 << 18


@record
class Csr:
    """Sparse rows X of shape (n, d) as three plain arrays: importing SciPy for its matrix costs
    more CPU time than a small run needs."""

    #: (nnz,) values; explicit zeros of the file are kept.
    data: NDArray[np.float32]
    #: (nnz,) columns from 0, strictly increasing within a row.
    indices: NDArray[np.int32]
    #: (n + 1,) bounds: row i holds entries indptr[i] to indptr[i + 1]. indptr[0] need not be 0, as
    #: a block of rows shares its arrays.
    indptr: NDArray[np.int64]
    #: d, at least one more than the largest column.
    n_features: int
    #: Whether the arrays are known to be as described, as those of the file reader are. C++ code
    #: receives proven rows only: others pass `validate` there, and once on the way into a trainer.
    proven: bool = False

    def validate(self) -> Csr:
        """Return these rows, proven; O(nnz) unless they are already.

        Raises ValueError for arrays of another type or length, bounds that fall, columns that do
        not increase within a row or lie outside, and values that are not finite; it names the
        place.
        """
        if self.proven:
            return self
        for name, dtype in (("data", np.float32), ("indices", np.int32), ("indptr", np.int64)):
            array = getattr(self, name)
            if not (isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == 1):
                shape = (
                    f"{array.dtype}, {array.ndim}-d"
                    if isinstance(array, np.ndarray)
                    else type(array).__name__
                )
                raise ValueError(f"{name} is {shape}; expected a 1-d array of {np.dtype(dtype)}")
            if not array.flags.c_contiguous:
                raise ValueError(
                    f"{name} is not contiguous; expected numpy.ascontiguousarray of it"
                )
        if not (isinstance(self.n_features, int | np.integer) and 0 <= self.n_features < 2**31):
            raise ValueError(f"n_features is {self.n_features}; expected 0 to 2147483647")
        if not len(self.indptr):
            raise ValueError("indptr is empty; expected one entry more than there are rows")
        if len(self.data) != len(self.indices):
            raise ValueError(
                f"data has {len(self.data)} entries, indices {len(self.indices)}; expected one each"
            )
        if (
            self.indptr[0] < 0
            or self.indptr[-1] > len(self.data)
            or np.any(self.indptr[1:] < self.indptr[:-1])
        ):
            raise ValueError(
                f"indptr must rise from 0 or more to at most {len(self.data)}, the length of data"
            )
        start, stop = int(self.indptr[0]), int(self.indptr[-1])
        columns, d = self.indices[start:stop], self.n_features
        if len(columns) and not 0 <= columns.min() <= columns.max() < d:
            place = start + int(np.argmax((columns < 0) | (columns >= d)))
            raise ValueError(
                f"{self._place(place)}: column {self.indices[place]} is none of the {d} features"
            )
        falls = columns[1:] <= columns[:-1]
        firsts = self.indptr[1:-1][(self.indptr[1:-1] > start) & (self.indptr[1:-1] < stop)] - start
        falls[firsts - 1] = False  # from one row to the next
        if falls.any():
            place = start + 1 + int(np.argmax(falls))
            before, column = self.indices[place - 1], self.indices[place]
            raise ValueError(
                f"{self._place(place)}: column {column} follows {before}; columns increase within "
                "a row"
            )
        wrong = ~np.isfinite(self.data[start:stop])
        if wrong.any():
            place = start + int(np.argmax(wrong))
            raise ValueError(
                f"{self._place(place)}: the value of column {self.indices[place]} is "
                f"{self.data[place]}; "
                "expected a finite number"
            )
        return replace(self, proven=True)

    def _place(self, entry: int) -> str:
        """Name the row of an entry, for a message."""
        return f"row {int(np.searchsorted(self.indptr, entry, side='right')) - 1}"

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        return int(self.indptr[-1] - self.indptr[0])

    @property
    def stored(self) -> slice:
        """The slice of data and indices that holds these rows."""
        return slice(int(self.indptr[0]), int(self.indptr[-1]))

    @property
    def nbytes(self) -> int:
        return self.data.nbytes + self.indices.nbytes + self.indptr.nbytes

    def tight(self) -> Csr:
        """Return these rows with no more features than their largest column needs."""
        columns = self.indices[self.stored]
        return replace(self, n_features=int(columns.max()) + 1 if len(columns) else 0)

    def rows(self, start: int, stop: int) -> Csr:
        """Return rows start to stop as a view on the same arrays, O(1)."""
        return Csr(
            self.data, self.indices, self.indptr[start : stop + 1], self.n_features, self.proven
        )

    def take(self, rows: NDArray) -> Csr:
        """Copy the named rows in the order given; O(their nonzeros)."""
        from svmcut._native import sparse

        rows = np.ascontiguousarray(rows, np.int64)
        indptr = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(self.indptr[rows + 1] - self.indptr[rows], out=indptr[1:])
        data, indices = np.empty(indptr[-1], np.float32), np.empty(indptr[-1], np.int32)
        sparse.take_rows(sparse.Rows(self), rows, indptr, data, indices)
        return Csr(data, indices, indptr, self.n_features, True)

    def compact(self, always: bool = False) -> tuple[Csr, NDArray[np.int32] | None]:
        """Return the same rows on the columns that occur, and those columns; or self and None.

        Rows are compacted if `always` is true, or if features are many and at least a quarter of
        them does not occur. A file with feature 2,147,483,646 then costs vectors of a few numbers
        instead of 16 GB each.
        """
        if always or self.n_features > 2 * self.nnz + 1_000_000:
            columns, places = np.unique(self.indices[self.stored], return_inverse=True)
            return self._move_columns(places.astype(np.int32), columns)
        if self.n_features < MIN_COUNTED_COLUMNS or self.nnz > 16 * self.n_features:
            return self, None
        # a count of bytes instead of a sort: vectors of fewer numbers soon win it back
        met = np.zeros(self.n_features, np.bool_)
        met[self.indices[self.stored]] = True
        if 4 * np.count_nonzero(met) > 3 * self.n_features:
            return self, None
        places = np.cumsum(met, dtype=np.int32)
        places -= 1
        return self._move_columns(
            places[self.indices[self.stored]], np.flatnonzero(met).astype(np.int32)
        )

    def _move_columns(self, places: NDArray, columns: NDArray) -> tuple[Csr, NDArray[np.int32]]:
        """Return these rows with their entries at the given places among the columns, and the
        columns."""
        starts = self.indptr - self.indptr[0]
        moved = Csr(self.data[self.stored], places, starts, len(columns), self.proven)
        return moved, columns

    def to_dense(self) -> NDArray[np.float32]:
        """Return a (n, d) float32 array; for tests and small data."""
        dense = np.zeros((self.n_rows, self.n_features), np.float32)
        rows = np.repeat(np.arange(self.n_rows), np.diff(self.indptr))
        dense[rows, self.indices[self.stored]] = self.data[self.stored]
        return dense

    def to_scipy(self, n_features: int | None = None) -> csr_matrix:
        """Return a SciPy matrix on the same data and indices.

        Its indptr is int32 where the entries are few enough, as scikit-learn wants both of one
        type.
        """
        from scipy.sparse import csr_matrix

        indptr = (self.indptr - self.indptr[0]).astype(np.int32 if self.nnz < 2**31 else np.int64)
        shape = self.n_rows, n_features or self.n_features
        return csr_matrix(
            (self.data[self.stored], self.indices[self.stored], indptr), shape, copy=False
        )

    @classmethod
    def from_dense(cls, dense, proven: bool = False) -> Csr:
        """Return the nonzeros of a 2-D array, on the same values if none is zero; `proven` promises
        finite values."""
        dense, columns = (
            np.asarray(dense, np.float32),
            np.arange(np.shape(dense)[1], dtype=np.int32),
        )
        mask, indptr = dense != 0, np.zeros(len(dense) + 1, np.int64)
        np.cumsum(np.count_nonzero(mask, axis=1), out=indptr[1:])
        data = dense.ravel() if indptr[-1] == dense.size else dense[mask]
        return cls(data, np.broadcast_to(columns, dense.shape)[mask], indptr, len(columns), proven)


@record
class Source:
    """The origin of rows, so that errors found after reading still name FILE:LINE."""

    #: The path as the user named it.
    path: str
    #: (k, 2) row numbers before which lines without an example (comments, blanks) stand, and how
    #: many such lines there are up to that row; rows in between are on consecutive lines.
    skips: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))

    def line_of(self, row: int) -> int:
        """Return the 1-based line of a 0-based row."""
        return int(self.lines_of(np.array([row]))[0])

    def lines_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the 1-based lines of several rows."""
        before = np.concatenate([[0], self.skips[:, 1]])
        return rows + 1 + before[np.searchsorted(self.skips[:, 0], rows, side="right")]

    def take(self, rows: NDArray[np.int64]) -> Source:
        """Return the source of the named rows, which increase."""
        return Source.from_lines(self.path, self.lines_of(rows))

    @classmethod
    def from_lines(cls, path: str, lines: NDArray[np.int64]) -> Source:
        """Return the source of rows on these increasing 1-based lines."""
        skipped = lines - np.arange(1, len(lines) + 1)
        changed = np.flatnonzero(np.diff(skipped, prepend=0))
        return cls(path, np.column_stack([changed, skipped[changed]]).astype(np.int64))


@record
class Examples:
    """Labelled rows as read; each risk derives from the labels what it needs."""

    #: (n, d) features.
    X: Csr
    #: (n,) labels exactly as in the file.
    y: NDArray[np.float64]
    #: (n,) query of each row; None when no line has one.
    qid: NDArray[np.int64] | None
    #: (n,) weights of the rows, svm_light's ``cost:``; None for 1 each. Rows of one query have the
    #: same weight.
    weights: NDArray[np.float64] | None
    #: Path and line numbers.
    source: Source
    #: The svmcut.tables.encoding.Rows that X was made from if it was a table, or if labels were
    #: words.
    table: Any = None
    #: (n,) the columns of X that are the rows themselves, from 1, if X holds kernel values.
    serials: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.y)

    def validate(self) -> Examples:
        """Return these examples with proven rows; O(n) if they come from the file reader.

        Raises DataError for rows that Csr.validate refuses, and for labels, queries or weights that
        are not one finite number per row.
        """
        X = _validate_rows(self.X, self.source)
        for name in ("y", "qid", "weights"):
            values: Any = getattr(self, name)
            if values is None and name != "y":
                continue
            if np.shape(values) != (X.n_rows,):
                raise DataError(
                    self.source.path, f"{name} has shape {np.shape(values)}; expected ({X.n_rows},)"
                )
            wrong = ~np.isfinite(values)
            if wrong.any():
                row = int(np.argmax(wrong))
                raise DataError(
                    self.source.path,
                    f"row {row}: {name} is {values[row]}; expected a finite number",
                )
        return self if X is self.X else replace(self, X=X)

    def part(self, start: int, stop: int) -> Examples:
        """Return rows start to stop as views, without queries, weights and source lines."""
        return Examples(self.X.rows(start, stop), self.y[start:stop], None, None, Source("memory"))

    def take(self, keep: NDArray[np.bool_]) -> Examples:
        rows = np.flatnonzero(keep)
        qid = None if self.qid is None else self.qid[rows]
        weights = None if self.weights is None else self.weights[rows]
        serials = None if self.serials is None else self.serials[rows]
        return Examples(
            self.X.take(rows), self.y[rows], qid, weights, self.source.take(rows), serials=serials
        )


def find_distinct_rows(
    indptr: NDArray, indices: NDArray, data: NDArray
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the place of every row among the distinct rows, and the first of each of these."""
    known: dict[tuple[bytes, bytes], int] = {}
    places = np.empty(len(indptr) - 1, np.int64)
    for row, (start, stop) in enumerate(itertools.pairwise(indptr.tolist())):
        key = indices[start:stop].tobytes(), data[start:stop].tobytes()
        places[row] = known.setdefault(key, len(known))
    return places, np.unique(places, return_index=True)[1]


def stack_rows(parts: Sequence[Csr]) -> Csr:
    """Concatenate rows, with the largest number of features."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(X.nnz for X in parts)])
    indptr = [X.indptr[:-1] - X.indptr[0] + start for X, start in zip(parts, starts, strict=False)]
    return Csr(
        np.concatenate([X.data[X.stored] for X in parts]),
        np.concatenate([X.indices[X.stored] for X in parts]),
        np.concatenate([*indptr, starts[-1:]]).astype(np.int64),
        max(X.n_features for X in parts),
        True,
    )


def _validate_rows(X: Csr, source: Source) -> Csr:
    """Validate rows; failures become a DataError of the source."""
    try:
        return X.validate()
    except ValueError as error:
        raise DataError(source.path, str(error)) from None


class Names(NamedTuple):
    """Names of the tags and features of sequences, in the order of their numbers."""

    tags: tuple[str, ...]
    attributes: tuple[str, ...]
    #: The lines that make attributes from tokens in columns; empty for files that have attributes.
    template: tuple[str, ...] = ()
    #: Number of columns of those tokens, including that of the tag.
    columns: int = 0
    #: Above 0, attributes have no names here: their features are hashes below 2^hash_bits.
    hash_bits: int = 0


@record
class Sequences:
    """Tokens of sequences, concatenated."""

    #: (tokens, D) features.
    X: Csr
    #: (n + 1,) bounds: sequence n is rows indptr[n] to indptr[n + 1].
    indptr: NDArray[np.int64]
    #: (tokens,) right tags from 0, the file's less 1; below 0 for tags unknown to a model.
    tags: NDArray[np.int32]
    #: Path and line numbers of the tokens.
    source: Source = field(default_factory=lambda: Source("memory"))
    #: (n,) weights of the sequences; None for 1 each.
    weights: NDArray[np.float64] | None = None
    #: The names of tags and features, if the file has them.
    names: Names | None = None
    #: Names of the tags unknown to a model: those of -2, -3 and so on.
    others: tuple[str, ...] = ()
    table: ClassVar[None] = None

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def sizes(self) -> tuple[int, int, int, int]:
        """Return the numbers of sequences, tokens, features, and tags up to the largest."""
        return len(self), self.X.n_rows, self.X.n_features, int(self.tags.max()) + 1

    def tokens(self) -> Examples:
        """Return the tokens as rows, labelled with the file's tags."""
        return Examples(self.X, self.tags.astype(np.float64) + 1, None, None, self.source)

    def take(self, keep: NDArray[np.bool_]) -> Sequences:
        lengths = np.diff(self.indptr)
        weights = None if self.weights is None else self.weights[keep]
        rows = np.flatnonzero(np.repeat(keep, lengths))
        indptr = np.concatenate([[0], np.cumsum(lengths[keep])])
        taken = self.X.take(rows), indptr.astype(np.int64), self.tags[rows], self.source.take(rows)
        return Sequences(*taken, weights, self.names, self.others)

    def part(self, first: int, last: int) -> Sequences:
        """Return sequences first to last as views, without source lines."""
        start, stop = self.indptr[first], self.indptr[last]
        return Sequences(
            self.X.rows(start, stop),
            self.indptr[first : last + 1] - start,
            self.tags[start:stop],
            others=self.others,
        )


@record
class MultilabelExamples:
    """Rows with sets of labels."""

    #: (n, d) features.
    X: Csr
    #: (K,) labels of the file, increasing.
    names: NDArray[np.int64]
    #: (n + 1,) bounds: row i has the labels names[labels[indptr[i] : indptr[i + 1]]]; a row may
    #: have none.
    indptr: NDArray[np.int64]
    #: (m,) places in `names`, increasing within a row.
    labels: NDArray[np.int32]
    #: Path and line numbers.
    source: Source
    #: (n,) weights of the rows; None for 1 each.
    weights: NDArray[np.float64] | None = None
    #: The svmcut.tables.encoding.Rows that X was made from, as in Examples.
    table: Any = None

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def validate(self) -> MultilabelExamples:
        """Check rows as Examples.validate does, and that labels are places in `names`, increasing
        within a row."""
        if self.X.proven:
            return self
        X = _validate_rows(self.X, self.source)
        sets = Csr(
            np.zeros(len(self.labels), np.float32), self.labels, self.indptr, len(self.names)
        )
        if len(self.indptr) != X.n_rows + 1:
            raise DataError(
                self.source.path,
                f"indptr of the labels has {len(self.indptr)} entries; expected "
                f"{X.n_rows + 1}, one more than rows",
            )
        try:
            sets.validate()
        except ValueError as error:
            raise DataError(self.source.path, f"labels as columns: {error}") from None
        return replace(self, X=X)

    def take(self, keep: NDArray[np.bool_]) -> MultilabelExamples:
        rows, (row, labels) = np.flatnonzero(keep), self.entries()
        indptr = np.concatenate([[0], np.cumsum(np.diff(self.indptr)[keep])]).astype(np.int64)
        used, places = np.unique(labels[keep[row]], return_inverse=True)
        source = self.source.take(rows)
        weights = None if self.weights is None else self.weights[rows]
        labels = places.astype(np.int32)
        return MultilabelExamples(
            self.X.take(rows), self.names[used], indptr, labels, source, weights
        )

    def part(self, start: int, stop: int) -> MultilabelExamples:
        """Return rows start to stop as views, without source lines."""
        indptr = self.indptr[start : stop + 1]
        return MultilabelExamples(
            self.X.rows(start, stop), self.names, indptr, self.labels, Source("memory")
        )

    def gold(self) -> NDArray[np.bool_]:
        """Return (n, K) booleans: row i has label k."""
        gold = np.zeros((len(self), len(self.names)), bool)
        gold[self.entries()] = True
        return gold

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the rows and the places in `names` of all labels."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr)), self.labels[
            self.indptr[0] : self.indptr[-1]
        ]
