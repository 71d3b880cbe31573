# SPDX-License-Identifier: BSD-3-Clause
"""How long does regression take from the text file to the model? svmcut beside LIBSVM and
LIBLINEAR.

    python benchmarks/regression.py [FILE ...] [--rows 12000] [-C 1 10] [--gamma 0.5] [--rounds 3]

The rbf kernel beside svm-train -s 3, both to a tolerance of the KKT conditions of 0.001; weights
beside liblinear-train
-s 13, with the bias inside w, where svmcut is asked for the gap that LIBLINEAR's model has, which a
run to --gap tells
first. Whole processes on one pinned CPU, in alternating rounds, and CPU seconds; one evaluator
computes every objective from the written model, and gaps are those to svmcut's dual value. FILEs
are plain text; --rows generates Friedman's first function of ten features (0 for none). Both rivals
are needed.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from arguments import learn, make_parser
from svmcut._native.kernels import KernelRows
from timing import cpu_medians, time_process

from svmcut.data.examples import Csr
from svmcut.files.examples import read_examples
from svmcut.formats import read_model
from svmcut.models.kernels import Kernel

TUBE = 0.1


def friedman(path: Path, n: int) -> Path:
    """A file of n rows: 10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 and noise of 1."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 10))
    y = (
        10 * np.sin(np.pi * X[:, 0] * X[:, 1])
        + 20 * (X[:, 2] - 0.5) ** 2
        + X[:, 3:5] @ [10, 5]
        + rng.normal(size=n)
    )
    lines = (
        f"{target:.6g} " + " ".join(f"{j}:{x:.6g}" for j, x in enumerate(row, 1)) + "\n"
        for target, row in zip(y, X, strict=True)
    )
    path.write_text("".join(lines), encoding="ascii")
    return path


class Machine(NamedTuple):
    """f = sum_k alpha_k K(z_k, .) + b, the weights of features being one z; b counts in |w| where
    it is theirs."""

    kernel: Kernel
    Z: Csr
    alpha: np.ndarray
    b: float
    regularised: bool

    def objective(self, X: Csr, y, C: float) -> float:
        """1/2 |w|^2 + C sum of the losses."""
        f = KernelRows(X, self.kernel).accumulate_foreign(self.Z, self.alpha, exact=True)
        own = KernelRows(self.Z, self.kernel).accumulate_foreign(self.Z, self.alpha, exact=True)
        squared = float(self.alpha @ own) + self.b**2 * self.regularised
        return 0.5 * squared + C * float(np.maximum(0, np.abs(y - f - self.b) - TUBE).sum())


def of_weights(w, b: float) -> Machine:
    """The machine of weights; they are kept as float32, a part of 1e-7."""
    return Machine(Kernel(), Csr.from_dense(np.asarray(w, np.float32)[None]), np.ones(1), b, True)


def machine(path: Path) -> Machine:
    """That of a model file of any program."""
    model = read_model(str(path))
    if hasattr(model, "w"):
        return of_weights(model.w, -model.b)
    return Machine(model.kernel, model.support, model.alpha, -model.b, False)


def compare(path: Path, C: str, gamma: str | None, gap: str, rounds: int) -> str:
    """One line of the table; gamma None for weights of features."""
    examples = read_examples(str(path))
    rival, words, ours = "liblinear-train", ["-s", "13", "-B", "1"], ["--gap", gap]
    if gamma is not None:
        rival, words, ours = (
            "svm-train",
            ["-s", "3", "-t", "2", "-g", gamma],
            ["-t", "2", "-g", gamma, "-e", "0.001"],
        )
    with tempfile.TemporaryDirectory() as folder:
        theirs, model, report = (Path(folder) / name for name in ("rival", "svmcut", "report"))
        commands = (
            [rival, "-q", *words, "-p", str(TUBE), "-c", C, str(path), str(theirs)],
            learn(
                *("regression", *ours, "--tube", TUBE, "--example-cost", C),
                *("--report", report, path, model),
            ),
        )
        for command in commands:
            time_process(command)
        dual = json.loads(report.read_text(encoding="utf-8"))["dual"]
        reached = machine(theirs).objective(examples.X, examples.y, float(C))
        gap_there = (reached - dual) / reached
        if gamma is None:
            commands[1][commands[1].index("--gap") + 1] = f"{gap_there:.6g}"
        before, now = cpu_medians(commands, rounds)
        told = json.loads(report.read_text(encoding="utf-8"))
        value = machine(model).objective(examples.X, examples.y, float(C))
    return (
        f"| {path.name} | {rival} | {C} | {before:.2f} | {gap_there:.1e} | {now:.2f} | "
        f"{told['relative_gap']:.1e} | "
        f"{value / reached - 1:+.1e} | {now / before:.2f} |"
    )


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--rows", type=int, default=12000)
    parser.add_argument("-C", nargs="+", default=["1", "10"])
    parser.add_argument("--gamma", default="0.5")
    parser.add_argument(
        "--gap", default="0.0001", help="of the run that certifies the rival's model"
    )
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(
        "| file | rival | C | its CPU s | its gap | svmcut s | its gap | objective | ratio |\n|"
        + "---|" * 9
    )
    with tempfile.TemporaryDirectory() as folder:
        made = (
            [friedman(Path(folder) / f"friedman, {given.rows} rows", given.rows)]
            if given.rows
            else []
        )
        for path in (*made, *given.files):
            for gamma in (given.gamma, None):
                for C in given.C:
                    print(compare(path, C, gamma, given.gap, given.rounds), flush=True)


if __name__ == "__main__":
    main()
