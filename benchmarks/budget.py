# SPDX-License-Identifier: BSD-3-Clause
"""How do bsca and bsgd come along by epoch, and what does the polish make of their centres?

    python benchmarks/budget.py NAME=TRAIN,TEST:COST:GAMMA ... [-B 200 500 1000] [--epochs 10]
    [--curves CSV] python benchmarks/budget.py NAME=TRAIN,TEST:COST:GAMMA ... --seeds 10 [--epochs
    10] python benchmarks/budget.py NAME=TRAIN,TEST:COST:GAMMA ... --rates 60 [--rows 4000] python
    benchmarks/budget.py NAME=TRAIN,TEST:COST:GAMMA ... --beside svm-train [--rounds 3]

The first form prints primal, dual (sum alpha - |f|^2/2 by the f at hand, which is no bound once
centres merge), merging steps and test accuracy after every epoch; --curves records them, and
kernel_plots.py draws them (Qaadan, Schueler and Glasmachers, 2018, Figures 1 to 8). The second
trains with every seed to the polished model. The third takes --rows rows, trains without budget and
compares the steps that moved f with Lemma 2 of the paper. The fourth times whole processes from the
text to the model in turns with svm-train, and judges both models by their programs. COST is the
weight of one example. Files may be gzip-compressed, CPU seconds are those of the steps or of
training, reading apart. make_cod_rna_like.py and make_susy_like.py make files.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from arguments import make_parser
from timing import alternate, time_process

from svmcut.base.resources import usable_cpus
from svmcut.data.examples import Csr, Examples
from svmcut.files.examples import read_examples
from svmcut.models import KernelModel
from svmcut.models.kernels import Kernel
from svmcut.solvers.budget import Bsca, Bsgd
from svmcut.solvers.smo import KernelProblem, Smo
from svmcut.spec.catalog import SOLVERS as ROWS
from svmcut.spec.parameters import Settings
from svmcut.training.driver import make_driver

SOLVERS = [name for name, row in ROWS.items() if row.plan == "budget"]

SOLVER_CLASSES = {"bsca": Bsca, "bsgd": Bsgd}


class Case:
    """One set of data with its parameters."""

    def __init__(self, text: str, rows: int | None = None, threads: int | None = None):
        self.threads = threads or usable_cpus()
        self.name, _, rest = text.partition("=")
        files, cost, gamma = rest.rsplit(":", 2)
        train, _, test = files.partition(",")
        self.C, self.kernel = float(cost), Kernel("rbf", gamma=float(gamma))
        self.train = read_examples(train, threads=self.threads)
        self.test = read_examples(test or train, threads=self.threads)
        if rows is not None and rows < len(self.train):
            chosen = np.sort(np.random.default_rng(0).choice(len(self.train), rows, replace=False))
            self.train = Examples(
                self.train.X.take(chosen), self.train.y[chosen], None, None, self.train.source
            )
        self.y = np.where(self.train.y > 0, 1.0, -1.0)
        self.problem = KernelProblem(self.train.X, self.y, self.kernel, self.C)

    def accuracy(self, model: KernelModel) -> float:
        """Percent of the test rows with the right sign."""
        return 100 * float(
            np.mean((model.scores(self.test.X, self.threads) > 0) == (self.test.y > 0))
        )


def curve(
    case: Case, solver: str, budget: int, epochs: int, seed: int = 0, whole: bool = True
) -> list[dict[str, float]]:
    """One row an epoch: CPU seconds of the steps so far, primal on all rows or a sample, dual,
    merges in this epoch, accuracy."""
    n, rows, seconds, merged = len(case.y), [], 0.0, 0
    machine = SOLVER_CLASSES[solver](
        budget, epochs, seed=seed, threads=case.threads, seconds_between=1e9
    )
    run = machine.start(case.problem)
    steps = iter(run)
    while True:
        began = time.process_time()
        progress = next(steps, None)
        seconds += time.process_time() - began
        if progress is None:
            return rows
        if progress.iteration % n:
            continue
        Z, beta = run.present()
        model = KernelModel(case.kernel, Csr.from_dense(Z), beta, 0.0)
        s = model.scores(case.train.X, case.threads) if whole and n <= 100_000 else None
        squared = float(beta @ model.scores(model.support))
        primal = progress.extra["sampled_primal"]
        if s is not None:
            primal = 0.5 * squared + case.C * float(np.maximum(0.0, 1.0 - case.y * s).sum())
        rows.append(
            {
                "epoch": progress.passes,
                "seconds": seconds,
                "primal": primal,
                "dual": progress.extra.get("model_dual", np.nan),
                "merging": 100 * (progress.extra["merged"] - merged) / n,
                "accuracy": case.accuracy(model),
            }
        )
        merged = progress.extra["merged"]


def polished(case: Case, solver: str, budget: int, epochs: float, seed: int, hold_out: float = 0.0):
    """(CPU seconds of training, wall seconds, test accuracy, primal, gap in the span) of the whole
    training."""
    settings = Settings(
        example_cost=case.C,
        kernel=case.kernel.name,
        gamma=case.kernel.gamma,
        solver=solver,
        threads=case.threads,
        seed=seed,
        budget=budget,
        epochs=epochs,
        hold_out=hold_out,
        certify=False,
    )
    began, wall = time.process_time(), time.perf_counter()
    outcome = make_driver(settings, case.train).fit(None, case.C)
    cpu, wall = time.process_time() - began, time.perf_counter() - wall
    return cpu, wall, case.accuracy(outcome.model), outcome.primal, outcome.details["basis"]["gap"]


def print_curves(case: Case, options) -> dict:
    """The first form; returns the curves."""
    print(
        f"\n| {case.name} | B | epoch | step CPU s | primal | dual | merging steps % | test "
        "accuracy % |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    curves = {}
    for budget in options.budgets:
        for solver in options.solvers:
            curves[solver, budget] = curve(case, solver, budget, options.epochs, options.seed)
            for row in curves[solver, budget]:
                print(
                    f"| {solver} | {budget} | {row['epoch']:.0f} | {row['seconds']:.3f} | "
                    f"{row['primal']:.5g} | "
                    f"{row['dual']:.5g} | {row['merging']:.1f} | {row['accuracy']:.2f} |",
                    flush=True,
                )
            cpu, _, accuracy, primal, _ = polished(
                case, solver, budget, options.epochs, options.seed
            )
            print(
                f"| {solver}, polished | {budget} | {options.epochs} | {cpu:.3f} in all | "
                f"{primal:.5g} |  |  | "
                f"{accuracy:.2f} |",
                flush=True,
            )
    return curves


def print_seeds(case: Case, options) -> None:
    """The second form."""
    print(
        f"\n| {case.name} | B | CPU s, median | wall s, median | accuracy: least | mean | most | "
        "primal, mean |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for budget in options.budgets:
        for solver in options.solvers:
            runs = [
                polished(case, solver, budget, options.epochs, seed, options.hold_out)
                for seed in range(options.seeds)
            ]
            cpu, wall, accuracy, primal, _ = (
                np.array(column) for column in zip(*runs, strict=True)
            )
            print(
                f"| {solver} | {budget} | {np.median(cpu):.2f} | {np.median(wall):.2f} | "
                f"{accuracy.min():.2f} | "
                f"{accuracy.mean():.2f} | {accuracy.max():.2f} | {primal.mean():.6g} |",
                flush=True,
            )


def print_rates(case: Case, options) -> None:
    """The third form: moving steps in tenths of the epochs, beside the limits of Lemma 2."""
    smo = Smo(False, 1000.0, case.threads)
    beta = list(smo.start(KernelProblem(case.train.X, case.y, case.kernel, case.C, 1e-6)))
    alpha = np.abs(beta[-1].solution().beta)
    free = float(np.mean((alpha > 1e-6 * case.C) & (alpha < (1 - 1e-6) * case.C)))
    limits = {"bsca": free, "bsgd": float(np.mean(alpha)) / case.C}
    for solver in options.solvers:
        machine = SOLVER_CLASSES[solver](
            10**9, options.rates, seed=options.seed, seconds_between=1e9
        )
        moves, n = [0], len(case.y)
        for progress in machine.start(case.problem):
            if progress.iteration % (n * max(1, options.rates // 10)) == 0:
                moves.append(progress.extra["moves"])
        rates = np.diff(moves) / (n * max(1, options.rates // 10))
        tenths = " ".join(f"{100 * rate:.2f}" for rate in rates)
        print(
            f"{case.name}, {n} rows, {solver}: Lemma 2 {100 * limits[solver]:.2f} %; moving steps "
            "by tenths of "
            f"{options.rates} epochs: {tenths} %",
            flush=True,
        )


def print_beside(text: str, case: Case, options) -> None:
    """The fourth form; files that are compressed are written out first, for svm-train."""
    bin_ = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as name:
        folder, files = Path(name), text.partition("=")[2].rsplit(":", 2)[0].split(",")
        train, test = (folder / part for part in ("train", "test"))
        for path, file in zip((train, test), (files[0], files[-1]), strict=True):
            data = Path(file).read_bytes()
            path.write_bytes(gzip.decompress(data) if file.endswith(".gz") else data)
        C, gamma, jobs, errors = f"{case.C:g}", f"{case.kernel.gamma:g}", {}, {}
        ours = [
            *(bin_ / "svmcut", "learn", "-t", "2", "-g", gamma, "--example-cost", C),
            *("--epochs", str(options.epochs)),
        ]
        for solver in options.solvers:
            for budget in options.budgets:
                how = [
                    *("--solver", solver, "--budget", str(budget), train),
                    folder / f"{solver}-{budget}",
                ]
                jobs[f"{solver}, B = {budget}"] = [*ours, *how]
        jobs["svm-train"] = [
            *(options.beside, "-q", "-c", C, "-g", gamma, "-m", "400", train, folder / "libsvm"),
        ]
        measured, failures = alternate(
            {
                name: lambda job=job: time_process([*map(str, job)], threads=1)
                for name, job in jobs.items()
            },
            options.rounds,
            warm_up=0,
        )
        for name, job in jobs.items():
            predicted = folder / "predicted"
            if name == "svm-train":
                predict = str(options.beside).replace("train", "predict")
                subprocess.run([predict, test, job[-1], predicted], check=True, capture_output=True)
            else:
                subprocess.run(
                    [bin_ / "svmcut", "classify", test, job[-1], predicted],
                    check=True,
                    capture_output=True,
                )
            errors[name] = 100 * np.mean((np.loadtxt(predicted) > 0) != (case.test.y > 0))
    print(f"\n| {case.name} | CPU s | ratio | test error % |\n|---|---:|---:|---:|")
    for name in jobs:
        if name in failures:
            print(f"| {name} | {failures[name]} | | |")
            continue
        cpu = [np.array([m.cpu for m in measured[key]]) for key in (name, "svm-train")]
        ratio = np.median(cpu[0] / cpu[1])
        print(
            f"| {name} | {np.median(cpu[0]):.2f} | {ratio:.3f} | {errors[name]:.2f} |", flush=True
        )


def states(results: dict):
    """What kernel_plots.py draws of the curves of every set."""
    from kernel_curves import EpochState

    for name, curves in results.items():
        for (solver, budget), rows in curves.items():
            for row in rows:
                numbers = (
                    row[field] for field in ("epoch", "primal", "dual", "accuracy", "merging")
                )
                yield EpochState(name, solver, budget, *numbers)


def main() -> None:
    """Reads the command line and prints."""
    parser = make_parser(__doc__)
    parser.add_argument("sets", nargs="+", metavar="NAME=TRAIN,TEST:COST:GAMMA")
    parser.add_argument("-B", "--budgets", type=int, nargs="+", default=[500])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=SOLVERS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--hold-out", type=float, default=0.0)
    parser.add_argument("--rates", type=int, metavar="EPOCHS")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--beside", metavar="svm-train")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, help="default: as many as there are processors")
    parser.add_argument("--curves", type=Path, metavar="CSV", help="lines are added to it")
    options = parser.parse_args()
    results = {}
    for text in options.sets:
        case = Case(text, options.rows, options.threads)
        if options.beside:
            print_beside(text, case, options)
        elif options.rates:
            print_rates(case, options)
        elif options.seeds:
            print_seeds(case, options)
        else:
            results[case.name] = print_curves(case, options)
    if options.curves and results:
        from kernel_curves import write

        write(options.curves, states(results))


if __name__ == "__main__":
    main()
