#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of the programs with the originals' names, from the text file to the model: CPU seconds, gap
and test error.

    python benchmarks/originals.py --classes covtype.gz       # svm_multiclass on these rows, and on
    generated texts python benchmarks/originals.py --rows 2000 --only texts   # a smaller run

The rows of --classes are used up to --rows, what follows them tests the models. The texts are 20
classes of counts of 62,061 words after Zipf's law, each class with words of its own, a tenth of the
labels wrong. Every job runs once before it counts; seconds are medians of CPU seconds (user and
system) of whole processes on one CPU.
"""

from __future__ import annotations

import gzip
import os
import re
import statistics
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

import numpy as np
from arguments import make_parser
from timing import time_process

WORDS, CLASSES = 62_061, 20
#: Set, options.
JOBS = (
    ("classes", ("-c", "0.1", "-e", "1")),
    ("classes", ("-c", "1", "-e", "0.1")),
    ("texts", ("-c", "100")),
    ("texts", ("-c", "1000", "-e", "1")),
    ("unit texts", ("-c", "100")),
    ("unit texts", ("-c", "1000", "-e", "1")),
)


def write_texts(path: Path, n: int, unit: bool, seed: int) -> None:
    """Rows of word counts, or the same of unit length."""
    rng, topics = (
        np.random.default_rng(seed),
        np.random.default_rng(0).integers(100, WORDS, (CLASSES, 600)),
    )
    with path.open("w", encoding="utf-8") as file:
        for _ in range(n):
            k = int(rng.integers(CLASSES))
            length = int(min(400, max(10, rng.lognormal(4.5, 0.7))))
            words = np.minimum((WORDS ** rng.random(length)).astype(int) - 1, WORDS - 1)
            topical = rng.random(length) < rng.beta(1.2, 4)
            words[topical] = topics[k][(600 * rng.random(int(topical.sum())) ** 2).astype(int)]
            columns, counts = np.unique(words, return_counts=True)
            values = counts / (np.linalg.norm(counts) if unit else 1.0)
            label = int(rng.integers(CLASSES)) if rng.random() < 0.1 else k
            file.write(
                f"{label + 1} {' '.join(f'{j + 1}:{x:.6g}' for j, x in zip(columns, values))}\n"
            )


def write_parts(source: str, train: Path, test: Path, rows: int) -> None:
    """The first rows of a file, and the others."""
    with (gzip.open if source.endswith(".gz") else open)(source, "rt", encoding="utf-8") as file:
        train.write_text("".join(islice(file, rows)))
        test.write_text("".join(file))


def told(command: list[str], pattern: str) -> float:
    """The number a program prints behind a word."""
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(re.findall(pattern, output)[-1])


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument(
        "--bin", default=os.path.dirname(sys.executable), help="folder of the programs"
    )
    parser.add_argument("--classes", help="rows of several classes, plain or gzip")
    parser.add_argument("--rows", type=int, default=15_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="sets whose name matches this expression")
    given = parser.parse_args()
    learn, classify = (
        os.path.join(given.bin, f"svm_multiclass_{verb}") for verb in ("learn", "classify")
    )
    print("| set | job | CPU s | gap / primal | test error % |\n|---|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        train, test, model, scores = (
            Path(folder) / name for name in ("train", "test", "model", "scores")
        )
        written = ""
        for name, options in JOBS:
            if not re.search(given.only, name) or (name == "classes" and not given.classes):
                continue
            if name != written and name == "classes":
                write_parts(given.classes, train, test, given.rows)
            elif name != written:
                write_texts(train, given.rows, name != "texts", 1)
                write_texts(test, max(1, given.rows // 4), name != "texts", 2)
            written, words = name, (*options, str(train), str(model))
            part = told([learn, *words], r"duality gap: (\S+)") / told(
                [learn, *words], r"pval=(\S+)"
            )
            seconds = statistics.median(
                time_process((learn, *words)).cpu for _ in range(given.rounds)
            )
            error = told([classify, str(test), str(model), str(scores)], r"test set: (\S+)%")
            shown = Path(given.classes).name if name == "classes" else name
            print(
                f"| {shown} | `{' '.join(options)}` | {seconds:.2f} | {part:.1e} | {error:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
