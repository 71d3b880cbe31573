# SPDX-License-Identifier: BSD-3-Clause
"""How long do kernel machines of all pairs of classes take from the text file to the model? svmcut beside LIBSVM.

    python benchmarks/kernel_classes.py --rounds 3 --cache 1000 TRAIN,TEST:C:GAMMA ...

svm-train and `svmcut learn --task multiclass -t 2 --solver smo` with the same tolerance of the KKT conditions and the
same cache: whole processes on one pinned CPU, in alternating rounds, CPU seconds, and the ratio of the medians. One
evaluator computes the objective of every pair from both written models, and svm-predict's labels of TEST are held
against those of svmcut. Files are plain text in LIBSVM's format; svm-train and svm-predict are needed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from timing import time_process

from svmcut.data import Csr, Examples
from svmcut.files.examples import read_examples
from svmcut.files.models import read_model
from svmcut.kernels import Kernel
from svmcut.models import KernelMulticlassModel, pairs_of

SVMCUT = Path(sys.executable).parent / "svmcut"


def read_libsvm(path: Path) -> KernelMulticlassModel:
    """A model of svm-train -t 2, its pairs and their signs in the order of ascending labels."""
    lines = path.read_text(encoding="ascii").splitlines()
    head = {line.split()[0]: line.split()[1:] for line in lines[: lines.index("SV")]}
    labels, sizes = np.array(head["label"], float), np.array(head["nr_sv"], int)
    K, ranks = len(labels), np.argsort(np.argsort(labels))
    rows = [line.split() for line in lines[lines.index("SV") + 1 :]]
    coef = np.array([row[: K - 1] for row in rows], float)
    entries = [[pair.split(":") for pair in row[K - 1 :]] for row in rows]
    flat = [pair for row in entries for pair in row]
    indices, values = (
        np.array([int(a) - 1 for a, _ in flat], np.int32),
        np.array([float(b) for _, b in flat], np.float32),
    )
    indptr = np.cumsum([0, *map(len, entries)]).astype(np.int64)
    support = Csr(values, indices, indptr, int(indices.max()) + 1)
    bounds, machines = np.cumsum([0, *sizes]), {}
    for (i, j), rho in zip(pairs_of(K), head["rho"], strict=True):
        own = np.r_[bounds[i] : bounds[i + 1], bounds[j] : bounds[j + 1]]
        alpha = np.r_[coef[bounds[i] : bounds[i + 1], j - 1], coef[bounds[j] : bounds[j + 1], i]]
        sign, used = (1.0 if ranks[i] < ranks[j] else -1.0), alpha != 0
        machines[tuple(sorted((ranks[i], ranks[j])))] = own[used], sign * alpha[used], sign * float(rho)
    places, alphas, b = zip(*(machines[pair] for pair in pairs_of(K)), strict=True)
    starts = np.cumsum([0, *map(len, places)]).astype(np.int64)
    kernel = Kernel("rbf", gamma=float(head["gamma"][0]))
    known = np.concatenate(places).astype(np.int32), np.concatenate(alphas), np.array(b), np.sort(labels)
    return KernelMulticlassModel(kernel, support, starts, *known, True)


def objectives(model: KernelMulticlassModel, examples: Examples, C: float) -> np.ndarray:
    """The primal of every pair, from the scores of its rows and of its support vectors."""
    f, own = model.decisions(examples.X), model.decisions(model.support) + model.b
    y, found = np.searchsorted(model.names, examples.y), []
    for j, (first, second) in enumerate(pairs_of(len(model.names))):
        part = slice(model.starts[j], model.starts[j + 1])
        squared = float(model.alpha[part] @ own[model.places[part], j])
        losses = [np.maximum(0, 1 - sign * f[y == k, j]).sum() for k, sign in ((first, 1), (second, -1))]
        found.append(0.5 * squared + C * sum(losses))
    return np.array(found)


def compare(case: str, cache: str, rounds: int) -> str:
    """One line of the table."""
    files, C, gamma = case.split(":")
    train, test = files.split(",")
    examples, times = read_examples(train), ([], [])
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours, report, labels = (Path(folder) / name for name in ("libsvm", "svmcut", "report", "labels"))
        commands = (
            ["svm-train", "-q", "-t", "2", "-g", gamma, "-c", C, "-m", cache, train, str(theirs)],
            [str(SVMCUT), "learn", "-v", "0", "--threads", "1", "--task", "multiclass", "-t", "2", "-g", gamma,
             "-m", cache, "--solver", "smo", "--example-cost", C, "--report", str(report), train, str(ours)],
        )  # fmt: skip
        for _ in range(rounds):
            for command, found in zip(commands, times, strict=True):
                found.append(time_process(command).cpu)
        model, told = read_model(str(ours)), json.loads(report.read_text(encoding="utf-8"))
        there, here = (objectives(each, examples, float(C)) for each in (read_libsvm(theirs), model))
        subprocess.run(["svm-predict", test, str(theirs), str(labels)], check=True, stdout=subprocess.DEVNULL)
        rows, predicted = read_examples(test), np.loadtxt(labels)
    votes = np.sort(model.scores(rows.X))
    tied, differ = votes[:, -1] == votes[:, -2], model.predict(rows.X) != predicted
    gaps = [machine["gap"] / machine["primal"] for machine in told["machines"]]
    libsvm, svmcut = map(statistics.median, times)
    return (
        f"| {Path(train).name}, {len(examples):,} rows, {len(model.names)} classes | {C} | {gamma} | {libsvm:.2f} | "
        f"{svmcut:.2f} | {svmcut / libsvm:.2f} | {np.abs(here / there - 1).max():.1e} | {max(gaps):.1e} | "
        f"{100 * np.mean(predicted != rows.y):.2f} | {100 * np.mean(model.predict(rows.X) != rows.y):.2f} | "
        f"{differ.sum()} ({(differ & tied).sum()}) |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="TRAIN,TEST:C:GAMMA")
    parser.add_argument("--cache", default="1000", help="megabytes of kernel rows of either program")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(
        "| file | C | g | svm-train s | svmcut s | ratio | objectives of pairs differ by | largest gap of a pair | "
        "svm-train error % | svmcut error % | labels that differ (of tied votes) |\n|" + "---|" * 11
    )
    for case in given.cases:
        print(compare(case, given.cache, given.rounds), flush=True)


if __name__ == "__main__":
    main()
