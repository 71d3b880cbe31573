# SPDX-License-Identifier: BSD-3-Clause
"""What do kernel machines of many classes, small fits and predictions cost beside LIBSVM's
svm-train, scikit-learn and scikit-learn-intelex? CPU milliseconds, medians of alternating rounds on
one thread.

    python benchmarks/kernel_beside.py --rounds 5
    python benchmarks/kernel_beside.py --only predict --intelex ~/intelex/bin/python

Programs are timed from their start to their end. Python is warm: each round is a process of its own
that fits once before it times. Peak memory is that of a process which fits once. --before names an
interpreter with another svmcut, which becomes a column. Sets are made by seeds: blobs of classes
around normal centres, and sets with the columns of cod-rna (8 numbers), ijcnn1 (22) and covtype (10
numbers, 44 flags).
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from arguments import learn, make_parser

#: CPU milliseconds after which a process ends its repeats.
ENOUGH = 700
#: Threads of BLAS and of intelex.
ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TBB_NUM_THREADS": "1"}


def make_blobs(classes, each, d, seed=0):
    """Rows of normal classes around normal centres, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(classes), each)
    return 1.5 * rng.normal(size=(classes, d))[y] + rng.normal(size=(len(y), d)), y


def load_digits(rows):
    """The first rows of scikit-learn's digits, from 0 to 1."""
    from sklearn.datasets import load_digits as load

    X, y = load(return_X_y=True)
    return X[:rows] / 16, y[:rows]


def make_waves(rows, numbers, flags=0):
    """Rows of numbers from 0 to 1, with one of some flags set, and two classes that waves part."""
    rng = np.random.default_rng(1)
    X = rng.random((rows, numbers))
    if flags:
        X = np.hstack([X, np.eye(flags)[rng.integers(0, flags, rows)]])
    s = np.sin(5 * X[:, 0]) + np.cos(4 * X[:, 1] * X[:, 2]) - X[:, 3] + 0.3 * rng.normal(size=rows)
    return X, (s > np.median(s)).astype(int)


#: Name, what makes rows and classes, parameters of SVC, and rows to fit where those to predict are
#: the others.
FITS = {
    "fit: 60 classes x 20 rows x 10": (lambda: make_blobs(60, 20, 10), {"gamma": 0.1}),
    "fit: 100 classes x 20 rows x 10": (lambda: make_blobs(100, 20, 10), {"gamma": 0.1}),
    "fit: digits": (lambda: load_digits(1797), {}),
    "fit: 360 x 64, ten classes": (lambda: load_digits(360), {}),
    "fit: 100 x 10, two classes": (lambda: make_blobs(2, 50, 10), {}),
    "fit: 500 x 10, two classes": (lambda: make_waves(500, 10), {}),
}
PREDICTIONS = {
    "predict: digits": (lambda: load_digits(1797), {}, 1000),
    "predict: cod-rna-like": (lambda: make_waves(24000, 8), {"C": 10.0, "gamma": 2.0}, 4000),
    "predict: ijcnn1-like": (lambda: make_waves(24000, 22), {"C": 10.0, "gamma": 0.5}, 4000),
    "predict: covtype-like": (lambda: make_waves(24000, 10, 44), {"C": 10.0, "gamma": 1.0}, 4000),
}
SCORES = {name.replace("predict", "scores"): how for name, how in PREDICTIONS.items()}
MEMORY = {"memory: 50 classes x 20 rows x 4000": (lambda: make_blobs(50, 20, 4000), {})}
PROGRAMS = {
    "program: 60 classes x 20 rows x 10": (lambda: make_blobs(60, 20, 10), {"gamma": 0.1}),
    "program: 10 classes x 200 rows x 10": (lambda: make_blobs(10, 200, 10), {"gamma": 0.1}),
}


