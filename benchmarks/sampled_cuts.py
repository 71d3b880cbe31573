# SPDX-License-Identifier: BSD-3-Clause
"""How do sampled cuts grow with n and r, and what do they buy beside exact trainers and a subspace?

    python benchmarks/sampled_cuts.py --generator gen_checkers.py -n 5000 20000
    python benchmarks/sampled_cuts.py --train FILE --test FILE -g 0.0078125 --example-cost 1 -r 100 400

The first form makes checkerboards with `gen_checkers.py -n N --stream 1|2 -o FILE`; the second takes files. All
minimise 1/2 |f|^2 + C sum_i max(0, 1 - y_i f(x_i)) with C per example and no bias; svm-train (LIBSVM, with its bias)
runs too where it is installed and --peers is given. Whole processes, CPU seconds of user and system, one run each. The
objective is the one svmcut reports; the error is on the test file.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SVMCUT = Path(sys.executable).parent / "svmcut"
HEAD = ("data", "trainer", "CPU s", "primal", "relative gap", "cuts", "points", "kernel values", "test error %")


def cpu_seconds(command: list) -> float:
    """User and system seconds of one process that succeeds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run_svmcut(options, folder: Path, train: Path, test: Path, solver: str, *extra) -> tuple:
    """One row of the table."""
    report, model = folder / "report.json", folder / "model"
    seconds = cpu_seconds([
        SVMCUT, "learn", "--example-cost", options.example_cost, "-t", 2, "-g", options.gamma, "--solver", solver,
        "-v", 0, "--seed", options.seed, "--threads", options.threads, "--report", report, *extra, train, model,
    ])  # fmt: skip
    run = json.loads(report.read_text())
    cpu_seconds([SVMCUT, "classify", "-v", 0, "--report", report, test, model, folder / "scores"])
    error = json.loads(report.read_text())["error_rate"]
    cuts = run.get("sampled", run).get("cuts") or "-"
    gap = "-" if run["relative_gap"] is None else f"{run['relative_gap']:.1e}"
    return (f"{seconds:.1f}", f"{run['primal']:.6g}", gap, cuts, run["support_vectors"],
            f"{run['kernel_evaluations']:.1e}", f"{error:.2f}")  # fmt: skip


def run_libsvm(options, folder: Path, train: Path, test: Path) -> tuple:
    """svm-train and svm-predict on the same files."""
    model, out = folder / "libsvm", folder / "out"
    seconds = cpu_seconds(["svm-train", "-q", "-c", options.example_cost, "-g", options.gamma, train, model])
    said = subprocess.run(["svm-predict", test, model, out], capture_output=True, text=True, check=True).stdout
    points = next(line.split()[1] for line in model.read_text().splitlines() if line.startswith("total_sv"))
    return (f"{seconds:.1f}", "-", "-", "-", points, "-", f"{100 - float(said.split()[2].rstrip('%')):.2f}")


def trainers(options, n: int):
    """Name, solver and options of every row for n training rows."""
    if n <= options.exact:
        yield "smo", "smo", ("--no-free-bias",)
        yield "cutting-plane", "cutting-plane", ()
    yield f"subspace k={options.basis}", "subspace", ("--basis", options.basis)
    for r in options.r:
        for solver in options.solvers:
            yield f"{solver} r={r}", solver, ("--sample-size", r, "--no-polish")
            yield f"{solver} r={r}, polished", solver, ("--sample-size", r, "--basis", options.basis)


def data_sets(options, folder: Path):
    """(name, rows, train, test)"""
    if options.train:
        with open(options.train) as lines:
            yield options.train.name, sum(1 for _ in lines), options.train, options.test or options.train
        return
    for n in options.n:
        paths = folder / f"train{n}", folder / f"test{n}"
        for stream, (path, rows) in enumerate(zip(paths, (n, 20_000)), 1):
            cpu_seconds([sys.executable, options.generator, "-n", rows, "--stream", stream, "-o", path])
        yield f"checkers {n:,}", n, *paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--generator", type=Path, help="gen_checkers.py")
    parser.add_argument("-n", type=int, nargs="+", default=[5000, 20_000])
    parser.add_argument("-r", type=int, nargs="+", default=[400])
    parser.add_argument("--solvers", nargs="+", default=["sampled-cuts", "constant-cuts"])
    parser.add_argument("--train", type=Path)
    parser.add_argument("--test", type=Path)
    parser.add_argument("--example-cost", type=float, default=1.0)
    parser.add_argument("-g", "--gamma", type=float, default=2.0)
    parser.add_argument("--basis", type=int, default=500)
    parser.add_argument("--exact", type=int, default=20_000, help="rows up to which exact trainers run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--peers", action="store_true", help="run svm-train where it is installed")
    options = parser.parse_args()
    if not (options.generator or options.train):
        parser.error("give --generator or --train")
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for data, n, train, test in data_sets(options, folder):
            for trainer, solver, extra in trainers(options, n):
                row = run_svmcut(options, folder, train, test, solver, *extra)
                print("| " + " | ".join(map(str, (data, trainer, *row))) + " |", flush=True)
            if options.peers and shutil.which("svm-train") and n <= options.exact:
                row = run_libsvm(options, folder, train, test)
                print("| " + " | ".join(map(str, (data, "svm-train", *row))) + " |", flush=True)


if __name__ == "__main__":
    main()
