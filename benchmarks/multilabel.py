# SPDX-License-Identifier: BSD-3-Clause
"""How fast and how well does svmcut learn label sets, with and without weights of pairs?

    python benchmarks/multilabel.py TRAIN TEST --example-cost 1 --gap 0.01       LIBSVM multilabel files, plain or gzip

Everything runs on one thread. Training time is CPU seconds of the training call alone, examples in memory; the gap is
the certified relative one. Measures are percent of TEST.
"""

from __future__ import annotations

import argparse
import time

from svmcut.files.multilabel import read_multilabel
from svmcut.parameters import Settings
from svmcut.tasks.prediction import measure
from svmcut.tasks.protocol import named
from svmcut.training.driver import make_driver

RUNS = (("gdmm", False), ("gdmm", True), ("bcfw", True), ("cutting-plane", True), ("ssg", True))
HEAD = (
    "| trainer | pairs | CPU s | primal | gap | Hamming | subset | micro F1 | macro F1 | P@1 |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def row(solver: str, pairs: bool, train, test, given) -> str:
    """One line of the table."""
    settings = Settings(
        task="multilabel", example_cost=given.example_cost, solver=solver, gap=given.gap, time_limit=given.time_limit,
        seed=given.seed, pairs="all" if pairs else "none", threads=1,
    )  # fmt: skip
    driver = make_driver(settings, train)
    began = time.process_time()
    outcome = driver.fit(None, given.example_cost)
    seconds = time.process_time() - began
    measures = measure(named("multilabel"), outcome.model, test)
    progress = outcome.progress
    numbers = " | ".join(
        f"{measures[key]:.2f}" for key in ("hamming_loss", "subset_accuracy", "micro_f1", "macro_f1", "precision@1")
    )
    kept = "yes" if pairs else "no"
    gap = f"{progress.gap / progress.primal:.1e}"
    return f"| {solver} | {kept} | {seconds:.2f} | {progress.primal:.2f} | {gap} | {numbers} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--example-cost", type=float, default=1.0)
    parser.add_argument("--gap", type=float, default=0.01)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--solvers", default=",".join(dict.fromkeys(name for name, _ in RUNS)))
    given = parser.parse_args()
    train, test = read_multilabel(given.train), read_multilabel(given.test)
    size = f"{len(train)} examples, {train.X.n_features} features, {len(train.names)} labels"
    print(f"{size}; C = {given.example_cost:g}")
    print(HEAD)
    for solver, pairs in RUNS:
        if solver in given.solvers.split(","):
            print(row(solver, pairs, train, test, given), flush=True)


if __name__ == "__main__":
    main()
