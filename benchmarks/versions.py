#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two checkouts of svmcut in one run: CPU of their start, of ten rows, and of training on files of
your own.

    python benchmarks/versions.py OTHER/.venv/bin python benchmarks/versions.py OTHER/.venv/bin
    "a9a=learn --example-cost 1 a9a" "rbf=learn -t 2 -g 0.05 ..."

Commands are those of svmcut (or of an original, by its name) without the model, which each program
is given as its last word. The checkouts take turns, every other round the other way round, on one
CPU, after a round that does not count. Seconds are medians of CPU seconds (user and system) of
whole processes; the ratio is the median of the rounds' ratios.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

from arguments import make_parser
from timing import alternate, time_process

TEN = "".join(f"{1 if k % 2 else -1} 1:{k / 10} {2 + k % 3}:1\n" for k in range(10))


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument("other", help="folder of the other checkout's programs")
    parser.add_argument(
        "jobs", nargs="*", metavar="NAME=COMMAND", help="training to time beside the start"
    )
    parser.add_argument(
        "--bin", default=os.path.dirname(sys.executable), help="folder of this checkout's programs"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--starts", type=int, default=15, help="rounds of what starts and ends at once"
    )
    given = parser.parse_intermixed_args()
    os.environ.pop(
        "PYTHONDONTWRITEBYTECODE", None
    )  # an installed program does not compile its modules again
    sides = {"here": given.bin, "other": given.other}
    print("| job | here, CPU s | other, CPU s | ratio |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        ten, model, out = (os.path.join(folder, name) for name in ("ten", "model", "out"))
        Path(ten).write_text(TEN, encoding="ascii")
        time_process([os.path.join(given.bin, "svm_perf_learn"), "-c", "1", ten, model])
        starts = {
            "svmcut --help": ["svmcut", "--help"],
            "svmcut learn --help": ["svmcut", "learn", "--help"],
            "svm_perf_classify, ten rows": ["svm_perf_classify", ten, model, out],
            "svmcut classify, ten rows": ["svmcut", "classify", ten, model, out],
            "svmcut learn, ten rows": ["svmcut", "learn", "--example-cost", "1", ten, out],
            "svmcut learn -t 2, ten rows": [
                *("svmcut", "learn", "-t", "2", "--example-cost", "1", ten, out),
            ],
        }
        named = [job.partition("=") for job in given.jobs]
        training = {name: [*words.split(), out] for name, _, words in named}
        training = {
            name: words if words[0].startswith("svm") else ["svmcut", *words]
            for name, words in training.items()
        }
        rounds = dict.fromkeys(starts, given.starts) | dict.fromkeys(training, given.rounds)
        for name, (program, *words) in (starts | training).items():
            runs = {
                side: partial(time_process, (os.path.join(path, program), *words), statuses=(0, 3))
                for side, path in sides.items()
            }
            found, failures = alternate(runs, rounds[name])
            if failures:
                print(f"{name}: {failures}", file=sys.stderr)
                continue
            here, other = ([run.cpu for run in found[side]] for side in sides)
            numbers = statistics.median(here), statistics.median(other)
            ratio = statistics.median(a / b for a, b in zip(here, other))
            print(f"| {name} | {numbers[0]:.3f} | {numbers[1]:.3f} | {ratio:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
