#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""From a raw table to a model: svmcut learn beside a pipeline of scikit-learn, fastText and vowpal
wabbit; CPU seconds of whole processes, peak memory, error, size of the model.

    python benchmarks/tables.py --python PEERS/bin/python       # 20,000 mails, 100,000 x 30
    python benchmarks/tables.py --rows 1000000 --rounds 1       # the table in full

PEERS is an environment with pandas and scikit-learn, and fasttext-wheel and vowpalwabbit where
they install. The objective is that of the hinge loss with C = 1 at a relative gap of 1e-7: svmcut
learn's on the file, and svmcut.LinearSVM's on the matrix that the pipeline forms (run in this
environment, from arrays the peer leaves).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from arguments import SVMCUT

PIPELINE = """
import sys
import joblib, pandas as pd, scipy.sparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

train, test, model, matrix = sys.argv[1:]
frame = pd.read_csv(train)
y = frame.pop("label")
texts = [name for name in frame if name == "text"]
numbers = [name for name in frame if name.startswith("n")]
names = [name for name in frame if name.startswith("c")]
encode = ColumnTransformer(
    [
        *((name, TfidfVectorizer(), name) for name in texts),
        ("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers),
        ("names", OneHotEncoder(handle_unknown="ignore"), names),
    ]
)
fitted = make_pipeline(encode, LinearSVC(loss="hinge", C=1.0)).fit(frame, y)
joblib.dump(fitted, model)
if test:
    held = pd.read_csv(test)
    print(1 - accuracy_score(held["label"], fitted.predict(held)))
if matrix:
    X = scipy.sparse.csr_matrix(encode.transform(frame))
    scipy.sparse.save_npz(matrix, X.astype("float32"))
"""
FASTTEXT = """
import sys
import fasttext
train, test, model = sys.argv[1:4]
fitted = fasttext.train_supervised(train, thread=1, verbose=0)
fitted.save_model(model)
if test:
    print(1 - fitted.test(test)[1])
"""
VOWPAL = """
import sys
from vowpalwabbit import Workspace
train, test, model = sys.argv[1:4]
fitted = Workspace(f"--loss_function hinge --passes 5 --cache_file {model}.cache -k -b 20 "
                   f"-d {train} -f {model} --quiet")
fitted.finish()
if test:
    judge = Workspace(f"-t -i {model} --quiet")
    lines = open(test).read().splitlines()
    print(sum((judge.predict(line) > 0) != line.startswith("1") for line in lines) / len(lines))
"""


def write_mails(path: Path, n: int, seed: int) -> None:
    """Labels and texts of some 100 words, of a vocabulary of 30,000 by Zipf's law."""
    rng = np.random.default_rng(seed)
    order = np.random.default_rng(0).permutation(30_000)
    words = np.array([f"w{k:x}" for k in range(30_000)])
    with open(path, "w", encoding="utf-8") as file:
        file.write("label,text\n")
        for _ in range(n):
            spam = rng.random() < 0.4
            length = max(5, int(rng.lognormal(4.4, 0.5)))
            rank = np.minimum((30_000 ** rng.random(length)).astype(int) - 1, 29_999)
            topical = rng.random(length) < 0.15
            chosen = order[np.where(topical, (rank * 2 + spam) % 30_000, rank)]
            label = spam if rng.random() > 0.03 else not spam
            file.write(f"{'spam' if label else 'ham'},{' '.join(words[chosen])}\n")


def write_table(path: Path, n: int, seed: int) -> None:
    """20 numbers, three of them with missing cells, and 10 categories of 3 to 50 values."""
    rng = np.random.default_rng(seed)
    w = np.random.default_rng(0).normal(size=20)
    effects = [np.random.default_rng(k).normal(size=3 + 5 * k) for k in range(10)]
    head = [f"n{k}" for k in range(20)] + [f"c{k}" for k in range(10)]
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(["label", *head]) + "\n")
        for start in range(0, n, 10_000):
            size = min(10_000, n - start)
            X = rng.normal(size=(size, 20))
            Z = np.stack([rng.integers(len(effect), size=size) for effect in effects], axis=1)
            score = X @ w + sum(effect[Z[:, k]] for k, effect in enumerate(effects))
            y = score + rng.normal(scale=2, size=size) > 0
            missing = rng.random((size, 3)) < 0.05
            for i in range(size):
                cells = [f"{value:.4f}" for value in X[i]]
                for k in np.flatnonzero(missing[i]):
                    cells[k] = ""
                names = [f"v{value}" for value in Z[i]]
                file.write(",".join(["yes" if y[i] else "no", *cells, *names]) + "\n")


def convert(source: Path, target: Path, kind: str) -> None:
    """Mails as fastText or vowpal wabbit read them."""
    with open(source, encoding="utf-8") as lines, open(target, "w", encoding="utf-8") as file:
        next(lines)
        for line in lines:
            label, text = line.rstrip("\n").split(",", 1)
            head = (
                f"__label__{label}"
                if kind == "fastText"
                else f"{'1' if label == 'spam' else '-1'} |"
            )
            file.write(f"{head} {text}\n")


