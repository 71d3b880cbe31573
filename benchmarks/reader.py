# SPDX-License-Identifier: BSD-3-Clause
"""How fast are example files read? svmcut against scikit-learn, side by side, in fresh processes.

    python benchmarks/reader.py [--repeats 5] [FILE ...]

Without files, 100,000 rows of text like RCV1's are written to a temporary folder. MB per second are
medians over the repeats, of CPU time (user and system) and of wall time. Peak is the growth of
resident memory during the read, over the bytes of the arrays returned; it includes what the reader
imports.
"""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from arguments import make_parser

HEAD = """
import os, resource, sys, time
def spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, time.perf_counter(), used.ru_maxrss * 1024
path = sys.argv[1]
with open(path, "rb") as file:
    while file.read(1 << 20):
        pass
"""
SVMCUT = """
from svmcut.files.examples import read_examples
start = spent()
examples = read_examples(path, threads={threads})
stop = spent()
size = examples.X.nbytes + examples.y.nbytes
"""
SKLEARN = """
import numpy as np
from sklearn.datasets import load_svmlight_file
start = spent()
X, y = load_svmlight_file(path, dtype=np.float32)
stop = spent()
size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes + y.nbytes
"""
TAIL = """
print(*(b - a for a, b in zip(start, stop)), size)
"""
READERS = {
    "svmcut, 1 thread": SVMCUT.format(threads=1),
    "svmcut, 2 threads": SVMCUT.format(threads=2),
    "scikit-learn": SKLEARN,
}


def generate(folder: Path, rows: int = 100_000, per_row: int = 75, columns: int = 47_000) -> Path:
    """Rows of sorted columns with five significant digits."""
    rng = np.random.default_rng(1)
    path = folder / "generated.dat"
    with open(path, "w") as out:
        for _ in range(rows):
            indices = np.unique(rng.integers(1, columns, per_row))
            values = rng.gamma(2.0, 0.05, len(indices))
            entries = " ".join(f"{j}:{x:.5g}" for j, x in zip(indices.tolist(), values.tolist()))
            out.write(f"{rng.choice((-1, 1))} {entries}\n")
    return path


def measure(code: str, path: Path) -> list[float]:
    """CPU seconds, wall seconds, growth of the peak in bytes, bytes of the result."""
    run = subprocess.run(
        [sys.executable, "-c", HEAD + code + TAIL, path], capture_output=True, text=True, check=True
    )
    return [float(word) for word in run.stdout.split()]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("| file | MB | reader | MB per CPU s | MB per wall s | peak / result |")
        print("|---|---|---|---|---|---|")
        for path in options.files or [generate(Path(folder))]:
            size = path.stat().st_size / 1e6
            runs = {name: [] for name in READERS}
            for _ in range(options.repeats):
                for name, code in READERS.items():
                    runs[name].append(measure(code, path))
            for name, found in runs.items():
                cpu, wall, peak, result = (statistics.median(column) for column in zip(*found))
                speeds = f"{size / cpu:.0f} | {size / wall:.0f} | {peak / result:.2f}"
                print(f"| {path.name} | {size:.0f} | {name} | {speeds} |", flush=True)


if __name__ == "__main__":
    main()
