# SPDX-License-Identifier: BSD-3-Clause
"""What does it cost to train on workers? The same cutting planes on one machine and on the workers of Dask.

    python benchmarks/workers.py [--rows 400000] [--files 8] [--workers 2] [--gap 0.001] [--folder FOLDER]
    python benchmarks/workers.py --simulate                      1e9 rows on 64 machines from the constants below

Rows like RCV1's: 75 words by Zipf's law of 47,236, two classes. One table of whole runs, with reading left out; one of
the seconds of an iteration: computing, w to the workers, sums back, the scheduler, each the median of rounds that do
just that. With both on one machine, workers share its cores with the scheduler.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import svmcut
import svmcut.dask
from svmcut.distributed.engine import DaskRows, connected
from svmcut.distributed.oracle import Carried
from svmcut.distributed.parts import Reading, cut, grid
from svmcut.distributed.plan import planned
from svmcut.parameters import Settings
from svmcut.refusals import plain

WORDS, PER_ROW = 47_236, 75
#: Seconds a nonzero of scores and of a cut, a row of a line, a task of the scheduler; bytes a second of a network.
SCORES, NORMAL, LINE, TASK, NETWORK = 0.8e-9, 2.0e-9, 12e-9, 1.5e-3, 1e9


def generate(folder: Path, rows: int, files: int) -> list[Path]:
    """Files of equally many rows; those that are there already are taken."""
    rng = np.random.default_rng(1)
    chances = 1 / np.arange(1, WORDS + 1) ** 0.9
    sums = np.cumsum(chances) / chances.sum()
    weights = rng.normal(size=WORDS) * (rng.random(WORDS) < 0.2)
    texts = np.array([f" {j + 1}:{PER_ROW**-0.5:.4g}" for j in range(WORDS)], object)
    paths = []
    for k in range(files):
        path = folder / f"rows-{rows}-{k:03d}.dat"
        paths.append(path)
        if path.exists():
            continue
        with open(path, "w", encoding="ascii") as file:
            for _ in range(rows // files):
                words = np.unique(np.searchsorted(sums, rng.random(PER_ROW + 20)))[-PER_ROW:]
                label = 1 if weights[words].sum() + 1.5 * rng.normal() > 0 else -1
                file.write(str(label) + "".join(texts[words]) + "\n")
    return paths


def nothing(part, *places):
    """A round without work."""
    return np.zeros(1)


def vector(part, dim):
    """A round that answers with a normal."""
    return np.zeros(int(dim) + 2)


def median(rounds: int, ask) -> float:
    """Seconds of a round."""
    found = []
    for _ in range(rounds):
        began = time.perf_counter()
        ask()
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def split(client, paths: list[Path], cache: str) -> dict[str, float]:
    """Seconds of the parts of an iteration: two rounds."""
    rows, rng = DaskRows(client), np.random.default_rng(2)
    settings = plain(Settings(example_cost=1.0, threads=1))
    planned(rows, [*map(str, paths)], settings, Reading(False, cache=cache))
    here, dim = Carried(np.zeros(WORDS + 1)), WORDS + 1
    there = [Carried(rng.normal(size=dim)) for _ in range(10)]
    empty = median(20, lambda: rows.sum(nothing, []))
    left = iter(there)
    sent = median(10, lambda: rows.sum(nothing, [next(left)])) - empty
    back = median(10, lambda: rows.sum(vector, [], float(dim))) - empty
    both = [Carried(rng.normal(size=dim)) for _ in range(10)]
    targets = iter(both)
    line = median(10, lambda: rows.sum(grid, [here, next(targets)])) - empty - sent
    normal = median(10, lambda: rows.sum(cut, [here, both[-1]], 0.5)) - empty - back
    rows.close()
    return {"compute": line + normal, "w out": sent, "sums back": back, "scheduler": 2 * empty}


def simulate(rows: float, workers: int, cores: int, files: int, dim: int = WORDS) -> None:
    """Prints the seconds of an iteration by the constants, and what holds how much."""
    nonzeros = rows * PER_ROW
    compute = nonzeros * (SCORES + NORMAL) / (workers * cores) + rows * LINE / (workers * cores)
    moved = 8 * dim * workers * 2 / NETWORK / max(1, np.log2(workers))
    groups = workers * cores
    tasks = 2 * (2 * groups + 1) * TASK
    print(f"{rows:.0e} rows, {workers} workers of {cores} threads, {files} files")
    print(f"  memory a worker   {(8 * nonzeros + 40 * rows) / workers / 1e9:8.1f} GB")
    for name, seconds in (("compute", compute), ("moved", moved), ("scheduler", tasks)):
        print(f"  {name:<17} {seconds:8.2f} s an iteration")
    print(f"  45 iterations     {45 * (compute + moved + tasks):8.0f} s")


def main() -> None:
    """Both tables, or the simulation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--simulate", action="store_true")
    arguments = parser.parse_args()
    if arguments.simulate:
        for rows, workers, cores in ((1e7, 4, 4), (1e8, 16, 4), (1e9, 64, 4)):
            simulate(rows, workers, cores, 4 * workers * cores)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        paths, cache = generate(folder, arguments.rows, arguments.files), str(folder / "cache")
        pattern = str(folder / f"rows-{arguments.rows}-*.dat")
        known = {"gap": arguments.gap, "example_cost": 1.0, "cache": cache}
        here = svmcut.train(pattern, solver="cutting-plane", threads=arguments.workers, **known)
        print("| run | iterations | seconds | an iteration | primal |\n|---|---|---|---|---|")

        def row(name: str, found, seconds: float) -> None:
            n = found.progress.iteration
            print(f"| {name} | {n} | {seconds:.1f} | {1000 * seconds / n:.0f} ms | {found.primal:.7g} |", flush=True)

        row(f"one machine, {arguments.workers} threads", here, here.progress.seconds)
        with connected(f"local:{arguments.workers}") as client:
            client.wait_for_workers(arguments.workers)
            there = svmcut.dask.train(client, paths, **known)
            row(f"Dask, {arguments.workers} workers", there, there.progress.seconds)
            for name, seconds in split(client, paths, cache).items():
                print(f"{name:<10} {1000 * seconds:7.1f} ms an iteration")
        ratio = there.progress.seconds / here.progress.seconds
        moved, rounds = there.details["bytes_moved"] / 1e6, there.details["rounds"]
        print(f"ratio {ratio:.2f}; {moved:.1f} MB moved in {rounds} rounds")
        if there.dual > here.primal or here.dual > there.primal:
            sys.exit("the certificates contradict each other")


if __name__ == "__main__":
    main()
