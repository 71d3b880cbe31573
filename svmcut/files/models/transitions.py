# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of transitions in the files of chains, from 1; `chains` says which."""

from __future__ import annotations

import numpy as np

from svmcut.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.models import ChainShape


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
    """Places among the transitions of indices in the file, from 1; -1 for those of no
    transition."""
    K, S, start = shape.n_tags, shape.stride, 0
    places = np.full(len(numbers), -1, np.int64)
    for order in range(1, shape.transition_order + 1):
        least = sum(K**j for j in range(order + 1))
        inside = (numbers >= least) & (numbers < least + K ** (order + 1))
        history, tag = np.divmod(numbers[inside] - least, K)
        places[inside] = start + history * S + tag
        start += K**order * S
    return places
