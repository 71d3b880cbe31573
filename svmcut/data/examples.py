# SPDX-License-Identifier: BSD-3-Clause
"""Examples in memory: sparse rows, labels, queries, and where they came from."""

from __future__ import annotations

import numpy as np

from svmcut.base.errors import DataError
from svmcut.base.records import field, record, replace
from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix

#: Tags of sequences are numbers up to this.
MOST_TAGS = 1_000_000
#: Features from which on it is worth a count how many of them occur.
MANY_COLUMNS = 1 << 18


@record
class Csr:
    """Sparse rows X of shape (n, d) as three arrays.

    Attributes
    ----------
    data : (nnz,) float32
        Values; explicit zeros of the file are kept.
    indices : (nnz,) int32
        0-based columns, strictly increasing within a row.
    indptr : (n + 1,) int64
        Row i holds entries indptr[i] to indptr[i + 1]; indptr[0] need not be 0 (a block of rows
        shares its arrays).
    n_features : int
        d, one more than the largest column.
    proven : bool
        Whether the arrays are known to be as above, as those of the file reader are. The C++ side
        is handed no others: any that are not go through `checked` there, and once on the way into a
        trainer.

    Notes
    -----
    Three plain arrays and not a scipy matrix: importing scipy costs more CPU time than a small run
    needs.
    """

    data: NDArray[np.float32]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    n_features: int
    proven: bool = False

    def checked(self) -> Csr:
        """These rows, proven; O(nnz) unless they are already.

        Raises
        ------
        ValueError
            For arrays of another type or length, bounds that fall, columns that do not increase
            within a row or lie outside, and values that are not finite; names the place.
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
        return f"row {int(np.searchsorted(self.indptr, entry, side='right')) - 1}"

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        return int(self.indptr[-1] - self.indptr[0])

    @property
    def stored(self) -> slice:
        """Where the entries of these rows stand in data and indices."""
        return slice(int(self.indptr[0]), int(self.indptr[-1]))

    @property
    def nbytes(self) -> int:
        return self.data.nbytes + self.indices.nbytes + self.indptr.nbytes

    def tight(self) -> Csr:
        """These rows, with as many features as their largest column asks for."""
        columns = self.indices[self.stored]
        return replace(self, n_features=int(columns.max()) + 1 if len(columns) else 0)

    def rows(self, start: int, stop: int) -> Csr:
        """Rows start to stop as a view on the same arrays, O(1)."""
        return Csr(
            self.data, self.indices, self.indptr[start : stop + 1], self.n_features, self.proven
        )

    def take(self, rows: NDArray) -> Csr:
        """The named rows, copied, in the order given; O(their nonzeros)."""
        from svmcut._native import sparse

        rows = np.ascontiguousarray(rows, np.int64)
        indptr = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(self.indptr[rows + 1] - self.indptr[rows], out=indptr[1:])
        data, indices = np.empty(indptr[-1], np.float32), np.empty(indptr[-1], np.int32)
        sparse.take_rows(sparse.Rows(self), rows, indptr, data, indices)
        return Csr(data, indices, indptr, self.n_features, True)

    def compact(self, always: bool = False) -> tuple[Csr, NDArray[np.int32] | None]:
        """The same rows on the columns that occur, and those columns, where features are many and a
        quarter does not occur or always is true; else self and None.

        A file with the feature 2,147,483,646 then costs vectors of a few numbers and not 16 GB
        each.
        """
        if always or self.n_features > 2 * self.nnz + 1_000_000:
            columns, places = np.unique(self.indices[self.stored], return_inverse=True)
            return self._moved(places.astype(np.int32), columns)
        if self.n_features < MANY_COLUMNS or self.nnz > 16 * self.n_features:
            return self, None
        # a count of bytes instead of a sort: vectors of fewer numbers soon win it back
        met = np.zeros(self.n_features, np.bool_)
        met[self.indices[self.stored]] = True
        if 4 * np.count_nonzero(met) > 3 * self.n_features:
            return self, None
        places = np.cumsum(met, dtype=np.int32)
        places -= 1
        return self._moved(places[self.indices[self.stored]], np.flatnonzero(met).astype(np.int32))

    def _moved(self, places: NDArray, columns: NDArray) -> tuple[Csr, NDArray[np.int32]]:
        """These rows, whose entries stand at such places among the columns."""
        starts = self.indptr - self.indptr[0]
        moved = Csr(self.data[self.stored], places, starts, len(columns), self.proven)
        return moved, columns

    def to_dense(self) -> NDArray[np.float32]:
        """(n, d) float32; for tests and small data."""
        dense = np.zeros((self.n_rows, self.n_features), np.float32)
        rows = np.repeat(np.arange(self.n_rows), np.diff(self.indptr))
        dense[rows, self.indices[self.stored]] = self.data[self.stored]
        return dense

    def to_scipy(self, n_features: int | None = None) -> csr_matrix:
        """These rows on the same data and indices; indptr is int32 where it can, as scikit-learn
        wants them both."""
        from scipy.sparse import csr_matrix

        indptr = (self.indptr - self.indptr[0]).astype(np.int32 if self.nnz < 2**31 else np.int64)
        shape = self.n_rows, n_features or self.n_features
        return csr_matrix(
            (self.data[self.stored], self.indices[self.stored], indptr), shape, copy=False
        )

    @classmethod
    def from_dense(cls, dense, proven: bool = False) -> Csr:
        """Nonzeros of a 2-D array; where there are no zeros, on the same values. proven: whether
        they are known to be finite."""
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
    """Where rows came from, so that errors found after reading still name FILE:LINE.

    Attributes
    ----------
    path : str
        As the user named it.
    skips : (k, 2) int64
        Row numbers before which lines without an example (comments, blanks) stand, and how many
        lines stand before that row in all; rows in between are on consecutive lines.
    """

    path: str
    skips: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))

    def line_of(self, row: int) -> int:
        """The 1-based line of a 0-based row."""
        return int(self.lines_of(np.array([row]))[0])

    def lines_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The lines of several rows."""
        before = np.concatenate([[0], self.skips[:, 1]])
        return rows + 1 + before[np.searchsorted(self.skips[:, 0], rows, side="right")]

    def take(self, rows: NDArray[np.int64]) -> Source:
        """Of the named rows, in increasing order."""
        skipped = self.lines_of(rows) - np.arange(1, len(rows) + 1)
        changed = np.flatnonzero(np.diff(skipped, prepend=0))
        return Source(self.path, np.column_stack([changed, skipped[changed]]).astype(np.int64))


