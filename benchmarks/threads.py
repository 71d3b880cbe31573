# SPDX-License-Identifier: BSD-3-Clause
"""What does a second thread gain? The same jobs with one thread and with two, by the clock, in
alternating rounds.

    python benchmarks/threads.py --rows RCV1LIKE --validate TEST --labels LABELS --classes CLASSES
    --sequences CHAINS --queries QUERIES --rounds 3

RCV1LIKE and TEST are files of two classes: dual descent and cutting planes, of hinge loss and F1,
and with TEST a path of eight values of C. LABELS is a file of label sets, which are trained
without pairs, CLASSES one of classes, trained one against the rest and all at once, CHAINS one of
tagged sequences, QUERIES one of rankings. Whole processes, each pinned to as many CPUs as it has
threads. The models must have the same bytes.

"outside" is the part of the CPU seconds of two threads that their first one has not: half of it is
all that a second thread can do, and on a busy machine it tells more than the clock.

Before all that: how much a plain sum reads a second, with one thread and with two. What two threads
read no faster than one they cannot gain.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from arguments import SVMCUT, make_parser
from timing import alternate, medians, time_process

RANKINGS = "rankings"
PATH = "0.01,0.03,0.1,0.3,1,3,10,30"


def jobs(given: argparse.Namespace):
    """Name and words of every job whose files are given."""
    if given.rows and given.validate:
        yield (
            "path of 8 C, validated",
            [
                *("--example-cost", PATH, "--gap", "1e-3", "--validate", given.validate),
                *("--select", "accuracy", given.rows),
            ],
        )
    if given.rows:
        yield (
            "cutting planes, gap 1e-4",
            ["--example-cost", "1", "--solver", "cutting-plane", "--gap", "1e-4", given.rows],
        )
        yield "dual descent", ["--example-cost", "1", "--gap", "1e-3", given.rows]
        yield "F1 by cutting planes", ["-l", "f1", "-c", "100", "--gap", "1e-3", given.rows]
    if given.labels:
        yield (
            "labels without pairs",
            ["--task", "multilabel", "--pairs", "none", "--gap", "1e-3", given.labels],
        )
    for way in ("one-vs-rest", "crammer-singer") if given.classes else ():
        words = ["--task", "multiclass", "--multiclass", way, "--gap", "1e-3", given.classes]
        yield f"classes, {way}", words
    if given.sequences:
        words = ["--task", "sequence", "--example-cost", "0.5", "-e", "0.5", given.sequences]
        yield "sequences", words
    if given.queries:
        yield RANKINGS, ["--example-cost", "0.01", "--gap", "1e-3", given.queries]


def bandwidth(rounds: int, size: int = 1 << 26) -> dict[int, float]:
    """Gigabytes a second of the sum of a float64 array that no cache holds, by the number of
    threads that share it."""
    array, seconds = np.ones(size), {1: [], 2: []}
    for _ in range(max(5, rounds)):
        for threads, found in seconds.items():
            with ThreadPoolExecutor(threads) as crew:
                list(
                    crew.map(np.sum, np.array_split(array[:1000], threads))
                )  # the threads are there
                began = time.perf_counter()
                list(crew.map(np.sum, np.array_split(array, threads)))
                found.append(time.perf_counter() - began)
    return {
        threads: array.nbytes / 1e9 / statistics.median(found) for threads, found in seconds.items()
    }


def main() -> None:
    parser = make_parser(__doc__)
    for name in ("rows", "validate", "labels", "classes", "sequences", "queries"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    one, two = bandwidth(given.rounds).values()
    print(
        f"plain sums: {one:.1f} GB/s with one thread, {two:.1f} with two, {one / two:.2f} of the "
        "time\n"
    )
    print(
        "| job | 1 thread, wall s | CPU s | 2 threads, wall s | CPU s | outside | ratio by the "
        "clock |\n|" + "---|" * 7
    )
    for name, words in jobs(given):
        with tempfile.TemporaryDirectory() as folder:

            def run(threads, words=words, folder=folder, name=name):
                into = Path(folder) / str(threads)
                into.mkdir(exist_ok=True)
                command = [
                    SVMCUT,
                    "rank" if name == RANKINGS else "learn",
                    *("-v", "0", "--threads", str(threads), *words, str(into / "model")),
                ]
                return lambda: time_process(command, threads=threads)

            measured, failures = alternate({"1": run(1), "2": run(2)}, given.rounds)
            if failures:
                sys.exit(f"{name}: {failures}")
            models = [
                [path.read_bytes() for path in sorted((Path(folder) / k).iterdir())] for k in "12"
            ]
            assert models[0] == models[1], f"{name}: the models differ"
        one, two = medians(measured["1"]), medians(measured["2"])
        print(
            f"| {name} | {one.wall:.2f} | {one.cpu:.2f} | {two.wall:.2f} | {two.cpu:.2f} | "
            f"{1 - two.main / two.cpu:.0%} | {two.wall / one.wall:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
