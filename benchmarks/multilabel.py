# SPDX-License-Identifier: BSD-3-Clause
"""How fast and how well does svmcut learn label sets, with and without weights of pairs?

    python benchmarks/multilabel.py TRAIN TEST --example-cost 1 --gap 0.01       LIBSVM multilabel
    files, plain or gzip python benchmarks/multilabel.py TRAIN TEST --solvers dual-cd --gap 1e-3
    --linear-svc 3     beside LinearSVC

Everything runs on one thread. Training time is CPU seconds of the training call alone, examples in
memory; the gap is the certified relative one. Measures are percent of TEST. With --linear-svc
ROUNDS training without pairs alternates with scikit-learn's
OneVsRestClassifier(LinearSVC(loss="hinge")) on the same rows and C; objectives are sums over the
labels.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from arguments import make_parser

from svmcut.files.multilabel import read_multilabel
from svmcut.spec.parameters import Settings
from svmcut.tasks.prediction import measure
from svmcut.tasks.protocol import make_task
from svmcut.training.driver import make_driver

RUNS = (
    ("dual-cd", False),
    ("gdmm", False),
    ("gdmm", True),
    ("bcfw", True),
    ("cutting-plane", True),
    ("ssg", True),
)
HEAD = (
    "| trainer | pairs | CPU s | primal | gap | Hamming | subset | micro F1 | macro F1 | P@1 |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def row(solver: str, pairs: bool, train, test, given) -> str:
    """One line of the table."""
    settings = Settings(
        task="multilabel",
        example_cost=given.example_cost,
        solver=solver,
        gap=given.gap,
        time_limit=given.time_limit,
        seed=given.seed,
        pairs="all" if pairs else "none",
        threads=1,
    )
    driver = make_driver(settings, train)
    began = time.process_time()
    outcome = driver.fit(None, given.example_cost)
    seconds = time.process_time() - began
    measures = measure(make_task("multilabel"), outcome.model, test)
    progress = outcome.progress
    numbers = " | ".join(
        f"{measures[key]:.2f}"
        for key in ("hamming_loss", "subset_accuracy", "micro_f1", "macro_f1", "precision@1")
    )
    kept = "yes" if pairs else "no"
    gap = f"{progress.gap / progress.primal:.1e}"
    return f"| {solver} | {kept} | {seconds:.2f} | {progress.primal:.2f} | {gap} | {numbers} |"


def beside_linear_svc(train, given) -> str:
    """One line of CPU seconds and objectives, both trained without pairs, in alternating rounds."""
    from scipy.sparse import csr_matrix
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    C, gold = given.example_cost, train.gold()
    X = csr_matrix(
        (train.X.data.astype(float), train.X.indices, train.X.indptr),
        (len(train), train.X.n_features),
    )
    settings = Settings(
        task="multilabel", example_cost=C, gap=given.gap, seed=given.seed, pairs="none", threads=1
    )
    peer = OneVsRestClassifier(
        LinearSVC(C=C, loss="hinge", tol=given.tol, max_iter=100_000, random_state=given.seed)
    )
    jobs = {
        "ours": lambda: make_driver(settings, train).fit(None, C),
        "theirs": lambda: peer.fit(X, gold),
    }
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    found = {}
    for turn in range(given.linear_svc + 1):
        for name, work in jobs.items():
            began = time.process_time()
            found[name] = work()
            if turn:
                seconds[name].append(time.process_time() - began)
    W = np.vstack([machine.coef_ for machine in found["theirs"].estimators_])
    b = np.array([machine.intercept_[0] for machine in found["theirs"].estimators_])
    losses = np.maximum(0, 1 - np.where(gold, 1, -1) * (X @ W.T + b))
    theirs, ours = (
        0.5 * (np.square(W).sum() + np.square(b).sum()) + C * losses.sum(),
        found["ours"].primal,
    )
    ours_s, theirs_s = (statistics.median(seconds[name]) for name in jobs)
    return (
        "\n| svmcut CPU s | LinearSVC CPU s | ratio | objective over LinearSVC's "
        "|\n|---|---|---|---|\n"
        f"| {ours_s:.2f} | {theirs_s:.2f} | {ours_s / theirs_s:.2f} | {ours / theirs - 1:+.1e} |"
    )


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--example-cost", type=float, default=1.0)
    parser.add_argument("--gap", type=float, default=0.01)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--linear-svc",
        type=int,
        metavar="ROUNDS",
        help="every label must have a row with and without",
    )
    parser.add_argument("--tol", type=float, default=1e-4, help="of LinearSVC")
    parser.add_argument("--solvers", default=",".join(dict.fromkeys(name for name, _ in RUNS)))
    given = parser.parse_args()
    train, test = read_multilabel(given.train), read_multilabel(given.test)
    size = f"{len(train)} examples, {train.X.n_features} features, {len(train.names)} labels"
    print(f"{size}; C = {given.example_cost:g}")
    print(HEAD)
    for solver, pairs in RUNS:
        if solver in given.solvers.split(","):
            print(row(solver, pairs, train, test, given), flush=True)
    if given.linear_svc:
        print(beside_linear_svc(train, given))


if __name__ == "__main__":
    main()
