# SPDX-License-Identifier: BSD-3-Clause
"""Tags of tokens: svmcut beside every trainer of python-crfsuite, on the same features.

    python benchmarks/tagging.py --sizes 3000 1500
    python benchmarks/tagging.py --long 25 2000 20       sequences, tokens of each, tags
    python benchmarks/tagging.py --files TRAIN TEST      files in columns of one's own
    python benchmarks/tagging.py --numbered TRAIN TEST --first 2000     svm_hmm's files, the first
                                                         sequences of TRAIN

Several of them make one table, one below the other. Sentences are those of data/generate.py.
Training and tagging are CPU seconds of the calls alone, features in memory, one thread, medians of
--rounds; commands are those of `svmcut learn` and `svmcut classify`, from files to files: start,
reading, features of the template, training or tagging, writing. Errors of the test part in percent.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from arguments import make_parser

from svmcut.data.examples import Sequences
from svmcut.files.sequences import read_sequences
from svmcut.scoring.chunks import ChunkCounts, split_tags
from svmcut.spec.parameters import Settings
from svmcut.tables.conll import read_conll
from svmcut.training.driver import make_driver

ROOT = Path(__file__).resolve().parent.parent
OURS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("", {}),
    ("--gap 0.05", {"gap": 0.05}),
    ("--quick", {"quick": True}),
)
PEERS = (
    ("lbfgs", {"c2": 1.0}),
    ("l2sgd", {"c2": 1.0}),
    ("ap", {}),
    ("pa", {}),
    ("arow", {}),
)
HEAD = (
    "| set | trainer | token error | chunk F1 | training, CPU s | tagging, CPU s | "
    "commands, CPU s |\n|---|---|---|---|---|---|---|"
)


class Job(NamedTuple):
    """Sequences to train on and to tag, the names of the tags, what the commands read, and
    options of `svmcut learn`."""

    name: str
    train: Sequences
    test: Sequences
    tags: tuple[str, ...]
    files: tuple[str, str]
    options: tuple[str, ...]


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


def measured(job: Job, found: np.ndarray) -> tuple[float, float]:
    """Percent of wrong tags, and F1 of the chunks, nan where tags say none."""
    f1, parts = float("nan"), split_tags(job.tags)
    if parts is not None:
        counts = ChunkCounts(parts)
        counts.add(job.test.tags, found, job.test.indptr)
        f1 = counts.f1()
    return 100 * float(np.mean(found != job.test.tags)), f1


def row(job: Job, name: str, found: np.ndarray, seconds: list[float], commands: str = "") -> None:
    """One line of the table."""
    error, f1 = measured(job, found)
    cells = [job.name, name, f"{error:.2f}", "" if f1 != f1 else f"{f1:.2f}"]
    cells += [*(f"{x:.2f}" for x in seconds), commands]
    print("| " + " | ".join(cells) + " |", flush=True)


def ours(job: Job, folder: Path, given: argparse.Namespace) -> None:
    """svmcut's rows."""
    model = str(folder / "model")
    for words, options in OURS:
        asked = {} if given.example_cost is None else {"example_cost": given.example_cost}
        settings = Settings(task="sequence", threads=1, **asked, **options)
        training, tagging = [], []
        for _ in range(given.rounds):
            began = time.process_time()
            driver = make_driver(settings, job.train)
            outcome = driver.fit(driver.settings.cost, driver.settings.example_cost)
            training.append(time.process_time() - began)
            began = time.process_time()
            found = outcome.model.tags(job.test.X, job.test.indptr)
            tagging.append(time.process_time() - began)
        cost = () if given.example_cost is None else ("--example-cost", str(given.example_cost))
        learn = spent("learn", *job.options, *cost, *words.split(), job.files[0], model)
        classify = spent("classify", job.files[1], model, str(folder / "tags"))
        name = " ".join(["svmcut", words, f"C={outcome.objective.C:g}"]).replace("  ", " ")
        seconds = [statistics.median(training), statistics.median(tagging)]
        row(job, name, found, seconds, f"{learn:.2f}, {classify:.2f}")


