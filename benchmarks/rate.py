# SPDX-License-Identifier: BSD-3-Clause
"""Is the rate of gdmm linear? Passes per decade of the certified gap beside bcfw's, and a figure.

    python benchmarks/rate.py NAME=FILE ... [--sequences 60] [-C 0.1 1] [--figure
    docs/plots/gdmm-rate.svg]

FILE has sequences, plain or gzip. N_k is the passes from a relative gap of 10^-k to 10^-(k+1), gaps
being the least so far; the ratio (N_3 + N_4) / (N_1 + N_2) is 1 for a linear rate, 100 for t^-1, 10
for t^-2.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from arguments import make_parser

from svmcut.files.sequences import read_sequences
from svmcut.models import ChainShape
from svmcut.solvers.bcfw import Bcfw
from svmcut.solvers.gdmm import Gdmm
from svmcut.solvers.protocol import StoppingRule
from svmcut.structured.chain import ChainSequences
from svmcut.structured.protocol import StructuredProblem

SOLVERS = {"gdmm": Gdmm, "bcfw": Bcfw}
LAST = 5  # decade


def gaps(solver: str, sequences, C: float) -> tuple[np.ndarray, np.ndarray]:
    """Passes, and the least relative gap so far, at every look of a run to 1e-5."""
    shape = ChainShape(int(sequences.tags.max()) + 1, sequences.X.n_features)
    problem = StructuredProblem(ChainSequences(sequences, shape), C, StoppingRule(0.0, 10.0**-LAST))
    looks = [(look.passes, look.gap / look.primal) for look in SOLVERS[solver]().start(problem)]
    passes, gap = np.array(looks).T
    return passes, np.minimum.accumulate(gap)


def main() -> None:
    """Prints the table and draws."""
    parser = make_parser(__doc__)
    parser.add_argument("sets", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--sequences", type=int, default=60)
    parser.add_argument("-C", "--example-costs", type=float, nargs="+", default=[0.1, 1.0])
    parser.add_argument("--figure", type=Path, help="an .svg file")
    given = parser.parse_args()
    curves: dict[tuple[str, float], dict[str, tuple[np.ndarray, np.ndarray]]] = {}
    print("| set | C | trainer | N_1 to N_4 | ratio |\n|---|---:|---|---|---:|")
    for text in given.sets:
        name, _, file = text.partition("=")
        sequences = read_sequences(file).part(0, given.sequences)
        for C in given.example_costs:
            runs = curves[name, C] = {solver: gaps(solver, sequences, C) for solver in SOLVERS}
            for solver, (passes, gap) in runs.items():
                marks = [passes[gap <= 10.0**-k][:1].sum() for k in range(1, LAST + 1)]
                N = np.diff(marks)
                ratio = N[2:].sum() / max(1, N[:2].sum())
                print(
                    f"| {name} | {C:g} | {solver} | {', '.join(f'{n:.0f}' for n in N)} | "
                    f"{ratio:.1f} |",
                    flush=True,
                )
    if given.figure:
        from style import legend, look, save, two_wide

        figure, axes = two_wide(len(curves))
        for axis, ((name, C), runs) in zip(axes, curves.items(), strict=True):
            for solver, (passes, gap) in runs.items():
                axis.semilogy(passes, gap, **look(solver, markersize=2.5))
            axis.set(title=f"{name}, C = {C:g}", xlabel="passes", ylabel="relative gap, certified")
        legend(figure)
        save(figure, given.figure)


if __name__ == "__main__":
    main()
