# SPDX-License-Identifier: BSD-3-Clause
"""How much memory do rows take: those of a worker, and those that are larger than memory?

    python benchmarks/out_of_core.py worker [--workers 2] [--gap 0.05] [FILE ...] python
    benchmarks/out_of_core.py disk [--size 4] [--limit 1] [--gap 0.1] [--threads 2] [FILE ...]

"worker" trains on the files, each a part, and prints the highest resident memory of every worker,
above that of one without rows, as a multiple of its rows.

"disk" names the files anew until their rows take --size GB, so that each name is kept and read by
itself, and runs `svmcut learn --cache` twice in a control group of --limit GB, of which pages of
mapped files are part: once from text, once from the cache, nothing of which is in memory then. A
third run has all rows in memory and no limit. The models must have the same bytes. Control groups
of both versions need the right to make one (root in a container); without it
--no-group limits the process's own memory by RLIMIT_DATA, which leaves the pages of mapped files to
the system.

Without files 400,000 rows like RCV1's are made.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arguments import make_parser
from workers import generate

GB = 1 << 30
ROOT = Path("/sys/fs/cgroup")


@contextmanager
def group(limit: int) -> Iterator[Path]:
    """A control group with this limit of memory, of version 1 or 2."""
    old = (ROOT / "memory").is_dir()
    folder = (ROOT / "memory" if old else ROOT) / f"svmcut-{os.getpid()}"
    folder.mkdir()
    try:
        (folder / ("memory.limit_in_bytes" if old else "memory.max")).write_text(str(limit))
        if not old:
            (folder / "memory.swap.max").write_text("0")
        yield folder
    finally:
        folder.rmdir()


def highest(folder: Path | None) -> float:
    """GB that were in use at most, with pages of files; nan where nobody counted."""
    for name in ("memory.max_usage_in_bytes", "memory.peak"):
        if folder is not None and (folder / name).exists():
            return int((folder / name).read_text()) / GB
    return float("nan")


def learn(
    options: list[str], folder: Path | None, limit: int | None, report: Path
) -> tuple[float, float, float]:
    """A run: seconds by the clock, seconds of them reading, and GB resident at most."""

    def confined() -> None:
        if folder is not None:
            (folder / "cgroup.procs").write_text(str(os.getpid()))
        elif limit is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    program = str(Path(sys.executable).parent / "svmcut")
    command = [program, "learn", "-v", "0", "--report", str(report), *options]
    began = time.perf_counter()
    process = subprocess.Popen(command, preexec_fn=confined)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command[:4])} .. ended with {os.waitstatus_to_exitcode(status)}")
    seconds = time.perf_counter() - began
    return seconds, json.loads(report.read_text())["seconds"]["read"], usage.ru_maxrss / (1 << 20)


def forget(folder: Path) -> None:
    """Has the system drop the pages of all files in a folder, so that they count where they are
    read next."""
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def disk(files: list[Path], folder: Path, arguments: argparse.Namespace) -> None:
    """The table of three runs."""
    names, cache, rows = folder / "names", folder / "cache", 0
    names.mkdir()
    one = folder / "one"
    learn(
        [
            *("--cache", str(one), "--solver", "cutting-plane", "--gap", "0.9"),
            *map(str, files[:1]),
            str(folder / "m"),
        ],
        None,
        None,
        folder / "report",
    )
    copies = -(-int(arguments.size * GB) // size_of(one))
    for k in range(copies):
        (names / f"rows-{k:04d}.dat").symlink_to(files[k % len(files)].resolve())
    limit, pattern = int(arguments.limit * GB), str(names / "rows-*.dat")
    options = [
        *("--solver", "cutting-plane", "--example-cost", "1", "--gap", str(arguments.gap)),
        *("--threads", str(arguments.threads)),
    ]
    print(
        "| run | seconds | reading | resident, GB | in the group, GB | limit "
        "|\n|---|---|---|---|---|---|"
    )
    models = []

    def row(name: str, kept: list[str], bounded: bool) -> float:
        models.append(folder / f"model-{len(models)}")
        words, report = [*options, *kept, pattern, str(models[-1])], folder / "report"
        forget(cache)
        if bounded and not arguments.no_group:
            with group(limit) as inside:
                found = (*learn(words, inside, limit, report), highest(inside))
        else:
            found = (*learn(words, None, limit if bounded else None, report), float("nan"))
        told = f"{arguments.limit:g} GB" if bounded else "none"
        print(
            f"| {name} | {found[0]:.1f} | {found[1]:.2f} | {found[2]:.2f} | {found[3]:.2f} | "
            f"{told} |",
            flush=True,
        )
        return found[1]

    cache.mkdir()
    text = row("from text, into the cache", ["--cache", str(cache)], True)
    kept = row("from the cache", ["--cache", str(cache)], True)
    row("all rows in memory", [], False)
    rows = size_of(cache) / GB
    print(
        f"{rows:.2f} GB of rows in {copies} files; the cache reads {text / kept:.0f} times faster "
        "than the text"
    )
    if len({path.read_bytes() for path in models}) != 1:
        sys.exit("the models differ")
    print("the three models have the same bytes")


def resident(name: str) -> int:
    """Bytes of this process as the system counts them: VmRSS now, VmHWM at most."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))


def held(dask_worker: Any) -> int:
    """Bytes of the rows of a worker: values, columns, starts, labels."""
    parts = [part for part in dask_worker.data.values() if hasattr(part, "examples")]
    return sum(part.examples.X.nbytes + part.examples.y.nbytes for part in parts)


def worker(files: list[Path], workers: int, gap: float) -> None:
    """The table of workers."""
    import svmcut.dask
    from svmcut.distributed.engine import connect

    with connect(f"local:{workers}") as client:
        client.wait_for_workers(workers)
        client.run(__import__, "svmcut.distributed.work")
        before, rows = client.run(resident, "VmRSS"), {}

        def observe(progress: Any) -> None:
            if not rows:
                rows.update(client.run(held))

        svmcut.dask.train(client, files, gap=gap, example_cost=1.0, callback=observe)
        print(
            "| worker | rows, MB | memory at most above an empty worker, MB | times its rows "
            "|\n|---|---|---|---|"
        )
        for k, (address, peak) in enumerate(sorted(client.run(resident, "VmHWM").items())):
            more = peak - before[address]
            print(
                f"| {k + 1} | {rows[address] / 1e6:.0f} | {more / 1e6:.0f} | "
                f"{more / rows[address]:.2f} |"
            )


def main() -> None:
    """One of the tables."""
    parser = make_parser(__doc__)
    parser.add_argument("what", choices=("worker", "disk"))
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--size", type=float, default=4.0)
    parser.add_argument("--limit", type=float, default=1.0)
    parser.add_argument("--gap", type=float, default=0.1)
    parser.add_argument("--no-group", action="store_true")
    parser.add_argument(
        "--folder", type=Path, help="where names, cache and models go; a temporary one otherwise"
    )
    arguments = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as temporary:
        folder = Path(temporary)
        files = arguments.files or generate(folder, 400_000, 8)
        if arguments.what == "worker":
            worker(files, arguments.workers, arguments.gap)
        else:
            disk(files, folder, arguments)


if __name__ == "__main__":
    main()
