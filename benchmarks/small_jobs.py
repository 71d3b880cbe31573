#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Small jobs with many features or tight tolerances, by the programs with the originals' names: CPU
seconds.

    python benchmarks/small_jobs.py                              # this checkout's programs, on
    generated rows and data/ python benchmarks/small_jobs.py --beside OTHER/.venv/bin     # and
    another checkout's, or the originals' python benchmarks/small_jobs.py --tokens train.hmm.gz
      # sentences of your own, in svm_hmm's format python benchmarks/small_jobs.py --starts
               # four rows: what starting costs, beside Python's own

Every job runs once before it counts; then the programs take turns. Seconds are medians of CPU
seconds (user and system) of whole processes on one CPU, the ratio is that of the medians.
"""

from __future__ import annotations

import gzip
import os
import re
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from arguments import make_parser
from timing import alternate, time_process

DATA = Path(__file__).resolve().parent.parent / "data"
FEATURES = 62_061
JOBS = (
    ("300 rows x 62,061, -c 10", "svm_perf_learn", "text", ("-c", "10", "-w", "3", "--b", "0")),
    ("300 rows x 62,061, -c 100", "svm_perf_learn", "text", ("-c", "100", "-w", "3", "--b", "0")),
    (
        "300 rows x 62,061, -l 1 -c 100",
        "svm_perf_learn",
        "text",
        ("-l", "1", "-c", "100", "-w", "3", "--b", "0"),
    ),
    ("30 sentences, -c 20 -e 0.01", "svm_hmm_learn", "30", ("-c", "20", "-e", "0.01")),
    ("25 sentences, -c 20 --e 1 -e 1", "svm_hmm_learn", "25", ("-c", "20", "--e", "1", "-e", "1")),
)


def write_text_like(path: str, n: int = 300, each: int = 80, seed: int = 1) -> None:
    """Rows like those of short texts: Zipf's law, unit length, a tenth of the labels wrong."""
    rng = np.random.default_rng(seed)
    word = rng.permutation(FEATURES)
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(n):
            sign = 1 if rng.random() < 0.5 else -1
            length = max(5, int(rng.lognormal(np.log(each), 0.6)))
            rank = np.minimum((FEATURES ** rng.random(length)).astype(int) - 1, FEATURES - 1)
            topical = rng.random(length) < 0.12
            columns = word[np.where(topical, (2 * rank + (sign > 0)) % FEATURES, rank)] + 1
            columns, counts = np.unique(columns, return_counts=True)
            values = counts / np.linalg.norm(counts)
            label = -sign if rng.random() < 0.1 else sign
            file.write(f"{label} {' '.join(f'{j}:{x:.6g}' for j, x in zip(columns, values))}\n")


def write_sentences(source: str, path: str, count: int) -> None:
    """The first sentences of a file in svm_hmm's format."""
    open_text = gzip.open if source.endswith(".gz") else open
    with (
        open_text(source, "rt", encoding="utf-8") as file,
        open(path, "w", encoding="utf-8") as out,
    ):
        seen: set[str] = set()
        for line in file:
            seen.update(word for word in line.split()[1:2] if word.startswith("qid:"))
            if len(seen) > count:
                break
            out.write(line)


def print_starts(programs: str, folder: str, rounds: int) -> None:
    """A table of runs on four rows, beside the interpreter that imports click and numpy."""
    rows, model, scores = (os.path.join(folder, name) for name in ("rows", "model", "scores"))
    Path(rows).write_text("1 1:1 3:0.5\n-1 2:1 3:0.2\n1 1:0.7\n-1 2:0.4\n", encoding="utf-8")
    lines = {
        "python -c 'import click, numpy'": ("python", "-c", "import click, numpy"),
        "svmcut learn": ("svmcut", "learn", rows, model),
        "svm_perf_learn": ("svm_perf_learn", "-c", "1", rows, model),
        "svmcut classify": ("svmcut", "classify", rows, model, scores),
        "svm_perf_classify": ("svm_perf_classify", rows, model, scores),
    }
    runs = {
        name: partial(time_process, (os.path.join(programs, line[0]), *line[1:]))
        for name, line in lines.items()
    }
    found, failures = alternate(runs, rounds)
    for name, reason in failures.items():
        print(f"{name}: {reason}", file=sys.stderr)
    seconds = {name: statistics.median(run.cpu for run in done) for name, done in found.items()}
    bare = next(iter(seconds.values()))
    print("| start | CPU s | ratio |\n|---|---:|---:|")
    for name, value in seconds.items():
        print(f"| {name} | {value:.3f} | {value / bare:.2f} |")


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument(
        "--bin", default=os.path.dirname(sys.executable), help="folder of this checkout's programs"
    )
    parser.add_argument("--beside", help="folder of the programs to compare with")
    parser.add_argument(
        "--tokens", default=str(DATA / "tags.train"), help="sentences in svm_hmm's format, or gzip"
    )
    parser.add_argument(
        "--starts", action="store_true", help="runs on four rows in place of the jobs"
    )
    parser.add_argument("--rounds", type=int, help="5, of --starts 25")
    parser.add_argument("--only", default="", help="jobs whose name matches this expression")
    given = parser.parse_args()
    os.environ.pop(
        "PYTHONDONTWRITEBYTECODE", None
    )  # an installed program does not compile its modules again
    rounds = given.rounds or (25 if given.starts else 5)
    if given.starts:
        with tempfile.TemporaryDirectory() as folder:
            print_starts(given.bin, folder, rounds)
        return 0
    folders = {"here": given.bin} | ({"beside": given.beside} if given.beside else {})
    print("| job | CPU s | beside | ratio |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        text, model = os.path.join(folder, "text"), os.path.join(folder, "model")
        write_text_like(text)
        for count in ("25", "30"):
            write_sentences(given.tokens, os.path.join(folder, count), int(count))
        for name, program, data, options in JOBS:
            if not re.search(given.only, name):
                continue
            words = (*options, os.path.join(folder, data), model)
            runs = {
                side: partial(time_process, (os.path.join(path, program), *words), statuses=(0, 3))
                for side, path in folders.items()
            }
            found, failures = alternate(runs, rounds)
            for side, reason in failures.items():
                print(f"{side}: {reason}", file=sys.stderr)
            seconds = {
                side: statistics.median(run.cpu for run in done) for side, done in found.items()
            }
            here, beside = seconds.get("here"), seconds.get("beside")
            cells = [f"{value:.3f}" if value is not None else "" for value in (here, beside)]
            ratio = f"{here / beside:.2f}" if here is not None and beside is not None else ""
            print(f"| {name} | {cells[0]} | {cells[1]} | {ratio} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
