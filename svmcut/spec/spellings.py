# SPDX-License-Identifier: BSD-3-Clause
"""Other spellings of names: those of scikit-learn, LIBLINEAR and LIBSVM, and slips of the keys."""

from __future__ import annotations

from collections.abc import Collection

#: Names that others use, as they are folded, and ours; the first that fits where it is asked.
OTHERS = {
    "poly": ("polynomial",),
    "gaussian": ("rbf",),
    "tanh": ("sigmoid",),
    "hinge": ("error-rate", "survival-hinge"),
    "squared-hinge": ("survival-squared-hinge",),
    "accuracy": ("error-rate",),
    "f1-score": ("f1",),
    "auc": ("roc-area",),
    "roc-auc": ("roc-area",),
    "ap": ("average-precision",),
    "map": ("average-precision",),
    "log": ("logistic",),
    "log-loss": ("logistic",),
    "logistic-regression": ("logistic",),
    "l2-loss": ("squared-hinge",),
    "ndcg": ("ndcg@10",),
    "ovr": ("one-vs-rest",),
    "ova": ("one-vs-rest",),
    "one-vs-all": ("one-vs-rest",),
    "ovo": ("one-vs-one",),
    "one-against-one": ("one-vs-one",),
    "svm-perf": ("original",),
    "svm-rank": ("original",),
    "svm-hmm": ("original",),
    "cs": ("crammer-singer",),
    "mean-squared-error": ("mse",),
    "mean-absolute-error": ("mae",),
    "coordinate-descent": ("dual-cd",),
    "svr": ("regression",),
    "tagging": ("sequence",),
    "labels": ("multilabel",),
}

#: What losses of numbers are called without a tube.
OF_NO_TUBE = {"mae": "epsilon-insensitive", "mse": "squared-epsilon-insensitive"}


def respelt(text: str, names: Collection[str]) -> str:
    """The name that a text stands for: in another case, with underscores or as others call it.

    The text itself where it stands for none.
    """
    folded = text.strip().lower().replace("_", "-")
    for name in (text, folded, *OTHERS.get(folded, ())):
        if name in names:
            return name
    return text


def nearest(text: str, names: Collection[str], least: float = 0.7) -> str | None:
    """The name that a text was meant as: another spelling, or one alike by at least so much."""
    from difflib import get_close_matches

    name = respelt(text, names)
    if name in names:
        return name
    if near := get_close_matches(text.lower(), names, 1, least):
        return near[0]
    others = {other: respelt(other, names) for other in OTHERS}
    known = [other for other, name in others.items() if name in names]
    near = get_close_matches(text.lower(), known, 1, least)
    return others[near[0]] if near else None
