# SPDX-License-Identifier: BSD-3-Clause
"""What does a tight gap cost on workers? Each gap by the trainer of one machine and on the workers
of Dask, with the solver that auto takes.

    python benchmarks/tight_gaps.py [--gaps 1e-3 1e-5 1e-6] [--losses error-rate squared-hinge]
    [--workers 2] [--rows 144000 --parts 8] [FILE ...]

Rows are those of benchmarks/workers.py, their labels the targets of the tube, 0.1 to either side.
Seconds are of all processors together; rows are kept before the first line, so reading is mapping.
"""

import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from arguments import make_parser
from workers import generate

import svmcut
import svmcut.dask
from svmcut.distributed.engine import connect

LOSSES = ["error-rate", "squared-hinge", "logistic", "epsilon-insensitive"]


def used() -> float:
    """Seconds of processors of this process."""
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return spent.ru_utime + spent.ru_stime


def of_all(client: Any) -> float:
    """Of this process, with the scheduler, and of its workers."""
    return used() + sum(client.run(time.process_time).values())


def main() -> None:
    """The table."""
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--gaps", nargs="*", type=float, default=[1e-3, 1e-5, 1e-6])
    parser.add_argument("--losses", nargs="*", default=LOSSES)
    parser.add_argument("--rows", type=int, default=144_000)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--time-limit", type=float)
    arguments = parser.parse_intermixed_args()
    print(
        "| loss | gap | one machine | s | on workers | iterations | rounds | s | ratio |\n"
        "|---|---|---|---:|---|---:|---:|---:|---:|"
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        files = arguments.files or generate(folder, arguments.rows, arguments.parts)
        (folder / "names").mkdir()
        for k, path in enumerate(files):
            (folder / "names" / f"{k:04d}").symlink_to(path.resolve())
        paths, limit = str(folder / "names" / "*"), arguments.time_limit
        own = {"cache": str(folder / "cache"), "example_cost": 1.0, "time_limit": limit}
        svmcut.train(paths, gap=0.5, **own)
        with connect(f"local:{arguments.workers}") as client:
            client.wait_for_workers(arguments.workers)
            for loss in arguments.losses:
                for gap in arguments.gaps:
                    known = {"loss": loss, "gap": gap, **own}
                    if loss == "epsilon-insensitive":
                        known |= {"task": "regression", "tube": 0.1}
                    began = used()
                    here = svmcut.train(paths, threads=1, **known)
                    alone, began = used() - began, of_all(client)
                    there = svmcut.dask.train(client, paths, **known)
                    both = of_all(client) - began
                    ended = "" if there.converged else f" (gap {there.gap / there.primal:.1e})"
                    print(
                        f"| {loss} | {gap:g} | {here.solver} | {alone:.1f} | {there.solver}{ended} "
                        f"| {there.progress.iteration} | {there.details['rounds']} | {both:.1f} "
                        f"| {both / alone:.1f} |",
                        flush=True,
                    )
                    assert there.dual <= here.primal and here.dual <= there.primal


if __name__ == "__main__":
    main()