def work(module, name):
    """Print what one process of a module measures: CPU milliseconds, or megabytes."""
    import resource

    svm = __import__(module, fromlist=["SVC"])
    warnings.simplefilter("ignore")
    made, how, *trained = (FITS | PREDICTIONS | SCORES | MEMORY)[name]
    X, y = made()
    if name in MEMORY:
        svm.SVC(**how).fit(X, y)
        print(json.dumps([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
        return
    split = trained[0] if trained else len(y)
    machine = svm.SVC(**how).fit(X[:split], y[:split])
    if name in PREDICTIONS:
        job = partial(machine.predict, X[split:])
    elif name in SCORES:
        job = partial(machine.decision_function, X[split:])
    else:
        job = partial(machine.fit, X, y)
    times = []
    while len(times) < 2 or (sum(times) < ENOUGH and len(times) < 30):
        began = time.process_time()
        job()
        times.append(1000 * (time.process_time() - began))
    times = times[1:]  # the first warms
    print(json.dumps(times))


def time_worker(python, module, name):
    """The median of what a process measures; nan where it has no such module."""
    command = [python, __file__, "--worker", module, "--only", name]
    run = subprocess.run(command, capture_output=True, text=True, env=os.environ | ALONE)
    if run.returncode:
        return float("nan")
    return statistics.median(json.loads(run.stdout.splitlines()[-1]))


def time_program(command):
    """CPU milliseconds of a program."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | ALONE)
    after = os.times()
    spent = after.children_user + after.children_system
    return 1000 * (spent - before.children_user - before.children_system)


def write_rows(path, X, y):
    """Write rows as LIBSVM's text."""
    lines = (
        f"{label + 1} " + " ".join(f"{j}:{value:.7g}" for j, value in enumerate(row, 1))
        for row, label in zip(X, y, strict=True)
    )
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def jobs_of(given, folder):
    """Name of a job, and what measures it by column; a column without is None."""
    workers = {
        "svmcut": (sys.executable, "svmcut.compat"),
        "before": (given.before, "svmcut.compat"),
        "scikit-learn": (sys.executable, "sklearn.svm"),
        "intelex": (given.intelex, "sklearnex.svm"),
    }
    for name in FITS | PREDICTIONS | SCORES | MEMORY:
        yield (
            name,
            {
                column: partial(time_worker, python, module, name)
                for column, (python, module) in workers.items()
                if python
            },
        )
    for name, (made, how) in PROGRAMS.items():
        path = folder / "rows"
        write_rows(path, *made())
        options = "-t", "rbf", "-g", how["gamma"], "--solver", "smo", "--example-cost", 1
        ours = [*learn("multiclass", *options, "--multiclass", "one-vs-one", path, folder / "m")]
        columns = {"svmcut": partial(time_program, ours)}
        if given.svm_train:
            rival = [given.svm_train, "-q", "-g", str(how["gamma"]), str(path), str(folder / "n")]
            columns["svm-train"] = partial(time_program, rival)
        yield name, columns


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="a part of the names of jobs")
    parser.add_argument("--intelex", help="an interpreter with scikit-learn-intelex")
    parser.add_argument("--before", help="an interpreter with another svmcut")
    parser.add_argument("--svm-train", default=shutil.which("svm-train"))
    parser.add_argument("--worker", metavar="MODULE")
    given = parser.parse_args()
    if given.worker:
        work(given.worker, given.only)
        return
    columns = "svmcut", "before", "scikit-learn", "intelex", "svm-train"
    print(f"| job | {' | '.join(columns)} | of {' | of '.join(columns[1:])} |")
    print("|---" * (2 * len(columns)) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for name, jobs in jobs_of(given, Path(folder)):
            if given.only not in name:
                continue
            values = {column: [] for column in jobs}
            for _ in range(given.rounds):
                for column, measure in jobs.items():
                    values[column].append(measure())
            medians = [statistics.median(values.get(column, [np.nan])) for column in columns]
            shown = ["" if np.isnan(value) else f"{value:.2f}" for value in medians]
            ratios = [
                "" if np.isnan(value) else f"{medians[0] / value:.2f}" for value in medians[1:]
            ]
            print(f"| {name} | {' | '.join([*shown, *ratios])} |", flush=True)


if __name__ == "__main__":
    main()
