# SPDX-License-Identifier: BSD-3-Clause
"""What there is to see of a model and of its scores: plain data, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut.data.examples import Names
from svmcut.data.labels import SIGNS, label_text
from svmcut.models import (
    ChainModel,
    FourierModel,
    JointKernelModel,
    KernelChainModel,
    KernelModel,
    KernelMulticlassModel,
    LinearModel,
    MulticlassModel,
    MultilabelModel,
    pairs_of,
)
from svmcut.scoring.probabilities import LOG_ODDS
from svmcut.spec.catalog import KERNELS, TASKS, losses

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from svmcut.models import ChainShape, Model

#: Tags of which a matrix of all transitions is shown.
MATRIX_TAGS = 64


def facts(model: Model, top: int = 10, names: Sequence[str] | None = None) -> dict[str, Any]:
    """What a model is, has and weighs, as plain values: numbers, texts, lists and mappings.

    Parameters
    ----------
    top : int
        How many weights are named at either end.
    names : sequence of str or None
        Of the features, from the first on.

    Returns
    -------
    dict
        ``kind``, ``loss``, ``labels``, and what the kind has; docs/inspect.md lists the keys.
    """
    known = getattr(model, "names", None)
    if names is None and isinstance(known, Names):
        names = known.attributes
    return _FACTS[type(model)](model, _Ends(top, names))


class _Ends:
    """The weights at either end, with the names of what they weigh."""

    def __init__(self, top: int, names: Sequence[str] | None):
        self._top, self._names = top, names

    def of(self, weights: NDArray, name: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
        """The weights above 0 and those below, largest first; of equal ones the first place
        first."""
        found = {}
        for end, sign in (("highest", 1.0), ("lowest", -1.0)):
            places = np.flatnonzero(sign * weights > 0)
            values = sign * weights[places]
            if self._top < len(places):
                least = np.partition(values, -self._top)[-self._top] if self._top else np.inf
                places, values = places[values >= least], values[values >= least]
            order = np.lexsort((places, -values))[: self._top]
            found[end] = [
                name(int(place)) | {"weight": float(weights[place])} for place in places[order]
            ]
        return found

    def of_features(self, weights: NDArray, columns: NDArray | None) -> dict[str, Any]:
        """As `of`, of weights of features, with their number and norm."""

        def name(place: int) -> dict[str, Any]:
            column = place if columns is None else int(columns[place])
            known = self._names is not None and column < len(self._names)
            return {"feature": column + 1} | ({"name": self._names[column]} if known else {})  # type: ignore[index]

        size = {"weighted": int(np.count_nonzero(weights)), "norm": float(np.linalg.norm(weights))}
        return size | self.of(weights, name)


def _features(columns: NDArray | None, weighted: NDArray) -> dict[str, Any]:
    """The largest feature with a weight, how many have one, and the percentage of the others below
    the largest."""
    places = np.flatnonzero(weighted)
    highest = (
        0 if not len(places) else int(places[-1] if columns is None else columns[places[-1]]) + 1
    )
    sparsity = 100.0 * (1 - len(places) / highest) if highest else 100.0
    return {"highest": highest, "weighted": len(places), "sparsity": sparsity}


def _classes(model: LinearModel | KernelModel | FourierModel) -> dict[str, Any]:
    found = {"loss": model.loss, "labels": [label_text(label) for label in model.labels or SIGNS]}
    return found | (
        {} if model.calibration is None else {"probabilities": {"sigmoid": list(model.calibration)}}
    )


def _linear(model: LinearModel, ends: _Ends) -> dict[str, Any]:
    head = {"kind": "linear", **_classes(model), "features": _features(model.columns, model.w != 0)}
    weights = {
        "of": label_text((model.labels or SIGNS)[1]),
        **ends.of_features(model.w, model.columns),
    }
    return head | {"threshold": float(model.b), "weights": [weights]}


def _kernel(model: KernelModel, ends: _Ends) -> dict[str, Any]:
    head = {"kind": "kernel", **_classes(model), "kernel": _kernel_facts(model.kernel)}
    return (
        head | {"features": _support_features(model), "threshold": float(model.b)} | _support(model)
    )


def _fourier(model: FourierModel, ends: _Ends) -> dict[str, Any]:
    head = {"kind": "fourier", **_classes(model), "kernel": _kernel_facts(model.kernel)}
    drawn = {
        "frequencies": len(model.omega),
        "seed": model.seed,
        "norm": float(np.linalg.norm(model.w)),
    }
    return (
        head
        | {
            "features": _features(model.columns, np.abs(model.omega).max(axis=0)),
            "threshold": model.b,
        }
        | drawn
    )


def _kernel_facts(kernel: Any) -> dict[str, Any]:
    """The name of a kernel, its formula, and the parameters it reads."""
    values = {
        "degree": kernel.degree,
        "gamma": kernel.gamma,
        "scale_kernel": kernel.scale,
        "coef0": kernel.offset,
    }
    return {"name": kernel.name} | {name: values[name] for name in KERNELS[kernel.name].takes}


def _support_features(
    model: KernelModel | KernelChainModel | KernelMulticlassModel,
) -> dict[str, Any]:
    support = model.support
    stored = support.stored
    used = np.bincount(support.indices[stored][support.data[stored] != 0], minlength=1)
    return _features(model.columns, used)


def _support(model: KernelModel | KernelChainModel | KernelMulticlassModel) -> dict[str, Any]:
    """How many support vectors there are, their multipliers, and how many of these are as large as
    the largest."""
    alpha, nonzeros = model.alpha, int(np.diff(model.support.indptr).sum())
    size = np.abs(alpha[alpha != 0])
    most = float(size.max(initial=0.0))
    return {
        "support_vectors": {
            "number": model.support.n_rows,
            "nonzeros": nonzeros,
            "positive": int((alpha > 0).sum()),
            "negative": int((alpha < 0).sum()),
            "least": float(size.min(initial=most)),
            "most": most,
            "at_most": int((size >= most * (1 - 1e-9)).sum()),
        }
    }


def _chain(model: ChainModel, ends: _Ends) -> dict[str, Any]:
    shape = model.shape
    K, slots = shape.n_tags, shape.node_size // shape.stride
    nodes = model.w[: shape.n_features * shape.node_size].reshape(
        shape.n_features, slots, shape.stride
    )[:, :, :K]
    loss = next(row.name for row in losses("sequence").values() if row.number == bool(model.loss))
    labels = _tags(model)
    weights = [
        {"of": labels[tag], **({"behind": labels[before - 1]} if before else {})}
        | ends.of_features(nodes[:, before, tag], model.columns)
        for before in range(slots)
        for tag in range(K)
    ]
    return {
        "kind": "chain",
        "loss": loss,
        "labels": labels,
        "features": _features(model.columns, np.count_nonzero(nodes, (1, 2))),
        "weights": weights,
        "transitions": _transitions(
            model.w[len(model.w) - shape.transitions :], shape, labels, ends
        ),
    }


def _kernel_chain(model: KernelChainModel, ends: _Ends) -> dict[str, Any]:
    labels = _tags(model)
    return {
        "kind": "kernel chain",
        "loss": None,
        "labels": labels,
        "kernel": _kernel_facts(model.kernel),
        "features": _support_features(model),
        **_support(model),
        "transitions": _transitions(model.transitions, model.shape, labels, ends),
    }


def _tags(model: ChainModel | KernelChainModel) -> list[str]:
    """Names of the tags, or their numbers."""
    return (
        [str(tag + 1) for tag in range(model.shape.n_tags)]
        if model.names is None
        else [*model.names.tags]
    )


def _transitions(
    weights: NDArray, shape: ChainShape, labels: list[str], ends: _Ends
) -> list[dict[str, Any]]:
    """Of every order: tags from the farthest to the one that is weighed; all of order 1 where there
    are few."""
    K, start, found = shape.n_tags, 0, []
    for order in range(1, shape.transition_order + 1):
        table = weights[start : start + K**order * shape.stride].reshape(-1, shape.stride)[:, :K]
        start += K**order * shape.stride
        sizes = (K,) * (order + 1)

        def name(place: int, sizes: tuple[int, ...] = sizes) -> dict[str, Any]:
            return {"tags": [labels[tag] for tag in np.unravel_index(place, sizes)]}

        row = {"order": order, "weighted": int(np.count_nonzero(table))} | ends.of(
            table.ravel(), name
        )
        found.append(row | ({"matrix": table.tolist()} if order == 1 and K <= MATRIX_TAGS else {}))
    return found


def _label_sets(model: MultilabelModel, ends: _Ends) -> dict[str, Any]:
    labels = [str(label) for label in model.names.tolist()]

    def pair(place: int) -> dict[str, Any]:
        return {"labels": [labels[model.first[place]], labels[model.second[place]]]}

    weights = [
        {"of": label, "constant": float(constant)} | ends.of_features(w, model.columns)
        for label, constant, w in zip(labels, model.constant, model.W.T, strict=True)
    ]
    pairs = {"number": len(model.v), "positive": int((model.v > 0).sum())} | ends.of(model.v, pair)
    return {
        "kind": "label sets",
        "loss": TASKS["multilabel"].loss,
        "labels": labels,
        "features": _features(model.columns, np.count_nonzero(model.W, 1)),
        "weights": weights,
        "pairs": pairs,
    }


def _several(model: MulticlassModel, ends: _Ends) -> dict[str, Any]:
    labels = [label_text(label) for label in model.names.tolist()]
    weights = [
        {"of": label, "constant": float(model.bias * constant)} | ends.of_features(w, model.columns)
        for label, constant, w in zip(labels, model.constant, model.W.T, strict=True)
    ]
    head: dict[str, Any] = {
        "kind": "classes",
        "loss": model.loss or TASKS["multiclass"].loss,
        "labels": labels,
    }
    if model.temperature is not None:
        head["probabilities"] = {"temperature": model.temperature}
    elif model.has_probabilities:
        head["probabilities"] = {"sigmoid": list(LOG_ODDS)}
    return head | {
        "features": _features(model.columns, np.count_nonzero(model.W, 1)),
        "weights": weights,
    }


def _machines(model: KernelMulticlassModel, ends: _Ends) -> dict[str, Any]:
    labels = [label_text(label) for label in model.names.tolist()]
    sides: list[tuple[int, ...]] = (
        [*pairs_of(len(labels))] if model.paired else [(k,) for k in range(len(labels))]
    )
    machines = [
        {"of": [labels[k] for k in own], "support_vectors": int(count), "threshold": float(b)}
        for own, count, b in zip(sides, np.diff(model.starts), model.b, strict=True)
    ]
    head: dict[str, Any] = {
        "kind": "kernel classes",
        "loss": model.loss or TASKS["multiclass"].loss,
        "labels": labels,
    }
    if model.temperature is not None:
        head["probabilities"] = {"temperature": model.temperature}
    elif model.sigmoids is not None:
        head["probabilities"] = {"sigmoids": [[*fitted] for fitted in model.sigmoids]}
    known = {
        "kernel": _kernel_facts(model.kernel),
        "features": _support_features(model),
        **_support(model),
    }
    return {**head, **known, "machines": machines}


_FACTS: dict[type, Callable[[Any, _Ends], dict[str, Any]]] = {
    LinearModel: _linear,
    KernelModel: _kernel,
    ChainModel: _chain,
    KernelChainModel: _kernel_chain,
    MultilabelModel: _label_sets,
    MulticlassModel: _several,
    KernelMulticlassModel: _machines,
    JointKernelModel: _machines,
    FourierModel: _fourier,
}


def distribution(
    scores: NDArray, groups: dict[str, NDArray[np.bool_]], bins: int = 40
) -> dict[str, Any]:
    """How scores are spread in groups of rows, over bins they share; scores that are not finite are
    left out.

    Parameters
    ----------
    groups : dict of str to (n,) bool
    """
    finite = np.isfinite(scores)
    low, high = (
        float(part)
        for part in (scores[finite].min(initial=np.inf), scores[finite].max(initial=-np.inf))
    )
    edges = np.linspace(low, high, bins + 1) if low < high else np.array([low - 0.5, low + 0.5])
    found = []
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
        found.append(row)
    return {"edges": edges.tolist() if finite.any() else [], "groups": found}


def curves(
    positive: NDArray[np.bool_], scores: NDArray, most: int = 200
) -> dict[str, list[list[float]]]:
    """Points of the ROC curve and of precision over recall, in percent; ties as in
    svmcut.scoring.measures.

    Returns
    -------
    dict
        ``roc``: false and true positives; ``precision_recall``: recall and precision at the ranks
        of the positives. At most so many points of each; none where a class that a curve needs is
        missing.
    """
    ranked = positive[np.lexsort((positive, -np.asarray(scores, np.float64)))]
    found, n_positive, n = np.cumsum(ranked), int(positive.sum()), len(ranked)
    roc = precision_recall = np.zeros((0, 2))
    if n_positive:
        ranks = np.flatnonzero(ranked)
        k = np.arange(1, n_positive + 1)
        precision_recall = np.column_stack([k / n_positive, k / (ranks + 1)])
    if 0 < n_positive < n:
        steps = np.concatenate([[0], found])
        points = np.column_stack(
            [(np.arange(n + 1) - steps) / (n - n_positive), steps / n_positive]
        )
        corner = np.concatenate([[True], ranked[1:] != ranked[:-1], [True]])
        roc = points[corner]
    return {
        "roc": _thinned(100 * roc, most),
        "precision_recall": _thinned(100 * precision_recall, most),
    }


def _thinned(points: NDArray, most: int) -> list[list[float]]:
    """Both ends and points evenly between them."""
    if len(points) > most:
        points = points[np.linspace(0, len(points) - 1, most).round().astype(np.int64)]
    return points.tolist()
