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

import math
from typing import Any

import numpy as np
from auto import HINGE, arguments, seconds, sets

from svmcut.base.records import replace
from svmcut.solvers import auto, dual_cd
from svmcut.solvers.auto import choose
from svmcut.solvers.protocol import StoppingRule
from svmcut.spec.parameters import Settings
from svmcut.training.driver import make_solver

#: Where a constant stands, of hinges and of smooth losses; of a trainer, its parameter.
CONSTANTS = {
    HINGE: {
        "GRAM": dual_cd,
        "STEPS": dual_cd,
        "EPOCH": dual_cd,
        "FACTORS": dual_cd,
        "OUTER": dual_cd,
        "MIN_SECONDS": dual_cd,
        "FEW_FEATURES": auto,
        "max_epochs": None,
    },
    "": {
        "MAX_PASSES": dual_cd,
        "LOGISTIC_EPOCH": dual_cd,
        "TRIAL": dual_cd,
        "max_epochs": None,
    },
}
RULE = StoppingRule(0, 1e-3)


def trained(X: Any, y: Any, C: float, loss: str, limit: float, epochs: float) -> tuple[float, Any]:
    """CPU seconds, and what tells the steps of two runs apart; max_epochs is multiplied by
    `epochs`."""
    solver = make_solver(choose(X.n_rows, X.n_features + 1, X.nnz, C), Settings(loss=loss))
    if hasattr(solver, "max_epochs"):
        solver = replace(solver, max_epochs=solver.max_epochs * epochs)
    least, last = seconds(solver, loss, X, y, C, RULE, limit)
    return least, last and (last.iteration, last.passes, last.primal)


def with_factor(name: str, module: Any, factor: float, work: Any) -> tuple[float, Any]:
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
    parser = arguments(__doc__ or "")
    parser.add_argument("--constants", nargs="+", help="in place of all of the loss")
    parser.add_argument("--factors", type=float, nargs="+", default=(0.25, 0.5, 2.0, 4.0))
    given = parser.parse_args()
    known = CONSTANTS.get(given.loss, CONSTANTS[""])
    names = given.constants or tuple(known)
    factors = sorted({1.0, *given.factors})

    logs = {name: {factor: [] for factor in factors} for name in names}
    moved, runs = dict.fromkeys(names, 0), 0
    for title, X, y in sets(given):
        for C in given.costs:
            runs += 1

            def work(epochs: float, X=X, y=y, C=C) -> tuple[float, Any]:
                return trained(X, y, C, given.loss, given.limit, epochs)

            (usual, steps), told = work(1.0), []
            for name in names:
                took = {1.0: usual}
                for factor in factors:
                    if factor != 1.0:
                        other, own = with_factor(name, known[name], factor, work)
                        took[factor] = usual if own == steps else other
                least, change = min(took.values()), len(set(took.values())) > 1
                moved[name] += change
                for factor in factors:
                    logs[name][factor].append(math.log(took[factor] / least))
                if change:
                    cells = " ".join(f"{factor:g}: {took[factor]:.3f}" for factor in factors)
                    told.append(f"    {name}  {cells}")
            print(f"{title}, C {C:g}: {usual:.3f} s", *told, sep="\n", flush=True)

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
