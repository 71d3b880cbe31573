# SPDX-License-Identifier: BSD-3-Clause
"""bsca and bsgd with and without a budget, state by state: what merging does to them, and what it
does not.

    python benchmarks/figures_2018.py record CSV NAME=TRAIN,TEST:COST:GAMMA ... [--rows 3000] [-B
    100 500] [--epochs 10] python benchmarks/figures_2018.py swing NAME=TRAIN,TEST:COST:GAMMA ...
    [--rows 3000] [-B 100] [--costs 32 1 0.1] python benchmarks/figures_2018.py tasks
    TASK=TRAIN,TEST:COST:GAMMA ... [-B 50 200] [--rounds 3] [--beside svm-train] python
    benchmarks/figures_2018.py draw without docs/plots/budget-without.svg CSV python
    benchmarks/figures_2018.py draw drift docs/plots/budget-drift.svg CSV

Figures 4 and 7 of Qaadan, Schueler and Glasmachers, Dual SVM training on a budget, 2018. The states
are those after every tenth of an epoch, on --rows rows drawn at random, so that the kernel matrix
fits: it tells how far f over the centres has drifted from f_alpha = sum_i alpha_i y_i K(x_i, .),
whose coordinates bsca believes to ascend, and the dual value that alpha really has. "swing" says
how the error of states moves in the second half of training, for each way of keeping the budget,
for none and for smaller weights of the examples, and how much of it one constant takes away: the
error with the best threshold of each state on the test rows. "tasks" trains the whole of multiclass
and regression sets by processes of svmcut, polish included, beside smo. COST is the weight of one
example.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from arguments import make_parser, read_record
from budget import Case
from timing import alternate, time_process

from svmcut._native import budget as native
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel

STATES = 10  # of an epoch


class Look(NamedTuple):
    """A state of a run; budget 0 is none.

    dual is sum alpha - |f|^2 / 2 by the f at hand, `true_dual` that of alpha, drift |f - f_alpha| /
    |f_alpha|; all three are nan for bsgd, which has no alpha. Error, `shifted` (error with the best
    threshold), `positive` (rows said to be positive), support and merging are percent: of test
    rows, of training rows, and of the steps since the last.
    """

    set: str
    solver: str
    budget: int
    epoch: float
    primal: float
    dual: float
    true_dual: float
    drift: float
    error: float
    shifted: float
    positive: float
    support: float
    merging: float


def gram(kernel: Kernel, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """exp(-gamma |x - z|^2) of all rows."""
    squares = (X * X).sum(axis=1)[:, None] + (Z * Z).sum(axis=1) - 2 * X @ Z.T
    return np.exp(-kernel.gamma * np.maximum(squares, 0.0))


class Matrices:
    """A set with its kernel matrices; --rows of the training rows and as many of the test."""

    def __init__(self, text: str, rows: int):
        self.case = case = Case(text, rows, 1)
        test = case.test
        keep = np.sort(np.random.default_rng(1).permutation(len(test))[:rows])
        X, T = (self._dense(part) for part in (case.train.X, test.X.take(keep)))
        self.K, self.to_test = gram(case.kernel, X, X), gram(case.kernel, T, X)
        self.X, self.T, self.y, self.test_y = X, T, case.y, test.y[keep] > 0

    def _dense(self, X: Csr) -> np.ndarray:
        dense = np.zeros((X.n_rows, max(self.case.train.X.n_features, self.case.test.X.n_features)))
        dense[:, : X.n_features] = X.to_dense()
        return dense


def best_error(scores: np.ndarray, positive: np.ndarray) -> float:
    """Percent of errors with the threshold that makes fewest."""
    right = positive[np.argsort(scores, kind="stable")]
    below = np.concatenate([[0], np.cumsum(right)]) + np.concatenate(
        [np.cumsum(~right[::-1])[::-1], [0]]
    )
    return 100.0 * float(below.min()) / len(right)


def looks(
    data: Matrices,
    solver: str,
    budget: int,
    given,
    C: float | None = None,
    maintenance: str = "merge",
) -> Iterator[Look]:
    """States of one run, at the weight of the set or at C."""
    case, n = data.case, len(data.y)
    C = case.C if C is None else C
    dual = solver == "bsca"
    run = native.Budget(
        case.train.X, data.y, case.kernel, C, budget or n, dual, maintenance, seed=given.seed
    )
    before = 0
    for mark in range(1, STATES * given.epochs + 1):
        run.run(mark * n // STATES - (mark - 1) * n // STATES)
        Z, beta = run.expansion()
        if budget:
            Z = np.pad(Z.astype(float), ((0, 0), (0, data.X.shape[1] - Z.shape[1])))
            f, scores = gram(case.kernel, data.X, Z) @ beta, gram(case.kernel, data.T, Z) @ beta
            squared = float(beta @ gram(case.kernel, Z, Z) @ beta)
        else:
            a = np.zeros(n)
            a[run.state()["owner"]] = beta
            f, scores = data.K @ a, data.to_test @ a
            squared = float(a @ f)
        values = dict.fromkeys(("dual", "true_dual", "drift"), float("nan"))
        if dual:
            alpha = run.state()["alpha"].astype(float)
            theirs = data.y * (data.K @ (alpha * data.y))
            length, across = float(alpha @ theirs), float((alpha * data.y) @ f)
            apart = max(0.0, squared + length - 2 * across)
            values = {
                "dual": alpha.sum() - squared / 2,
                "true_dual": alpha.sum() - length / 2,
                "drift": np.sqrt(apart / length),
            }
        maintained = run.counts()["maintained"]
        merging, before = 100.0 * STATES * (maintained - before) / n, maintained
        yield Look(
            case.name,
            solver,
            budget,
            mark / STATES,
            squared / 2 + C * float(np.maximum(0.0, 1.0 - data.y * f).sum()),
            **values,
            error=100.0 * float(np.mean((scores > 0) != data.test_y)),
            shifted=best_error(scores, data.test_y),
            positive=100.0 * float(np.mean(scores > 0)),
            support=100.0 * len(beta) / n,
            merging=merging,
        )


def record(given) -> None:
    """All runs of the figures, a line as soon as a state is known."""
    with given.target.open("w", newline="", encoding="ascii") as stream:
        out = csv.writer(stream, lineterminator="\n")
        out.writerow(Look._fields)
        for text in given.sets:
            data = Matrices(text, given.rows)
            for solver in ("bsca", "bsgd"):
                for budget in (0, *given.budgets):
                    for look in looks(data, solver, budget, given):
                        out.writerow(
                            [
                                f"{value:.5g}" if isinstance(value, float) else value
                                for value in look
                            ]
                        )
                        stream.flush()


def swing(given) -> None:
    """The table of swings."""
    print(
        "| set | weight | trainer | kept by | test error: least | median | most | with the best "
        "threshold: most | "
        "said positive |\n|---|---:|---|---|---:|---:|---:|---:|---|"
    )
    for text in given.sets:
        data = Matrices(text, given.rows)
        mean = (data.K.sum() - len(data.K)) / (len(data.K) * (len(data.K) - 1))
        for C in given.costs or [data.case.C]:
            for solver in ("bsca", "bsgd"):
                for budget, kept in [
                    (0, "all"),
                    *((given.budgets[0], way) for way in native.MAINTENANCE),
                ]:
                    run = looks(data, solver, budget, given, C, kept if budget else "merge")
                    late = [
                        (look.error, look.shifted, look.positive)
                        for look in run
                        if look.epoch > given.epochs / 2
                    ]
                    error, shifted, said = np.array(late).T
                    print(
                        f"| {data.case.name} | {C:g} | {solver} | {kept} | {error.min():.1f} | "
                        f"{np.median(error):.1f} | {error.max():.1f} | {shifted.max():.1f} | "
                        f"{said.min():.0f} to {said.max():.0f} % |",
                        flush=True,
                    )
        print(
            f"{data.case.name}: mean of K(x, z) over pairs of rows {mean:.3f}; "
            f"{100 * np.mean(data.test_y):.0f} % "
            "of the test rows are positive",
            flush=True,
        )


def tasks(given) -> None:
    """The table of other tasks: CPU seconds of `svmcut learn`, support vectors and the error of
    `svmcut classify`."""
    svmcut = Path(sys.executable).with_name("svmcut")
    print(
        "| task | trainer | B | CPU s | ratio | primal | support vectors | test error |\n"
        "|---|---|---:|---:|---:|---:|---:|---|"
    )
    for text in given.sets:
        task, _, rest = text.partition("=")
        files, cost, gamma = rest.rsplit(":", 2)
        train, test = files.split(",")
        how = ["--task", task, "-t", "2", "-g", gamma, "--example-cost", cost, "--threads", "1"]
        with tempfile.TemporaryDirectory() as name:
            folder, jobs = Path(name), {("smo", "all"): [*how, "--solver", "smo"]}
            for solver in ("bsca", "bsgd"):
                for budget in map(str, given.budgets):
                    jobs[solver, budget] = [*how, "--solver", solver, "--budget", budget]
            paths = {key: folder / "-".join(key) for key in jobs}
            learn = {
                key: [
                    *(svmcut, "learn", "-v", "0", *job),
                    *("--report", paths[key].with_suffix(".json"), train),
                    paths[key],
                ]
                for key, job in jobs.items()
            }
            if given.beside:
                key, kind = ("svm-train", "all"), "3" if task == "regression" else "0"
                paths[key] = folder / "libsvm"
                learn[key] = [
                    *(given.beside, "-q", "-s", kind, "-c", cost, "-g", gamma, train),
                    paths[key],
                ]
            measured, failures = alternate(
                {
                    key: lambda job=job: time_process([*map(str, job)], statuses=(0, 3))
                    for key, job in learn.items()
                },
                given.rounds,
                warm_up=0,
            )
            for key, path in paths.items():
                if key in failures:
                    print(f"| {task} | {' | '.join(key)} | {failures[key]} | | | | |", flush=True)
                    continue
                cpu, exact = (
                    np.array([run.cpu for run in measured[one]]) for one in (key, ("smo", "all"))
                )
                if key[0] == "svm-train":
                    primal, support = "", re.search(r"^total_sv (\d+)$", path.read_text(), re.M)[1]
                else:
                    told = json.loads(path.with_suffix(".json").read_text())
                    primal, support = f"{told['primal']:.5g}", told["support_vectors"]
                # svmcut reads libsvm's models
                judged = [
                    *(svmcut, "classify", "--report", folder / "judged", test, path),
                    folder / "predictions",
                ]
                subprocess.run([*map(str, judged)], check=True, capture_output=True)
                measures = json.loads((folder / "judged").read_text())
                error = (
                    f"mean square {measures['mse']:.3f}"
                    if task == "regression"
                    else f"{100 - measures['accuracy']:.2f} %"
                )
                print(
                    f"| {task} | {' | '.join(key)} | {np.median(cpu):.2f} | "
                    f"{np.median(cpu / exact):.2f} | "
                    f"{primal} | {support} | {error} |",
                    flush=True,
                )


def read(path: Path) -> list[Look]:
    """The rows that `record` wrote."""
    lines = read_record(path, Look._fields, "figures_2018.py")
    return [Look(line[0], line[1], int(line[2]), *map(float, line[3:])) for line in lines]


def _runs(rows: list[Look]) -> dict[tuple[str, int], list[Look]]:
    """The rows of each solver and budget, no budget first."""
    keys = dict.fromkeys((row.solver, row.budget) for row in rows)
    return {key: [row for row in rows if (row.solver, row.budget) == key] for key in keys}


def draw_without(rows: list[Look]):
    """Figure 4: a row a set, objectives, test error and support vectors without a budget; prints
    the last states."""
    from style import legend_by_epoch, look, named, panels

    sets = list(dict.fromkeys(row.set for row in rows))
    figure, axes = panels(len(sets), 3)
    print(
        "| set | trainer | primal | dual | support vectors, % | test error, second half: least | "
        "median | most |\n"
        "|---|---|---:|---:|---:|---:|---:|---:|"
    )
    for (objective, error, support), name in zip(axes, sets, strict=True):
        for (solver, budget), line in _runs([row for row in rows if row.set == name]).items():
            if budget:
                continue
            last, epochs, style = line[-1], [row.epoch for row in line], look(solver, marker="")
            late = np.array([row.error for row in line if row.epoch > last.epoch / 2])
            print(
                f"| {name} | {solver} | {last.primal:.5g} | {last.dual:.5g} | {last.support:.1f} | "
                f"{late.min():.1f} | {np.median(late):.1f} | {late.max():.1f} |"
            )
            objective.semilogy(epochs, [row.primal for row in line], **style)
            if solver == "bsca":
                dashed = style | {"label": "bsca, dual", "linestyle": "--"}
                objective.semilogy(epochs, [row.dual for row in line], **dashed)
            error.plot(epochs, [row.error for row in line], **style)
            support.plot(epochs, [row.support for row in line], **style)
        named(
            (objective, error, support),
            name,
            "primal objective",
            "test error, %",
            "support vectors, %",
        )
    legend_by_epoch(figure, axes, "without a budget")
    return figure


def draw_drift(rows: list[Look]):
    """Figure 7: a row a set, objectives of bsca with and without budgets and the drift; prints the
    last states."""
    from style import BLACK, ORANGE, RED, SKY, legend_by_epoch, named, panels

    rows = [row for row in rows if row.solver == "bsca"]
    sets = list(dict.fromkeys(row.set for row in rows))
    figure, axes = panels(len(sets), 3)
    print(
        "| set | B | epoch | primal | dual, by f | dual of alpha | drift | merging, % | test "
        "error, % |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    )
    for (primal, dual, drift), name in zip(axes, sets, strict=True):
        runs = _runs([row for row in rows if row.set == name])
        for color, ((_, budget), line) in zip(
            (BLACK, RED, ORANGE, SKY), runs.items(), strict=False
        ):
            label, epochs = f"B = {budget}" if budget else "no budget", [row.epoch for row in line]
            for row in (row for row in line if row.epoch in (1.0, line[-1].epoch)):
                print(
                    f"| {name} | {budget or 'none'} | {row.epoch:g} | {row.primal:.4g} | "
                    f"{row.dual:.4g} | "
                    f"{row.true_dual:.4g} | {row.drift:.2f} | {row.merging:.0f} | {row.error:.1f} |"
                )
            primal.semilogy(epochs, [row.primal for row in line], color=color, label=label)
            dual.plot(epochs, [row.dual for row in line], color=color, label=label)
            if budget:
                dotted = {"color": color, "linestyle": ":", "label": f"{label}, of alpha"}
                dual.plot(epochs, [row.true_dual for row in line], **dotted)
                drift.plot(epochs, [row.drift for row in line], color=color, label=label)
        top = max(row.dual for row in runs["bsca", 0])
        dual.set_ylim(-top, 1.5 * top)
        named(
            (primal, dual, drift),
            name,
            "primal objective",
            "dual value",
            "|f - f_alpha| / |f_alpha|",
        )
    legend_by_epoch(figure, axes, "bsca")
    return figure


def main() -> None:
    """Records, prints or draws."""
    parser = make_parser(__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    commands.add_parser("record").add_argument("target", type=Path, metavar="CSV")
    commands.add_parser("swing").add_argument(
        "--costs", type=float, nargs="+", help="default: that of the set"
    )
    command = commands.add_parser("tasks")
    command.add_argument("sets", nargs="+", metavar="TASK=TRAIN,TEST:COST:GAMMA")
    command.add_argument("-B", "--budgets", type=int, nargs="+", default=[50, 200])
    command.add_argument("--rounds", type=int, default=3)
    command.add_argument("--beside", metavar="svm-train")
    for name in ("record", "swing"):
        command = commands.choices[name]
        command.add_argument("sets", nargs="+", metavar="NAME=TRAIN,TEST:COST:GAMMA")
        command.add_argument("--rows", type=int, default=3000)
        command.add_argument("-B", "--budgets", type=int, nargs="+", default=[100, 500])
        command.add_argument("--epochs", type=int, default=10)
        command.add_argument("--seed", type=int, default=0)
    command = commands.add_parser("draw")
    command.add_argument("figure", choices=("without", "drift"))
    command.add_argument("target", type=Path, metavar="FIGURE", help="an .svg file")
    command.add_argument("file", type=Path, metavar="CSV")
    given = parser.parse_args()
    if given.what == "draw":
        from style import save

        save(
            {"without": draw_without, "drift": draw_drift}[given.figure](read(given.file)),
            given.target,
        )
    else:
        {"record": record, "swing": swing, "tasks": tasks}[given.what](given)


if __name__ == "__main__":
    main()