def run(command: list[str]) -> tuple[float, float, str]:
    """CPU seconds, peak MB and what was printed, of a process on one CPU with one thread."""
    cpu = {min(os.sched_getaffinity(0))}
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_NUM_THREADS")
    environment = os.environ | dict.fromkeys(threads, "1")
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, cpu),
        )
        _, status, usage = os.wait4(process.pid, 0)
        output.seek(0)
        text = output.read()
    if status:
        raise RuntimeError(f"{command[0]} ended with {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3, text


def jobs(name: str, folder: Path, peers: str | None) -> dict[str, list[str]]:
    """The commands of a set, `TEST` standing for the file of the test, which timing leaves out."""
    train, own = str(folder / f"{name}.train.csv"), str(folder / "svmcut.model")
    text = ["--text", "text"] if name == "mails" else []
    found = {
        "svmcut": [
            *(SVMCUT, "learn", "-v", "0", "--threads", "1", "--label", "label", *text, train, own),
        ]
    }
    if peers is None:
        return found
    found["scikit-learn"] = [
        *(peers, "-c", PIPELINE, train, "", str(folder / "scikit-learn.model"), ""),
    ]
    if name == "mails":
        for kind, script in (("fastText", FASTTEXT), ("vowpal-wabbit", VOWPAL)):
            for part in ("train", "test"):
                convert(folder / f"mails.{part}.csv", folder / f"mails.{part}.{kind[0]}", kind)
            found[kind] = [
                *(peers, "-c", script, str(folder / f"mails.train.{kind[0]}"), ""),
                str(folder / f"{kind}.model"),
            ]
    return found


def error_of(kind: str, command: list[str], name: str, folder: Path) -> float:
    """Percent of wrong labels on the test file."""
    test = str(folder / f"{name}.test.csv")
    if kind == "svmcut":
        report = str(folder / "classify.json")
        run(
            [
                *(SVMCUT, "classify", "-v", "0", test),
                command[-1],
                str(folder / "scores"),
                "--report",
                report,
            ]
        )
        return json.loads(Path(report).read_text())["error_rate"]
    own = list(command)
    own[4] = test if kind == "scikit-learn" else str(folder / f"{name}.test.{kind[0]}")
    return 100 * float(run(own)[2].split()[-1])


def objectives(name: str, folder: Path, peers: str) -> tuple[float, float]:
    """svmcut learn's at a gap of 1e-7, and LinearSVM's on the matrix of the pipeline."""
    import csv

    import scipy.sparse

    import svmcut

    train, report = str(folder / f"{name}.train.csv"), str(folder / "learn.json")
    text = ["--text", "text"] if name == "mails" else []
    words = ["--label", "label", *text, "--gap", "1e-7", "--b", "0", "--report", report]
    run([SVMCUT, "learn", "-v", "0", *words, train, str(folder / "exact.model")])
    matrix = str(folder / "matrix.npz")
    run([peers, "-c", PIPELINE, train, "", str(folder / "again.model"), matrix])
    with open(train, newline="", encoding="utf-8") as file:
        y = np.array([row[0] in ("spam", "yes") for row in list(csv.reader(file))[1:]])
    X = scipy.sparse.load_npz(matrix)
    machine = svmcut.LinearSVM(C=1.0, tol=1e-7, fit_intercept=False, random_state=0).fit(X, y)
    return json.loads(Path(report).read_text())["primal"], float(machine.primal_[0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--python", help="interpreter of the peers")
    parser.add_argument("--rows", type=int, default=100_000, help="of the table")
    parser.add_argument("--mails", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--exact", action="store_true", help="objectives too")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, size, write in (
            ("mails", args.mails, write_mails),
            ("table", args.rows, write_table),
        ):
            if not size:
                continue
            write(folder / f"{name}.train.csv", size, 1)
            write(folder / f"{name}.test.csv", max(1_000, size // 10), 2)
            megabytes = (folder / f"{name}.train.csv").stat().st_size / 1e6
            print(f"\n{name}: {size:,} rows, {megabytes:.1f} MB")
            print(f"{'':15}{'CPU s':>8}{'ratio':>7}{'peak MB':>9}{'error %':>9}{'model MB':>10}")
            commands = jobs(name, folder, args.python)
            times: dict[str, list[float]] = {kind: [] for kind in commands}
            peaks = dict.fromkeys(commands, 0.0)
            for _ in range(args.rounds):
                for kind, command in commands.items():
                    cpu, peak, _ = run(command)
                    times[kind].append(cpu)
                    peaks[kind] = max(peaks[kind], peak)
            own = statistics.median(times["svmcut"])
            for kind, command in commands.items():
                seconds = statistics.median(times[kind])
                size_mb = (
                    Path(command[-2] if kind == "scikit-learn" else command[-1]).stat().st_size
                    / 1e6
                )
                error = error_of(kind, command, name, folder)
                shown = f"{seconds:8.2f}{own / seconds:7.2f}{peaks[kind]:9.0f}{error:9.2f}"
                print(f"{kind:15}{shown}{size_mb:10.1f}")
            began = time.perf_counter()
            scores = str(folder / "scores")
            run(
                [
                    *(SVMCUT, "classify", "-v", "0", str(folder / f"{name}.train.csv")),
                    *(str(folder / "svmcut.model"), scores),
                ]
            )
            print(f"classify: {megabytes / (time.perf_counter() - began):.0f} MB/s")
            if args.exact and args.python:
                ours, theirs = objectives(name, folder, args.python)
                print(f"objective {ours:.8g} on the file, {theirs:.8g} on the pipeline's matrix")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
