# SPDX-License-Identifier: BSD-3-Clause
"""How well and how fast does svmcut learn to tag, beside python-crfsuite?

    python benchmarks/sequences.py TRAIN TEST --example-cost 0.5 -e 0.3        svm_hmm files, plain
    or gzip python benchmarks/sequences.py TRAIN TEST --example-cost 0.1 --no-peers python
    benchmarks/sequences.py TRAIN TEST --example-cost 0.5 --quick       svmcut --quick, five seeds,
    and crfsuite python benchmarks/sequences.py TRAIN --objective --example-cost 1          seconds
    to each gap, every trainer python benchmarks/sequences.py TRAIN --own-job -e 0.5 --rounds 3
         svm_hmm_learn -c n, from file to model

Everything runs on one thread. Training time is CPU seconds of the training call alone, examples in
memory: for svmcut in its own arrays, for crfsuite in its own item sequences. Errors are percent of
tokens and of sequences of TEST.
"""

from __future__ import annotations

import gzip
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from arguments import make_parser
from timing import time_process

from svmcut.files.sequences import read_sequences, stream_sequences
from svmcut.spec.parameters import Settings
from svmcut.training.driver import make_driver

SOLVERS = ("bcfw", "cutting-plane", "ssg")
PEERS = (
    ("ap", {"max_iterations": 5}),
    ("ap", {"max_iterations": 20}),
    ("ap", {"max_iterations": 50}),
    ("pa", {"max_iterations": 5}),
    ("pa", {"max_iterations": 50}),
    ("arow", {"max_iterations": 20}),
    ("l2sgd", {"c2": 1.0, "max_iterations": 50}),
    ("lbfgs", {"c2": 1.0, "max_iterations": 100}),
)
HEAD = "| trainer | CPU s | token error | sequence error |\n|---|---|---|---|"


def errors(wrong, lengths) -> tuple[float, float]:
    """Percent of tokens and of sequences."""
    return 100 * sum(wrong) / sum(lengths), 100 * sum(count > 0 for count in wrong) / len(lengths)


def row(name: str, seconds: list[float], found: tuple[float, float]) -> None:
    """One line of the table."""
    print(
        f"| {name} | {statistics.median(seconds):.2f} | {found[0]:.2f} | {found[1]:.1f} |",
        flush=True,
    )


def ours(train: str, test: str, C: float, rounds: int, **options) -> None:
    """Trains with these settings and measures on the test file."""
    data, parts, seconds = read_sequences(train), list(stream_sequences(test)), []
    for _ in range(rounds):
        settings = Settings(task="sequence", example_cost=C, threads=1, **options)
        began = time.process_time()
        outcome = make_driver(settings, data).fit(None, C)
        seconds.append(time.process_time() - began)
    wrong, lengths = [], []
    for part in parts:
        mistakes = outcome.model.tags(part.X, part.indptr) != part.tags
        wrong += np.add.reduceat(mistakes, part.indptr[:-1], dtype=np.int64).tolist()
        lengths += np.diff(part.indptr).tolist()
    told = " ".join(f"{name}={value}" for name, value in options.items())
    row(f"svmcut {outcome.solver} C={C:g} {told}", seconds, errors(wrong, lengths))


def crf_sequences(path: str):
    """Item sequences and tags as crfsuite takes them."""
    import pycrfsuite

    data = Path(path).read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    items, tags, last = [], [], None
    for line in text.decode().splitlines():
        tag, qid, *pairs = line.split("#")[0].split()
        if qid != last:
            items.append([])
            tags.append([])
            last = qid
        items[-1].append(
            {name: float(value) for name, value in (pair.split(":") for pair in pairs)}
        )
        tags[-1].append(tag)
    return [pycrfsuite.ItemSequence(item) for item in items], tags


