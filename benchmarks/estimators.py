# SPDX-License-Identifier: BSD-3-Clause
"""svmcut's estimators beside scikit-learn's on the same arrays: CPU seconds of a fit, and the objective it reached.

    python benchmarks/estimators.py data/text.train data/digits.train --repeats 3

The objective is 1/2 w'w + C sum of hinge losses with a regularised bias, summed over the machines of more than two
classes. KernelSVM and SVC have seconds alone: they stop by rules of their own.
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from sklearn.datasets import load_svmlight_file as reference
from sklearn.svm import SVC, LinearSVC

import svmcut


def cpu(work, repeats):
    """Median CPU seconds, and the last result."""
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        found = work()
        seconds.append(time.process_time() - began)
    return float(np.median(seconds)), found


def objective(machine, X, y, C):
    """1/2 w'w + C sum_i hinge, bias included, over all machines."""
    labels = machine.classes_ if len(machine.classes_) > 2 else machine.classes_[1:]
    losses = np.maximum(0, 1 - np.where(y[:, None] == labels, 1, -1) * (X @ machine.coef_.T + machine.intercept_))
    return float(0.5 * (np.square(machine.coef_).sum() + np.square(machine.intercept_).sum()) + C * losses.sum())


def main():
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kernel", action="store_true", help="KernelSVM and SVC too")
    options = parser.parse_args()
    C, repeats = options.C, options.repeats
    print(f"{'file':24} {'what':28} {'CPU s':>8} {'objective':>14}")
    for path in options.files:
        ours, (X, y) = cpu(lambda path=path: svmcut.load_svmlight_file(path, threads=1), repeats)
        theirs = cpu(lambda path=path: reference(path, dtype=np.float32, zero_based=False), 1)[0]
        wide = X.astype(np.float64)  # as LinearSVC wants it, so that it has nothing to convert
        name = path.rsplit("/", 1)[-1][:24]
        print(f"{name:24} {'load: svmcut':28} {ours:8.3f}\n{name:24} {'load: scikit-learn':28} {theirs:8.3f}")
        runs = [("LinearSVM gap 1e-3", svmcut.LinearSVM(C, random_state=0), X)]
        runs += [
            (f"LinearSVC tol {tol:g}", LinearSVC(C=C, loss="hinge", tol=tol, max_iter=100_000, random_state=0), wide)
            for tol in (0.1, 0.01)
        ]
        if options.kernel:
            runs += [("KernelSVM rbf", svmcut.KernelSVM(C), X), ("SVC rbf", SVC(C=C), wide)]
        for what, machine, rows in runs:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                seconds, machine = cpu(partial(machine.fit, rows, y), repeats)
            value = f"{objective(machine, wide, y, C):14.6g}" if hasattr(machine, "coef_") else ""
            print(f"{name:24} {what:28} {seconds:8.3f} {value}", flush=True)


if __name__ == "__main__":
    main()