def items(data: Sequences) -> list[Any]:
    """Sequences as crfsuite keeps them: features by name with their values."""
    import pycrfsuite

    X = data.X
    tokens = [
        dict(zip(map(str, X.indices[a:b].tolist()), X.data[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True)
    ]
    ends = zip(data.indptr[:-1].tolist(), data.indptr[1:].tolist(), strict=True)
    return [pycrfsuite.ItemSequence(tokens[a:b]) for a, b in ends]


def peers(job: Job, folder: Path, given: argparse.Namespace) -> None:
    """crfsuite's rows."""
    import pycrfsuite

    X, others = items(job.train), items(job.test)
    tags = [str(tag) for tag in job.train.tags.tolist()]
    ends = job.train.indptr.tolist()
    target = str(folder / "crf")
    for algorithm, parameters in PEERS:
        training, tagging = [], []
        for _ in range(given.rounds):
            trainer = pycrfsuite.Trainer(verbose=False, algorithm=algorithm, params=parameters)
            for k, one in enumerate(X):
                trainer.append(one, tags[ends[k] : ends[k + 1]])
            began = time.process_time()
            trainer.train(target)
            training.append(time.process_time() - began)
            tagger = pycrfsuite.Tagger()
            tagger.open(target)
            began = time.process_time()
            predicted = [tagger.tag(one) for one in others]
            tagging.append(time.process_time() - began)
        found = np.array([int(tag) for one in predicted for tag in one], np.int32)
        name = " ".join([f"crfsuite {algorithm}", *(f"{k}={v:g}" for k, v in parameters.items())])
        row(job, name, found, [statistics.median(training), statistics.median(tagging)])


def of_columns(name: str, train: str, test: str) -> Job:
    """Files in columns."""
    data = read_conll(train)
    assert data.names is not None
    held, options = read_conll(test, names=data.names), ("--task", "sequence", "--input", "conll")
    return Job(name, data, held, data.names.tags, (train, test), options)


def numbered(folder: Path, train: str, test: str, first: int | None) -> Job:
    """svm_hmm's files; of the first sequences a file is written for the command."""
    data, held = read_sequences(train), read_sequences(test, least=0)
    if first is not None and first < len(data):
        data = data.take(np.arange(len(data)) < first)
        X, path = data.X, folder / "first"
        sequence = np.repeat(np.arange(len(data)), np.diff(data.indptr)).tolist()
        with path.open("w") as file:
            for t, (tag, n) in enumerate(zip(data.tags.tolist(), sequence, strict=True)):
                a, b = X.indptr[t : t + 2].tolist()
                values = zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True)
                told = " ".join(f"{k + 1}:{value:g}" for k, value in values)
                file.write(f"{tag + 1} qid:{n + 1} {told}\n")
        train = str(path)
        data = read_sequences(train)
    return Job("numbered", data, held, (), (train, test), ("--task", "sequence"))


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs=2, help="sentences")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--long", type=int, nargs=3, help="sequences, tokens of each, tags")
    parser.add_argument("--files", nargs=2, help="files in columns")
    parser.add_argument("--numbered", nargs=2, help="files of svm_hmm")
    parser.add_argument("--first", type=int, help="sequences of the numbered file to train on")
    parser.add_argument("--example-cost", type=float, help="default: as svmcut has it")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--no-peers", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, jobs = Path(name), []
        if given.sizes or not (given.long or given.files or given.numbered):
            files = generated(folder, given.sizes or [1500, 500], given.seed)
            jobs.append(of_columns("sentences", *files))
        if given.long:
            (folder / "long").mkdir()
            jobs.append(of_columns("long", *long_files(folder / "long", given.long)))
        if given.files:
            jobs.append(of_columns("files", *given.files))
        if given.numbered:
            jobs.append(numbered(folder, *given.numbered, given.first))
        print(HEAD)
        for job in jobs:
            ours(job, folder, given)
            if not given.no_peers:
                peers(job, folder, given)


if __name__ == "__main__":
    main()
