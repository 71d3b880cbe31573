# SPDX-License-Identifier: BSD-3-Clause
"""How well and how fast does svmcut rank?

    python benchmarks/ranking.py --letor TRAIN VALIDATION TEST       NDCG and MAP, C chosen on
    VALIDATION python benchmarks/ranking.py --process TRAIN -c 1000 -e 0.01     whole processes,
    file to model, one thread python benchmarks/ranking.py --growth TEXT
    ordinal regression without queries

--growth reads a classification file of many rows once, replaces its labels by R grades of a noisy
linear score, and
trains on the first n rows for n = 10,000 to all: seconds, iterations, and the exponent of growth in
n for every R; and the time with two grades beside error-rate training of the same labels with the
same solver.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import numpy as np
from arguments import make_parser

from svmcut.data.examples import Examples
from svmcut.files.examples import read_examples
from svmcut.scoring.measures import ranking_measures
from svmcut.spec.parameters import Settings
from svmcut.training.driver import make_driver

GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def letor(train: str, validation: str, test: str) -> None:
    """Trains a path of C for both losses; prints the test measures of the model that is best on the
    validation file."""
    parts = [read_examples(path, threads=2) for path in (train, validation, test)]

    def measure(model, part):
        return ranking_measures(part.y, model.scores(part.X), part.qid).values

    print(f"{train}: {len(parts[0])} rows\n")
    print(
        "| loss | C | validation NDCG@10 | test NDCG@1 | NDCG@5 | NDCG@10 | MAP | swapped % |\n"
        + "|---" * 8
        + "|"
    )
    for loss in ("swapped-pairs", "swapped-fraction"):
        driver = make_driver(
            Settings(task="rank", cost=1.0, loss=loss, gap=0.01, threads=1), parts[0]
        )
        models = [driver.fit(c, None).model for c in GRID]
        values = [measure(model, parts[1])["ndcg@10"] for model in models]
        best = int(np.argmax(values))
        got = measure(models[best], parts[2])
        cells = " | ".join(f"{got[key]:.4f}" for key in ("ndcg@1", "ndcg@5", "ndcg@10", "map"))
        print(
            f"| {loss} | {GRID[best]:g} | {values[best]:.4f} | {cells} | "
            f"{got['swapped_percent']:.2f} |"
        )


def process(train: str, c: str, epsilon: str, rounds: int) -> None:
    """Whole processes of svmcut rank with one thread."""
    from timing import medians, time_process

    command = [
        *(str(Path(sys.executable).parent / "svmcut"), "rank", "-c", c, "-e", epsilon),
        *("--threads", "1", "-v", "0"),
    ]
    runs = [time_process([*command, train, "/dev/null"]) for _ in range(rounds + 1)][1:]
    middle = medians(runs)
    print(f"svmcut rank -c {c} -e {epsilon}: {middle.wall:.2f} s wall, {middle.cpu:.2f} s CPU")


def grades(examples: Examples, count: int) -> np.ndarray:
    """Grades 0 to count - 1 of equal size: quantiles of a linear score with noise, the same rows
    for every n."""
    rng = np.random.default_rng(2006)
    w = rng.normal(size=examples.X.n_features)
    rows = np.repeat(np.arange(len(examples)), np.diff(examples.X.indptr))
    score = np.bincount(
        rows, weights=examples.X.data * w[examples.X.indices], minlength=len(examples)
    )
    score += 0.5 * score.std() * rng.normal(size=len(score))
    cuts = np.quantile(score[:10_000], np.arange(1, count) / count)
    return np.searchsorted(cuts, score).astype(float)


def seconds_of(
    examples: Examples, y, n: int, settings: Settings, C: float, rounds: int
) -> tuple[float, int]:
    """Median seconds of training on the first n rows, and iterations."""
    part = Examples(examples.X.rows(0, n), y[:n], None, None, examples.source)
    times = []
    for _ in range(rounds):
        driver = make_driver(settings, part)
        began = time.perf_counter()
        outcome = driver.fit(C, None)
        times.append(time.perf_counter() - began)
    return statistics.median(times), outcome.progress.iteration


def growth(path: str, C: float, epsilon: float, rounds: int) -> None:
    """Seconds over n and R; the paper's unit: the fraction of swapped pairs of all pairs, one m."""
    examples = read_examples(path, threads=2)
    sizes = [n for n in (10_000, 30_000, 100_000, 300_000, 1_000_000) if n < len(examples)] + [
        len(examples)
    ]
    settings = Settings(
        task="rank", cost=C, loss="pairs", epsilon=epsilon, solver="cutting-plane", threads=1
    )
    print(f"{path}: loss pairs, C {C:g}, epsilon {epsilon:g}, one thread; seconds (iterations)\n")
    print(
        "| R | "
        + " | ".join(f"n = {n:,}" for n in sizes)
        + " | exponent |\n"
        + "|---" * (len(sizes) + 2)
        + "|"
    )
    for count in (2, 5, 100, 1000):
        y = grades(examples, count)
        cells = [seconds_of(examples, y, n, settings, C, rounds) for n in sizes]
        exponent = np.polyfit(np.log(sizes), np.log([seconds for seconds, _ in cells]), 1)[0]
        body = " | ".join(f"{seconds:.2f} ({iterations})" for seconds, iterations in cells)
        print(f"| {count} | {body} | {exponent:.2f} |", flush=True)
    y, n = grades(examples, 2), len(examples)
    ordinal = seconds_of(examples, y, n, settings, C, rounds)
    flat = Settings(
        cost=C,
        loss="error-rate",
        bias=0.0,
        epsilon=100 * epsilon,
        solver="cutting-plane",
        threads=1,
    )
    error = seconds_of(
        examples, y, n, flat, C / 100, rounds
    )  # the same C and epsilon, its loss in percent
    print(
        f"\ntwo grades, n = {n:,}: ordinal {ordinal[0]:.2f} s ({ordinal[1]} iterations), "
        f"error-rate {error[0]:.2f} s "
        f"({error[1]}), ratio {ordinal[0] / error[0]:.2f}"
    )


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--letor", nargs=3, metavar=("TRAIN", "VALIDATION", "TEST"))
    parser.add_argument("--process", metavar="TRAIN")
    parser.add_argument("--growth", metavar="TEXT")
    parser.add_argument("-c", default="1000", help="C of --process and --growth")
    parser.add_argument("-e", default="0.01", help="epsilon of --process and --growth")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.letor:
        letor(*options.letor)
    if options.process:
        process(options.process, options.c, options.e, options.rounds)
    if options.growth:
        growth(options.growth, float(options.c), float(options.e), options.rounds)


if __name__ == "__main__":
    main()
