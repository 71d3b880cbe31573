# SPDX-License-Identifier: BSD-3-Clause
"""Tables as parts: their encoding is fitted by the workers that read them."""

from __future__ import annotations

from svmcut.files.table_parts import (
    check_alike,
    check_options,
    fit,
    mixed,
    pieces_in,
    summarise,
    whole_groups,
)
from svmcut.spec.entries import NUMBERS
from svmcut.spec.records import replace
from svmcut.tasks.protocol import named
from svmcut.typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svmcut.distributed.rows import Rows
    from svmcut.files.encoded import TrainingTable
    from svmcut.files.table_parts import Piece
    from svmcut.spec.parameters import Settings
    from svmcut.tables.encoding import Encoding


class Encoded(NamedTuple):
    """What a model keeps of a table in parts."""

    encoding: Encoding


def encoded_parts(
    rows: Rows, paths: Sequence[str], path: str, table: TrainingTable, settings: Settings
) -> tuple[list[Piece], Encoded]:
    """The parts of the rows, and the encoding fitted to all of them.

    Raises
    ------
    UsageError, DataError
        As `svmcut.files.table_parts.summarise` and `fit`.
    """
    options, kind = table.options, named(settings.task).label_kind
    check_options(table.input)
    by_path = rows.each(pieces_in, [(name, table.input) for name in paths])
    pieces: list[Any] = [piece for several in by_path for piece in several]
    names: frozenset[str] = frozenset()
    while True:
        summaries = rows.each(summarise, [(piece, options, names) for piece in pieces])
        check_alike(pieces, summaries)
        more = mixed(summaries)
        count = len(pieces)
        if options.group:
            pieces = whole_groups(pieces, summaries)
        if not more - names and len(pieces) == count:
            break
        names |= more
    encoding = fit(path, summaries, options, kind == NUMBERS, table.input)
    own = {"encoding": encoding, "weights": options.weight_column, "kind": kind}
    return [replace(piece, **own) for piece in pieces], Encoded(encoding)
