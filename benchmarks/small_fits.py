# SPDX-License-Identifier: BSD-3-Clause
"""What do small fits and predictions cost from Python? svmcut.compat beside scikit-learn, CPU
milliseconds.

    OMP_NUM_THREADS=1 python benchmarks/small_fits.py --repeats 5 --only digits

digits are scikit-learn's, divided by 16; the other rows are 360 of 64 normal features. Both have
the same parameters, their own defaults. LinearSVC's tol is no promise of an objective: with the
hinge it ends after max_iter, 1,000 iterations. compat's ends at a gap of a tenth of tol. Medians of
alternating rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from functools import partial

import numpy as np
import sklearn.svm
from sklearn.datasets import load_digits

from svmcut import compat

MACHINES = (
    ("LinearSVC, hinge", "LinearSVC", {"loss": "hinge"}),
    ("LinearSVC", "LinearSVC", {}),
    ("SVC, rbf", "SVC", {}),
)
#: Runs of a job between two readings of the clock: fits, predictions.
TIMES = {"digits": (1, 5), "360 x 64": (10, 50)}


def sets():
    """Name, rows and classes."""
    X, y = load_digits(return_X_y=True)
    yield "digits", X / 16, y
    rng = np.random.default_rng(0)
    X = rng.normal(size=(360, 64))
    yield "360 x 64", X, (X[:, 0] + 0.5 * rng.normal(size=360) > 0).astype(int)


def jobs():
    """Name of a job, how often it is run between two readings, and what it is by module."""
    for title, X, y in sets():
        fits, predictions = TIMES[title]
        for name, kind, how in MACHINES:
            made = [getattr(module, kind)(**how).fit(X, y) for module in (sklearn.svm, compat)]
            for what, times, given in (
                ("fit", fits, (X, y)),
                ("predict", predictions, (X,)),
                ("predict one row", 10 * predictions, (X[:1],)),
            ):
                calls = [getattr(machine, what.split()[0]) for machine in made]
                yield f"{title}, {name}: {what}", times, [partial(call, *given) for call in calls]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="a part of the names of jobs")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # their fits that do not converge
    print("| job | scikit-learn, ms | svmcut, ms | ratio |\n|---|---|---|---|")
    for name, times, works in jobs():
        if given.only not in name:
            continue
        found: list[list[float]] = [[], []]
        for _ in range(given.repeats):
            for seconds, work in zip(found, works, strict=True):
                began = time.process_time()
                for _ in range(times):
                    work()
                seconds.append((time.process_time() - began) / times)
        theirs, ours = (1e3 * statistics.median(seconds) for seconds in found)
        print(f"| {name} | {theirs:.2f} | {ours:.2f} | {ours / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
