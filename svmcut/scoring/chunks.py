# SPDX-License-Identifier: BSD-3-Clause
"""Chunks of tokens that tags say: names, phrases and whatever else B-, I-, E- and S- begin and end.

A tag is ``O``, outside of every chunk, or one of the letters B, I, E, S with ``-TYPE`` behind it.
One rule reads IOB1, IOB2 and IOBES: of two neighbours p and t a chunk ends between them where p is
of one and p is E or S, t is B, S or O, or their types differ; one begins where t is of one and t is
B or S, p is E, S or O, or their types differ. It is conlleval's, of the task of CoNLL-2000.

References
----------
E. F. Tjong Kim Sang and S. Buchholz, Introduction to the CoNLL-2000 shared task: chunking, CoNLL
2000. L. A. Ramshaw and M. P. Marcus, Text chunking using transformation-based learning, 1995.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple
from svmcut.scoring.measures import chunk_measures, class_shares
from svmcut.spec.catalog import SCHEMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TAG = re.compile(r"([BIES])(?:-(.*))?", re.DOTALL)
#: Outside of chunks.
OUTSIDE = "O"
#: The type of a tag that says nothing of chunks.
UNKNOWN = -2


class Parts(NamedTuple):
    """Of K tags the letter (K,) str and the type (K,) int, -1 of ``O``; the names of the types."""

    letters: NDArray[np.str_]
    types: NDArray[np.int64]
    names: tuple[str, ...]


def parts_of(tags: Sequence[str]) -> Parts | None:
    """What tags say of chunks; None where one says nothing, or all are ``O``."""
    matches = [_TAG.fullmatch(tag) for tag in tags]
    if not any(matches) or any(
        part is None and tag != OUTSIDE for part, tag in zip(matches, tags, strict=True)
    ):
        return None
    names = sorted({part[2] or "" for part in matches if part})
    places = {name: k for k, name in enumerate(names)}
    types = [-1 if part is None else places[part[2] or ""] for part in matches]
    letters = [OUTSIDE if part is None else part[1] for part in matches]
    return Parts(np.array(letters), np.array(types), tuple(names))


class Rules(NamedTuple):
    """Which tags may be the first and the last of a sequence (K,), and which may follow which
    (K, K), all bool."""

    first: NDArray[np.bool_]
    last: NDArray[np.bool_]
    pairs: NDArray[np.bool_]


def rules_of(parts: Parts | None, scheme: str) -> Rules | None:
    """The sequences of a scheme; None where the tags are those of another.

    Parameters
    ----------
    scheme : {"iob1", "iob2", "iobes"}
        A chunk begins with B always, iob2, or where it follows one of its type, iob1; in iobes it
        ends with E too, and S is one of a single token.
    """
    own = set() if parts is None else set(parts.letters.tolist())
    least = {"iob1": {"I"}, "iob2": {"B"}, "iobes": {"E", "S"}}[scheme]
    if parts is None or not own <= set(SCHEMES[scheme]) or not own & least:
        return None
    letter, type = parts.letters, parts.types
    same = type[:, None] == type
    before, B, I, E = letter[:, None], *(letter == name for name in "BIE")
    within = same & np.isin(before, ("B", "I"))
    anywhere = np.ones(len(letter), bool)
    if scheme == "iob1":
        return Rules(~B, anywhere, ~B | within)
    if scheme == "iob2":
        return Rules(~I, anywhere, ~I | within)
    goes_on, open = I | E, np.isin(before, ("B", "I"))
    return Rules(~goes_on, ~(B | I), np.where(goes_on, within, ~open))


def chunks(
    parts: Parts,
    tags: NDArray[np.int32],
    bounds: NDArray[np.int64],
    others: Sequence[str] = (),
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """First tokens, last tokens and types of the chunks of tagged sequences, in order.

    Parameters
    ----------
    tags : (tokens,) int
        Places among the tags; -1 for one that is unknown, a chunk of its own.
    bounds : (m + 1,) int64
        Sequence k is tokens bounds[k] to bounds[k + 1], at least one.
    others : sequence of str
        What -2, -3 and so on are; where they say nothing of chunks, chunks of their own too. Types
        that none of the tags has follow those of `parts`.
    """
    letters, types = _with_others(parts, others)
    place = np.where(tags < -1, len(parts.types) - 2 - tags, tags)  # -1 is the last of all
    letter, type = letters[place], types[place]
    before, before_type = np.roll(letter, 1), np.roll(type, 1)
    before[bounds[:-1]], before_type[bounds[:-1]] = OUTSIDE, -1
    behind, behind_type = np.roll(letter, -1), np.roll(type, -1)
    behind[bounds[1:] - 1], behind_type[bounds[1:] - 1] = OUTSIDE, -1
    inside = letter != OUTSIDE
    begins = inside & (
        np.isin(letter, ("B", "S")) | np.isin(before, ("E", "S", "O")) | (type != before_type)
    )
    ends = inside & (
        np.isin(letter, ("E", "S")) | np.isin(behind, ("B", "S", "O")) | (type != behind_type)
    )
    first = np.flatnonzero(begins)
    return first, np.flatnonzero(ends), type[first]


def _with_others(parts: Parts, others: Sequence[str]) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """Letters and types of the tags, of others behind them, and last of a tag without a name."""
    letters, types = parts.letters.tolist(), parts.types.tolist()
    places = {name: k for k, name in enumerate(parts.names)}
    for tag in others:
        match = _TAG.fullmatch(tag)
        if match is None:
            letters.append(OUTSIDE if tag == OUTSIDE else "S")
            types.append(-1 if tag == OUTSIDE else UNKNOWN)
        else:
            letters.append(match[1])
            types.append(places.setdefault(match[2] or "", len(places)))
    return np.array([*letters, "S"]), np.array([*types, UNKNOWN])


class ChunkCounts:
    """Chunks that there are, that are predicted, and that are both, by type.

    Attributes
    ----------
    right, predicted, both : (types,) int64
    unknown : int
        Chunks of types that nobody knows.
    """

    def __init__(self, parts: Parts):
        self.parts, self.unknown = parts, 0
        self.right, self.predicted, self.both = (
            np.zeros(len(parts.names), np.int64) for _ in range(3)
        )

    def add(
        self,
        tags: NDArray[np.int32],
        predicted: NDArray[np.int32],
        bounds: NDArray[np.int64],
        others: Sequence[str] = (),
    ) -> None:
        """Takes in tagged sequences; see `chunks`."""
        ours = chunks(self.parts, tags, bounds, others)
        theirs = chunks(self.parts, predicted, bounds)
        last, kind = np.full(len(tags), -1), np.full(len(tags), -1)
        last[ours[0]], kind[ours[0]] = ours[1:]
        same = (last[theirs[0]] == theirs[1]) & (kind[theirs[0]] == theirs[2])
        n = len(self.parts.names)
        known = ours[2][(ours[2] >= 0) & (ours[2] < n)]
        self.unknown += len(ours[2]) - len(known)
        self.right += np.bincount(known, minlength=n)
        self.predicted += np.bincount(theirs[2], minlength=n)
        self.both += np.bincount(theirs[2][same], minlength=n)

    def values(self) -> dict[str, float]:
        """The measures of all chunks; see `chunk_measures`."""
        right, predicted = int(self.right.sum()) + self.unknown, int(self.predicted.sum())
        return chunk_measures(right, predicted, int(self.both.sum()))

    def f1(self) -> float:
        """F1 of all chunks, in percent."""
        return [*self.values().values()][-1]

    def table(self) -> list[dict[str, Any]]:
        """The shares of every type, nan where there is none to divide by, and how many chunks it
        has."""
        shares = class_shares(self.right, self.predicted, self.both)
        columns = {"chunks": self.right, **shares, "predicted": self.predicted}
        rows = zip(self.parts.names, *(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(("type", *columns), row, strict=True)) for row in rows]
