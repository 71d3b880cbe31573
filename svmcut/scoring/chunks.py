# SPDX-License-Identifier: BSD-3-Clause
"""Chunks of tokens that tags mark: names, phrases and other spans that B-, I-, E- and S- begin and
end.

A tag is ``O``, outside of every chunk, or one of the letters B, I, E, S followed by ``-TYPE``. One
rule reads IOB1, IOB2 and IOBES. Between neighbouring tags p and t a chunk ends if p is inside a
chunk and p is E or S, t is B, S or O, or their types differ; a chunk begins if t is inside one and
t is B or S, p is E, S or O, or their types differ. This is the rule of conlleval, of the task of
CoNLL-2000.

References
----------
E. F. Tjong Kim Sang and S. Buchholz, Introduction to the CoNLL-2000 shared task: chunking, CoNLL
2000. L. A. Ramshaw and M. P. Marcus, Text chunking using transformation-based learning, 1995.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import Any, NamedTuple
from svmcut.scoring.measures import chunk_measures, class_shares
from svmcut.spec.catalog import SCHEMES

_TAG = re.compile(r"([BIES])(?:-(.*))?", re.DOTALL)
#: The tag outside of chunks.
OUTSIDE = "O"
#: The type of a tag that marks no chunk.
UNKNOWN = -2


class TagParts(NamedTuple):
    """The letters and types of K tags."""

    #: (K,) letter of each tag.
    letters: NDArray[np.str_]
    #: (K,) type of each tag as a place in `names`, -1 for ``O``.
    types: NDArray[np.int64]
    names: tuple[str, ...]


def split_tags(tags: Sequence[str]) -> TagParts | None:
    """Split tags into letters and types; return None if one marks no chunk, or all are ``O``."""
    matches = [_TAG.fullmatch(tag) for tag in tags]
    if not any(matches) or any(
        part is None and tag != OUTSIDE for part, tag in zip(matches, tags, strict=True)
    ):
        return None
    names = sorted({part[2] or "" for part in matches if part})
    places = {name: k for k, name in enumerate(names)}
    types = [-1 if part is None else places[part[2] or ""] for part in matches]
    letters = [OUTSIDE if part is None else part[1] for part in matches]
    return TagParts(np.array(letters), np.array(types), tuple(names))


class SchemeRules(NamedTuple):
    """The sequences of tags that a scheme allows, all bool."""

    #: (K,) tags that may be first.
    first: NDArray[np.bool_]
    #: (K,) tags that may be last.
    last: NDArray[np.bool_]
    #: (K, K) tags that may follow each tag.
    pairs: NDArray[np.bool_]


def scheme_rules(parts: TagParts | None, scheme: str) -> SchemeRules | None:
    """Return the sequences that a scheme allows; None if the tags are those of another scheme.

    In iob2 every chunk begins with B, in iob1 only one that follows a chunk of its type; in iobes
    chunks end with E too, and S is a chunk of one token.
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
        return SchemeRules(~B, anywhere, ~B | within)
    if scheme == "iob2":
        return SchemeRules(~I, anywhere, ~I | within)
    goes_on, open = I | E, np.isin(before, ("B", "I"))
    return SchemeRules(~goes_on, ~(B | I), np.where(goes_on, within, ~open))


def find_chunks(
    parts: TagParts, tags: NDArray[np.int32], bounds: NDArray[np.int64], others: Sequence[str] = ()
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return first tokens, last tokens and types of the chunks of tagged sequences, in order.

    `tags` (tokens,) are places among the tags, -1 for an unknown one, which is a chunk of its own.
    Sequence k is tokens bounds[k] to bounds[k + 1], at least one. `others` are the names of tags
    -2, -3 and so on; one that marks no chunk is a chunk of its own too, and types that none of the
    tags has follow those of `parts`.
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


def _with_others(
    parts: TagParts, others: Sequence[str]
) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """Return letters and types of the tags, then of the other tags, then of a tag without a
    name."""
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
    """Counts of chunks by type: in the data, predicted, and predicted correctly."""

    def __init__(self, parts: TagParts):
        #: `unknown` counts chunks of types that no tag of the model has.
        self.parts, self.unknown = parts, 0
        #: (types,) chunks of each type in the data, predicted, and both.
        self.gold, self.predicted, self.correct = (
            np.zeros(len(parts.names), np.int64) for _ in range(3)
        )

    def add(
        self,
        tags: NDArray[np.int32],
        predicted: NDArray[np.int32],
        bounds: NDArray[np.int64],
        others: Sequence[str] = (),
    ) -> None:
        """Count the chunks of tagged sequences; arguments as in `find_chunks`."""
        ours = find_chunks(self.parts, tags, bounds, others)
        theirs = find_chunks(self.parts, predicted, bounds)
        last, kind = np.full(len(tags), -1), np.full(len(tags), -1)
        last[ours[0]], kind[ours[0]] = ours[1:]
        same = (last[theirs[0]] == theirs[1]) & (kind[theirs[0]] == theirs[2])
        n = len(self.parts.names)
        known = ours[2][(ours[2] >= 0) & (ours[2] < n)]
        self.unknown += len(ours[2]) - len(known)
        self.gold += np.bincount(known, minlength=n)
        self.predicted += np.bincount(theirs[2], minlength=n)
        self.correct += np.bincount(theirs[2][same], minlength=n)

    def values(self) -> dict[str, float]:
        """Return the measures of all chunks; see `chunk_measures`."""
        right, predicted = int(self.gold.sum()) + self.unknown, int(self.predicted.sum())
        return chunk_measures(right, predicted, int(self.correct.sum()))

    def f1(self) -> float:
        """Return F1 of all chunks, in percent."""
        return [*self.values().values()][-1]

    def table(self) -> list[dict[str, Any]]:
        """Return the shares of every type, nan for a denominator of 0, and its number of chunks."""
        shares = class_shares(self.gold, self.predicted, self.correct)
        columns = {"chunks": self.gold, **shares, "predicted": self.predicted}
        rows = zip(self.parts.names, *(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(("type", *columns), row, strict=True)) for row in rows]
