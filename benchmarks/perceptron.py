# SPDX-License-Identifier: BSD-3-Clause
"""The stochastic batch perceptron, its rivals and LIBSVM, as in Cotter, Shalev-Shwartz, Srebro,
ICML 2012, Section 5.

    python benchmarks/perceptron.py --data FOLDER evaluations [SET ...] [--epochs 10]
    python benchmarks/perceptron.py --data FOLDER bases [SET ...] [--most 512]
    python benchmarks/perceptron.py --data FOLDER libsvm [SET ...] [--epochs 3] [--threads 1]

`evaluations` prints the test error after 2^k n^2 / 16 kernel values for sbp, pegasos, sdca
(shuffled and iid), the perceptron and smo, without bias, with the parameters of the paper's Table
2: its Figure 2, which kernel_plots.py draws. `bases` prints the test error of what k products of
rows for each training row buy: the optimum in the span of k pairs of Fourier features, or of k
rows, pivoted or even (the choice of pivots comes on top), and sbp after k steps: Figure 3. `libsvm`
times whole processes with an unregularised bias beside svm-train: its Section 5. FOLDER has a
subfolder for each set (adult/a9a.gz and so on).
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from arguments import make_parser
from kernel import plain, svmcut, timed

SEEDS = 3


class Set:
    """Files, and (gamma, C, nu) without and with a free bias; nu as in the paper, C as LIBSVM's."""

    def __init__(self, train, test, plain=None, free=None, rows=None):
        self.train, self.test, self.plain, self.free, self.rows = train, test, plain, free, rows


SETS = {
    "adult": Set("adult/a9a.gz", "adult/a9a.t.gz", (0.05, 1.0, 1.10e-2), (0.005, 100.0, 5.79e-4)),
    "reuters": Set(
        "reuters21578/money_fx.lasvmlike.train.gz",
        "reuters21578/money_fx.lasvmlike.test.gz",
        (1.0, 1.0, 6.34e-4),
    ),
    "mnist": Set(
        "mnist/mnist8.scale.t.gz", None, (0.02, 1.0, 2.21e-4), (0.02, 1000.0, 6.42e-11), 8000
    ),
    "covtype": Set(
        "covtype/covtype.class1.scale.20k.train.gz",
        "covtype/covtype.class1.scale.20k.test.gz",
        None,
        (1e-4, 10000.0, 7.62e-10),
    ),
}


def read(folder, name, rows=None):
    """(X, y, X_test, y_test), of so many training rows drawn by seed 0; a set without a test file
    is cut."""
    from svmcut.files.examples import read_examples

    chosen = SETS[name]
    train = read_examples(str(folder / chosen.train))
    y = np.where(train.y > 0, 1.0, -1.0)
    if chosen.test is None:
        cut = chosen.rows
        X, y, X_test, y_test = train.X.rows(0, cut), y[:cut], train.X.rows(cut, len(y)), y[cut:]
    else:
        test = read_examples(str(folder / chosen.test))
        X, X_test, y_test = train.X, test.X, np.where(test.y > 0, 1.0, -1.0)
    if rows is None or rows >= len(y):
        return X, y, X_test, y_test
    keep = np.sort(np.random.default_rng(0).permutation(len(y))[:rows])
    return X.take(keep), y[keep], X_test, y_test


def nu_of_optimum(problem):
    """Mean hinge loss of the optimum over its length, as the paper finds nu; its own values are
    those of its rows."""
    from svmcut._native.kernels import KernelRows

    *_, (_, (beta, _)) = smo_looks(problem)
    used = np.flatnonzero(beta)
    f = KernelRows(problem.X, problem.kernel, problem.threads).accumulate_foreign(
        problem.X.take(used), beta[used]
    )
    return float(np.mean(np.maximum(0.0, 1.0 - problem.y * f)) / np.sqrt(beta @ f))


def trainers(epochs, seed, nu):
    """Name -> solver."""
    from svmcut.solvers.sbp import Sbp
    from svmcut.solvers.visits import Pegasos, Perceptron, Sdca

    # rivals visit many points without a kernel value: more epochs for the same number of them
    return {
        "sbp": Sbp(epochs, seed, nu=nu, free_bias=False, bound=False),
        "pegasos": Pegasos(4 * epochs, seed),
        "sdca": Sdca(4 * epochs, seed),
        "sdca iid": Sdca(4 * epochs, seed, sampling="independent"),
        "perceptron": Perceptron(4 * epochs, seed),
    }


def test_error(test_rows, y_test, X, beta, b):
    """Percent of the test rows on the wrong side of sum_i beta_i K(x_i, .) + b."""
    used = np.flatnonzero(beta)
    score = test_rows.accumulate_foreign(X.take(used), beta[used]) + b
    return 100 * float(np.mean((score > 0) != (y_test > 0)))


