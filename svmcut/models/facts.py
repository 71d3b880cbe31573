# SPDX-License-Identifier: BSD-3-Clause
"""Facts that models share, as plain values: extreme weights, features, support vectors, kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmcut.data.examples import Csr
    from svmcut.models.kernels import Kernel


class Ends:
    """The `top` largest weights of either sign, with `names` of the features from the first on."""

    def __init__(self, top: int, names: Sequence[str] | None):
        self._top, self._names = top, names

    def of(self, weights: NDArray, name: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
        """Weights above 0 and below, largest first; of equal ones the first place first."""
        ends = {}
        for end, sign in (("highest", 1.0), ("lowest", -1.0)):
            places = np.flatnonzero(sign * weights > 0)
            values = sign * weights[places]
            if self._top < len(places):
                least = np.partition(values, -self._top)[-self._top] if self._top else np.inf
                places, values = places[values >= least], values[values >= least]
            order = np.lexsort((places, -values))[: self._top]
            ends[end] = [
                name(int(place)) | {"weight": float(weights[place])} for place in places[order]
            ]
        return ends

    def of_features(self, weights: NDArray, columns: NDArray | None) -> dict[str, Any]:
        """Extreme weights of features, with their number and norm."""

        def name(place: int) -> dict[str, Any]:
            column = place if columns is None else int(columns[place])
            known = self._names is not None and column < len(self._names)
            return {"feature": column + 1} | ({"name": self._names[column]} if known else {})  # type: ignore[index]

        size = {"weighted": int(np.count_nonzero(weights)), "norm": float(np.linalg.norm(weights))}
        return size | self.of(weights, name)


def features(columns: NDArray | None, weighted: NDArray) -> dict[str, Any]:
    """Largest feature with a weight, number of features with one, and percentage of the others
    below the largest."""
    places = np.flatnonzero(weighted)
    highest = (
        0 if not len(places) else int(places[-1] if columns is None else columns[places[-1]]) + 1
    )
    sparsity = 100.0 * (1 - len(places) / highest) if highest else 100.0
    return {"highest": highest, "weighted": len(places), "sparsity": sparsity}


def kernel(of: Kernel) -> dict[str, Any]:
    """Name of a kernel and the parameters it reads."""
    return {"name": of.name, **of.parameters}


def support(vectors: Csr, alpha: NDArray, columns: NDArray | None) -> dict[str, Any]:
    """Features and number of support vectors, their multipliers, and how many of these are as large
    as the largest."""
    stored = vectors.stored
    used = np.bincount(vectors.indices[stored][vectors.data[stored] != 0], minlength=1)
    size = np.abs(alpha[alpha != 0])
    most = float(size.max(initial=0.0))
    return {
        "features": features(columns, used),
        "support_vectors": {
            "number": vectors.n_rows,
            "nonzeros": int(np.diff(vectors.indptr).sum()),
            "positive": int((alpha > 0).sum()),
            "negative": int((alpha < 0).sum()),
            "least": float(size.min(initial=most)),
            "most": most,
            "at_most": int((size >= most * (1 - 1e-9)).sum()),
        },
    }
