# SPDX-License-Identifier: BSD-3-Clause
"""Model files of trees of labels: binary ones, `svmcut label tree binary 1`, of arrays as
svmcut.formats.mapped has them, and text; docs/formats.md shows both.

    svmcut label tree 1
    K # number of labels
    d # number of features
    J # number of nodes
    n # number of training examples
    LABEL LABEL ... # labels
    COUNT COUNT ... # training examples of each label
    CHILDREN CHILDREN ... # children of each node
    NODE -LABEL ... # what each child is: a node, counted from 0, or a label's place, from -1 down
    constant index:value ... #      a line for every child
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native.text import format_pairs
from svmcut.base.errors import ModelError
from svmcut.base.typing import Any, BinaryIO
from svmcut.files.output import Output
from svmcut.formats.grammar import INDEX_LIMIT, HeaderLines
from svmcut.formats.mapped import Layout, check_finite, model_of, read_arrays, write_arrays
from svmcut.models import LabelTreeModel

_TEXT, _BINARY = b"svmcut label tree 1", b"svmcut label tree binary 1"
_HEADER_LINES = 9
#: Layout of a binary file.
_LAYOUT = Layout(
    {
        "first": "<i8",
        "leads": "<i8",
        "bounds": "<i8",
        "features": "<i4",
        "indptr": "<i8",
        "places": "|u1",
        "values": "<f4",
        "constant": "<f8",
        "names": "<i8",
        "counts": "<i8",
        "columns": "<i4",
    },
    optional=frozenset({"columns"}),
    numbers={"n_rows": "rows", "width": "features"},
)


def write(
    path: str, first: bytes, output: Output, model: LabelTreeModel, original: bool = False
) -> None:
    """Writes the whole file; see svmcut.spec.entries.Format."""
    check_finite(path, model.values, model.constant)
    if model.binary:
        write_arrays(_BINARY, output, model, _LAYOUT)
    else:
        _write_text(output, model)


def _write_text(output: Output, model: LabelTreeModel) -> None:
    d = model.n_features
    columns = np.arange(d, dtype=np.int32) if model.columns is None else model.columns
    lists = {
        "labels": model.names,
        "training examples of each label": model.counts,
        "children of each node": np.diff(model.first),
        "what each child is": model.leads,
    }
    head = [
        _TEXT.decode(),
        f"{len(model.names)} # number of labels",
        f"{int(columns[-1]) + 1 if len(columns) else 0} # number of features",
        f"{len(model.first) - 1} # number of nodes",
        f"{model.n_rows} # number of training examples",
        *(" ".join(map(str, array.tolist())) + f" # {what}" for what, array in lists.items()),
    ]
    output.write(("\n".join(head) + "\n").encode())
    for child, constant in enumerate(model.constant.tolist()):
        features, values = model.weights_of(child)
        line = format_pairs(columns[features], values, exact=True)
        output.write(f"{constant:.17g} ".encode() + line + b"#\n")


def read(path: str, first: bytes, file: BinaryIO) -> LabelTreeModel:
    """Reads the model after line 1 of the file; see svmcut.spec.entries.Format."""
    binary = first.rstrip() == _BINARY
    arrays = read_arrays(path, first, file, _LAYOUT) if binary else _read_text(path, first, file)
    return model_of(path, LabelTreeModel, arrays)


def _read_text(path: str, first: bytes, file: BinaryIO) -> dict[str, Any]:
    lines = HeaderLines(path, first, file, _HEADER_LINES, limit=-1)
    K = lines.integer(2, "the number of labels", 0, INDEX_LIMIT - 1)
    d = lines.integer(3, "the number of features", 0)
    J = lines.integer(4, "the number of nodes", 1, INDEX_LIMIT - 1)
    n = lines.integer(5, "the number of training examples", 1)
    names, counts = _integers(path, lines, 6, K), _integers(path, lines, 7, K)
    widths = _integers(path, lines, 8, J)
    if (widths < 1).any() or (widths > 256).any():
        raise ModelError(path, "expected 1 to 256 children of every node", 8, 1)
    leads = _integers(path, lines, 9, int(widths.sum()))
    known = lines.vectors(file.read(), len(leads), d)
    node = np.repeat(np.arange(J), widths)
    ends = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    return {
        "first": ends,
        "leads": leads,
        "names": names,
        "counts": counts,
        "n_rows": n,
        "width": d,
        "binary": False,
        "constant": known[0],
    } | _by_node(node, ends, *known[1:])


def _by_node(
    node: NDArray, first: NDArray, indptr: NDArray, features: NDArray, values: NDArray
) -> dict[str, Any]:
    """Arrays of a model, from weights by child."""
    child = np.repeat(np.arange(len(node)), np.diff(indptr))
    order = np.lexsort((child, features, node[child]))
    of, feature = node[child][order], features[order]
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(of) != 0) | (np.diff(feature) != 0)
    starts = np.flatnonzero(new)
    return {
        "bounds": np.searchsorted(of[starts], np.arange(len(first))).astype(np.int64),
        "features": feature[starts].astype(np.int32),
        "indptr": np.append(starts, len(order)).astype(np.int64),
        "places": (child[order] - first[of]).astype(np.uint8),
        "values": values[order].astype(np.float32),
    }


def _integers(path: str, lines: HeaderLines, number: int, count: int) -> NDArray[np.int64]:
    words = lines.text(number).split()
    fits = len(words) == count
    if not fits or not all(word.lstrip(b"-").isdigit() and len(word) < 12 for word in words):
        raise ModelError(path, f"expected {count} whole numbers", number, 1)
    return np.array([int(word) for word in words], np.int64)
