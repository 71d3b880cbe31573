# SPDX-License-Identifier: BSD-3-Clause
"""Tables and figures of Yu and Joachims, KDD 2008, over seeds: whole processes, one thread, mean ±
standard deviation.

    python benchmarks/kdd2008.py rows rows.csv -n 1000 4000 16000 60000 --covtype TRAIN TEST python
    benchmarks/kdd2008.py samples samples.csv --files a9a a9a.t --gamma 0.0078125 -r 100 400 1600
    python benchmarks/kdd2008.py band -n 20000 python benchmarks/kdd2008.py band --files a9a a9a.t
    --gamma 0.0078125 python benchmarks/kdd2008.py basis -n 20000 python benchmarks/kdd2008.py
    measures -n 5000

"rows" and "samples" add lines to a file that kernel_plots.py draws, and pass over those that it
has: Figures 1 to 3, on boards and on rows like those of --covtype, and Figures 4 to 7. "band" is
Table 1: error on the test rows of an exact trainer, a subspace and bare sampled cuts, r = 400 for
linear and 1,000 for constant time. "basis" is its control: a subspace of more and more rows taken
at random, as the paper's Cholesky factor has them, beside sampled-cuts. "measures" trains ROC area
and a ranking with a kernel, exactly and by sampled cuts; its rankings are queries of ten rows of a
board, of which those on black squares are to come first.

Boards are make_checkers.py's with Gaussian noise on the points, no flips, other rows of the same
kind for the test and another board a seed; files are the same for all seeds. C is --example-cost an
example, or of ROC area and rankings -c. Rows like covtype's are those of the file, drawn with
replacement, the ten measures of each moved by Gaussian noise of
0.02 and cut to 0..1; they are tested on the rows of the second file as they are.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import make_checkers
import numpy as np
from arguments import SVMCUT, make_parser
from kernel import plain, timed
from kernel_curves import Growth, read, write

TEST_ROWS = 20_000
#: What trains and how, by the name that the table has for it.
BAND = {
    "smo": ("--solver", "smo", "--no-free-bias"),
    "subspace, 500 points": ("--solver", "subspace", "--basis", 500),
    "sampled-cuts, r = 400": ("--solver", "sampled-cuts", "--sample-size", 400, "--no-polish"),
    "constant-cuts, r = 1000": ("--solver", "constant-cuts", "--sample-size", 1000, "--no-polish"),
}


def boards(options, folder: Path, n: int) -> Iterator[tuple[int, Path, Path]]:
    """(seed, train, test)"""
    for seed in range(options.seeds):
        if options.files:
            yield seed, *(Path(plain(path, folder)) for path in options.files)
            continue
        train, test = folder / f"train{seed}", folder / f"test{seed}"
        for path, rows, first in ((train, n, 1), (test, TEST_ROWS, 1001)):
            make_checkers.write(path, rows, first + seed, flip=0.0, sigma=options.sigma)
        yield seed, train, test


def trained(
    options, folder: Path, train: Path, test: Path, seed: int, words: tuple, kind: str = "learn"
):
    """CPU seconds, the report of training and that of the test rows."""
    report, model = folder / "report.json", folder / "model"
    bare = () if "smo" in words else ("--no-certify",)
    _, seconds, _ = timed(
        [
            *(SVMCUT, kind, "-t", 2, "-g", options.gamma, "-v", 0, "--seed", seed, "--threads", 1),
            *(*bare, "--report", report, *words, train, model),
        ]
    )
    run = json.loads(report.read_text())
    return seconds, run, scored(folder, test)


def scored(folder: Path, test: Path) -> dict:
    """The report of the rows of a file under the folder's model."""
    report = folder / "report.json"
    timed(
        [SVMCUT, "classify", "-v", 0, "--report", report, test, folder / "model", folder / "scores"]
    )
    return json.loads(report.read_text())


