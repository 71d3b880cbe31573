# SPDX-License-Identifier: BSD-3-Clause
"""How long does a linear SVM take from the text file to the model? svmcut, LIBLINEAR and
scikit-learn, side by side.

    python benchmarks/linear.py --quick python benchmarks/linear.py --data FOLDER --rcv1-generator
    gen_rcv1_like.py --threads 1 2 --markdown python benchmarks/linear.py -C 0.1 1 --solver auto
    cutting-plane FILE ...

All minimise 1/2 |w|^2 + C sum_i max(0, 1 - y_i w.x_i) with the bias inside w. Whole processes are
timed, in alternating rounds on pinned CPUs; one evaluator computes every objective from the written
model. FILEs may be gzip-compressed: LIBLINEAR reads plain text only, so they are unpacked once, and
every program reads the unpacked file. Files of a folder are found by name: a9a, acq.train,
covtype.class1.scale.*.train. scikit-learn and, for its rows, liblinear-train are needed.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from arguments import SVMCUT, make_parser
from objective import Evaluator, read_liblinear, read_numpy, read_svm_light
from timing import ProcessFailed, alternate, median_ratio, medians, time_process

KNOWN = (
    ("adult", "a9a"),
    ("reuters acq", "acq.train"),
    ("covtype", "covtype.class1.scale.*.train"),
)
SKLEARN = """
import sys, warnings
import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.svm import LinearSVC
warnings.simplefilter("ignore")
X, y = load_svmlight_file(sys.argv[1])
X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
model = LinearSVC(loss="hinge", C=float(sys.argv[3]), random_state=0).fit(X, y > 0)
np.save(sys.argv[2], np.append(model.coef_[0], model.intercept_[0]))
"""


class Contender(NamedTuple):
    """A program with its settings: the command for (train, model, C), how its model is read, and
    its threads."""

    name: str
    command: Callable[[Path, Path, str], list[str]]
    read: Callable[[Path], tuple[np.ndarray, float]]
    threads: int = 1
    report: bool = False


class Row(NamedTuple):
    """One line of the table."""

    set: str
    C: str
    program: str
    threads: int
    wall: float
    cpu: float
    objective: float
    off_best: float
    gap: float | None
    ratio: float


def contenders(arguments) -> Iterator[Contender]:
    """The list to add to."""
    for solver in arguments.solver:
        for gap in arguments.gap:
            stop = [] if gap == "default" else ["--gap", gap]
            for threads in arguments.threads:
                options = ["--threads", str(threads), "--solver", solver, *stop]
                name = " ".join(["svmcut", solver, *stop])
                yield Contender(name, partial(_svmcut, options), read_svm_light, threads, True)
    if shutil.which("liblinear-train"):
        for epsilon in arguments.liblinear_epsilon:
            yield Contender(
                f"LIBLINEAR -s 3 -e {epsilon}", partial(_liblinear, epsilon), read_liblinear
            )
    if not arguments.no_sklearn:
        yield Contender("scikit-learn LinearSVC", _sklearn, read_numpy)


def _svmcut(options: list[str], train: Path, model: Path, C: str) -> list[str]:
    report = model.with_suffix(".json")
    arguments = [
        *("-v", "0", "--example-cost", C, *options, "--report", str(report), str(train)),
        str(model),
    ]
    return [SVMCUT, "learn", *arguments]


def _liblinear(epsilon: str, train: Path, model: Path, C: str) -> list[str]:
    return [
        *("liblinear-train", "-q", "-s", "3", "-B", "1", "-c", C, "-e", epsilon, str(train)),
        str(model),
    ]


def _sklearn(train: Path, model: Path, C: str) -> list[str]:
    return [sys.executable, "-c", SKLEARN, str(train), str(model), C]


def plain(path: Path, folder: Path) -> Path:
    """The file itself, or an unpacked copy in ``folder``."""
    with open(path, "rb") as file:
        if file.read(2) != b"\x1f\x8b":
            return path
    copy = folder / path.name.removesuffix(".gz")
    with gzip.open(path, "rb") as packed, open(copy, "wb") as out:
        shutil.copyfileobj(packed, out)
    return copy


def sets(arguments, folder: Path) -> Iterator[tuple[str, Path]]:
    """Name and plain file of every set asked for; the project's own where none is."""
    for path in arguments.files:
        yield path.name.removesuffix(".gz"), plain(path, folder)
    if arguments.data:
        for name, pattern in KNOWN:
            found = [
                path for end in ("", ".gz") for path in sorted(arguments.data.rglob(pattern + end))
            ]
            if found:
                yield name, plain(found[0], folder)
            else:
                print(f"no {pattern} under {arguments.data}", file=sys.stderr)
    if arguments.rcv1_generator:
        path = folder / "rcv1_like"
        rows = ["-n", str(arguments.rcv1_rows), "-o", str(path)]
        subprocess.run(
            [sys.executable, str(arguments.rcv1_generator), *rows],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        yield f"RCV1-like {arguments.rcv1_rows}", path
    if not (arguments.files or arguments.data or arguments.rcv1_generator):
        data = Path(__file__).resolve().parent.parent / "data"
        for name in ("breast_cancer", "digits", "text"):
            yield name, data / f"{name}.train"


def measure(
    name: str, train: Path, C: str, entries: list[Contender], arguments, folder: Path
) -> list[Row]:
    """All contenders on one set at one C."""
    models = {}
    jobs = {}
    for number, entry in enumerate(entries):
        key = f"{entry.name} x{entry.threads}"
        models[key] = (entry, folder / f"model-{number}.npy")
        command = entry.command(train, models[key][1], C)
        # 3: stopped short of the gap, with a model and its gap written; the gap column tells
        statuses = (0, 3) if entry.report else (0,)
        jobs[key] = partial(
            time_process,
            command,
            threads=entry.threads,
            timeout=arguments.timeout,
            statuses=statuses,
        )
    times, failures = alternate(jobs, arguments.rounds)
    for key, reason in failures.items():
        print(f"{name}, C = {C}: {key} left out: {reason}", file=sys.stderr)
    if not times:
        return []
    evaluate = Evaluator(train)
    objectives = {key: evaluate(*models[key][0].read(models[key][1]), float(C)) for key in times}
    best = min(objectives.values())
    first = times[next(iter(times))]
    rows = []
    for key, found in times.items():
        entry, model = models[key]
        gap = (
            json.loads(model.with_suffix(".json").read_text())["relative_gap"]
            if entry.report
            else None
        )
        off = objectives[key] / best - 1
        ratio = median_ratio(found, first)
        rows.append(
            Row(
                name,
                C,
                entry.name,
                entry.threads,
                *medians(found)[:2],
                objectives[key],
                off,
                gap,
                ratio,
            )
        )
    return rows


HEAD = (
    "set",
    "C",
    "program",
    "threads",
    "wall s",
    "CPU s",
    "objective",
    "off best",
    "gap",
    "ratio",
)


def cells(row: Row) -> tuple[str, ...]:
    """A row as text."""
    gap = "" if row.gap is None else f"{row.gap:.1e}"
    return (
        row.set,
        row.C,
        row.program,
        str(row.threads),
        f"{row.wall:.3f}",
        f"{row.cpu:.3f}",
        f"{row.objective:.8g}",
        f"{row.off_best:.1e}",
        gap,
        f"{row.ratio:.2f}",
    )


def show(rows: list[Row], markdown: bool) -> None:
    """The table on standard output."""
    lines = [HEAD, *map(cells, rows)]
    if markdown:
        lines.insert(1, ("---",) * 3 + ("---:",) * (len(HEAD) - 3))
        for line in lines:
            print("| " + " | ".join(line) + " |")
        return
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print(
            "  ".join(
                f"{cell:{'<' if at < 3 else '>'}{widths[at]}}" for at, cell in enumerate(line)
            ).rstrip()
        )


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--data", type=Path, help="folder that is searched for the known sets")
    parser.add_argument("--rcv1-generator", type=Path, help="script that takes -n ROWS -o FILE")
    parser.add_argument("--rcv1-rows", type=int, default=100_000)
    parser.add_argument("-C", nargs="+", default=["1"], metavar="C", help="weights of one example")
    parser.add_argument("--solver", nargs="+", default=["auto", "cutting-plane"])
    parser.add_argument(
        "--gap", nargs="+", default=["default", "0.001"], help="svmcut --gap; default: its own -e"
    )
    parser.add_argument("--threads", nargs="+", type=int, default=[1], help="threads of svmcut")
    parser.add_argument("--liblinear-epsilon", nargs="*", default=["0.1", "0.001"])
    parser.add_argument("--no-sklearn", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=600, help="seconds one process may take")
    parser.add_argument("--quick", action="store_true", help="two rounds")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds = 2
    entries = list(contenders(arguments))
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, train in sets(arguments, Path(folder)):
            for C in arguments.C:
                rows += measure(name, train, C, entries, arguments, Path(folder))
    show(rows, arguments.markdown)


if __name__ == "__main__":
    try:
        main()
    except ProcessFailed as error:
        sys.exit(str(error))
