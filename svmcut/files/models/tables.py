# SPDX-License-Identifier: BSD-3-Clause
"""The encoding of the table that a model was trained on, behind the lines of any format; see
`svmcut.tables.lines`."""

from __future__ import annotations

import io
import os

from svmcut.data.labels import label_text
from svmcut.errors import ModelError
from svmcut.messages import Message
from svmcut.spec.records import replace
from svmcut.typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from svmcut.files.output import Output
    from svmcut.tables.encoding import Encoding

#: Bytes of the last line, which says how many there are, and more.
_TAIL = 64
_END = b"#@ table "


def write_table(output: Output, model: Any) -> None:
    """The lines of a model's table, where it has one."""
    if getattr(model, "table", None) is not None:
        from svmcut.tables.lines import text_of

        output.write(text_of(model.table))


def with_table(path: str, model: Any, table: Encoding) -> Any:
    """The model of these lines.

    Raises
    ------
    ModelError
        Where they name fewer features or labels than it has.
    """
    columns, width = model.columns, model.n_features
    if columns is not None:
        width = int(columns[-1]) + 1 if len(columns) else 0
    if table.columns and width > table.n_features:
        message = "has weights of {} features, and the columns of its table make {}"
        raise ModelError(path, Message(message, width, table.n_features))
    labels = getattr(model, "names", None)
    if labels is None:
        labels = getattr(model, "labels", None) or ()
    known = range(1, len(table.words) + 1)
    if table.words and (more := [k for k in labels if k is not None and k not in known]):
        message = "has no line '#@ label {}', and predicts that label"
        raise ModelError(path, Message(message, label_text(float(more[0]))))
    return replace(model, table=table)


def split_table(
    path: str, file: BinaryIO, mapped: bool = False
) -> tuple[BinaryIO, Encoding | None]:
    """What follows in a file without the lines of a table, and the encoding that they hold.

    Parameters
    ----------
    mapped : bool
        As of svmcut.spec.entries.Format.

    Raises
    ------
    ModelError
        With the line, for one that is none of these.
    """
    if not file.seekable():
        file = io.BytesIO(file.read())
    at = file.tell()
    file.seek(0, os.SEEK_END)
    file.seek(max(at, file.tell() - _TAIL))
    tail = file.read()
    file.seek(at)
    if _END not in tail:
        return file, None
    from svmcut.tables.lines import lines_at_end, parse

    count = lines_at_end(tail)
    if not count:
        return file, None
    if mapped:
        from svmcut.files.models.mapped import bytes_ahead

        if (ahead := bytes_ahead(file)) is None:
            return file, None
        file.seek(at + ahead)
        text = file.read()
        file.seek(at)
        return file, parse(path, text, 3) if text.count(b"\n") == count else None
    text = file.read()
    end = len(text)
    for _ in range(count):
        if not end:
            message = "the last line counts more lines of a table than there are; the file was cut"
            raise ModelError(path, message, 1 + text.count(b"\n"), 1)
        end = text.rfind(b"\n", 0, end - 1) + 1
    line = 2 + text.count(b"\n", 0, end)
    return io.BytesIO(text[:end]), parse(path, text[end:], line)