def peers(train: str, test: str, rounds: int) -> None:
    """Every trainer of crfsuite."""
    import pycrfsuite

    items, tags = crf_sequences(train)
    test_items, test_tags = crf_sequences(test)
    for algorithm, parameters in PEERS:
        seconds = []
        with tempfile.NamedTemporaryFile() as model:
            for _ in range(rounds):
                trainer = pycrfsuite.Trainer(algorithm, parameters, verbose=False)
                for x, y in zip(items, tags, strict=True):
                    trainer.append(x, y)
                began = time.process_time()
                trainer.train(model.name)
                seconds.append(time.process_time() - began)
            tagger = pycrfsuite.Tagger()
            tagger.open(model.name)
            wrong = [
                sum(a != b for a, b in zip(tagger.tag(x), y, strict=True))
                for x, y in zip(test_items, test_tags)
            ]
        settings = " ".join(f"{key}={value:g}" for key, value in parameters.items())
        row(f"crfsuite {algorithm} {settings}", seconds, errors(wrong, [len(y) for y in test_tags]))


def objective(
    train: str, C: float, gaps: tuple[float, ...] = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
) -> None:
    """CPU seconds until each trainer certifies a relative gap."""
    data = read_sequences(train)
    print(
        "| solver | "
        + " | ".join(f"gap {gap:g}" for gap in gaps)
        + " | primal |\n|---"
        + "|---" * (len(gaps) + 1)
        + "|"
    )
    for solver in SOLVERS:
        reached: dict[float, float] = {}
        began = time.process_time()

        def observe(progress, _, reached=reached, began=began):
            for gap in gaps:
                if progress.gap <= gap * progress.primal:
                    reached.setdefault(gap, time.process_time() - began)

        settings = Settings(
            task="sequence", example_cost=C, solver=solver, gap=gaps[-1], time_limit=120, threads=1
        )
        outcome = make_driver(settings, data).fit(None, C, observe)
        cells = [f"{reached[gap]:.2f}" if gap in reached else "-" for gap in gaps]
        print(f"| {solver} | {' | '.join(cells)} | {outcome.progress.primal:.6g} |", flush=True)


def own_job(train: str, epsilon: float, rounds: int) -> None:
    """What svm_hmm itself does, cutting planes to an epsilon, C = 1 a sequence: the program, one
    thread."""
    n = len(read_sequences(train))
    program = Path(sys.executable).with_name("svm_hmm_learn")
    print("| program | CPU s, median | least |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(str(program), "-c", str(n), "-e", f"{epsilon:g}", train, str(Path(folder) / "model")),
        ]
        seconds = [time_process(command).cpu for _ in range(rounds)]
    print(
        f"| svm_hmm_learn -c {n} -e {epsilon:g} | {statistics.median(seconds):.2f} | "
        f"{min(seconds):.2f} |"
    )


def main() -> None:
    """Reads the command line and prints a table."""
    parser = make_parser(__doc__)
    parser.add_argument("train")
    parser.add_argument("test", nargs="?")
    parser.add_argument("--example-cost", type=float, default=1.0)
    parser.add_argument("-e", "--epsilon", type=float, default=0.1)
    parser.add_argument("--solver", action="append", choices=SOLVERS, help="default: bcfw")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument(
        "--quick", action="store_true", help="parameter quick, with seeds 0 to 4, beside bcfw"
    )
    parser.add_argument("--objective", action="store_true")
    parser.add_argument("--own-job", action="store_true")
    options = parser.parse_args()
    if options.own_job:
        own_job(options.train, options.epsilon, options.rounds)
        return
    if options.objective:
        objective(options.train, options.example_cost)
        return
    if options.test is None:
        parser.error("TEST is missing")
    print(HEAD)
    for solver in options.solver or ("bcfw",):
        ours(
            options.train,
            options.test,
            options.example_cost,
            options.rounds,
            solver=solver,
            epsilon=options.epsilon,
        )
    for seed in range(5 if options.quick else 0):
        ours(
            options.train, options.test, options.example_cost, options.rounds, quick=True, seed=seed
        )
    if not options.no_peers:
        peers(options.train, options.test, options.rounds)


if __name__ == "__main__":
    main()
