#!/usr/bin/env python3
"""Labels by the thousand: time, peak memory, model size and P@1, 3, 5 beside a loop of
scikit-learn's LinearSVC and Omikuji.

    python benchmarks/extreme.py TRAIN TEST [--trainers svmcut prune-0.05 linear-svc omikuji]

TRAIN and TEST are files of the extreme classification repository. Every trainer runs in a process
of its own, on one thread; CPU seconds and peak memory are the system's count of that process and
hold reading and writing, and predicting for those that are no programs. C is 1, and the gap of
svmcut 0.01. "prune-D" is --prune D, "auto" --prune auto, "tree" --tree, and "tree+prune-D" both.
LinearSVC has the hinge loss and its own
tolerance; Omikuji trains three trees with its own defaults, in the interpreter of --python, which
has its package.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from svmcut.files.multilabel import read_multilabel

LINEAR_SVC = """
import pickle, sys, numpy as np
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC
from svmcut.files.multilabel import read_multilabel
train, test, model, out = sys.argv[1:]
data = read_multilabel(train)
X = csr_matrix((data.X.data.astype(float), data.X.indices, data.X.indptr),
               (len(data), data.X.n_features))
row, label = data.entries()
W = np.zeros((data.X.n_features, len(data.names)), np.float32)
b = np.zeros(len(data.names))
for k in range(len(data.names)):
    y = np.full(len(data), -1)
    y[row[label == k]] = 1
    machine = LinearSVC(C=1.0, loss="hinge", max_iter=10000).fit(X, y)
    W[:, k], b[k] = machine.coef_[0], machine.intercept_[0]
with open(model, "wb") as file:
    pickle.dump((W, b), file, protocol=5)
data = read_multilabel(test)
X = csr_matrix((data.X.data, data.X.indices, data.X.indptr), (len(data), W.shape[0]))
names = read_multilabel(train).names
with open(out, "w") as file:
    for first in range(0, len(data), 500):
        scores = X[first : first + 500] @ W + b
        for best in np.argsort(-scores, axis=1)[:, :5]:
            print(*(f"{names[k]}:0" for k in best), file=file)
"""
OMIKUJI = """
import sys, omikuji
train, test, model, out = sys.argv[1:]
made = omikuji.Model.train_on_data(train, n_threads=1)
made.save(model)
with open(out, "w") as file, open(test) as lines:
    next(lines)
    for line in lines:
        pairs = [pair.split(":") for pair in line.split(" ")[1:] if ":" in pair]
        best = made.predict([(int(j), float(x)) for j, x in pairs], top_k=5)
        print(*(f"{label}:{score}" for label, score in best), file=file)
"""


class Used(NamedTuple):
    """CPU seconds and peak memory in MB of a process."""

    seconds: float
    megabytes: float


def run(words: list[str]) -> Used:
    """Runs a program on one thread.

    Raises
    ------
    SystemExit
        With its last line, where it fails.
    """
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(words, stdout=said, stderr=said, env=os.environ | one)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines() or ["no output"]
            raise SystemExit(f"{words[0]}: status {child.returncode}: {lines[-1]}")
    return Used(used.ru_utime + used.ru_stime, _megabytes(used))


def _megabytes(used: resource.struct_rusage) -> float:
    return used.ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0) / 1e6


def size_of(path: Path) -> float:
    """Megabytes of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def precisions(test: str, predictions: Path) -> list[float]:
    """P@1, 3 and 5 in percent of lines of LABEL:SCORE."""
    data = read_multilabel(test)
    row, label = data.entries()
    right: list[set[int]] = [set() for _ in range(len(data))]
    for i, k in zip(row.tolist(), data.names[label].tolist(), strict=True):
        right[i].add(k)
    lines = predictions.read_text().splitlines()
    best = [[int(pair.split(":")[0]) for pair in line.split()] for line in lines]
    return [
        100 * float(np.mean([len(own & set(top[:k])) / k for own, top in zip(right, best)]))
        for k in (1, 3, 5)
    ]


def measured(name: str, given: argparse.Namespace, folder: Path) -> tuple[Used, float, list[float]]:
    """What training took, the model's megabytes, and the precisions of one trainer."""
    model, out = folder / f"{name}.model", folder / f"{name}.out"
    files = [given.train, given.test, str(model), str(out)]
    if name == "linear-svc":
        used = run([sys.executable, "-c", LINEAR_SVC, *files])
    elif name == "omikuji":
        used = run([given.python, "-c", OMIKUJI, *files])
    else:
        prune: list[str] = []
        for word in name.split("+"):
            if word == "tree":
                prune.append("--tree")
            elif word != "svmcut":
                prune += ["--prune", word.removeprefix("prune-")]
        words = [sys.executable, "-m", "svmcut"]
        how = ["--task", "multilabel", "--pairs", "none", "--example-cost", "1", "--gap", "0.01"]
        how += ["--threads", "1", "--model-format", "binary"]
        used = run([*words, "learn", *how, *prune, given.train, str(model)])
        run([*words, "classify", "--top", "5", given.test, str(model), str(out)])
    return used, size_of(model), precisions(given.test, out)


def main(words: list[str] | None = None) -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train")
    parser.add_argument("test")
    known = ["svmcut", "auto", "prune-0.05", "tree", "tree+prune-0.05", "linear-svc", "omikuji"]
    parser.add_argument("--trainers", nargs="+", default=known, metavar="NAME")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with Omikuji")
    given = parser.parse_args(words)
    print("| trainer | CPU seconds | peak MB | model MB | P@1 | P@3 | P@5 |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in given.trainers:
            used, size, found = measured(name, given, Path(folder))
            cells = [f"{used.seconds:.1f}", f"{used.megabytes:.0f}", f"{size:.1f}"]
            cells += [f"{value:.1f}" for value in found]
            print("| " + " | ".join([name, *cells]) + " |", flush=True)


if __name__ == "__main__":
    main()
