# SPDX-License-Identifier: BSD-3-Clause
"""How often thresholds keep their promises, and what a threshold read off the rows does.

    python benchmarks/thresholds.py [DRAWS]         by default 2000

Rows are drawn anew each time: one in five positive, scores normal around 0 and 1.8, so precision
and recall in the population are known. Promised with confidence 0.9; broken is the share of draws
whose threshold does not keep the floor, none that of draws without one. Beside it the lowest
threshold whose precision on the rows reaches the floor, or the highest whose recall does.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import norm

from svmcut.base.errors import TrainingError
from svmcut.scoring.thresholds import choose_threshold, make_promises

SHARE, SHIFT = 0.2, 1.8


def population(threshold: float) -> dict[str, float]:
    hits, false = SHARE * norm.sf(threshold - SHIFT), (1 - SHARE) * norm.sf(threshold)
    return {"precision": hits / (hits + false), "recall": hits / SHARE}


def read_off(positive, scores, name: str, floor: float) -> float:
    order = np.argsort(-scores)
    hits, found = np.cumsum(positive[order]), scores[order]
    if name == "recall":
        return found[np.argmax(hits >= floor * hits[-1])] - 1e-9
    return found[np.flatnonzero(hits >= floor * np.arange(1, len(hits) + 1))[-1]] - 1e-9


def main(words: list[str]) -> None:
    draws, rng = int(words[0]) if words else 2000, np.random.default_rng(0)
    print("| promised | rows | broken | none | read off the rows: broken |")
    print("|---|---:|---:|---:|---:|")
    for name, floor in (("precision", 0.8), ("recall", 0.9)):
        for n in (500, 3000):
            broken = none = naive = 0
            for _ in range(draws):
                positive = rng.random(n) < SHARE
                scores = rng.normal(size=n) + SHIFT * positive
                naive += population(read_off(positive, scores, name, floor))[name] < floor
                try:
                    asked = make_promises({name: floor}, None, 0.9)
                    threshold = choose_threshold(positive, scores, asked)
                    broken += population(threshold)[name] < floor
                except TrainingError:
                    none += 1
            cells = (f"{100 * each / draws:.1f} %" for each in (broken, none, naive))
            print(f"| {name} at least {floor} | {n:,} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main(sys.argv[1:])
