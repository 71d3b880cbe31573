# SPDX-License-Identifier: BSD-3-Clause
"""How long would it take, and what gives in first? Measured constants, multiplied to 1e9 rows.

    python benchmarks/cluster_sizes.py measure [FILE ...]   the constants, of a run on these parts
    python benchmarks/cluster_sizes.py check [FOLDER ...]   runs on the files of each, and the model
    python benchmarks/cluster_sizes.py table                sizes and limits, by the constants below
    python benchmarks/cluster_sizes.py plot docs/plots/cluster-sizes.svg    seconds of an iteration

Without files rows are made as in workers.py, 4 x 10^5, and 10^5 of them to check too.

An iteration of cutting planes takes what the busiest worker computes and what the driver and the
scheduler do beside:

    seconds = NONZERO * nonzeros / (workers * threads) + DRIVER * dim + ROUNDS + PASSED * workers

All are seconds of processors, on the longest way: they are those of the clock where machines do
nothing else and the network is faster than the scheduler, which moves each vector once a worker and
a second. Two workers of one thread run here; `measure` starts six on the same parts for what a
worker more costs the scheduler.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from arguments import make_parser
from workers import PER_ROW, WORDS, generate, on_workers, watch

from svmcut.distributed.engine import connect

#: Seconds a nonzero, a number of w in the driver, of two rounds, and of a worker more that vectors
#: are passed on to.
NONZERO, DRIVER, ROUNDS, PASSED = 2.3e-9, 2.7e-7, 7.3e-3, 5.3e-3
#: Bytes a nonzero and a row with its worker, and as text a nonzero; reading, bytes a second of a
#: processor.
NONZERO_BYTES, ROW_BYTES, TEXT_BYTES, READING = 8, 96, 14.3, 60e6
MADE = 400_000, 100_000
SIZES = ((1e5, 1, 2), (1e6, 1, 4), (1e7, 4, 4), (1e8, 16, 4), (1e9, 64, 4))
ITERATIONS, CUTS = 45, 50


def seconds(nonzeros: float, workers: int, threads: int, dim: int = WORDS) -> dict[str, float]:
    """Of an iteration, by what takes them."""
    return {
        "compute": NONZERO * nonzeros / (workers * threads),
        "driver": DRIVER * dim,
        "rounds": ROUNDS + PASSED * workers * dim / WORDS,
    }


def run(files: list[Path], workers: int, known: dict) -> tuple[int, Any]:
    """Nonzeros, and what an iteration took."""
    with connect(f"local:{workers}") as client:
        client.wait_for_workers(workers)
        client.run(watch)
        held: list[int] = []

        def nonzeros(dask_worker: Any) -> int:
            parts = [part for part in dask_worker.data.values() if hasattr(part, "examples")]
            return sum(part.examples.X.nnz for part in parts)

        def count(progress: Any) -> None:
            if not held:
                held.append(sum(client.run(nonzeros).values()))

        import svmcut.dask

        svmcut.dask.train(client, files, callback=count, **(known | {"gap": 0.5}))
        return held[0], on_workers(client, files, known)[1]


def measure(files: list[Path], known: dict) -> None:
    """Prints the constants."""
    nonzeros, few = run(files, 2, known)
    _, many = run(files, 6, known)
    passed = max(0.0, (many.driver - few.driver) / 4)
    rounds = few.worker - few.tasks
    print(f"NONZERO {2 * few.tasks / nonzeros:.2e}, DRIVER {(few.driver - 2 * passed) / WORDS:.2e}")
    print(f"ROUNDS {rounds:.2e}, PASSED {passed:.2e}")


def check(folders: list[Path], known: dict) -> None:
    """The table of runs beside the model."""
    print(
        "| nonzeros | files | an iteration, ms | by the model, ms | ratio |\n|---|---|---|---|---|"
    )
    for folder in folders:
        files = sorted(path for path in folder.iterdir() if path.is_file())
        nonzeros, spent = run(files, 2, known)
        found, expected = spent.driver + spent.worker, sum(seconds(nonzeros, 2, 1).values())
        print(
            f"| {nonzeros / 1e6:.1f} million | {len(files)} | {1e3 * found:.0f} | "
            f"{1e3 * expected:.0f} "
            f"| {expected / found:.2f} |",
            flush=True,
        )


def table() -> None:
    """Sizes, and where each limit lies."""
    print(
        "| rows | workers x threads | memory a worker | reading text | compute | driver | rounds "
        "| 45 iterations |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for rows, workers, threads in SIZES:
        nonzeros = PER_ROW * rows
        memory = (NONZERO_BYTES * nonzeros + ROW_BYTES * rows) / workers / 1e9
        reading = TEXT_BYTES * nonzeros / READING / (workers * threads)
        took = seconds(nonzeros, workers, threads)
        print(
            f"| 10^{len(f'{rows:.0f}') - 1} | {workers} x {threads} | {memory:.2g} GB | "
            f"{reading:.3g} s | "
            + " | ".join(f"{1e3 * part:.0f} ms" for part in took.values())
            + f" | {ITERATIONS * sum(took.values()):.3g} s |"
        )
    rows = SIZES[-1][0]
    most = next(w for w in range(1, 10**6) if PASSED * w > NONZERO * PER_ROW * rows / (4 * w))
    bound = next(d for d in range(10**5, 10**10, 10**5) if 8 * d * CUTS > 4e9)
    passed = next(
        d
        for d in range(10**5, 10**10, 10**5)
        if PASSED * 64 * d / WORDS > NONZERO * PER_ROW * rows / 256
    )
    print(
        f"Limits: at 10^9 rows more than {most} workers of 4 threads cost the scheduler more than "
        "they compute; "
        f"{CUTS} cuts of more than {bound / 1e6:.0f} million features take 4 GB of the driver; "
        "with 64 workers, "
        f"vectors of more than {passed / 1e6:.1f} million numbers take longer on their way than "
        "the rows"
    )


def plot(path: Path) -> None:
    """Seconds of an iteration by rows, for three sizes of a cluster."""
    import style

    figure, axes = style.two_wide(2)
    rows = [10 ** (5 + k / 8) for k in range(33)]
    for workers, color in ((1, style.GREEN), (16, style.BLUE), (64, style.RED)):
        took = [sum(seconds(PER_ROW * n, workers, 4).values()) for n in rows]
        axes[0].plot(rows, took, color=color, label=f"{workers} x 4 threads")
    for name, color in (("compute", style.BLACK), ("driver", style.ORANGE), ("rounds", style.SKY)):
        axes[1].plot(
            rows,
            [seconds(PER_ROW * n, 64, 4)[name] for n in rows],
            color=color,
            linestyle="--",
            label=name,
        )
    for axis, title in zip(axes, ("an iteration", "what it takes with 64 x 4"), strict=True):
        axis.set(
            xscale="log", yscale="log", xlabel="rows of 75 nonzeros", ylabel="seconds", title=title
        )
    style.legend(figure)
    style.save(figure, path)


def made(temporary: str, rows: int) -> Path:
    """A folder of its own."""
    folder = Path(temporary) / f"rows-{rows}"
    folder.mkdir()
    return folder


def folder_of(temporary: str, rows: int) -> Path:
    """One with so many rows in eight files."""
    folder = made(temporary, rows)
    generate(folder, rows, 8)
    return folder


def main() -> None:
    """One of the four."""
    parser = make_parser(__doc__)
    parser.add_argument("what", choices=("measure", "check", "table", "plot"))
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--gap", type=float, default=0.01)
    parser.add_argument("--cache")
    arguments = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as temporary:
        known = {"gap": arguments.gap, "example_cost": 1.0, "cache": arguments.cache or temporary}
        if arguments.what == "table":
            table()
        elif arguments.what == "plot":
            plot(arguments.paths[0])
        elif arguments.what == "measure":
            measure(arguments.paths or generate(made(temporary, MADE[0]), MADE[0], 8), known)
        else:
            check(arguments.paths or [folder_of(temporary, rows) for rows in MADE], known)


if __name__ == "__main__":
    main()
