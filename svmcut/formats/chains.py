# SPDX-License-Identifier: BSD-3-Clause
"""Model files in the layout of SVM-HMM V3.10: fifteen header lines, then the weights as one support
vector.

With K tags and F features, tags from 1, the weight of a transition of order m has the index

    i + K p_1 + K^2 p_2 + ... + K^m p_m        i the tag, p_j the one j places before it

K + 1 is the least at m = 1. The weight of feature f at tag i after tag p (0 if the previous tag
does not matter) has the index E + F (i + K p) + f, E = K + K^2 + ... + K^(order + 1) + 1. Indices 1
to K stay empty. Above the weights svm_hmm writes the slacks of its -p 2; they are ignored.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import ModelError
from svmcut.base.typing import BinaryIO
from svmcut.data.examples import MAX_TAGS
from svmcut.files.output import Output
from svmcut.formats.grammar import HeaderLines, finite32, products, write_header, write_weights
from svmcut.formats.marks import split_certificate
from svmcut.formats.names import split, write_names
from svmcut.models import ChainModel, ChainShape


def transition_numbers(places: NDArray[np.int64], shape: ChainShape) -> NDArray[np.int64]:
    """Indices in the file, from 1, of places among the transitions."""
    K, S, start = shape.n_tags, shape.stride, 0
    numbers = np.empty(len(places), np.int64)
    for order in range(1, shape.transition_order + 1):
        inside = (places >= start) & (places < start + K**order * S)
        history, tag = np.divmod(places[inside] - start, S)  # history: p_m ... p_1 as digits
        numbers[inside] = tag + K * history + sum(K**j for j in range(order + 1))
        start += K**order * S
    return numbers


def transition_places(numbers: NDArray[np.int64], shape: ChainShape) -> NDArray[np.int64]:
    """Places among the transitions of indices in the file, from 1; -1 for other indices."""
    K, S, start = shape.n_tags, shape.stride, 0
    places = np.full(len(numbers), -1, np.int64)
    for order in range(1, shape.transition_order + 1):
        least = sum(K**j for j in range(order + 1))
        inside = (numbers >= least) & (numbers < least + K ** (order + 1))
        history, tag = np.divmod(numbers[inside] - least, K)
        places[inside] = start + history * S + tag
        start += K**order * S
    return places


def read(path: str, first: bytes, file: BinaryIO) -> ChainModel:
    """Reads the model after line 1 of the file; see svmcut.spec.entries.Format."""
    lines = HeaderLines(path, first, file, 15)
    kernel = lines.kernel()
    if not kernel.is_linear:
        raise ModelError(
            path, f"chains with the {kernel.name} kernel are not read; expected kernel type 0", 2, 1
        )
    highest = lines.integer(8, "the highest feature index", 0)
    features = lines.integer(9, "the number of emission features", 0)
    tags = lines.integer(10, "the number of classes", 1, MAX_TAGS)
    transition = lines.integer(11, "the order of transitions", 0, 3)
    emission = lines.integer(12, "the order of emissions", 0, min(1, transition))
    loss = lines.integer(13, "the loss function", 0)
    count = lines.integer(14, "the number of support vectors plus 1", 1) - 1
    lines.real(15, "the threshold b")
    text, certificate = split_certificate(file.read())
    text, names, temperature = split(path, text, 16, tags, features)
    alpha, indptr, indices, values = lines.vectors(text, count, highest)
    weights = products(alpha, indptr, values)
    whole = ChainShape(tags, features, transition, emission)
    described = 64 * (lines.size + len(text) + 2**20)
    if whole.transitions > described:
        raise ModelError(
            path,
            f"{tags} tags at order {transition} are more than a file of this size describes",
            10,
            1,
        )
    numbers = indices.astype(np.int64) + 1
    inside = numbers <= _largest_number(whole)
    numbers, weights = numbers[inside], weights[inside]
    columns = None
    if features > 2 * (lines.size + len(text)) or features * whole.node_size > described:
        base = _emission_base(whole)
        columns = np.unique((numbers[numbers > base + features] - base - 1) % features).astype(
            np.int32
        )
    shape = ChainShape(tags, features if columns is None else len(columns), transition, emission)
    lines.check_fits(shape.dim)
    places = _places(path, numbers, whole, shape, columns)
    w = np.zeros(shape.dim)
    np.add.at(w, places, weights)
    if not np.isfinite(w[places]).all():
        raise ModelError(path, "the support vectors add up to weights that are not finite")
    return ChainModel(w, shape, kernel, columns, features, loss, names, temperature, certificate)


def write(
    path: str, first: bytes, output: Output, model: ChainModel, original: bool = False
) -> None:
    """Writes the whole file; see svmcut.spec.entries.Format."""
    shape = model.shape
    known = -1 if model.columns is None else int(np.max(model.columns, initial=-1))
    features = max(shape.n_features, known + 1, model.highest_feature or 0)
    whole = ChainShape(shape.n_tags, features, shape.transition_order, shape.emission_order)
    weights = finite32(path, model.w)
    places = np.flatnonzero(weights)
    numbers = _numbers(places, shape, whole, model.columns)
    order = np.argsort(numbers)
    numbers, weights = numbers[order], weights[places[order]]
    write_header(
        output,
        first,
        model.kernel,
        f"{_largest_number(whole) + 1} # highest feature index \n"
        f"{features} # number of emission features \n"
        f"{shape.n_tags} # number of classes \n"
        f"{shape.transition_order} # HMM order of transitions \n"
        f"{shape.emission_order} # HMM order of emissions \n"
        f"{model.loss} # loss function \n"
        "2 # number of support vectors plus 1 \n"
        "0 # threshold b, each following line is a SV (starting with alpha*y)\n",
    )
    write_weights(output, (numbers - 1).astype(np.int32), weights)
    write_names(path, output, model.names, shape.n_tags, features, model.temperature)


def _emission_base(shape: ChainShape) -> int:
    return sum(shape.n_tags ** (order + 1) for order in range(shape.transition_order + 1)) + 1


def _largest_number(shape: ChainShape) -> int:
    slots = shape.n_tags * (shape.n_tags + 1 if shape.emission_order else 1)
    return _emission_base(shape) + shape.n_features * (1 + slots)


def _numbers(places: NDArray, shape: ChainShape, whole: ChainShape, columns) -> NDArray[np.int64]:
    """Indices in the file, from 1, of places in the weights."""
    K, S = shape.n_tags, shape.stride
    numbers = np.empty(len(places), np.int64)
    emissions = shape.n_features * shape.node_size
    inside = places < emissions
    feature, column = np.divmod(places[inside], shape.node_size)
    previous, tag = np.divmod(column, S)
    feature = feature if columns is None else columns[feature].astype(np.int64)
    numbers[inside] = (
        _emission_base(whole) + whole.n_features * (tag + 1 + K * previous) + feature + 1
    )
    numbers[~inside] = transition_numbers(places[~inside] - emissions, shape)
    return numbers


def _places(
    path: str, numbers: NDArray, whole: ChainShape, shape: ChainShape, columns
) -> NDArray[np.int64]:
    """Places in the weights of indices in the file, from 1."""
    K, S, F = shape.n_tags, shape.stride, whole.n_features
    places = transition_places(numbers, shape)
    places[places >= 0] += shape.n_features * shape.node_size
    base = _emission_base(whole)
    inside = numbers > base + F
    if F:
        slot, feature = np.divmod(numbers[inside] - base - 1, F)
        previous, tag = np.divmod(slot - 1, K)
        feature = feature if columns is None else np.searchsorted(columns, feature)
        places[inside] = feature * shape.node_size + previous * S + tag
    bad = np.flatnonzero(places < 0)
    if len(bad):
        raise ModelError(path, f"index {numbers[bad[0]]} is no weight of such a model", 16, 1)
    return places
