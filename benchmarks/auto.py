# SPDX-License-Identifier: BSD-3-Clause
"""Is ``--solver auto`` ever far from the fastest trainer of a sum of losses?

    python benchmarks/auto.py [FILE ...] [--files-only] [--rule gap|epsilon] [--limit SECONDS]
    [--loss LOSS] [-C C ...]

Trains every generated set and every FILE (LIBSVM text, gzip allowed) at five values of C with each
trainer, one thread, and prints CPU seconds, auto's choice, whatever that hands over to, and its
ratio to the best. "gap" stops at a relative gap of 1e-3, "epsilon" at the command line's default. A
run that takes longer than the limit is printed as ">": it is no better than that. Options of
several values stand behind the files.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from svmcut.data.examples import Csr
from svmcut.files.examples import read_examples
from svmcut.risks import make_risk
from svmcut.solvers.auto import choose
from svmcut.solvers.protocol import Problem, Progress, Solver, StoppingRule
from svmcut.spaces.linear import LinearSpace
from svmcut.spec.catalog import solvers
from svmcut.spec.parameters import Settings
from svmcut.training.driver import make_solver

HINGE = "error-rate"
COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)


def labelled(rng, X: Csr, noise: float, offset: float = 0.0):
    """Rows and the labels of a random hyperplane; noise and offset in standard deviations of its
    scores."""
    w = rng.normal(size=X.n_features)
    scores = LinearSpace(X).scores(w)
    scores -= scores.mean() + offset * scores.std()
    return X, np.where(scores + noise * scores.std() * rng.normal(size=X.n_rows) > 0, 1.0, -1.0)


def sparse_rows(
    rng, n: int, d: int, per_row: float, skew: float = 1.0, binary: bool = False
) -> Csr:
    """Rows of about per_row nonzeros, columns by Zipf's law of that skew; values of unit length or
    all 1."""
    weight = 1.0 / np.arange(1, d + 1) ** skew
    lengths = np.maximum(1, rng.poisson(per_row, n))
    columns = np.searchsorted(np.cumsum(weight) / weight.sum(), rng.random(lengths.sum())).clip(
        0, d - 1
    )
    keys = np.unique(np.repeat(np.arange(n, dtype=np.int64), lengths) * d + columns)
    rows, indptr = keys // d, np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n), out=indptr[1:])
    data = np.ones(len(keys)) if binary else rng.lognormal(size=len(keys)) * np.log1p(keys % d)
    if not binary:
        data /= np.sqrt(np.bincount(rows, data * data, minlength=n))[rows] + 1e-12
    return Csr(data.astype(np.float32), (keys % d).astype(np.int32), indptr, d)


def one_hot(rng, n: int, levels: list[int]) -> Csr:
    """One level of every field is 1; low levels are frequent."""
    first = np.concatenate([[0], np.cumsum(levels)[:-1]])
    columns = np.stack(
        [f + np.floor(k * rng.random(n) ** 2) for f, k in zip(first, levels)], axis=1
    )
    indptr = np.arange(n + 1, dtype=np.int64) * len(levels)
    return Csr(
        np.ones(columns.size, np.float32), columns.astype(np.int32).ravel(), indptr, sum(levels)
    )


def generated():
    """(name, X, y) of every generated set."""
    rng = np.random.default_rng(0)
    dense = lambda n, d: Csr.from_dense(rng.normal(size=(n, d)).astype(np.float32))  # noqa: E731
    makers = {
        "text 20k x 20k": lambda: labelled(rng, sparse_rows(rng, 20_000, 20_000, 60), 0.3),
        "text 2k x 30k": lambda: labelled(rng, sparse_rows(rng, 2_000, 30_000, 80), 0.1),
        "text 50k x 2k": lambda: labelled(rng, sparse_rows(rng, 50_000, 2_000, 30), 0.5),
        "dense 100k x 20": lambda: labelled(rng, dense(100_000, 20), 0.5),
        "dense 20k x 100, separable": lambda: labelled(rng, dense(20_000, 100), 0.0),
        "dense 4k x 500": lambda: labelled(rng, dense(4_000, 500), 0.3),
        "dense 100 x 3k": lambda: labelled(rng, dense(100, 3_000), 0.1),
        "dense 200 x 100": lambda: labelled(rng, dense(200, 100), 0.3),
        "noise 100k x 10": lambda: labelled(rng, dense(100_000, 10), 5.0),
        "one-hot 40k x 120": lambda: labelled(
            rng, one_hot(rng, 40_000, [2, 5, 8, 16, 7, 15, 6, 5, 2, 40, 14]), 1.0
        ),
        "one-hot 50k x 20k": lambda: labelled(
            rng, one_hot(rng, 50_000, [5, 10, 50, 500, 5_000, 14_000]), 0.7
        ),
        "binary 50k x 300, rare": lambda: labelled(
            rng, sparse_rows(rng, 50_000, 300, 12, 0.5, True), 0.4, 1.9
        ),
        "dense 15k x 600": lambda: labelled(rng, dense(15_000, 600), 0.5),
        "text 100k x 3k": lambda: labelled(rng, sparse_rows(rng, 100_000, 3_000, 50), 0.3),
        "tiny 60 x 5": lambda: labelled(rng, dense(60, 5), 0.3),
    }
    for name, make in makers.items():
        yield name, *make()


def seconds(
    solver: Solver, loss: str, X, y, C: float, rule: StoppingRule, limit: float
) -> tuple[float, Progress | None]:
    """Least CPU seconds of up to three runs; the last Progress, None where the rule was not met."""
    best, last = float("inf"), None
    for _ in range(3):
        start = time.process_time()
        problem = Problem(make_risk(Settings(loss=loss)).bind(y), LinearSpace(X, 1.0), C, rule)
        for progress in solver.start(problem):
            last = progress if rule.met(progress.primal, progress.dual) else None
            if time.process_time() - start > limit:
                break
        best = min(best, time.process_time() - start)
        if last is None or best > 0.3:
            break
    return best, last


def arguments(description: str) -> argparse.ArgumentParser:
    """Options of what trains the sets."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limit", type=float, default=20.0)
    parser.add_argument("--only", default="", help="generated sets whose name contains this")
    parser.add_argument("--loss", choices=(HINGE, "squared-hinge", "logistic"), default=HINGE)
    parser.add_argument("-C", dest="costs", type=float, nargs="+", default=COSTS)
    parser.add_argument("--files-only", action="store_true", help="no generated sets")
    parser.add_argument("files", nargs="*", type=Path)
    return parser


