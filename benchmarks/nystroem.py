# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's Nystroem and LinearSVC on files in LIBSVM format: seconds, objective and test
error as JSON.

    python benchmarks/nystroem.py TRAIN TEST --cost 32 --gamma 0.0078125 [--rank 500] [--loss
    squared_hinge]

The objective is 1/2 (|w|^2 + b^2) + COST sum_i max(0, 1 - y_i f(x_i)) whatever the loss is that was
trained with. "fit" are CPU seconds of both fits, reading apart, "scoring" those of the objective
and the test rows, reading these included.
"""

import json
import time
import warnings

import numpy as np
from arguments import make_parser
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import LinearSVC


def main():
    parser = make_parser(__doc__)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--cost", type=float, required=True, help="of one example")
    parser.add_argument("--gamma", type=float, required=True)
    parser.add_argument("--rank", type=int, default=500)
    parser.add_argument("--loss", choices=("hinge", "squared_hinge"), default="hinge")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    X, y = load_svmlight_file(given.train, dtype=np.float32)
    y = np.where(y > 0, 1.0, -1.0)
    began = time.process_time()
    features = Nystroem(gamma=given.gamma, n_components=given.rank, random_state=given.seed)
    Z = features.fit_transform(X)
    machine = LinearSVC(C=given.cost, loss=given.loss, dual="auto", random_state=given.seed)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ConvergenceWarning)
        machine.fit(Z, y)
    fitted, wall = time.process_time(), time.perf_counter()
    hinge = np.maximum(0.0, 1.0 - y * machine.decision_function(Z)).sum()
    squared = float(machine.coef_[0] @ machine.coef_[0] + machine.intercept_[0] ** 2)
    X_test, y_test = load_svmlight_file(given.test, n_features=X.shape[1], dtype=np.float32)
    error = 100 * float(
        np.mean((machine.decision_function(features.transform(X_test)) > 0) != (y_test > 0))
    )
    scoring = {"cpu": time.process_time() - fitted, "wall": time.perf_counter() - wall}
    print(
        json.dumps(
            {
                "fit": fitted - began,
                "scoring": scoring,
                "error": error,
                "points": features.components_.shape[0],
                "objective": 0.5 * squared + given.cost * float(hinge),
                "converged": not any(
                    issubclass(warning.category, ConvergenceWarning) for warning in said
                ),
            }
        )
    )


if __name__ == "__main__":
    main()