def spread(values: list[float], digits: int = 2) -> str:
    """Mean ± standard deviation."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.{digits}f} ± {deviation:.{digits}f}"


def row(name: str, trainer: str, runs: list, measure: str) -> None:
    """A line of a table."""
    seconds, reports, found = zip(*runs, strict=True)
    print(
        f"| {name} | {trainer} | {spread(list(seconds), 1)} | "
        f"{spread([r['iterations'] for r in reports], 0)} | "
        f"{statistics.mean(r['support_vectors'] for r in reports):.0f} | "
        f"{spread([f[measure] for f in found])} |",
        flush=True,
    )


def tables(options, trainers: dict[str, tuple]) -> None:
    """A line a trainer on every size of board, or on the files."""
    print(
        "| rows | trainer | CPU s | rounds | points | test error % |\n|---|---|---:|---:|---:|---:|"
    )
    for n in options.n:
        name = options.files[0].name if options.files else f"checkers {n:,}"
        with tempfile.TemporaryDirectory() as at:
            folder = Path(at)
            sets = list(boards(options, folder, n))
            for trainer, words in trainers.items():
                cost = ("--example-cost", options.example_cost, *words)
                runs = [
                    trained(options, folder, train, test, seed, cost) for seed, train, test in sets
                ]
                row(name, trainer, runs, "error_rate")
        if options.files:
            return


def ranked(path: Path, n: int, seed: int, sigma: float) -> None:
    """Queries of ten rows of a board, those on black squares above the others."""
    X, y = make_checkers.rows(np.random.default_rng(seed), n, flip=0.0, sigma=sigma)
    with open(path, "w", encoding="ascii") as output:
        for i, (label, (a, b)) in enumerate(zip((y > 0).tolist(), X.tolist(), strict=True)):
            output.write(f"{label:d} qid:{i // 10 + 1} 1:{a:.4f} 2:{b:.4f}\n")


def resampled(source: Path, target: Path, n: int, seed: int, measured: int = 10) -> None:
    """n rows like those of a LIBSVM file, whose first features are measures in 0..1."""
    from svmcut.files.examples import read_examples

    data, rng = read_examples(str(source)), np.random.default_rng(seed)
    drawn = rng.integers(len(data), size=n)
    X, y = data.X.to_dense()[drawn], data.y[drawn]
    known = X[:, :measured] != 0
    X[:, :measured] += known * rng.normal(scale=0.02, size=known.shape)
    X = np.round(X.clip(0.0, 1.0), 4)
    with open(target, "w", encoding="ascii") as output:
        for label, row in zip(y.tolist(), X, strict=True):
            used = np.flatnonzero(row)
            output.write(f"{label:+g} {' '.join(f'{j + 1}:{row[j]:.4g}' for j in used)}\n")


def grown(options, known: set) -> Iterator[Growth]:
    """Bare trainers on more and more rows of either kind; the smaller ones of all seeds come
    first."""
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        train, test = folder / "train", folder / "test"
        if options.covtype:
            (folder / "real").mkdir()
            real, real_test = (Path(plain(path, folder / "real")) for path in options.covtype)
        for n in options.n:
            for seed in range(options.seeds):
                for panel in ("checkers", "covtype-like") if options.covtype else ("checkers",):
                    left = [
                        name
                        for name in BAND
                        if (panel, name.partition(",")[0], n, seed) not in known
                    ]
                    if not left:
                        continue
                    if panel == "checkers":
                        make_checkers.write(train, n, 1 + seed, flip=0.0, sigma=options.sigma)
                        make_checkers.write(
                            test, TEST_ROWS, 1001 + seed, flip=0.0, sigma=options.sigma
                        )
                    else:
                        resampled(real, train, n, 1 + seed)
                        shutil.copyfile(real_test, test)
                    for name in left:
                        words = ("--example-cost", options.example_cost, *BAND[name])
                        yield growth(options, folder, panel, name.partition(",")[0], n, seed, words)


def growth(
    options, folder: Path, panel: str, curve: str, x: float, seed: int, words: tuple
) -> Growth:
    """A training on the files "train" and "test" of the folder, scored on both, on 5,000 rows of
    the former at most."""
    train, test, head = folder / "train", folder / "test", folder / "head"
    seconds, run, found = trained(options, folder, train, test, seed, words)
    with open(train, encoding="ascii") as lines:
        head.write_text("".join(line for line, _ in zip(lines, range(5000))))
    at_home = scored(folder, head)
    return Growth(
        panel,
        curve,
        x,
        seed,
        seconds,
        run["iterations"],
        run["support_vectors"],
        at_home["error_rate"],
        found["error_rate"],
    )


def sampled(options, known: set) -> Iterator[Growth]:
    """Sampled cuts of more and more examples on the files, a panel a solver and a curve a C."""
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        for path, name in zip(options.files, ("train", "test"), strict=True):
            Path(plain(path, folder)).rename(folder / name)
        for seed in range(options.seeds):
            for r in options.r:
                for C in options.example_costs:
                    for solver in ("constant-cuts", "sampled-cuts"):
                        words = (
                            *("--example-cost", C, "--solver", solver, "--sample-size", r),
                            "--no-polish",
                        )
                        if (solver, f"C = {C:g}", r, seed) not in known:
                            yield growth(options, folder, solver, f"C = {C:g}", r, seed, words)


def measures(options) -> None:
    """ROC area of boards and pairs of queries ranked wrongly, exactly and by sampled cuts."""
    print("| measure | trainer | CPU s | rounds | points | value |\n|---|---|---:|---:|---:|---:|")
    solvers = {
        "cutting-plane": ("--solver", "cutting-plane"),
        "sampled-cuts": ("--solver", "sampled-cuts", "--sample-size", 400, "--no-polish"),
    }
    with tempfile.TemporaryDirectory() as at:
        folder, n = Path(at), options.n[0]
        sets = list(boards(options, folder, n))
        queries = []
        for seed in range(options.seeds):
            queries.append((seed, folder / f"ranks{seed}", folder / f"ranked{seed}"))
            ranked(queries[-1][1], n, 1 + seed, options.sigma)
            ranked(queries[-1][2], TEST_ROWS, 1001 + seed, options.sigma)
        for trainer, words in solvers.items():
            words = ("-c", options.cost, *words)
            runs = [
                trained(options, folder, *files, seed, ("-l", "roc-area", *words))
                for seed, *files in sets
            ]
            row("ROC area", trainer, runs, "roc_area")
        for trainer, words in solvers.items():
            words = ("-c", options.cost * n / 1000, *words)
            runs = [
                trained(options, folder, *files, seed, words, "rank") for seed, *files in queries
            ]
            row("pairs ranked wrongly, %", trainer, runs, "swapped_percent")


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("what", choices=["rows", "samples", "band", "basis", "measures"])
    parser.add_argument("target", nargs="?", type=Path, metavar="CSV", help="of rows and samples")
    parser.add_argument("-n", type=int, nargs="+", default=[20_000])
    parser.add_argument("--files", type=Path, nargs=2, metavar=("TRAIN", "TEST"))
    parser.add_argument("--covtype", type=Path, nargs=2, metavar=("TRAIN", "TEST"))
    parser.add_argument("-r", type=int, nargs="+", default=[100, 400, 1600])
    parser.add_argument(
        "--example-costs", type=float, nargs="+", default=[0.1, 1.0], help="of samples"
    )
    parser.add_argument("--sigma", type=float, default=0.02)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--gamma", type=float, default=8.0)
    parser.add_argument("--example-cost", type=float, default=1.0)
    parser.add_argument("-c", "--cost", type=float, default=50.0)
    parser.add_argument("--bases", type=int, nargs="+", default=[50, 100, 200, 500, 1000, 2000])
    options = parser.parse_args()
    if options.what == "measures":
        measures(options)
        return
    if options.what in ("rows", "samples"):
        if not options.target or (options.what == "samples" and not options.files):
            sys.exit(f"kdd2008.py: {options.what} needs {'--files' if options.target else 'CSV'}")
        known = {row[:4] for row in read(options.target)} if options.target.exists() else set()
        write(options.target, (grown if options.what == "rows" else sampled)(options, known))
        return
    trainers = BAND
    if options.what == "basis":
        name = "sampled-cuts, r = 400"
        words = "--solver", "subspace", "--k"
        trainers = {f"{k} rows": (*words, k, "--t", 1, "--i", 0) for k in options.bases} | {
            name: BAND[name]
        }
    tables(options, trainers)


if __name__ == "__main__":
    main()