def sets(options: argparse.Namespace):
    """(name, X, y) of the sets that are asked for."""
    if not options.files_only:
        yield from (item for item in generated() if options.only in item[0])
    for path in options.files:
        examples = read_examples(str(path))
        yield path.name.split(".")[0], examples.X, np.where(examples.y > 0, 1.0, -1.0)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--rule", choices=("gap", "epsilon"), default="gap")
    parser.add_argument("--solvers", nargs="+", help="in place of all that train the loss")
    options = parser.parse_args()
    names = options.solvers or tuple(solvers("classification", False))
    settings = Settings(loss=options.loss)
    print(
        f"{'set':28}{'C':>6}"
        + "".join(f"{name:>15}" for name in names)
        + f"  {'auto':14}{'ratio':>6}",
        flush=True,
    )
    worst = 0.0
    for name, X, y in sets(options):
        for C in options.costs:
            rule = (
                StoppingRule(0, 1e-3)
                if options.rule == "gap"
                else StoppingRule(C * len(y) / 100 * 0.1)
            )
            times, cells, limit = {}, "", options.limit
            choice = choose(X.n_rows, X.n_features + 1, X.nnz, C)
            for solver in sorted(names, key=lambda s: s != choice):
                trainer = make_solver(solver, settings)
                times[solver], last = seconds(trainer, options.loss, X, y, C, rule, limit)
                times[solver] += 0 if last else 1e9
                limit = min(options.limit, 10 * min(times.values()) + 0.1)
            for solver in names:
                t = times[solver]
                cells += f"{t:15.4f}" if t < 1e9 else f"{'>' + format(t - 1e9, '.2f'):>15}"
            ratio = times[choice] / min(times.values())
            worst = max(worst, ratio)
            print(f"{name:28}{C:6g}{cells}  {choice:14}{ratio:6.2f}", flush=True)
    print(f"worst ratio {worst:.2f}")


if __name__ == "__main__":
    main()
