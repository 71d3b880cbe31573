# SPDX-License-Identifier: BSD-3-Clause
"""Squared hinge, logistic loss and regression beside LIBLINEAR as scikit-learn calls it: objectives
and CPU seconds.

    python benchmarks/smooth.py FILE ... [--costs 0.01,1,100] [--losses
    logistic,epsilon-insensitive]

Times are those of fitting rows in memory on one thread; LIBLINEAR's dual solver is -s 1, 7 and 13,
the primal one -s 2 and 0. A line holds the least objective found and, of every solver, its CPU
seconds and by what part it ends above it. Labels are two classes, above 0 or not, or the targets of
regression.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from arguments import make_parser

import svmcut

TUBE, TOL = 0.1, 1e-4


def primal(X, y, w, b, C, loss):
    """1/2 |(w, b)|^2 + C sum of the losses, in float64."""
    s = X @ w + b
    losses = {
        "squared-hinge": lambda: np.maximum(0, 1 - y * s) ** 2,
        "logistic": lambda: np.logaddexp(0, -y * s),
        "epsilon-insensitive": lambda: np.maximum(0, np.abs(y - s) - TUBE),
    }[loss]()
    return 0.5 * (w @ w + b * b) + C * losses.sum()


def rivals(loss, C):
    """Estimators of LIBLINEAR by name."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC, LinearSVR

    if loss == "epsilon-insensitive":
        return {"dual": LinearSVR(C=C, epsilon=TUBE, tol=TOL, dual=True)}
    if loss == "logistic":
        return {
            name: LogisticRegression(
                C=C, solver="liblinear", tol=TOL, dual=name == "dual", max_iter=1000
            )
            for name in ("dual", "primal")
        }
    return {name: LinearSVC(C=C, tol=TOL, dual=name == "dual") for name in ("dual", "primal")}


def rows_of(path, loss):
    """Rows and labels, with the indices LIBLINEAR takes."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(path)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y if loss == "epsilon-insensitive" else np.where(y > 0, 1.0, -1.0)


def measured(X, y, loss, C, gap):
    """(solver, CPU seconds, objective) of each."""
    found = []
    for name, estimator in rivals(loss, C).items():
        began = time.process_time()
        estimator.fit(X, y)
        seconds, w = time.process_time() - began, estimator.coef_.ravel()
        found.append(
            (
                f"liblinear {name}",
                seconds,
                primal(X, y, w, float(np.ravel(estimator.intercept_)[0]), C, loss),
            )
        )
    task = "regression" if loss == "epsilon-insensitive" else "classification"
    for solver in ("dual-cd", "newton", "auto"):
        began = time.process_time()
        outcome = svmcut.train(
            (X, y), task=task, loss=loss, example_cost=C, solver=solver, gap=gap, threads=1
        )
        found.append((f"svmcut {solver}", time.process_time() - began, outcome.primal))
    return found


def main():
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--costs", default="0.01,1,100")
    parser.add_argument("--losses", default="squared-hinge,logistic,epsilon-insensitive")
    parser.add_argument("--gap", type=float, default=1e-3)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # LIBLINEAR's own limit of iterations shows in its objective
    for path in given.files:
        for loss in given.losses.split(","):
            X, y = rows_of(path, loss)
            for C in map(float, given.costs.split(",")):
                found = measured(X, y, loss, C, given.gap)
                least = min(objective for *_, objective in found)
                cells = [
                    f"{name} {seconds:.3f} s +{objective / least - 1:.1e}"
                    for name, seconds, objective in found
                ]
                print(
                    f"| {path} | {loss} | {C:g} | {least:.7g} | {' | '.join(cells)} |", flush=True
                )


if __name__ == "__main__":
    main()
