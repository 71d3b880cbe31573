# SPDX-License-Identifier: BSD-3-Clause
"""What does choosing C, or C and gamma, by cross-validation cost? svmcut --cv beside scikit-learn's
GridSearchCV.

    python benchmarks/cross_validation.py -C 0.01 0.03 0.1 0.3 1 3 10 30 rcv100k
    python benchmarks/cross_validation.py -C 0.3 1 3 10 --gamma 0.003 0.01 0.03 0.1 --rows 10000 a9a

GridSearchCV has the folds of svmcut (a predefined split) and trains LinearSVC with the hinge loss,
or with --gamma SVC with the rbf kernel, and refits; its CPU seconds are those of fit alone, without
reading and imports. Those of svmcut are of the whole process, from the file to the model:
alternating rounds on one and on --threads pinned CPUs, medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from arguments import SVMCUT, make_parser
from timing import Measurement, alternate, time_process

from svmcut.data.folds import make_folds
from svmcut.files.examples import read_examples


def first_rows(path: Path, rows: int | None, folder: Path) -> Path:
    """A plain file of the first rows."""
    import gzip

    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as lines, open(folder / path.stem, "wb") as kept:
        for k, line in enumerate(lines):
            if rows is not None and k >= rows:
                break
            kept.write(line)
    return folder / path.stem


def grid_search(
    path: Path, options: argparse.Namespace
) -> tuple[Measurement, dict[str, float], np.ndarray]:
    """Seconds of GridSearchCV, its best cell and the means of all, in percent."""
    from sklearn.model_selection import GridSearchCV, PredefinedSplit
    from sklearn.svm import SVC, LinearSVC

    examples = read_examples(str(path))
    place = np.empty(len(examples), int)
    for k, fold in enumerate(make_folds("classification", examples, options.folds)):
        place[fold.held] = k
    grid = {"C": options.C} | ({"gamma": options.gamma} if options.gamma else {})
    machine = (
        SVC(kernel="rbf", cache_size=options.cache)
        if options.gamma
        else LinearSVC(loss="hinge", dual=True)
    )
    X = examples.X.to_scipy().astype(np.float64)
    search = GridSearchCV(machine, grid, scoring="accuracy", cv=PredefinedSplit(place))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of iterations that did not converge
        began, cpu = time.perf_counter(), time.process_time()
        search.fit(X, examples.y)
        spent = Measurement(time.perf_counter() - began, time.process_time() - cpu)
    return spent, search.best_params_, 100 * search.cv_results_["mean_test_score"]


def cross_validation(
    path: Path, folder: Path, options: argparse.Namespace, threads: int
) -> Measurement:
    """Seconds of svmcut; its report stands in the folder."""
    words = ["--example-cost", ",".join(map(str, options.C))]
    if options.gamma:
        words += [
            *("-t", "2", "--solver", "smo", "-g"),
            ",".join(map(str, options.gamma)),
            "-m",
            str(options.cache),
        ]
    command = [
        *(SVMCUT, "learn", "-v", "0", "--cv", str(options.folds), *words),
        *("--threads", str(threads), "--report", str(folder / "report"), str(path)),
        str(folder / "model"),
    ]
    return time_process(command, threads=threads)


def main() -> None:
    """Prints the table."""
    parser = make_parser(__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("-C", type=float, nargs="+", default=[0.1, 1.0, 10.0])
    parser.add_argument("--gamma", type=float, nargs="+", default=[])
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--cache", type=float, default=200.0, help="megabytes of kernel rows, of both"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = first_rows(options.file, options.rows, folder)
        jobs = {
            f"svmcut --cv, {threads} thread{'s' * (threads > 1)}": lambda threads=threads: (
                cross_validation(path, folder, options, threads)
            )
            for threads in dict.fromkeys((1, options.threads))
        }
        times, failed = alternate(jobs, options.rounds, warm_up=0)
        if failed:
            sys.exit(f"{failed}")
        cells = json.loads((folder / "report").read_text())["cv"]
        spent, best, means = grid_search(path, options)
    chosen = next(cell for cell in cells if cell["selected"])
    ours = {name: chosen[name] for name in best}
    print("| program | CPU s | of GridSearchCV | s by the clock | chosen |")
    print("|---|---|---|---|---|")
    print(f"| GridSearchCV | {spent.cpu:.1f} | 1 | {spent.wall:.1f} | {best} |")
    for job, measured in times.items():
        cpu, wall = (
            statistics.median(each)
            for each in zip(*((found.cpu, found.wall) for found in measured))
        )
        print(f"| {job} | {cpu:.1f} | {cpu / spent.cpu:.3f} | {wall:.1f} | {ours} |")
    worst = max(abs(cell["mean"] - mean) for cell, mean in zip(cells, means, strict=True))
    same = "yes" if ours == best else "no"
    print(f"\nThe same cell: {same}; means differ by at most {worst:.2f} points of accuracy.")


if __name__ == "__main__":
    main()
