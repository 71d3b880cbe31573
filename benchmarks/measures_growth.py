# SPDX-License-Identifier: BSD-3-Clause
"""How the search for the most violated labelling grows with the rows, for every loss of classes.

    python benchmarks/measures_growth.py [ROWS ...]          by default 10000 100000 1000000

Scores are normal, 3 % of the rows positive and one higher; CPU time of 1 thread, best of three. The
exponent is the slope of log time over log rows from the first size to the last.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np

from svmcut.risks import make_risk
from svmcut.risks.survival import SurvivalRisk
from svmcut.spec.catalog import losses
from svmcut.spec.parameters import Settings


def seconds(bound, s: np.ndarray) -> float:
    """The least of three."""
    best = math.inf
    for _ in range(3):
        began = time.process_time()
        bound.linearize(s)
        best = min(best, time.process_time() - began)
    return best


def main(words: list[str]) -> None:
    sizes = [int(word) for word in words] or [10_000, 100_000, 1_000_000]
    names = [name for name, row in losses("classification").items() if not row.is_sum]
    survival = [row for row in losses("survival")]
    print("| loss |", *(f"{n:,} |" for n in sizes), "exponent |")
    print("|---|" + "---:|" * (len(sizes) + 1))
    for name in [*names, *survival]:
        taken = []
        for n in sizes:
            rng = np.random.default_rng(n)
            y = np.where(rng.random(n) < 0.03, 1.0, -1.0)
            s = rng.normal(size=n) + (y > 0)
            if name in survival:
                y *= rng.exponential(size=n)
                bound = SurvivalRisk(name).bind(y)
            else:
                bound = make_risk(Settings(loss=name)).bind(y)
            taken.append(seconds(bound, s))
        slope = math.log(taken[-1] / taken[0]) / math.log(sizes[-1] / sizes[0])
        print(f"| {name} |", *(f"{1e3 * each:.1f} ms |" for each in taken), f"{slope:.2f} |")


if __name__ == "__main__":
    main(sys.argv[1:])
