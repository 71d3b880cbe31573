# SPDX-License-Identifier: BSD-3-Clause
"""Log loss and Brier score of LinearSVM(probability=True) beside scikit-learn's
CalibratedClassifierCV of LinearSVC.

    python benchmarks/probability.py --adult a9a.gz a9a.t.gz --figure docs/plots/reliability.svg

Both train the hinge loss at the same C on the same rows and hold out five folds.
CalibratedClassifierCV is asked for its default way (method="sigmoid", ensemble=True, cv=5): five
machines each with its own sigmoid, one against the rest where there are more classes. Breast
cancer, digits and wine are scikit-learn's, scaled to 0 to 1 by the training rows, and split at
random into two thirds and one; the numbers are means over the splits. Adult is a file for each
part. The figure has one panel a set: shares of rows over their probability, over all splits.
"""

import time
import warnings
from pathlib import Path

import numpy as np
from arguments import make_parser
from sklearn import datasets
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC

import svmcut
from svmcut.scoring.probabilities import ProbabilityLosses, Reliability

SETS = ("breast_cancer", "digits", "wine")
MACHINES = {
    "svmcut": lambda C, seed: svmcut.LinearSVM(C, probability=True, random_state=seed),
    "scikit-learn": lambda C, seed: CalibratedClassifierCV(
        LinearSVC(C=C, loss="hinge", max_iter=20_000, random_state=seed),
        method="sigmoid",
        ensemble=True,
        cv=5,
    ),
}


def splits(name, adult, repeats):
    """(X, y, X of the test, y of the test) of every split of a set."""
    if name == "adult":
        d = svmcut.load_svmlight_file(adult[0], threads=1)[0].shape[1]
        parts = [svmcut.load_svmlight_file(path, n_features=d, threads=1) for path in adult]
        yield (*parts[0], *parts[1])
        return
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    for seed in range(repeats):
        train, test, y_train, y_test = train_test_split(
            X, y, test_size=1 / 3, random_state=seed, stratify=y
        )
        scaler = MinMaxScaler(clip=True).fit(train)
        yield scaler.transform(train), y_train, scaler.transform(test), y_test


def measured(name, options):
    """By machine: mean log loss, mean Brier score, CPU seconds of a fit, and reliability; of a
    set."""
    found = {}
    for machine, make in MACHINES.items():
        losses, briers, seconds, reliability = [], [], [], Reliability()
        for seed, (X, y, X_test, y_test) in enumerate(splits(name, options.adult, options.repeats)):
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # LinearSVC may stop at its number of iterations
                fitted = make(options.C, seed).fit(X, y)
            seconds.append(time.process_time() - began)
            p, places = fitted.predict_proba(X_test), np.searchsorted(fitted.classes_, y_test)
            worth = ProbabilityLosses().add(p, places).values()
            losses.append(worth["log_loss"])
            briers.append(worth["brier"])
            reliability.add(p, places)
        found[machine] = np.mean(losses), np.mean(briers), np.mean(seconds), reliability.points()
    return found


def draw(results, target):
    """One panel a set."""
    from style import legend, look, save, two_wide

    figure, axes = two_wide(len(results))
    for axis, (name, found) in zip(axes, results.items(), strict=True):
        axis.plot([0, 100], [0, 100], color="0.7", linewidth=1, label="as it should be")
        losses = []
        for machine, (loss, *_, points) in found.items():
            p, share, _ = np.transpose(points)
            axis.plot(p, share, **look(machine))
            losses.append(f"{loss:.3f}")
        axis.set(
            title=f"{name}: log loss {' and '.join(losses)}",
            xlabel="probability given, %",
            ylabel="share, %",
        )
    legend(figure)
    save(figure, target)


def main():
    """Prints a table."""
    parser = make_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--adult", nargs=2, help="training and test file")
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=5, help="splits")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    results = {}
    heads = (
        "set",
        "log loss: svmcut",
        "scikit-learn",
        "ratio",
        "Brier: svmcut",
        "scikit-learn",
        "CPU s: svmcut",
        "scikit-learn",
    )
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name in [*options.sets, *(["adult"] if options.adult else [])]:
        results[name] = measured(name, options)
        ours, theirs = results[name].values()
        cells = (
            f"{ours[0]:.4f}",
            f"{theirs[0]:.4f}",
            f"{ours[0] / theirs[0]:.3f}",
            f"{ours[1]:.4f}",
            f"{theirs[1]:.4f}",
            f"{ours[2]:.2f}",
            f"{theirs[2]:.2f}",
        )
        print("| " + " | ".join((name, *cells)) + " |", flush=True)
    if options.figure:
        draw(results, options.figure)


if __name__ == "__main__":
    main()
