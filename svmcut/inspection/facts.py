# SPDX-License-Identifier: BSD-3-Clause
"""Facts of a model and of its scores: plain data, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import Any
from svmcut.data.examples import Names
from svmcut.models import Model
from svmcut.models.base import Ends


def facts(model: Model, top: int = 10, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Facts and weights of a model as plain values: numbers, texts, lists and mappings;
    docs/inspect.md lists the keys.

    top: how many weights are named at either end. names: of the features, from the first on.
    """
    known = getattr(model, "names", None)
    if names is None and isinstance(known, Names) and not known.hash_bits:
        names = known.attributes
    template = known.template if isinstance(known, Names) else ()
    return model.facts(Ends(top, names)) | ({"template": [*template]} if template else {})


def distribution(
    scores: NDArray, groups: dict[str, NDArray[np.bool_]], bins: int = 40
) -> dict[str, Any]:
    """Histograms of scores in groups of rows, over bins they share; scores that are not finite are
    left out."""
    finite = np.isfinite(scores)
    low, high = (
        float(part)
        for part in (scores[finite].min(initial=np.inf), scores[finite].max(initial=-np.inf))
    )
    edges = np.linspace(low, high, bins + 1) if low < high else np.array([low - 0.5, low + 0.5])
    counted = []
    for name, rows in groups.items():
        own = scores[rows & finite]
        row: dict[str, Any] = {"of": name, "examples": int(rows.sum())}
        if len(own):
            least, *quartiles, most = np.quantile(own, (0, 0.25, 0.5, 0.75, 1)).tolist()
            row |= {
                "mean": float(own.mean()),
                "deviation": float(own.std()),
                "least": least,
                "quartiles": quartiles,
            }
            row |= {"most": most, "counts": np.histogram(own, edges)[0].tolist()}
        counted.append(row)
    return {"edges": edges.tolist() if finite.any() else [], "groups": counted}


def curves(
    positive: NDArray[np.bool_], scores: NDArray, most: int = 200
) -> dict[str, list[list[float]]]:
    """Points of the ROC curve and of precision over recall, in percent, at most so many of each;
    ties as in svmcut.scoring.measures.

    ``roc`` has false and true positives, ``precision_recall`` recall and precision at the ranks of
    the positives; a curve is empty where a class that it needs is missing.
    """
    ranked = positive[np.lexsort((positive, -np.asarray(scores, np.float64)))]
    positives, n_positive, n = np.cumsum(ranked), int(positive.sum()), len(ranked)
    roc = precision_recall = np.zeros((0, 2))
    if n_positive:
        ranks = np.flatnonzero(ranked)
        k = np.arange(1, n_positive + 1)
        precision_recall = np.column_stack([k / n_positive, k / (ranks + 1)])
    if 0 < n_positive < n:
        steps = np.concatenate([[0], positives])
        points = np.column_stack(
            [(np.arange(n + 1) - steps) / (n - n_positive), steps / n_positive]
        )
        corner = np.concatenate([[True], ranked[1:] != ranked[:-1], [True]])
        roc = points[corner]
    return {"roc": _thin(100 * roc, most), "precision_recall": _thin(100 * precision_recall, most)}


def _thin(points: NDArray, most: int) -> list[list[float]]:
    """Both ends and points evenly between them."""
    if len(points) > most:
        points = points[np.linspace(0, len(points) - 1, most).round().astype(np.int64)]
    return points.tolist()