def at_marks(looks, error, marks):
    """Errors of the last solution known when so many kernel values were computed; nan before the
    first.

    Where a run ends before a mark, what it ended with stands there, and nan at later ones.
    """
    errors, present = [], None
    for evaluations, solution in looks:
        passed = [mark for mark in marks[len(errors) :] if mark < evaluations]
        if passed:
            errors += [np.nan if present is None else error(*present)] * len(passed)
        if len(errors) == len(marks):
            return errors
        present = solution
    return [*errors, error(*present), *[np.nan] * len(marks)][: len(marks)]


def smo_looks(problem):
    """Kernel values and present solution of smo, which has no best one, every thousand steps."""
    from svmcut.solvers.smo import KernelProblem, Smo

    solver = Smo(free_bias=False, threads=problem.threads, seconds_between=1e9)
    for progress in solver.start(KernelProblem(problem.X, problem.y, problem.kernel, problem.C)):
        yield progress.evaluations, progress.solution()


def curves(name, arguments):
    """(trainer, passes, mean test errors of the seeds, standard deviations) for every trainer on a
    set, in percent.

    A pass is n^2 kernel values; smo, which draws nothing, runs once and deviates by nan.
    """
    from svmcut._native.kernels import KernelRows

    from svmcut.models.kernels import Kernel
    from svmcut.solvers import expansion
    from svmcut.solvers.expansion import ExpansionProblem

    # progress at looks alone, which come at fixed steps, so that the errors do not depend on the
    # clock
    expansion.PIECE_SECONDS = 1e9
    gamma, C, nu = SETS[name].plain
    X, y, X_test, y_test = read(arguments.data, name, arguments.rows)
    n, kernel = len(y), Kernel("rbf", gamma=gamma)
    test_rows = KernelRows(X_test, kernel, arguments.threads)
    if SETS[name].rows or arguments.rows:
        nu = nu_of_optimum(
            ExpansionProblem(X, y, kernel, C, np.zeros(n, bool), threads=arguments.threads)
        )

    def error(beta, b):
        return test_error(test_rows, y_test, X, beta, b)

    passes = [2.0**k / 16 for k in range(20) if 2.0**k / 16 <= arguments.epochs]
    marks = [p * n * n for p in passes]
    for trainer in trainers(1, 0, nu):
        found = []
        for seed in range(arguments.seeds):
            problem = ExpansionProblem(
                X, y, kernel, C, np.zeros(n, bool), threads=arguments.threads
            )
            run = trainers(arguments.epochs, seed, nu)[trainer].start(problem)
            looks = ((progress.evaluations, run.solution()) for progress in run)
            found.append(at_marks(looks, error, marks))
        deviations = (
            np.std(found, axis=0, ddof=1) if len(found) > 1 else np.full(len(passes), np.nan)
        )
        yield trainer, passes, np.mean(found, axis=0), deviations
    problem = ExpansionProblem(X, y, kernel, C, np.zeros(n, bool), threads=arguments.threads)
    yield "smo", passes, at_marks(smo_looks(problem), error, marks), np.full(len(passes), np.nan)


def evaluations(arguments):
    """Figure 2: the mean over seeds at equal numbers of kernel values."""
    for name in arguments.sets or [name for name in SETS if SETS[name].plain]:
        gamma, C, nu = SETS[name].plain
        print(
            f"\n{name}: gamma {gamma:g}, C {C:g}, nu {nu:g}, mean test error of {arguments.seeds} "
            "seeds, percent\n"
        )
        for k, (trainer, passes, errors, _) in enumerate(curves(name, arguments)):
            if k == 0:
                print("| kernel values / n^2 | " + " | ".join(f"{p:g}" for p in passes) + " |")
                print("|---|" + "---:|" * len(passes))
            print(
                f"| {trainer} | "
                + " | ".join("-" if np.isnan(e) else f"{e:.2f}" for e in errors)
                + " |",
                flush=True,
            )


def in_span(data, kind, k, gamma, C, seed):
    """Test error of the optimum in the span that k products a row buy."""
    import svmcut

    X, y, X_test, y_test = data
    basis = 2 * k if kind == "fourier" else k
    outcome = svmcut.train(
        (X, y),
        kernel="rbf",
        gamma=gamma,
        example_cost=C,
        basis_kind=kind,
        basis=basis,
        seed=seed,
        solver="subspace",
        certify=False,
        threads=1,
    )
    return 100 * float(np.mean((outcome.model.scores(X_test) > 0) != (y_test > 0)))


