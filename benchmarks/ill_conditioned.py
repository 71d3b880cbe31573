#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Coordinate descent and the steps on the Gram matrix that `auto` hands over to: CPU seconds of
whole processes.

    python benchmarks/ill_conditioned.py                         # generated counts of words at C =
    100 python benchmarks/ill_conditioned.py FILE FILE --example-cost 1,100 --seconds 60

Rows are those of short and long texts with the words' counts: a few columns are long and say
little. `auto` may hand over, `dual-cd` by name never does. The gap reached is that of the
certificate, relative to the primal.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from arguments import make_parser
from timing import time_process

# rows, features, labels turned round, mean and spread of ln(words), share of words that tell
SETS = {
    "3,000 x 62,000 counts, 10 % noise": (3000, 62_000, 0.1, 5.3, 1.1, 0.05),
    "3,000 x 20,000 counts": (3000, 20_000, 0.0, 5.5, 1.3, 0.004),
    "3,000 x 3,000 counts, 5 % noise": (3000, 3000, 0.05, 5.5, 1.3, 0.01),
}


def write_counts(
    path: str, n: int, d: int, noise: float, mean: float, spread: float, telling: float
) -> None:
    """Zipf's words, each some times in a row, and a few of 600 that belong to the class."""
    rng = np.random.default_rng(1)
    share = np.cumsum(1 / np.arange(1, d + 1) ** 1.15)
    topics = [rng.choice(np.arange(50, d), 600, replace=False) for _ in range(2)]
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(n):
            label = int(rng.integers(2))
            length = min(int(rng.lognormal(mean, spread)) + 10, 20_000)
            words = np.searchsorted(share, share[-1] * rng.random(length))
            words = np.repeat(words, rng.geometric(0.5, length))[: 2 * length]
            topic = topics[label if rng.random() > noise else 1 - label]
            own = rng.choice(topic, rng.poisson(length * telling))
            columns, counts = np.unique(np.concatenate([words, own]), return_counts=True)
            pairs = " ".join(f"{j + 1}:{count}" for j, count in zip(columns, counts, strict=True))
            file.write(f"{2 * label - 1} {pairs}\n")


def main() -> None:
    """Reads the command line and prints a table."""
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--example-cost", default="100")
    parser.add_argument("--gap", type=float, default=0.004)
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of a run")
    parser.add_argument("--rows", type=int, help="of every generated set")
    options = parser.parse_args()
    program = [
        *(str(Path(sys.executable).with_name("svmcut")), "learn", "--task", "classification"),
        *("--threads", "1"),
    ]
    print(f"| rows | C | solver | CPU s to a gap of {options.gap:g} | gap reached |", flush=True)
    print("|---|---|---|---:|---:|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        files = {Path(path).name: path for path in options.files}
        for name, shape in ({} if files else SETS).items():
            files[name] = os.path.join(folder, f"{len(files)}")
            write_counts(files[name], options.rows or shape[0], *shape[1:])
        report, model = os.path.join(folder, "report"), os.path.join(folder, "model")
        for name, path in files.items():
            for C in options.example_cost.split(","):
                for solver in ("auto", "dual-cd"):
                    rest = [
                        *("--example-cost", C, "--gap", f"{options.gap:g}"),
                        *("--time-limit", f"{options.seconds:g}"),
                    ]
                    command = [*program, *rest, "--solver", solver, "--report", report, path, model]
                    seconds = time_process(command, statuses=(0, 3)).cpu  # 3: a limit
                    found = json.loads(Path(report).read_text())
                    reached = f"{found['relative_gap']:.2g}" + (
                        "" if found["converged"] else " at the limit"
                    )
                    print(f"| {name} | {C} | {solver} | {seconds:.2f} | {reached} |", flush=True)


if __name__ == "__main__":
    main()