@record
class Examples:
    """Labelled rows as read; a Risk makes of the labels what it needs.

    Attributes
    ----------
    X : Csr
        (n, d) features.
    y : (n,) float64
        Labels exactly as in the file.
    qid : (n,) int64 or None
        Query of each row; None when no line has one.
    weights : (n,) float64 or None
        What the rows weigh, svm_light's ``cost:``; None for 1 each. Rows of one query have one
        weight.
    source : Source
        Path and line numbers.
    table : svmcut.tables.encoding.Rows or None
        What X was made of, where that was a table or labels were words.
    serials : (n,) float64 or None
        Which columns of X the rows themselves are, from 1, where X holds kernel values.
    """

    X: Csr
    y: NDArray[np.float64]
    qid: NDArray[np.int64] | None
    weights: NDArray[np.float64] | None
    source: Source
    table: Any = None
    serials: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.y)

    def checked(self) -> Examples:
        """These examples with proven rows; O(n) where they come from the file reader.

        Raises
        ------
        DataError
            For rows that Csr.checked refuses, and for labels, queries or weights that are not one
            finite number a row.
        """
        X = checked_rows(self.X, self.source)
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
        """Rows start to stop as views, without queries, weights and the lines they came from."""
        return Examples(self.X.rows(start, stop), self.y[start:stop], None, None, Source("memory"))

    def take(self, keep: NDArray[np.bool_]) -> Examples:
        """The rows to keep."""
        rows = np.flatnonzero(keep)
        qid = None if self.qid is None else self.qid[rows]
        weights = None if self.weights is None else self.weights[rows]
        serials = None if self.serials is None else self.serials[rows]
        return Examples(
            self.X.take(rows),
            self.y[rows],
            qid,
            weights,
            self.source.take(rows),
            serials=serials,
        )


def stack_rows(parts: Sequence[Csr]) -> Csr:
    """Rows one behind the other, with the features of all."""
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


def checked_rows(X: Csr, source: Source) -> Csr:
    """X.checked, whose failures are a DataError of the source."""
    try:
        return X.checked()
    except ValueError as error:
        raise DataError(source.path, str(error)) from None


