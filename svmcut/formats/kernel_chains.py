# SPDX-License-Identifier: BSD-3-Clause
"""Model files of chains with a kernel, a plain-text format of our own; docs/formats.md shows one.

Twelve header lines, a line of transitions, and a line for every support token:

    svmcut kernel chain model 1
    (kernel type and its parameters as in lines 2 to 7 of every model)
    highest # highest index
    F # number of emission features
    m # number of support tokens plus 1
    K # number of classes
    order # order of transitions
    1 index:value ... #                 transitions, numbered as in SVM-HMM's models
    1 index:value ... #                 m - 1 lines: indices 1 to K are weights of the tags,
                                        K + f is feature f
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native.text import format_pairs
from svmcut.base.errors import ModelError
from svmcut.base.typing import BinaryIO
from svmcut.data.examples import MAX_TAGS, Csr
from svmcut.files.output import Output
from svmcut.formats.chains import transition_numbers, transition_places
from svmcut.formats.grammar import HeaderLines, finite32, products, write_header, write_weights
from svmcut.formats.names import split, write_names
from svmcut.models import ChainShape, KernelChainModel

_FIRST_LINE = 13


def read(path: str, first: bytes, file: BinaryIO) -> KernelChainModel:
    """Reads the model after line 1 of the file; see svmcut.spec.entries.Format."""
    lines = HeaderLines(path, first, file, _FIRST_LINE - 1)
    kernel = lines.kernel()
    highest = lines.integer(8, "the highest index", 0)
    features = lines.integer(9, "the number of emission features", 0)
    count = lines.integer(10, "the number of support tokens plus 1", 1)
    K = lines.integer(11, "the number of classes", 1, MAX_TAGS)
    order = lines.integer(12, "the order of transitions", 0, 3)
    text, names, temperature = split(path, file.read(), _FIRST_LINE, K, features)
    room = 64 * (len(text) + 2**20)
    shape = ChainShape(K, features, order)
    if shape.transitions > room or (count - 1) * K > room:
        raise ModelError(path, f"{K} tags are more than a file of this size describes", 11, 1)
    lines.check_fits(shape.transitions + (count - 1) * K)
    factor, indptr, indices, values = lines.vectors(text, count, highest)
    weights = products(factor, indptr, values)
    line_of = np.repeat(np.arange(count), np.diff(indptr))
    own = slice(int(indptr[1]), None)
    transitions = _transitions(path, shape, indices[: indptr[1]], weights[: indptr[1]])
    tokens, indices, values, weights = line_of[own] - 1, indices[own], values[own], weights[own]
    beyond = np.flatnonzero(indices >= K + features)
    if len(beyond):
        message = f"index {indices[beyond[0]] + 1} is neither a tag nor a feature of such a model"
        raise ModelError(path, message, _FIRST_LINE + 1 + int(tokens[beyond[0]]), 1)
    is_tag = indices < K
    alpha = np.zeros((count - 1, K))
    alpha[tokens[is_tag], indices[is_tag]] = weights[is_tag]
    if not (np.isfinite(alpha).all() and np.isfinite(transitions).all()):
        raise ModelError(path, "a line's factor makes weights that are not finite")
    columns, numbers, d = None, indices[~is_tag] - K, features
    if features > 2 * (lines.size + len(text)):
        columns, numbers = np.unique(numbers, return_inverse=True)
        d, shape = len(columns), ChainShape(K, len(columns), order)
    starts = np.concatenate(
        [[0], np.cumsum(np.bincount(tokens[~is_tag], minlength=count - 1))]
    ).astype(np.int64)
    support = Csr(values[~is_tag], numbers.astype(np.int32), starts, d, True)
    return KernelChainModel(
        kernel, support, alpha, transitions, shape, columns, features, names, temperature
    )


def write(
    path: str, first: bytes, output: Output, model: KernelChainModel, original: bool = False
) -> None:
    """Writes the whole file, weights and features rounded to float32; see
    svmcut.spec.entries.Format."""
    shape, support, K = model.shape, model.support, model.shape.n_tags
    features = max(shape.n_features, model.highest_feature or 0)
    columns = support.indices if model.columns is None else model.columns[support.indices]
    features = max(features, int(np.max(columns[support.stored], initial=-1)) + 1)
    V, alpha, values = (
        finite32(path, part) for part in (model.transitions, model.alpha, support.data)
    )
    used = np.flatnonzero(V)
    numbers = transition_numbers(used, shape)
    highest = max(K + features, int(numbers[-1]) if len(numbers) else 0)
    write_header(
        output,
        first,
        model.kernel,
        f"{highest} # highest index\n"
        f"{features} # number of emission features\n"
        f"{support.n_rows + 1} # number of support tokens plus 1\n"
        f"{K} # number of classes\n"
        f"{shape.transition_order} # order of transitions; they follow, then the support tokens\n",
        original,
    )
    write_weights(output, (numbers - 1).astype(np.int32), V[used])
    bounds = support.indptr.tolist()
    for u in range(support.n_rows):
        row, tags = slice(bounds[u], bounds[u + 1]), np.flatnonzero(alpha[u])
        places = np.concatenate([tags, K + columns[row]]).astype(np.int32)
        numbers = np.concatenate([alpha[u, tags], values[row]])
        output.write(b"1 " + format_pairs(places, numbers, not original) + b"#\n")
    write_names(path, output, model.names, K, features, model.temperature)


def _transitions(
    path: str, shape: ChainShape, indices: NDArray, values: NDArray
) -> NDArray[np.float64]:
    """Transitions of a model, from the indices of their line, from 0."""
    places = transition_places(indices.astype(np.int64) + 1, shape)
    if len(places) and places.min() < 0:
        message = (
            f"index {indices[int(np.argmax(places < 0))] + 1} is no transition of such a model"
        )
        raise ModelError(path, message, _FIRST_LINE, 1)
    V = np.zeros(shape.transitions)
    V[places] = values
    return V
