# SPDX-License-Identifier: BSD-3-Clause
"""What does it cost to train on workers? The same cutting planes on one machine and on the workers
of Dask.

    python benchmarks/workers.py [--workers 2] [--gap 0.001] [--repeat 3] [--rows 400000 --files 8]
    [FILE ...]

Each file is a part. Without files rows like RCV1's are made: 75 words by Zipf's law of 47,236, two
classes. Runs alternate; seconds are medians, by the clock and of all processors together, with
reading left out. On a machine that does something else beside, the latter can be compared, the
former not. With both on one machine, workers share its processors with the scheduler.

The second table splits the iteration of a run: what workers compute, the slowest of each round;
what the driver does (the bundle and its QP); and what rounds cost beside, split like rounds that
send a vector, send one back, or nothing.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from arguments import make_parser

import svmcut
import svmcut.dask
from svmcut.distributed.engine import DaskRows, connect
from svmcut.distributed.oracle import Carried
from svmcut.distributed.parts import Reading
from svmcut.distributed.plan import Files, make_driver
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import plain

WORDS, PER_ROW = 47_236, 75


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


class Spent(NamedTuple):
    """Seconds of an iteration, each but the first two of processors.

    Attributes
    ----------
    iterations : int
    clock, rounds : float
        By the clock, and what of it rounds took.
    driver, worker, tasks : float
        Of this process with the scheduler, of the busiest worker, and of what workers computed, at
        most.
    all : float
        Of all processes.
    """

    iterations: int
    clock: float
    rounds: float
    driver: float
    worker: float
    tasks: float
    all: float


def watch() -> None:
    """Has a worker add up the seconds of its tasks."""
    import time

    from svmcut.distributed import parts

    def timed(task):
        def run(*given):
            began = time.thread_time()
            try:
                return task(*given)
            finally:
                parts.spent = getattr(parts, "spent", 0.0) + time.thread_time() - began

        return run

    for name in ("value", "grid", "along", "cut"):
        setattr(parts, name, timed(getattr(parts, name)))


def used() -> tuple[float, float]:
    """Seconds of processors of a worker, and of its tasks."""
    import time

    from svmcut.distributed import parts

    return time.process_time(), getattr(parts, "spent", 0.0)


def on_workers(client: Any, files: list, known: dict) -> tuple[Any, Spent]:
    """A run on workers that were told to `watch`, and what its iterations took from the second
    on."""
    marks, rounds, ask = [], [0.0], DaskRows.sum

    def timed(self, *given, **more):
        began = time.perf_counter()
        try:
            return ask(self, *given, **more)
        finally:
            rounds[0] += time.perf_counter() - began

    def observe(progress):
        workers = np.array(list(client.run(used).values())) if progress.iteration == 2 else None
        marks.append((time.perf_counter(), rounds[0], time.process_time(), workers))

    DaskRows.sum = timed
    try:
        found = svmcut.dask.train(client, files, solver="cutting-plane", callback=observe, **known)
    finally:
        DaskRows.sum = ask
    begin, (clock, asked, driver, _), n = marks[1], marks[-1], len(marks) - 2
    workers = np.array(list(client.run(used).values())) - begin[3]
    busiest, tasks = workers.max(axis=0) / n
    driver = (driver - begin[2]) / n
    spent = Spent(
        len(marks),
        (clock - begin[0]) / n,
        (asked - begin[1]) / n,
        driver,
        busiest,
        tasks,
        driver + workers[:, 0].sum() / n,
    )
    return found, spent


def here(pattern: str, known: dict, threads: int) -> tuple[Any, float, float]:
    """A run on one machine; seconds of an iteration by the clock and of processors."""
    marks = []

    def observe(progress):
        marks.append((time.perf_counter(), time.process_time()))

    found = svmcut.train(
        pattern, solver="cutting-plane", threads=threads, callback=observe, **known
    )
    (clock, cpu), n = marks[1], len(marks) - 2
    return found, (marks[-1][0] - clock) / n, (marks[-1][1] - cpu) / n


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


def overheads(client: Any, files: list[str], known: dict, rounds: int = 20) -> dict[str, float]:
    """Seconds of rounds without work: with a new vector, with one for an answer, with nothing."""
    rows, rng = DaskRows(client), np.random.default_rng(2)
    settings = plain(Settings(example_cost=1.0, threads=1))
    reading = Reading(False, cache=known.get("cache"))
    parted, _ = make_driver(rows, Files(files, reading), settings)
    dim = parted.X.n_features + 1
    there = iter([Carried(rng.normal(size=dim)) for _ in range(rounds)])
    empty = median(rounds, lambda: rows.sum(nothing, []))
    sent = median(rounds, lambda: rows.sum(nothing, [next(there)]))
    back = median(rounds, lambda: rows.sum(vector, [], float(dim)))
    rows.close()
    return {
        "w out": max(0.0, sent - empty),
        "sums back": max(0.0, back - empty),
        "scheduler": 2 * empty,
    }


def main() -> None:
    """Both tables."""
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder, names = Path(temporary), Path(temporary) / "names"
        names.mkdir()
        for k, path in enumerate(
            arguments.files or generate(folder, arguments.rows, arguments.parts)
        ):
            (names / f"{k:04d}").symlink_to(path.resolve())
        pattern = str(names / "*")
        known = {"gap": arguments.gap, "example_cost": 1.0, "cache": str(folder / "cache")}
        with connect(f"local:{arguments.workers}") as client:
            client.wait_for_workers(arguments.workers)
            client.run(watch)
            runs = []
            for _ in range(1 + arguments.repeat):  # the first warms up
                one, there = (
                    here(pattern, known, arguments.workers),
                    on_workers(client, pattern, known),
                )
                runs.append((*one, *there))
            lost = overheads(client, sorted(map(str, names.iterdir())), known)
    print(
        "| run | iterations | an iteration, ms | of all processors, ms | primal "
        "|\n|---|---|---|---|---|"
    )
    clock = [
        statistics.median(run[1] for run in runs[1:]),
        statistics.median(run[4].clock for run in runs[1:]),
    ]
    cpu = [
        statistics.median(run[2] for run in runs[1:]),
        statistics.median(run[4].all for run in runs[1:]),
    ]
    one, there, spent = (
        runs[-1][0],
        runs[-1][3],
        sorted((run[4] for run in runs[1:]), key=lambda spent: spent.clock),
    )
    for k, (name, found) in enumerate((("one machine", one), ("Dask", there))):
        kind = "threads" if found is one else "workers"
        print(
            f"| {name}, {arguments.workers} {kind} | {found.progress.iteration} | "
            f"{1e3 * clock[k]:.0f} "
            f"| {1e3 * cpu[k]:.0f} | {found.primal:.7g} |"
        )
    middle = spent[len(spent) // 2]
    beside = middle.rounds - middle.tasks
    print("\n| of an iteration | ms |\n|---|---|")
    for name, seconds in {"compute": middle.tasks, "driver": middle.clock - middle.rounds}.items():
        print(f"| {name} | {1e3 * seconds:.1f} |")
    for name, seconds in lost.items():
        print(f"| {name} | {1e3 * beside * seconds / sum(lost.values()):.1f} |")
    moved, rounds = there.details["bytes_moved"] / 1e6, there.details["rounds"]
    ratios = (statistics.median(run[4].clock / run[1] for run in runs[1:]), cpu[1] / cpu[0])
    print(f"\nratio {ratios[0]:.2f} by the clock, {ratios[1]:.2f} of processors")
    print(f"{moved:.1f} MB moved in {rounds} rounds")
    if there.dual > one.primal or one.dual > there.primal:
        sys.exit("the certificates contradict each other")


if __name__ == "__main__":
    main()
