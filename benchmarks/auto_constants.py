# SPDX-License-Identifier: BSD-3-Clause
"""Are the constants by which trainers leave for others the best ones? Every constant is multiplied
by each factor in turn, and the sets of benchmarks/auto.py are trained by `auto`.

    python benchmarks/auto_constants.py [FILE ...] [--files-only] [--only SET] [--loss LOSS]
    [--constants NAME ...] [--factors F ...] [-C C ...] [--limit SECONDS]

A constant's regret with a factor is the geometric mean, over sets and C, of the CPU seconds over
those of the best factor there. A run whose steps are those of factor 1 has its seconds, so that all
that is compared is what a constant decides. "fitted" is the factor of the least regret, "moved" in
how many of the runs any factor changes the steps. One thread, gap 1e-3, least of up to three runs.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from auto import COSTS, HINGE, generated

from svmcut.files.examples import read_examples
from svmcut.risks import make_risk
from svmcut.solvers import auto, dual_cd, loss_cd
from svmcut.solvers.auto import choose
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces.linear import LinearSpace
from svmcut.spec.parameters import Settings
from svmcut.spec.records import replace
from svmcut.training.stage import make_solver

#: Where a constant stands, of hinges and of smooth losses; of a trainer, its parameter.
CONSTANTS = {
    HINGE: {
        "GRAM": dual_cd,
        "STEPS": dual_cd,
        "EPOCH": dual_cd,
        "FACTORS": dual_cd,
        "OUTER": dual_cd,
        "LEAST": dual_cd,
        "FEW_FEATURES": auto,
        "max_epochs": None,
    },
    "": {
        "MOST_PASSES": loss_cd,
        "LOGISTIC_EPOCH": loss_cd,
        "TRIAL": loss_cd,
        "max_epochs": None,
    },
}
GAP = 1e-3


class Ran(NamedTuple):
    """CPU seconds; what tells the steps of two runs apart."""

    seconds: float
    steps: tuple[Any, ...]


def trained(X: Any, y: Any, C: float, loss: str, limit: float, epochs: float) -> Ran:
    """The least of up to three runs; max_epochs is multiplied by `epochs`."""
    least, steps = math.inf, ()
    for _ in range(3):
        began = time.process_time()
        rule = StoppingRule(0, GAP)
        problem = Problem(make_risk(Settings(loss=loss)).bind(y), LinearSpace(X, 1.0), C, rule)
        solver = make_solver(choose(X.n_rows, X.n_features + 1, X.nnz, C), Settings(loss=loss))
        most = getattr(solver, "max_epochs", None)
        if most is not None and epochs != 1:
            solver = replace(solver, max_epochs=most * epochs)
        for progress in solver.start(problem):
            steps = (progress.iteration, progress.passes, progress.primal)
            if time.process_time() - began > limit:
                steps = ("limit",)
                break
        least = min(least, time.process_time() - began)
        if least > 0.3:
            break
    return Ran(least, steps)


def with_factor(name: str, module: Any, factor: float, work: Any) -> Ran:
    """What `work`, called with a factor of max_epochs, gives while a constant is multiplied."""
    if module is None:
        return work(factor)
    usual = getattr(module, name)
    try:
        setattr(module, name, type(usual)(usual * factor))
        return work(1.0)
    finally:
        setattr(module, name, usual)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--files-only", action="store_true", help="no generated sets")
    parser.add_argument("--only", default="", help="sets whose name contains this")
    parser.add_argument("--loss", choices=(HINGE, "squared-hinge", "logistic"), default=HINGE)
    parser.add_argument("--constants", nargs="+", help="in place of all of the loss")
    parser.add_argument("--factors", type=float, nargs="+", default=(0.25, 0.5, 2.0, 4.0))
    parser.add_argument("-C", dest="costs", type=float, nargs="+", default=COSTS)
    parser.add_argument("--limit", type=float, default=10.0)
    given = parser.parse_args()
    known = CONSTANTS.get(given.loss, CONSTANTS[""])
    names = given.constants or tuple(known)
    factors = sorted({1.0, *given.factors})

    def sets():
        if not given.files_only:
            yield from (item for item in generated() if given.only in item[0])
        for path in given.files:
            examples = read_examples(str(path))
            yield path.name, examples.X, np.where(examples.y > 0, 1.0, -1.0)

    logs = {name: {factor: [] for factor in factors} for name in names}
    moved, runs = dict.fromkeys(names, 0), 0
    for title, X, y in sets():
        for C in given.costs:
            runs += 1

            def work(epochs: float, X=X, y=y, C=C) -> Ran:
                return trained(X, y, C, given.loss, given.limit, epochs)

            usual, told = work(1.0), []
            for name in names:
                seconds = {1.0: usual.seconds}
                for factor in factors:
                    if factor != 1.0:
                        other = with_factor(name, known[name], factor, work)
                        same = other.steps == usual.steps
                        seconds[factor] = usual.seconds if same else other.seconds
                least, change = min(seconds.values()), len(set(seconds.values())) > 1
                moved[name] += change
                for factor in factors:
                    logs[name][factor].append(math.log(seconds[factor] / least))
                if change:
                    cells = " ".join(f"{factor:g}: {seconds[factor]:.3f}" for factor in factors)
                    told.append(f"    {name}  {cells}")
            print(f"{title}, C {C:g}: {usual.seconds:.3f} s", *told, sep="\n", flush=True)

    print(
        "| constant | " + " | ".join(f"x {factor:g}" for factor in factors) + " | fitted | moved |"
    )
    print("|---|" + "---:|" * (len(factors) + 2))
    for name in names:
        regrets = {factor: math.exp(np.mean(logs[name][factor])) for factor in factors}
        fitted = min(regrets, key=lambda factor: (regrets[factor], abs(math.log(factor))))
        cells = [f"{regrets[factor]:.3f}" for factor in factors]
        print(
            f"| {name} | "
            + " | ".join([*cells, f"x {fitted:g}", f"{moved[name]} of {runs}"])
            + " |"
        )


if __name__ == "__main__":
    main()
