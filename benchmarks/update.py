# SPDX-License-Identifier: BSD-3-Clause
"""What is proven at once of labels when rows come or go, and what training from there saves.

    python benchmarks/update.py [SET ...]      by default four sets of data/

Hinge, C = 0.1 an example, from a model of gap 1e-6; rows at random, the median of five draws. "out"
and "in" are the shares of test labels that are proven without training after so many rows went or
came; in brackets the share that truly stays the same. "passes" are those over the features to a gap
of 1e-4 after ten rows went: from the multipliers, and from nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import svmcut

DATA = Path(__file__).resolve().parent.parent / "data"
SETS, COUNTS, DRAWS, COST = ("text", "breast_cancer", "digits", "unbalanced"), (1, 10, 100), 5, 0.1


def fitted(rows, gap: float, keep: bool = False):
    """A model of (X, y)."""
    return svmcut.train(rows, example_cost=COST, gap=gap, threads=1, keep_multipliers=keep)


def shares(X, y, test, whole, rows) -> tuple[list[float], list[float]]:
    """Of rows that go, and of the same ones that come: labels that are proven, and unchanged."""
    rest = np.ones(len(y), bool)
    rest[rows] = False
    fewer = fitted((X[rest], y[rest]), 1e-6, True)
    out = svmcut.forget(whole, (X, y), rows, threads=1)
    more = svmcut.fit_more(fewer, (X[rest], y[rest]), (X[rows], y[rows]), threads=1)
    before, after = (model.decision_function(test) > 0 for model in (whole, fewer))
    for found, labels in ((out, after), (more, before)):
        sure = found.decided(test)
        if ((found.decision_function(test) > 0) != labels)[sure].any():
            raise SystemExit("a proven label is another")
    same = float((before == after).mean())
    return [float(out.decided(test).mean()), same], [float(more.decided(test).mean()), same]


def row(name: str) -> list[str]:
    """The cells of a set."""
    X, y = svmcut.load_svmlight_file(DATA / f"{name}.train")
    test, _ = svmcut.load_svmlight_file(DATA / f"{name}.test")
    test, rng, cells = test[:, : X.shape[1]], np.random.default_rng(0), [name, str(len(y))]
    whole = fitted((X, y), 1e-6, True)
    for count in COUNTS:
        draws = [np.sort(rng.choice(len(y), count, False)) for _ in range(DRAWS)]
        found = np.array([shares(X, y, test, whole, rows) for rows in draws])
        middle = 100 * np.median(found, axis=0)
        cells += [f"{proven:.0f} ({same:.1f})" for proven, same in middle]
    gone = rng.choice(len(y), 10, False)
    rest = np.setdiff1d(np.arange(len(y)), gone)
    warm = svmcut.forget(whole, (X, y), gone, gap=1e-4, threads=1)
    cold = fitted((X[rest], y[rest]), 1e-4)
    return [*cells, f"{warm.progress.passes:.0f}", f"{cold.progress.passes:.0f}"]


def main(words: list[str]) -> None:
    heads = [f"{count} {way}" for count in COUNTS for way in ("out", "in")]
    print("| set | rows |", " | ".join(heads), "| passes | cold |")
    print("|---|" + "---:|" * (len(heads) + 3))
    for name in words or SETS:
        print("|", " | ".join(row(name)), "|", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
