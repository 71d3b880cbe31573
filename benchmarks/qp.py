#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The small QP of the cutting planes by OSQP and by the exact solver: CPU time, iterations and gap
over C.

    python benchmarks/qp.py                            # the sets in data/
    python benchmarks/qp.py a9a.gz --gap 1e-3          # a set of your own

Each row trains by cutting planes to the same relative gap with either solver, in turn; seconds are
the median of CPU seconds of whole processes, cuts are those in the bundle at the end.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from arguments import make_parser
from timing import time_process

DATA = Path(__file__).resolve().parent.parent / "data"


def train(example_file: str, words: list[str], report: str) -> tuple[float, dict]:
    """CPU seconds and report of one run."""
    program = os.path.join(os.path.dirname(sys.executable), "svmcut")
    line = [
        *(program, *words, "--threads", "1", "-v", "0", "--no-progress", "--report", report),
        *(example_file, os.devnull),
    ]
    return time_process(line, statuses=(0, 3)).cpu, json.loads(
        Path(report).read_text(encoding="utf-8")
    )


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("example_file", nargs="*", help="examples of two classes")
    parser.add_argument("--cost", default="1,10,100", help="weights of one example's loss")
    parser.add_argument("--gap", default="1e-3")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    jobs = [
        (name, ["learn", "--solver", "cutting-plane", "--example-cost", C])
        for name in given.example_file or (str(DATA / "text.train"), str(DATA / "unbalanced.train"))
        for C in given.cost.split(",")
    ]
    if not given.example_file:
        jobs += [(str(DATA / "ranking.train"), ["rank", "-c", C]) for C in given.cost.split(",")]
    print(
        "| set | C | qp | seconds | iterations | cuts | relative gap "
        "|\n|---|---:|---|---:|---:|---:|---:|"
    )
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        for name, words in jobs:
            found: dict[str, list] = {"exact": [], "osqp": []}
            for _ in range(given.runs):
                for qp, runs in found.items():
                    runs.append(train(name, [*words, "--gap", given.gap, "--qp", qp], report))
            for qp, runs in found.items():
                seconds, last = statistics.median(run[0] for run in runs), runs[-1][1]
                counts = f"{last['iterations']} | {last['cuts']} | {last['relative_gap']:.2e}"
                print(
                    f"| {Path(name).name} | {words[-1]} | {qp} | {seconds:.2f} | {counts} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
