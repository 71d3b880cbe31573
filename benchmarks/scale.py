# SPDX-License-Identifier: BSD-3-Clause
"""How fast are example files scaled? svmcut scale beside LIBSVM's svm-scale, in turns, with outputs
compared.

    python benchmarks/scale.py [--repeats 5] [--megabytes 60] [FILE ...]

Without files, one of dense rows and one of sparse rows is written to a temporary folder. Each run
writes a range file and the scaled rows; then -r with that range file. Seconds, wall and CPU, are
medians over the repeats, ratios are medians of the ratios of neighbouring runs. svm-scale is in
Debian's libsvm-tools.
"""

import filecmp
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from arguments import make_parser

PROGRAMS = {
    "svmcut": (str(Path(sys.executable).parent / "svmcut"), "scale"),
    "svm-scale": ("svm-scale",),
}


def generate(path: Path, megabytes: float, columns: int, per_row: int) -> Path:
    """Rows of sorted columns; dense ones with numbers of twelve digits, sparse ones of five."""
    rng = np.random.default_rng(1)
    scales = np.exp(rng.normal(0, 4, columns))
    dense = per_row == columns
    with open(path, "w") as out:
        while out.tell() < megabytes * 1e6:
            indices = np.arange(columns) if dense else np.unique(rng.integers(0, columns, per_row))
            values = (
                rng.normal(size=columns) if dense else rng.gamma(2.0, 1.0, len(indices))
            ) * scales[indices]
            form = "%d:%.12g" if dense else "%d:%.5g"
            entries = " ".join(
                [form % pair for pair in zip((indices + 1).tolist(), values.tolist())]
            )
            out.write(f"{rng.choice((-1, 1))} {entries}\n")
    return path


def run(program: str, options: list[str], path: Path, target: Path) -> tuple[float, float]:
    """Wall and CPU seconds of one run."""
    with open(target, "wb") as out:
        start = time.perf_counter()
        process = subprocess.Popen(
            [*PROGRAMS[program], *options, str(path)], stdout=out, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{program} {' '.join(options)} {path}: status {process.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime


def compare(path: Path, limits: list[str], folder: Path, repeats: int) -> None:
    """Rows of the table for one file: measured and restored ranges."""
    for options in ("-s", "-r"):
        found: dict[str, list[tuple[float, float]]] = {program: [] for program in PROGRAMS}
        for _ in range(repeats):
            for program in PROGRAMS:
                ranges = folder / f"{program}.ranges"
                target = folder / f"{program}.out"
                found[program].append(run(program, [*limits, options, str(ranges)], path, target))
        same = all(
            filecmp.cmp(*(folder / f"{program}.{end}" for program in PROGRAMS), shallow=False)
            for end in ("ranges", "out")
        )
        cells = []
        for measured in (0, 1):
            ours, theirs = ([run[measured] for run in runs] for runs in found.values())
            ratio = statistics.median([b / a for a, b in zip(ours, theirs)])
            cells += [
                f"{statistics.median(ours):.2f}",
                f"{statistics.median(theirs):.2f}",
                f"{ratio:.2f}",
            ]
        size = f"{path.stat().st_size / 1e6:.0f}"
        name = " ".join([path.name, *limits, options])
        print("|", " | ".join([name, size, *cells, "yes" if same else "NO"]), "|", flush=True)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--megabytes", type=float, default=60)
    options = parser.parse_args()
    if shutil.which("svm-scale") is None:
        sys.exit("svm-scale is not installed; Debian and Ubuntu have it in libsvm-tools")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs = [(path, []) for path in options.files] or [
            (generate(folder / "dense", options.megabytes, 100, 100), []),
            (generate(folder / "sparse", options.megabytes, 2000, 75), ["-l", "0"]),
        ]
        print(
            "| file, options | MB | wall s | svm-scale | ratio | CPU s | svm-scale | ratio | "
            "same bytes |"
        )
        print("|---|---|---|---|---|---|---|---|---|")
        for path, limits in jobs:
            compare(path, limits, folder, options.repeats)


if __name__ == "__main__":
    main()
