# SPDX-License-Identifier: BSD-3-Clause
"""How long do kernel machines of all pairs of classes take from the text file to the model? svmcut
beside LIBSVM.

    python benchmarks/kernel_classes.py --rounds 3 --cache 1000 TRAIN,TEST:C:GAMMA ...

svm-train and `svmcut learn --task multiclass -t 2 --solver smo` with the same tolerance of the KKT
conditions and the same cache: whole processes on one pinned CPU, in alternating rounds, CPU
seconds, and the ratio of the medians. One evaluator computes the objective of every pair from both
written models, and svm-predict's labels of TEST are held against those of svmcut. Files are plain
text in LIBSVM's format; svm-train and svm-predict are needed.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from arguments import learn, make_parser
from timing import cpu_medians

from svmcut.data.examples import Examples
from svmcut.files.examples import read_examples
from svmcut.formats import read_model
from svmcut.models import KernelMulticlassModel, pairs_of


def objectives(model: KernelMulticlassModel, examples: Examples, C: float) -> np.ndarray:
    """The primal of every pair in the order of labels, from the scores of its rows and of its
    support vectors."""
    f, own, found = model.decisions(examples.X), model.decisions(model.support) + model.b, {}
    for j, pair in enumerate(pairs_of(len(model.names))):
        part, labels = slice(model.starts[j], model.starts[j + 1]), model.names[list(pair)].tolist()
        squared = float(model.alpha[part] @ own[model.places[part], j])
        losses = [
            np.maximum(0, 1 - sign * f[examples.y == label, j]).sum()
            for label, sign in zip(labels, (1, -1))
        ]
        found[min(labels), max(labels)] = 0.5 * squared + C * sum(losses)
    return np.array([found[labels] for labels in sorted(found)])


def compare(case: str, cache: str, rounds: int) -> str:
    """One line of the table."""
    files, C, gamma = case.split(":")
    train, test = files.split(",")
    examples = read_examples(train)
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours, report, labels = (
            Path(folder) / name for name in ("libsvm", "svmcut", "report", "labels")
        )
        commands = (
            ["svm-train", "-q", "-t", "2", "-g", gamma, "-c", C, "-m", cache, train, str(theirs)],
            learn(
                *("multiclass", "-t", "2", "-g", gamma, "-m", cache, "--solver", "smo"),
                *("--example-cost", C, "--report", report, train, ours),
            ),
        )
        libsvm, svmcut = cpu_medians(commands, rounds)
        model, told = read_model(str(ours)), json.loads(report.read_text(encoding="utf-8"))
        there, here = (
            objectives(each, examples, float(C)) for each in (read_model(str(theirs)), model)
        )
        subprocess.run(
            ["svm-predict", test, str(theirs), str(labels)], check=True, stdout=subprocess.DEVNULL
        )
        rows, predicted = read_examples(test), np.loadtxt(labels)
    votes = np.sort(model.scores(rows.X))
    tied, differ = votes[:, -1] == votes[:, -2], model.predict(rows.X) != predicted
    gaps = [machine["gap"] / machine["primal"] for machine in told["machines"]]
    return (
        f"| {Path(train).name}, {len(examples):,} rows, {len(model.names)} classes | {C} | "
        f"{gamma} | {libsvm:.2f} | "
        f"{svmcut:.2f} | {svmcut / libsvm:.2f} | {np.abs(here / there - 1).max():.1e} | "
        f"{max(gaps):.1e} | "
        f"{100 * np.mean(predicted != rows.y):.2f} | "
        f"{100 * np.mean(model.predict(rows.X) != rows.y):.2f} | "
        f"{differ.sum()} ({(differ & tied).sum()}) |"
    )


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("cases", nargs="+", metavar="TRAIN,TEST:C:GAMMA")
    parser.add_argument(
        "--cache", default="1000", help="megabytes of kernel rows of either program"
    )
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(
        "| file | C | g | svm-train s | svmcut s | ratio | objectives of pairs differ by | "
        "largest gap of a pair | "
        "svm-train error % | svmcut error % | labels that differ (of tied votes) |\n|" + "---|" * 11
    )
    for case in given.cases:
        print(compare(case, given.cache, given.rounds), flush=True)


if __name__ == "__main__":
    main()