def bases(arguments):
    """Figure 3: the mean over seeds at equal numbers of products of rows."""
    from svmcut._native.kernels import KernelRows

    from svmcut.models.kernels import Kernel
    from svmcut.solvers.expansion import ExpansionProblem

    sizes = [2**j for j in range(20) if 2**j <= arguments.most]
    for name in arguments.sets or [name for name in SETS if SETS[name].plain]:
        gamma, C, nu = SETS[name].plain
        data = X, y, X_test, y_test = read(arguments.data, name, arguments.rows)
        n, kernel, seeds = len(y), Kernel("rbf", gamma=gamma), range(arguments.seeds)
        test_rows = KernelRows(X_test, kernel, arguments.threads)
        print(
            f"\n{name}: gamma {gamma:g}, C {C:g}, test error in percent, of {len(seeds)} seeds "
            "where random\n"
        )
        print(
            f"| products / n | {' | '.join(map(str, sizes))} |\n|---|{'---:|' * len(sizes)}",
            flush=True,
        )
        found = {
            kind: [
                np.mean([in_span(data, kind, k, gamma, C, seed) for seed in drawn]) for k in sizes
            ]
            for kind, drawn in (("fourier", seeds), ("pivoted", (0,)), ("even", (0,)))
        }
        curves = []
        problem = ExpansionProblem(X, y, kernel, C, np.zeros(n, bool), threads=arguments.threads)
        if SETS[name].rows or arguments.rows:
            nu = nu_of_optimum(problem)
        for seed in seeds:
            curves.append([])
            for k in sizes:
                run = trainers(k / n, seed, nu)["sbp"].start(problem)
                for _ in run:
                    pass
                curves[-1].append(test_error(test_rows, y_test, X, *run.solution()))
        for way, errors in {**found, "sbp": np.mean(curves, axis=0)}.items():
            print(f"| {way} | " + " | ".join(f"{error:.2f}" for error in errors) + " |", flush=True)


def libsvm(arguments):
    """Section 5: seconds and test error beside svm-train, both with an unregularised bias."""
    print(
        "| set | program | CPU s | wall s | ratio | test error % |\n|---|---|---:|---:|---:|---:|"
    )
    for name in arguments.sets or [name for name in SETS if SETS[name].free]:
        chosen = SETS[name]
        gamma, C, nu = chosen.free
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            train = plain(arguments.data / chosen.train, folder)
            test = (
                plain(arguments.data / chosen.test, folder) if chosen.test else str(folder / "test")
            )
            if not chosen.test:
                lines = Path(train).read_text().splitlines(keepends=True)
                Path(train).write_text("".join(lines[: chosen.rows]))
                Path(test).write_text("".join(lines[chosen.rows :]))
            model = str(folder / "libsvm.model")
            wall, cpu, _ = timed(["svm-train", "-c", f"{C:g}", "-g", f"{gamma:g}", train, model])
            scored = timed(["svm-predict", test, model, str(folder / "out")])[2]
            error = 100 - float(scored.split("Accuracy = ")[1].split("%")[0])
            print(f"| {name} | svm-train | {cpu:.1f} | {wall:.1f} | 1 | {error:.2f} |", flush=True)
            for epochs in arguments.passes:
                words = (
                    *("--solver", "sbp", "--nu", f"{nu:g}", "--epochs", f"{epochs:g}"),
                    *("--no-certify", "--seed", str(arguments.seed)),
                )
                run = svmcut(train, test, f"{C:g}", f"{gamma:g}", folder, arguments.threads, words)
                clock = ("cpu", cpu) if arguments.threads == 1 else ("wall", wall)
                print(
                    f"| {name} | sbp, {epochs:g} epochs | {run['cpu']:.1f} | {run['wall']:.1f} | "
                    f"{run[clock[0]] / clock[1]:.2f} | {run['error']:.2f} |",
                    flush=True,
                )


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("what", choices=("evaluations", "bases", "libsvm"))
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    parser.add_argument("--epochs", type=float, default=10, help="of sbp in `evaluations`")
    parser.add_argument(
        "--passes", type=float, nargs="+", default=[1.0, 2.0, 3.0], help="epochs of sbp in `libsvm`"
    )
    parser.add_argument("--most", type=int, default=512, help="products a row in `bases`")
    parser.add_argument("--rows", type=int, help="so many of the training rows")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seeds", type=int, default=SEEDS, help="of `evaluations`: as many runs from 0 on"
    )
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.sets) - set(SETS)):
        sys.exit(f"{', '.join(unknown)} is no set; expected {', '.join(SETS)}")
    print(json.dumps({key: str(value) for key, value in vars(arguments).items()}), file=sys.stderr)
    {"evaluations": evaluations, "bases": bases, "libsvm": libsvm}[arguments.what](arguments)


if __name__ == "__main__":
    main()
