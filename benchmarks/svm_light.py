#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""svm_learn beside svm-train: CPU seconds of whole processes on the same files, from the text to
the model.

    python benchmarks/svm_light.py a9a.gz                # classes, leave-one-out, generated numbers
    and rankings python benchmarks/svm_light.py a9a --rows 5000 --only "linear|rbf"

Jobs alternate on one CPU; seconds are medians of user and system time. Leave-one-out is held
against as many runs of svm-train as it trains rows anew. svm-train knows no rankings.
"""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

import numpy as np
from arguments import make_parser
from timing import alternate, medians, time_process

#: Name, set, options of svm_learn, options of svm-train; None where it has no such job.
JOBS = (
    ("linear", "classes", "-c 1", "-t 0 -c 1 -m 100"),
    ("rbf", "classes", "-c 1 -t 2 -g 0.05", "-c 1 -g 0.05 -m 100"),
    ("regression", "numbers", "-z r -c 1 -t 2 -g 0.1", "-s 3 -p 0.1 -c 1 -g 0.1 -m 100"),
    ("leave-one-out", "few", "-c 1 -t 2 -g 0.05 -x 1", "-c 1 -g 0.05 -m 100"),
    ("pairs", "rankings", "-z p -c 0.01", None),
)


def write_numbers(path: Path, n: int) -> None:
    """Noisy values of a smooth function of 10 features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    write(path, [f"{value:.5f}" for value in y], X)


def write_rankings(path: Path, n: int, features: int, queries: int) -> None:
    """Five grades of a noisy linear function."""
    rng = np.random.default_rng(1)
    X = rng.random((n, features))
    s = X @ rng.normal(size=features) + 1.5 * rng.normal(size=n)
    grades = np.digitize(s, np.quantile(s, [0.5, 0.75, 0.9, 0.97]))
    write(path, [f"{grade} qid:{i * queries // n + 1}" for i, grade in enumerate(grades)], X)


def write(path: Path, heads: list[str], X: np.ndarray) -> None:
    with path.open("w", encoding="utf-8") as file:
        for head, row in zip(heads, X, strict=True):
            file.write(f"{head} {' '.join(f'{j + 1}:{x:.4g}' for j, x in enumerate(row))}\n")


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("classes", help="rows of two classes, plain or gzip")
    parser.add_argument(
        "--bin", default=os.path.dirname(sys.executable), help="folder of svm_learn"
    )
    parser.add_argument("--rows", type=int, default=10**9, help="of the classes")
    parser.add_argument("--few", type=int, default=2000, help="rows of leave-one-out")
    parser.add_argument("--numbers", type=int, default=10_000, help="rows of regression")
    parser.add_argument(
        "--rankings", type=int, default=60_000, help="rows of 136 features, 60 a query"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="jobs whose name matches this expression")
    given = parser.parse_args()
    learn = os.path.join(given.bin, "svm_learn")
    print("| job | svm_learn, CPU s | svm-train, CPU s | ratio |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top)
        with (gzip.open if given.classes.endswith(".gz") else open)(
            given.classes, "rt", encoding="utf-8"
        ) as file:
            lines = list(islice(file, max(given.rows, given.few)))
        (folder / "classes").write_text("".join(lines[: given.rows]))
        (folder / "few").write_text("".join(lines[: given.few]))
        write_numbers(folder / "numbers", given.numbers)
        write_rankings(folder / "rankings", given.rankings, 136, max(1, given.rankings // 60))
        for name, data, ours, theirs in JOBS:
            if not re.search(given.only, name):
                continue
            own = [learn, *ours.split(), str(folder / data), str(folder / "model")]
            jobs = {"svm_learn": lambda own=own: time_process(own)}
            if theirs is not None:
                other = [
                    *("svm-train", "-q", *theirs.split(), str(folder / data)),
                    str(folder / "other"),
                ]
                jobs["svm-train"] = lambda other=other: time_process(other)
            found, failures = alternate(jobs, given.rounds, warm_up=0)
            if failures:
                raise SystemExit(str(failures))
            seconds = {program: medians(times).cpu for program, times in found.items()}
            times = 1
            if name == "leave-one-out":
                told = subprocess.run(own, check=True, capture_output=True, text=True).stdout
                times = max(1, int(re.search(r"leave-one-outs computed:\s+(\d+)", told).group(1)))
            if theirs is None:
                print(f"| {name} | {seconds['svm_learn']:.2f} | | |", flush=True)
                continue
            whole = times * max(seconds["svm-train"], 1e-3)  # as the system counts
            count = f"{times} runs: " if times > 1 else ""
            print(
                f"| {name} | {seconds['svm_learn']:.2f} | {count}{whole:.2f} | "
                f"{seconds['svm_learn'] / whole:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
