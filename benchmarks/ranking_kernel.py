# SPDX-License-Identifier: BSD-3-Clause
"""Ranking with a kernel beside linear ranking and boosted trees: CPU seconds of training and
NDCG@10 in one run.

    python benchmarks/ranking_kernel.py TRAIN.txt,VALI.txt,TEST.txt [--generated 100000] [--basis
    500] [--costs 10 100]

Each argument is a set, whose queries are dealt to five parts as in ranking_measures.py: each part
is tested once, the next one chooses (C, for rbf gamma too, for trees their number up to 300), the
other three are trained on. --generated adds a set of so many rows, 50 a query: the grade is of a
sum of bumps, a sine and a product of ten normal features, with noise; it is split once, three
fifths, one and one. One thread. Seconds are those of the training that was chosen, all trials in
brackets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from arguments import make_parser
from ranking_measures import LAMBDARANK, Rows, folds, pooled

import svmcut
from svmcut.data.examples import Csr

try:
    import lightgbm
except ImportError:
    lightgbm = None
try:
    import xgboost
except ImportError:
    xgboost = None

TREES = 300


def generated(n: int, seed: int = 1, each: int = 50, d: int = 10) -> Rows:
    """Rows whose grade, 0 to 4, no line can tell."""
    rng = np.random.default_rng(seed)
    X, centres, heights = rng.normal(size=(n, d)), rng.normal(size=(12, d)), 3 * rng.normal(size=12)
    bumps = sum(
        a * np.exp(-0.08 * ((X - c) ** 2).sum(axis=1))
        for a, c in zip(heights, centres, strict=True)
    )
    u = bumps + 0.5 * np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] * X[:, 2] + 0.3 * X[:, 3]
    u = u / u.std() + 0.3 * rng.normal(size=n)
    y = np.digitize(u, np.quantile(u, [0.5, 0.75, 0.9, 0.97])).astype(float)
    return Rows(X.astype(np.float32), y, np.arange(n) // each)


def ndcg(rows: Rows, scores) -> float:
    return rows.measured(scores)[1]


def machines(options, kernel: bool) -> Callable[[Rows], Iterator[tuple]]:
    """svmcut, linear or in the span of a basis."""

    def trials(train: Rows):
        width = 1.0 / (train.X.shape[1] * max(float(train.X.var()), 1e-9))
        for C in options.costs:
            for gamma in options.gammas if kernel else (1.0,):
                known = (
                    {
                        "kernel": "rbf",
                        "gamma": gamma * width,
                        "solver": "subspace",
                        "basis": options.basis,
                        "certify": False,
                    }
                    if kernel
                    else {}
                )
                began = time.process_time()
                outcome = svmcut.train(
                    tuple(train),
                    task="rank",
                    loss="swapped-fraction",
                    cost=C,
                    gap=1e-3,
                    threads=1,
                    **known,
                )
                seconds = time.process_time() - began
                yield (
                    seconds,
                    lambda part, model=outcome.model: model.scores(Csr.from_dense(part.X)),
                )

    return trials


def boosted(train: Rows):
    """LightGBM's lambdarank."""
    sizes, began = np.unique(train.qid, return_counts=True)[1], time.process_time()
    model = lightgbm.train(LAMBDARANK, lightgbm.Dataset(train.X, train.y, group=sizes), TREES)
    seconds = time.process_time() - began
    for count in range(50, TREES + 1, 50):
        yield seconds, lambda part, count=count: model.predict(part.X, num_iteration=count)


def gradient(train: Rows):
    """XGBoost's rank:ndcg."""
    known = {
        "objective": "rank:ndcg",
        "nthread": 1,
        "seed": 1,
        "eta": 0.05,
        "max_depth": 6,
        "tree_method": "hist",
    }
    began = time.process_time()
    model = xgboost.train(known, xgboost.DMatrix(train.X, train.y, qid=train.qid), TREES)
    seconds = time.process_time() - began
    for count in range(50, TREES + 1, 50):
        yield (
            seconds,
            lambda part, count=count: model.predict(
                xgboost.DMatrix(part.X), iteration_range=(0, count)
            ),
        )


def chosen(trials, train: Rows, validation: Rows, test: Rows) -> tuple[float, float, float]:
    """(test NDCG@10, its seconds, seconds of all trials) of the trial that is best on the
    validation rows."""
    found = [
        (ndcg(validation, scores(validation)), ndcg(test, scores(test)), seconds)
        for seconds, scores in trials(train)
    ]
    best = max(found)
    return best[1], best[2], sum({seconds for *_, seconds in found})


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("sets", nargs="*", metavar="FILE,FILE,...")
    parser.add_argument("--generated", type=int, metavar="ROWS")
    parser.add_argument("--basis", type=int, default=500)
    parser.add_argument("--costs", type=float, nargs="+", default=[10.0, 100.0, 1000.0])
    parser.add_argument(
        "--gammas", type=float, nargs="+", default=[0.3, 1.0, 3.0], help="times 1 / (d variance)"
    )
    options = parser.parse_args()
    sets = [(files.split(",")[0], list(folds(pooled(files), 1))) for files in options.sets]
    if options.generated:
        sets.append(
            (
                f"generated, {options.generated:,} rows",
                list(folds(generated(options.generated), 1))[:1],
            )
        )
    ways = {
        "linear": machines(options, False),
        f"rbf, {options.basis} basis vectors": machines(options, True),
    }
    ways |= {} if lightgbm is None else {"LightGBM lambdarank": boosted}
    ways |= {} if xgboost is None else {"XGBoost rank:ndcg": gradient}
    for name, parts in sets:
        print(f"\n| {name} | NDCG@10 | CPU s, in all trials |\n|---|---:|---:|")
        for way, trials in ways.items():
            values, seconds, whole = np.array([chosen(trials, *part) for part in parts]).T
            spread = (
                f" +- {values.std(ddof=1) / np.sqrt(len(values)):.4f}" if len(values) > 1 else ""
            )
            print(
                f"| {way} | {values.mean():.4f}{spread} | {seconds.mean():.2f} "
                f"({whole.mean():.1f}) |",
                flush=True,
            )


if __name__ == "__main__":
    main()
