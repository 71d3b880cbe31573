# SPDX-License-Identifier: BSD-3-Clause
"""What do many tags cost? Passes of GDMM beside passes of Viterbi, and errors against time beside
bcfw.

    python benchmarks/many_tags.py --tags 50,200,800 --passes 20       a pass of each, mean CPU
    seconds python benchmarks/many_tags.py --tags 800 --errors --passes 40     test error after
    every pass, both trainers python benchmarks/many_tags.py --tags 200,800 --gaps
    seconds to certified gaps and to 5 % error

On chains of benchmarks/generate_chains.py, one thread, CPU seconds of the passes alone. GDMM is
shown with the transitions it holds and with those repaired to agree with the tokens, bcfw with w
and with its weighted average. With
--gaps whole runs are timed, looks at the gap and all, and the errors are those of the models they
would have returned.
"""

from __future__ import annotations

import time

import numpy as np
from arguments import make_parser
from generate_chains import generate
from structured_curves import AllPairs, InOrder
from svmcut._native.chain_bcfw import Blocks

from svmcut.data.examples import Csr, Sequences
from svmcut.models import ChainModel, ChainShape
from svmcut.solvers.bcfw import Bcfw
from svmcut.solvers.gdmm import ChainFactors, Gdmm
from svmcut.solvers.protocol import StoppingRule
from svmcut.structured.chain import ChainSequences
from svmcut.structured.protocol import StructuredProblem

HEAD = (
    "| K | Viterbi pass | GDMM pass | ratio | all pairs read | ratio |\n|---|---|---|---|---|---|"
)


def sequences_of(n_tags: int, count: int, stream: int) -> Sequences:
    """Sequences in memory, as svm_hmm's files would give them."""
    tags, features = generate(n_tags, count, stream=stream)
    length, rows = tags.shape[1], features.reshape(-1, features.shape[2])
    kept = np.ones(rows.shape, bool)
    kept[:, 1:] = rows[:, 1:] != rows[:, :-1]
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
    X = Csr(
        np.ones(indptr[-1], np.float32), rows[kept].astype(np.int32), indptr, max(13, 3 * n_tags)
    )
    return Sequences(
        X, np.arange(count + 1, dtype=np.int64) * length, tags.ravel().astype(np.int32)
    )


def timed(work) -> float:
    """CPU seconds of one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def costs(n_tags: int, given) -> str:
    """One line of the table of passes."""
    train = sequences_of(n_tags, given.sequences, 1)
    model = ChainSequences(train, ChainShape(n_tags, train.X.n_features))
    passes = []
    for brute in (False, True):
        run = (AllPairs if brute else InOrder)(model, given.example_cost, 0)
        count = given.passes if not brute else min(given.passes, 3)
        passes.append(np.mean([timed(run.run) for _ in range(count)]))
        if not brute:
            w = run.w.copy()
    viterbi = timed(lambda: model.separate(w))
    ordered, brute = passes
    cells = (f"{x:.3f} | {viterbi / x:.1f}" for x in (ordered, brute))
    return f"| {n_tags} | {viterbi:.3f} | {' | '.join(cells)} |"


def errors(n_tags: int, given) -> None:
    """Prints test errors of both trainers along their passes."""
    train, test = sequences_of(n_tags, given.sequences, 1), sequences_of(n_tags, 200, 2)
    shape = ChainShape(n_tags, train.X.n_features)
    model = ChainSequences(train, shape)

    def error(w):
        return 100 * np.mean(ChainModel(w, shape).tags(test.X, test.indptr) != test.tags)

    run, seconds = ChainFactors(model, given.example_cost, 0), 0.0
    print("| trainer | pass | CPU s | error | error of the other point |\n|---|---|---|---|---|")
    for k in range(1, given.passes + 1):
        seconds += timed(run.run)
        if k < 8 or k % 5 == 0:
            _, points = run.look()
            other = points[-1][1]()  # repaired, or w itself where that is too full
            print(
                f"| gdmm | {k} | {seconds:.2f} | {error(run.w):.2f} | {error(other):.2f} |",
                flush=True,
            )
    blocks, w, mean, seconds = (
        Blocks(model.chains, given.example_cost, 0),
        np.zeros(model.dim),
        0.0,
        0.0,
    )
    for k in range(1, given.passes // 2 + 1):
        seconds += timed(lambda: (blocks.visit(model.n_samples), blocks.weights(False, w)))
        mean = mean + 2 / (k + 1) * (w - mean)
        print(f"| bcfw | {k} | {seconds:.2f} | {error(w):.2f} | {error(mean):.2f} |", flush=True)


GAPS = (0.3, 0.1, 0.03, 0.01)


def gaps(n_tags: int, given) -> None:
    """Lines of the table of certified gaps, both trainers."""
    train, test = sequences_of(n_tags, given.sequences, 1), sequences_of(n_tags, 200, 2)
    shape = ChainShape(n_tags, train.X.n_features)
    problem = StructuredProblem(
        ChainSequences(train, shape), given.example_cost, StoppingRule(0.0, GAPS[-1])
    )
    for name, trainer in (("gdmm", Gdmm()), ("bcfw", Bcfw())):
        reached: dict[float, float] = {}
        seconds, learnt, found, began = 0.0, None, 100.0, time.process_time()
        for progress in trainer.start(problem):
            seconds += time.process_time() - began
            for gap in GAPS:
                if progress.gap <= gap * progress.primal:
                    reached.setdefault(gap, seconds)
            if learnt is None:
                model = ChainModel(progress.solution(), shape)
                found = 100 * np.mean(model.tags(test.X, test.indptr) != test.tags)
                learnt = seconds if found <= 5 else None
            if seconds > given.limit:
                break
            began = time.process_time()
        cells = [f"{reached[gap]:.1f}" if gap in reached else "-" for gap in GAPS]
        cells.append("-" if learnt is None else f"{learnt:.1f}")
        print(f"| {n_tags} | {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tags", default="50,200,800")
    parser.add_argument("--sequences", type=int, default=600)
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--example-cost", type=float, default=1.0)
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--gaps", action="store_true")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds of a run of --gaps")
    given = parser.parse_args()
    if given.gaps:
        print(
            "| K | trainer | "
            + " | ".join(f"gap {gap:g}" for gap in GAPS)
            + " | 5 % error |\n"
            + "|---" * 7
            + "|"
        )
    elif not given.errors:
        print(HEAD)
    for n_tags in map(int, given.tags.split(",")):
        if given.gaps:
            gaps(n_tags, given)
        elif given.errors:
            errors(n_tags, given)
        else:
            print(costs(n_tags, given), flush=True)


if __name__ == "__main__":
    main()
