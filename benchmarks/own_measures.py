# SPDX-License-Identifier: BSD-3-Clause
"""Is each measure best where it was trained for?

    python benchmarks/own_measures.py [SEEDS]         by default 5

Three sets with few positives: data/unbalanced, and digits and text with one positive in ten left.
Each seed deals the rows anew: half to train, a quarter chooses C by the measure of the column, a
quarter is measured. A cell is the mean over seeds, the last row the median of the losses'
deviations; the best of a column is bold. kld is times 1,000.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

import svmcut
from svmcut.scoring.measures import MeasureTargets, classification_measures

DATA = Path(__file__).resolve().parents[1] / "data"
SETS = {"unbalanced": 1.0, "digits": 0.1, "text": 0.1}
LOSSES = ("error-rate", "f1", "fbeta", "gmean", "balanced-error", "kld", "roc-area", "partial-auc")
COLUMNS = ("error_rate", "f1", "fbeta", "gmean", "balanced_error", "kld", "roc_area", "partial_auc")
FALLS = ("error_rate", "balanced_error", "kld")
COSTS = (10.0, 100.0, 1000.0, 10000.0)


def rows(name: str, share: float, rng: np.random.Generator):
    """All rows of a set but most of its positives, in a new order."""
    X, y = svmcut.load_svmlight_file(DATA / f"{name}.train")
    more, labels = svmcut.load_svmlight_file(DATA / f"{name}.test", n_features=X.shape[1])
    X, y = np.vstack([X.toarray(), more.toarray()]), np.append(y, labels)
    keep = (y <= 0) | (rng.random(len(y)) < share)
    order = rng.permutation(np.flatnonzero(keep))
    return X[order], y[order]


def measured(X, y, model) -> dict[str, float]:
    values = classification_measures(
        y, model.decision_function(X), None, MeasureTargets(f=2.0)
    ).values
    return values | {"kld": 1000 * values["kld"]}


def one(name: str, seed: int) -> dict[str, dict[str, float]]:
    """By loss and column, of the C that is best by the column."""
    X, y = rows(name, SETS[name], np.random.default_rng(seed))
    half, rest = len(y) // 2, 3 * len(y) // 4
    found = {}
    for loss in LOSSES:
        own = {"beta": 2.0} if loss == "fbeta" else {}
        models = [
            svmcut.train((X[:half], y[:half]), loss=loss, cost=C, gap=0.01, time_limit=2.0, **own)
            for C in COSTS
        ]
        held = [measured(X[half:rest], y[half:rest], model) for model in models]
        last = [measured(X[rest:], y[rest:], model) for model in models]
        found[loss] = {}
        for column in COLUMNS:
            sign = -1 if column in FALLS else 1
            best = max(range(len(COSTS)), key=lambda k: sign * held[k][column])
            found[loss][column] = last[best][column]
    return found


def main(words: list[str]) -> None:
    seeds = int(words[0]) if words else 5
    for name in SETS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runs = [one(name, seed) for seed in range(seeds)]
        print(f"\n{name}\n\n| trained for |", *(f"{column} |" for column in COLUMNS))
        print("|---|" + "---:|" * len(COLUMNS))
        means = {
            loss: {column: np.mean([run[loss][column] for run in runs]) for column in COLUMNS}
            for loss in LOSSES
        }
        for loss in LOSSES:
            cells = []
            for column in COLUMNS:
                every = [means[other][column] for other in LOSSES]
                best = min(every) if column in FALLS else max(every)
                text = f"{means[loss][column]:.1f}"
                text = f"**{text}**" if means[loss][column] == best else text
                cells.append(f"{text} |")
            print(f"| {loss} |", *cells)
        spread = [
            np.median([np.std([run[loss][column] for run in runs]) for loss in LOSSES])
            for column in COLUMNS
        ]
        print("| median deviation |", *(f"{deviation:.1f} |" for deviation in spread))


if __name__ == "__main__":
    main(sys.argv[1:])