class Names(NamedTuple):
    """What the tags and the features of sequences are called, in the order of their numbers.

    Attributes
    ----------
    tags, attributes : tuple of str
    template : tuple of str
        The lines that make attributes of tokens in columns; none of files that have attributes.
    columns : int
        Columns of those tokens, with that of the tag.
    hash_bits : int
        Where above 0, attributes have no names here: their features are hashes, below
        2^hash_bits.
    """

    tags: tuple[str, ...]
    attributes: tuple[str, ...]
    template: tuple[str, ...] = ()
    columns: int = 0
    hash_bits: int = 0


@record
class Sequences:
    """Tokens of sequences, one behind the other.

    Attributes
    ----------
    X : Csr
        (tokens, D) features.
    indptr : (n + 1,) int64
        Sequence n is rows indptr[n] to indptr[n + 1].
    tags : (tokens,) int32
        Right tags, from 0: the file's less 1; below 0 of tags that a model does not know.
    source : Source
        Path and line numbers of the tokens.
    weights : (n,) float64 or None
        Of the sequences; None for 1 each.
    names : Names or None
        Where the file has them.
    others : tuple of str
        What tags that a model does not know are called, those of -2, -3 and so on.
    """

    X: Csr
    indptr: NDArray[np.int64]
    tags: NDArray[np.int32]
    source: Source = field(default_factory=lambda: Source("memory"))
    weights: NDArray[np.float64] | None = None
    names: Names | None = None
    others: tuple[str, ...] = ()
    table: ClassVar[None] = None

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def sizes(self) -> tuple[int, int, int, int]:
        """Numbers of sequences, tokens, features, and tags up to the largest."""
        return len(self), self.X.n_rows, self.X.n_features, int(self.tags.max()) + 1

    def tokens(self) -> Examples:
        """The tokens as rows, labelled with the file's tags."""
        return Examples(self.X, self.tags.astype(np.float64) + 1, None, None, self.source)

    def take(self, keep: NDArray[np.bool_]) -> Sequences:
        """The sequences to keep."""
        lengths = np.diff(self.indptr)
        weights = None if self.weights is None else self.weights[keep]
        rows = np.flatnonzero(np.repeat(keep, lengths))
        indptr = np.concatenate([[0], np.cumsum(lengths[keep])])
        taken = self.X.take(rows), indptr.astype(np.int64), self.tags[rows], self.source.take(rows)
        return Sequences(*taken, weights, self.names, self.others)

    def part(self, first: int, last: int) -> Sequences:
        """Sequences first to last as views, without the lines they came from."""
        start, stop = self.indptr[first], self.indptr[last]
        return Sequences(
            self.X.rows(start, stop),
            self.indptr[first : last + 1] - start,
            self.tags[start:stop],
            others=self.others,
        )


@record
class MultilabelExamples:
    """Rows with sets of labels.

    Attributes
    ----------
    X : Csr
        (n, d) features.
    names : (K,) int64
        The labels of the file, increasing.
    indptr : (n + 1,) int64
        Row i has the labels names[labels[indptr[i] : indptr[i + 1]]]; a row may have none.
    labels : (m,) int32
        Places in ``names``, increasing within a row.
    source : Source
        Path and line numbers.
    weights : (n,) float64 or None
        Of the rows; None for 1 each.
    table : svmcut.tables.encoding.Rows or None
        As of Examples.
    """

    X: Csr
    names: NDArray[np.int64]
    indptr: NDArray[np.int64]
    labels: NDArray[np.int32]
    source: Source
    weights: NDArray[np.float64] | None = None
    table: Any = None

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def checked(self) -> MultilabelExamples:
        """As Examples.checked; labels are places in `names`, increasing within a row."""
        if self.X.proven:
            return self
        X = checked_rows(self.X, self.source)
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
            sets.checked()
        except ValueError as error:
            raise DataError(self.source.path, f"labels as columns: {error}") from None
        return replace(self, X=X)

    def take(self, keep: NDArray[np.bool_]) -> MultilabelExamples:
        """The rows to keep, with the labels that they have."""
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
        """Rows start to stop as views, without the lines they came from."""
        indptr = self.indptr[start : stop + 1]
        return MultilabelExamples(
            self.X.rows(start, stop), self.names, indptr, self.labels, Source("memory")
        )

    def gold(self) -> NDArray[np.bool_]:
        """(n, K) bool, whether row i has label k."""
        gold = np.zeros((len(self), len(self.names)), bool)
        gold[self.entries()] = True
        return gold

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Rows and places in ``names`` of all labels."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr)), self.labels[
            self.indptr[0] : self.indptr[-1]
        ]
