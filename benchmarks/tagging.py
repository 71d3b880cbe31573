# SPDX-License-Identifier: BSD-3-Clause
"""Words in columns to chunks: svmcut from file to file beside python-crfsuite on the same features.

    python benchmarks/tagging.py --sizes 1500 500
    python benchmarks/tagging.py --long 25 2000 20       sequences, tokens of each, tags
    python benchmarks/tagging.py --files TRAIN TEST      files in columns of one's own

Sentences are those of data/generate.py. svmcut's CPU seconds are those of the whole commands:
start, reading, features of the template, training or tagging, writing; crfsuite's are those of its
trainer and its tagger alone, on the features that svmcut made. One thread; errors of the test part
in percent.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import numpy as np

from svmcut.files.conll import read_conll
from svmcut.scoring.chunks import ChunkCounts, parts_of

ROOT = Path(__file__).resolve().parent.parent
OURS = (
    ("--gap 0.01", "--gap 0.01"),
    ("--gap 0.05", "--gap 0.05"),
    ("--quick", "--quick"),
)
PEERS = (
    ("lbfgs", {"c2": 1.0}),
    ("l2sgd", {"c2": 1.0}),
    ("ap", {}),
    ("pa", {}),
    ("arow", {}),
)


def generated(folder: Path, sizes: list[int], seed: int) -> list[str]:
    """Files of sentences of `chunks` in data/generate.py."""
    path = ROOT / "data" / "generate.py"
    spec = importlib.util.spec_from_file_location("svmcut_data", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = []
    for part, rows in zip(("train", "test"), module.chunks(Random(seed), sizes), strict=True):
        target = folder / part
        target.write_text("".join(rows))
        found.append(str(target))
    return found


def long_files(folder: Path, shape: list[int]) -> list[str]:
    """Files of long sequences of words: of a tag four others follow, nine times in ten, and it has
    eight words, four times in five."""
    sequences, length, K = shape
    rng = np.random.default_rng(7)
    following, words = rng.integers(0, K, (K, 4)), rng.integers(0, 2000, (K, 8))
    found = []
    for part, count in (("train", sequences), ("test", max(1, sequences // 2))):
        lines, tag = [], 0
        for _ in range(count):
            for _ in range(length):
                word = words[tag, rng.integers(8)] if rng.random() < 0.8 else rng.integers(2000)
                lines.append(f"w{word} T{tag:04d}\n")
                tag = following[tag, rng.integers(4)] if rng.random() < 0.9 else rng.integers(K)
            lines.append("\n")
        (folder / part).write_text("".join(lines))
        found.append(str(folder / part))
    return found


def spent(*words: str) -> float:
    """CPU seconds of a command of svmcut."""
    return cpu([sys.executable, "-m", "svmcut", *words, "--threads", "1", "-v", "0"])


def cpu(program: list[str]) -> float:
    """CPU seconds of a program."""
    before = os.times()
    subprocess.run(program, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    return (
        after.children_user
        + after.children_system
        - (before.children_user + before.children_system)
    )


def row(name: str, error: float, f1: float, training: float, tagging: float) -> None:
    """One line of the table."""
    print(f"| {name} | {error:.2f} | {f1:.2f} | {training:.2f} | {tagging:.2f} |", flush=True)


def ours(folder: Path, train: str, test: str, C: float) -> None:
    """svmcut's rows."""
    model, tags, report = (str(folder / name) for name in ("model", "tags", "report"))
    columns = ("--task", "sequence", "--input", "conll", "--example-cost", str(C))
    for name, options in OURS:
        training = spent("learn", *columns, *options.split(), train, model)
        tagging = spent("classify", test, model, tags, "--report", report)
        with open(report, encoding="utf-8") as file:
            found = json.load(file)
        f1 = found.get("chunk_f1", float("nan"))
        row(f"svmcut {name} C={C:g}", found["token_error"], f1, training, tagging)


def named(data, names) -> tuple[list, list]:
    """Sequences of lists of features by name, and of tags."""
    attributes, X = names.attributes, data.X
    tokens = [
        [attributes[k] for k in X.indices[a:b].tolist()]
        for a, b in zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True)
    ]
    tags = [names.tags[tag] for tag in data.tags.tolist()]
    ends = [*zip(data.indptr[:-1].tolist(), data.indptr[1:].tolist(), strict=True)]
    return [tokens[a:b] for a, b in ends], [tags[a:b] for a, b in ends]


def peers(folder: Path, train: str, test: str) -> None:
    """crfsuite's rows."""
    import pycrfsuite

    data = read_conll(train)
    names = data.names
    held = read_conll(test, names=names)
    X, y = named(data, names)
    others, _ = named(held, names)
    places, parts = {tag: k for k, tag in enumerate(names.tags)}, parts_of(names.tags)
    for algorithm, parameters in PEERS:
        target, began = str(folder / "crf"), time.process_time()
        trainer = pycrfsuite.Trainer(verbose=False, algorithm=algorithm, params=parameters)
        for one, tags in zip(X, y, strict=True):
            trainer.append(one, tags)
        trainer.train(target)
        training, tagger = time.process_time() - began, pycrfsuite.Tagger()
        tagger.open(target)
        began = time.process_time()
        predicted = [tagger.tag(one) for one in others]
        tagging = time.process_time() - began
        found = np.array([places[tag] for tags in predicted for tag in tags], np.int32)
        f1 = float("nan")
        if parts is not None:
            counts = ChunkCounts(parts)
            counts.add(held.tags, found, held.indptr)
            f1 = counts.values()["chunk_f1"]
        name = " ".join([f"crfsuite {algorithm}", *(f"{k}={v:g}" for k, v in parameters.items())])
        row(name, 100 * float(np.mean(found != held.tags)), f1, training, tagging)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs=2, default=[1500, 500], help="sentences")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--long", type=int, nargs=3, help="sequences, tokens of each, tags")
    parser.add_argument("--files", nargs=2, help="in place of generated sentences")
    parser.add_argument("--example-cost", type=float, default=0.1)
    parser.add_argument("--no-peers", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.long:
            given.files = long_files(folder, given.long)
        train, test = given.files or generated(folder, given.sizes, given.seed)
        print("| trainer | token error | chunk F1 | training, CPU s | tagging, CPU s |")
        print("|---|---|---|---|---|")
        ours(folder, train, test, given.example_cost)
        if not given.no_peers:
            peers(folder, train, test)


if __name__ == "__main__":
    main()
