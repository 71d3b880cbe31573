# SPDX-License-Identifier: BSD-3-Clause
"""Does training for MAP or NDCG gain any of it over swapped pairs, and beside boosted trees?

    python benchmarks/ranking_measures.py TRAIN.txt,TEST.txt other.train,other.test

Each argument is a set, whose queries, of all its files, are dealt to five parts. Each part is the
test set once; the next one chooses C, for either measure by itself, and the other three are trained
on. Printed are means over the folds and, in brackets, the difference to swapped-pairs with its
standard error over the folds; seconds of training at the C chosen for NDCG@10, and the largest
certified gap of all runs. LightGBM's lambdarank stands beside them where it can be imported: 31
leaves a tree, a rate of 0.05, and the number of trees, up to 300, that is best on the validation
rows.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from arguments import make_parser

import svmcut
from svmcut.data.examples import Csr
from svmcut.files.examples import read_examples
from svmcut.scoring.measures import ranking_measures

try:
    import lightgbm
except ImportError:
    lightgbm = None

LAMBDARANK = {
    "objective": "lambdarank",
    "verbosity": -1,
    "num_threads": 1,
    "seed": 1,
    "deterministic": True,
    "learning_rate": 0.05,
    "lambdarank_truncation_level": 20,
}
LOSSES = ("swapped-pairs", "swapped-fraction", "map", "ndcg")
MEASURES = ("map", "ndcg@10")
PARTS, TREES = 5, 300


class Rows(NamedTuple):
    """Dense features, labels and increasing queries."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray

    def where(self, chosen) -> Rows:
        return Rows(self.X[chosen], self.y[chosen], self.qid[chosen])

    def measured(self, scores) -> list[float]:
        values = ranking_measures(self.y, scores, self.qid).values
        return [values[name] for name in MEASURES]


class Result(NamedTuple):
    """Test measures, each of the model that is best on the validation rows by it; seconds and gap
    of training."""

    values: list[float]
    seconds: float
    gap: float


def pooled(files: str) -> Rows:
    """The rows of all files of a set, their queries numbered anew."""
    parts = [read_examples(path, threads=1) for path in files.split(",")]
    width, found, seen = max(part.X.n_features for part in parts), [], 0
    for part in parts:
        X = np.zeros((len(part), width), np.float32)
        X[np.repeat(np.arange(len(part)), np.diff(part.X.indptr)), part.X.indices] = part.X.data
        query = np.unique(part.qid, return_inverse=True)[1]
        found.append((X, part.y, query + seen))
        seen += int(query.max()) + 1
    return Rows(*map(np.concatenate, zip(*found, strict=True)))


def folds(rows: Rows, seed: int):
    """Training, validation and test rows."""
    part = np.random.default_rng(seed).permutation(int(rows.qid.max()) + 1)[rows.qid] % PARTS
    for k in range(PARTS):
        test, chosen = part == k, part == (k + 1) % PARTS
        yield rows.where(~(test | chosen)), rows.where(chosen), rows.where(test)


def mean_pairs(rows: Rows) -> float:
    """Pairs of different labels a query."""
    counts = [
        np.unique(rows.y[rows.qid == query], return_counts=True)[1] for query in np.unique(rows.qid)
    ]
    return float(np.mean([(count.sum() ** 2 - (count**2).sum()) / 2 for count in counts]))


def best(validation, test, seconds, gaps) -> Result:
    """Of several models."""
    chosen = np.argmax(validation, axis=0)
    values = [test[at][name] for name, at in enumerate(chosen)]
    return Result(values, seconds[chosen[MEASURES.index("ndcg@10")]], max(gaps))


def svm(loss: str, train: Rows, validation: Rows, test: Rows, grid, gap: float) -> Result:
    """Of a grid of C, each the weight of a loss between 0 and 1 averaged over the queries."""
    tables: tuple[list, ...] = ([], [], [], [])
    unit = mean_pairs(train) if loss == "swapped-pairs" else 1.0
    for C in grid:
        began = time.perf_counter()
        outcome = svmcut.train(
            tuple(train), task="rank", loss=loss, cost=C / unit, gap=gap, threads=1
        )
        seconds = time.perf_counter() - began
        scores = (outcome.model.scores(Csr.from_dense(part.X)) for part in (validation, test))
        row = [part.measured(found) for part, found in zip((validation, test), scores, strict=True)]
        for table, value in zip(tables, (*row, seconds, outcome.gap / outcome.primal), strict=True):
            table.append(value)
    return best(*tables)


def trees(train: Rows, validation: Rows, test: Rows) -> Result:
    """LightGBM's lambdarank, its rounds chosen."""
    sizes = np.unique(train.qid, return_counts=True)[1]
    began = time.perf_counter()
    model = lightgbm.train(LAMBDARANK, lightgbm.Dataset(train.X, train.y, group=sizes), TREES)
    seconds = time.perf_counter() - began
    rounds = range(10, TREES + 1, 10)
    tables = (
        [part.measured(model.predict(part.X, num_iteration=count)) for count in rounds]
        for part in (validation, test)
    )
    return best(*tables, [seconds] * len(rounds), [np.nan] * len(rounds))


def line(name: str, results: list[Result], base: list[Result]) -> str:
    """A row of the table."""
    values, others = (np.array([result.values for result in part]) for part in (results, base))
    apart, cells = values - others, []
    error = apart.std(axis=0, ddof=1) / np.sqrt(len(values))
    for mean, shift, width in zip(values.mean(axis=0), apart.mean(axis=0), error, strict=True):
        cells.append(f"{mean:.4f}" + ("" if results is base else f" ({shift:+.4f} +- {width:.4f})"))
    seconds, gap = (
        np.mean([result.seconds for result in results]),
        max(result.gap for result in results),
    )
    return (
        f"| {name} | {' | '.join(cells)} | {seconds:.2f} | "
        f"{'none' if np.isnan(gap) else f'{gap:.1e}'} |"
    )


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("sets", nargs="+", metavar="FILE,FILE,...")
    parser.add_argument("--grid", default="1,3,10,30,100,300,1000,3000,10000", help="values of C")
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1, help="of the parts")
    options = parser.parse_args()
    grid = [float(word) for word in options.grid.split(",")]
    for files in options.sets:
        rows = pooled(files)
        print(f"{files.split(',')[0]}: {len(rows.y)} rows, {int(rows.qid.max()) + 1} queries\n")
        print(f"| trained for | MAP | NDCG@10 | s | gap |\n{'|---' * 5}|")
        parts = list(folds(rows, options.seed))
        found = {loss: [svm(loss, *part, grid, options.gap) for part in parts] for loss in LOSSES}
        for loss, results in found.items():
            print(line(loss, results, found[LOSSES[0]]), flush=True)
        if lightgbm is None:
            print("\nLightGBM is not installed.")
        else:
            print(line("lambdarank (trees)", [trees(*part) for part in parts], found[LOSSES[0]]))
        print()


if __name__ == "__main__":
    main()
