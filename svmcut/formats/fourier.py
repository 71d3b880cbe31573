# SPDX-License-Identifier: BSD-3-Clause
"""Model files of random Fourier features, a plain-text format of our own; docs/formats.md shows
one.

Seven header lines, then a line for every frequency and lines of marks:

    svmcut fourier 1
    g # gamma
    d # highest feature index
    D # frequencies
    seed # seed
    n # number of training documents
    b # threshold b
    w_cos w_sin index:omega ... #       D lines
"""

from __future__ import annotations

import numpy as np

from svmcut.base.errors import ModelError
from svmcut.base.typing import BinaryIO
from svmcut.files.output import Output
from svmcut.formats import marks
from svmcut.formats.grammar import INDEX_LIMIT, HeaderLines
from svmcut.models.fourier import FourierModel

_HEADER_LINES = 7


def write(
    path: str, first: bytes, output: Output, model: FourierModel, original: bool = False
) -> None:
    """Writes the whole file, weights with all digits, frequencies with those of float32; see
    svmcut.spec.entries.Format."""
    D, d = model.omega.shape
    if not (np.isfinite(model.w).all() and np.isfinite(model.b) and np.isfinite(model.omega).all()):
        raise ModelError(path, "a weight or a frequency is not finite; the model is not written")
    columns = np.arange(d) if model.columns is None else model.columns
    highest = max(model.highest_index or 0, int(columns[-1]) + 1 if d else 0)
    output.write(
        f"{first.decode()}\n{model.gamma:.17g} # gamma\n{highest} # highest feature index\n"
        f"{D} # frequencies\n"
        f"{model.seed} # seed\n"
        f"{min(model.n_documents, INDEX_LIMIT)} # number of training documents\n"
        f"{model.b:.17g} # threshold b, "
        "then a frequency a line: weights of cosine and sine, omega\n".encode()
    )
    indices = (columns + 1).tolist()
    for j, values in enumerate(model.omega.tolist()):
        pairs = " ".join(
            f"{index}:{value:.9g}" for index, value in zip(indices, values, strict=True)
        )
        output.write(f"{model.w[j]:.17g} {model.w[D + j]:.17g} {pairs} #\n".encode())
    output.write(marks.text_of(model))


def read(path: str, first: bytes, file: BinaryIO) -> FourierModel:
    """Reads the model after line 1 of the file; see svmcut.spec.entries.Format."""
    lines = HeaderLines(path, first, file, _HEADER_LINES)
    gamma, highest = lines.real(2, "gamma"), lines.integer(3, "the highest feature index", 0)
    D = lines.integer(4, "the number of frequencies", 1)
    seed = lines.integer(5, "the seed", 0, 2**63 - 1)
    n, b = lines.integer(6, "the number of training documents", 0), lines.real(7, "the threshold b")
    text, fields = marks.split(path, file.read(), _HEADER_LINES + 1)
    cosines, rest = list[float](), list[bytes]()
    for number, line in enumerate(text.splitlines(keepends=True), _HEADER_LINES + 1):
        word = line.split(None, 1)[0] if line.strip() else b""
        if len(cosines) == D:
            raise ModelError(path, f"one line more than the {D} of line 4", number, 1)
        try:
            cosines.append(float(word))
        except ValueError:
            cosines.append(np.nan)
        if not np.isfinite(cosines[-1]) or b"_" in word:
            raise ModelError(
                path, "expected the finite weights of a cosine and of a sine", number, 1
            )
        start = line.index(word) + len(word)
        rest.append(b" " * start + line[start:])  # columns of messages stay
    sines, indptr, indices, values = lines.vectors(b"".join(rest), D, highest)
    columns = indices[: indptr[1]]
    d = len(columns)
    if not np.array_equal(indices, np.tile(columns, D)) or (np.diff(indptr) != d).any():
        raise ModelError(
            path, "the frequencies are not all of the same features", _HEADER_LINES + 1, 1
        )
    own = None if d == highest else columns
    w = np.concatenate((cosines, sines))
    return FourierModel(gamma, values.reshape(D, d), w, seed, b, own, highest, n, **fields)
